#include "report/reliability.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/cells.h"

namespace farscale {
namespace {

using Reach = EvidenceHorizon::Reach;

}  // namespace

std::optional<ReliableRangeText> ReliableRangeOf(const PhaseProjection& projection) {
  if (!projection.horizon || projection.Find(projection.horizon->factor) == nullptr) return std::nullopt;
  const EvidenceHorizon& horizon = *projection.horizon;
  const FactorProjection& factor = *projection.Find(horizon.factor);
  ReliableRangeText text{.name = NameInSentence(horizon.factor), .cores = FormatCores(horizon.cores)};
  text.ratio = FormatRatio(horizon.cores / projection.fitted_cores.back());
  text.is_everywhere = horizon.reach == Reach::kAtLeast;
  text.is_up_to = horizon.reach == Reach::kUpTo;
  text.is_only_measured = horizon.reach == Reach::kOnlyMeasured;
  text.is_misfit = horizon.reach == Reach::kMisfit;
  const bool has_interval = std::ranges::any_of(factor.curve, [&](const ProjectedValue& value) {
    return value.cores == horizon.cores && value.interval80.has_value();
  });
  if (has_interval) text.width = fmt::format("{:g}", horizon.width);
  if (const auto misfit = FindMisfit(factor, horizon.cores)) {
    text.measured = FormatValue(horizon.factor, misfit->measured);
    text.fitted = FormatBounds(horizon.factor, misfit->fitted95, "–");
  }
  const double reach = EvidenceUpTo(projection, Factor::kGlobalEfficiency);
  const bool ends_earlier = projection.Find(Factor::kGlobalEfficiency) != nullptr && reach < horizon.cores;
  if (ends_earlier) text.global_cores = FormatCores(reach);
  return text;
}

std::vector<std::string> DescribeReliableRange(const PhaseProjection& projection, const Partials& texts) {
  return RenderSentences(texts, "reliable_range.txt", {{"range", ToData(ReliableRangeOf(projection))}});
}

void MarkHorizon(const PhaseProjection& projection, Chart& chart) {
  if (!projection.horizon) return;
  const EvidenceHorizon& horizon = *projection.horizon;
  const std::string cores = FormatCores(horizon.cores);
  chart.horizon_x = horizon.cores;
  chart.beyond_is_grey = horizon.reach != Reach::kAtLeast;
  switch (horizon.reach) {
    case Reach::kAtLeast: chart.horizon_label = "reliable to " + cores + " at least"; break;
    case Reach::kUpTo: chart.horizon_label = "reliable to " + cores; break;
    case Reach::kOnlyMeasured:
    case Reach::kMisfit: chart.horizon_label = "uncertain beyond " + cores; break;
  }
}

void MarkHorizon(const PhaseProjection& projection, Factor factor, Chart& chart) {
  MarkHorizon(projection, chart);
  const std::optional<double> end = EndsEarly(projection, factor);
  if (!end) return;
  const bool is_measured = *end <= projection.fitted_cores.back();
  chart.horizon_x = end;
  chart.beyond_is_grey = true;
  chart.horizon_label = (is_measured ? "uncertain beyond " : "reliable to ") + FormatCores(*end);
}

std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor) {
  if (!projection.horizon) return std::nullopt;
  const double end = EvidenceUpTo(projection, factor);
  return end < projection.horizon->cores ? std::optional(end) : std::nullopt;
}

std::string ListEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors) {
  std::vector<std::string> ends;
  for (const FactorProjection* factor : factors) {
    const std::optional<double> end = EndsEarly(projection, factor->factor);
    if (end) ends.push_back(fmt::format("{} at {} cores", NameInSentence(factor->factor), FormatCores(*end)));
  }
  return Join(ends, ", ");
}

KnownDominance DominanceWithinReliableRange(const PhaseProjection& projection) {
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

ProjectedCell CellOf(const PhaseProjection& projection, Factor factor, const ProjectedValue& value, bool is_colored) {
  const std::string interval = FormatBounds(factor, value.interval80);
  const FactorProjection* found = projection.Find(factor);
  const std::string measured = found != nullptr ? MeasuredAt(*found, value.cores) : "";
  if (!IsEvidence(projection, factor, value.cores)) {
    return {interval, "", measured, kUncertainColor, kUncertainTone};
  }
  return {FormatValue(factor, value.value), interval, measured, is_colored ? PopColor(value.value) : kNoColor,
          is_colored ? PopTone(value.value) : kNoTone};
}

std::string ToneOf(Factor factor, double value) { return factor == Factor::kSpeedup ? kNoTone : PopTone(value); }

}  // namespace farscale
