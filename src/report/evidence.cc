#include "report/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/pop_colors.h"

namespace farscale {
namespace {

using Reach = EvidenceHorizon::Reach;

// Why the runs themselves are all: "wider than 0.2" or "unknown".
std::string StateAtLargestRun(const PhaseProjection& projection, const EvidenceHorizon& horizon) {
  for (const ProjectedValue& value : projection.Find(horizon.factor)->curve) {
    if (value.cores == horizon.cores && value.interval80) return fmt::format("wider than {:g}", horizon.width);
  }
  return "unknown";
}

// What the largest run was, and what the models make of it.
std::string DescribeMisfit(const PhaseProjection& projection, const EvidenceHorizon& horizon) {
  const auto misfit = FindMisfit(*projection.Find(horizon.factor), horizon.cores);
  std::string text = fmt::format(
      "The projection is no evidence beyond the runs: no model describes them. On {} cores {} was measured as {}",
      FormatCores(horizon.cores), NameInSentence(horizon.factor),
      misfit ? FormatValue(horizon.factor, misfit->measured) : "something else");
  if (misfit) {
    text += fmt::format(", outside of the 95 % interval of what was fitted, {} to {}",
                        FormatValue(horizon.factor, misfit->fitted95.low),
                        FormatValue(horizon.factor, misfit->fitted95.high));
  }
  return text + ". Find out what is different there, or measure it once more.";
}

// What of the rest is known less far than parallel efficiency.
std::string DescribeGlobalReach(const PhaseProjection& projection, double horizon) {
  const double reach = EvidenceUpTo(projection, Factor::kGlobalEfficiency);
  if (projection.Find(Factor::kGlobalEfficiency) == nullptr || reach >= horizon) return "";
  return fmt::format(" Global efficiency, speedup, times and costs are evidence up to {} cores only.",
                     FormatCores(reach));
}

std::string DescribeReach(const PhaseProjection& projection) {
  const EvidenceHorizon& horizon = *projection.horizon;
  const std::string interval = fmt::format("the 80 % interval of {}", NameInSentence(horizon.factor));
  const std::string cores = FormatCores(horizon.cores);
  const std::string advice = "; more core counts would narrow it, the next best run most.";
  switch (horizon.reach) {
    case Reach::kAtLeast:
      return fmt::format(
          "The projection is evidence as far as it goes, up to {} cores: {} nowhere gets wider than {:g}.", cores,
          interval, horizon.width);
    case Reach::kUpTo:
      return fmt::format(
                 "The projection is evidence up to {} cores, {} the largest fitted run: beyond, {} is wider than {:g}",
                 cores, FormatRatio(horizon.cores / projection.fitted_cores.back()), interval, horizon.width) +
             advice;
    case Reach::kMisfit: return DescribeMisfit(projection, horizon);
    case Reach::kOnlyMeasured: break;
  }
  return fmt::format("The projection is no evidence beyond the runs: at the largest fitted one, on {} cores, {} is {}",
                     cores, interval, StateAtLargestRun(projection, horizon)) +
         advice;
}

}  // namespace

std::string DescribeHorizon(const PhaseProjection& projection) {
  if (!projection.horizon || projection.Find(projection.horizon->factor) == nullptr) return "";
  return DescribeReach(projection) + DescribeGlobalReach(projection, projection.horizon->cores);
}

void MarkHorizon(const PhaseProjection& projection, Chart& chart) {
  if (!projection.horizon) return;
  const EvidenceHorizon& horizon = *projection.horizon;
  const std::string cores = FormatCores(horizon.cores);
  chart.horizon_x = horizon.cores;
  chart.beyond_is_grey = horizon.reach != Reach::kAtLeast;
  switch (horizon.reach) {
    case Reach::kAtLeast: chart.horizon_label = "evidence to " + cores + " at least"; break;
    case Reach::kUpTo: chart.horizon_label = "evidence to " + cores; break;
    case Reach::kOnlyMeasured:
    case Reach::kMisfit: chart.horizon_label = "no evidence beyond " + cores; break;
  }
}

void MarkHorizon(const PhaseProjection& projection, Factor factor, Chart& chart) {
  MarkHorizon(projection, chart);
  const std::optional<double> end = EndsEarly(projection, factor);
  if (!end) return;
  const bool is_measured = *end <= projection.fitted_cores.back();
  chart.horizon_x = end;
  chart.beyond_is_grey = true;
  chart.horizon_label = (is_measured ? "no evidence beyond " : "evidence to ") + FormatCores(*end);
}

std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor) {
  if (!projection.horizon) return std::nullopt;
  const double end = EvidenceUpTo(projection, factor);
  return end < projection.horizon->cores ? std::optional(end) : std::nullopt;
}

std::string DescribeEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors) {
  std::vector<std::string> ends;
  for (const FactorProjection* factor : factors) {
    const std::optional<double> end = EndsEarly(projection, factor->factor);
    if (end) ends.push_back(fmt::format("{} at {} cores", NameInSentence(factor->factor), FormatCores(*end)));
  }
  if (ends.empty()) return "";
  return fmt::format(
      "The line marks where the evidence of {} ends; a bar across a curve, pale beyond, marks where it ends earlier: "
      "{}.",
      NameInSentence(projection.horizon->factor), Join(ends, ", "));
}

KnownDominance DominanceWithinEvidence(const PhaseProjection& projection) {
  KnownDominance known;
  for (const Dominance& next : projection.dominance) {
    const bool is_change = !known.ranges.empty();
    const bool is_known = IsEvidence(projection, next.factor, next.cores) &&
                          (!is_change || IsEvidence(projection, known.ranges.back().factor, next.cores));
    if (is_change && !is_known) break;
    known.ranges.push_back(next);
  }
  if (known.ranges.empty() || !projection.horizon) return known;
  const double end = EvidenceUpTo(projection, known.ranges.back().factor);
  const bool is_open = projection.horizon->reach == Reach::kAtLeast && end >= projection.horizon->cores;
  if (!is_open || known.ranges.size() < projection.dominance.size()) known.end = end;
  return known;
}

ReportData ProjectedCell(const PhaseProjection& projection, Factor factor, const ProjectedValue& value,
                         bool is_colored) {
  const std::string interval = FormatBounds(factor, value.interval80);
  const FactorProjection* found = projection.Find(factor);
  const std::string measured = found != nullptr ? MeasuredAt(*found, value.cores) : "";
  if (!IsEvidence(projection, factor, value.cores)) {
    return {{"text", interval},
            {"interval", ""},
            {"hasInterval", false},
            {"measured", measured},
            {"hasMeasured", !measured.empty()},
            {"color", kNoEvidenceColor},
            {"tone", kNoEvidenceTone}};
  }
  return {{"text", FormatValue(factor, value.value)},
          {"interval", interval},
          {"hasInterval", true},
          {"measured", measured},
          {"hasMeasured", !measured.empty()},
          {"color", is_colored ? PopColor(value.value) : kNoColor},
          {"tone", is_colored ? PopTone(value.value) : kNoTone}};
}

std::string ToneOf(Factor factor, double value) { return factor == Factor::kSpeedup ? kNoTone : PopTone(value); }

}  // namespace farscale
