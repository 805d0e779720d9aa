#include "report/reliability.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Reach = ReliableRange::Reach;

// "uncertain beyond 32", or "unknown beyond 32" where nothing is known there.
std::string LabelBeyond(double reliable, double uncertain) {
  return (uncertain > reliable ? "uncertain beyond " : "unknown beyond ") + FormatCores(reliable);
}

// `uncertain`: up to where; nothing is marked where the curve ends before.
void MarkUnknown(const FactorProjection* factor, double uncertain, Chart& chart) {
  if (factor != nullptr && !factor->curve.empty() && uncertain < factor->curve.back().cores) {
    chart.uncertain_to_x = uncertain;
    chart.unknown_label = "unknown beyond " + FormatCores(uncertain);
  }
}

}  // namespace

std::optional<ReliableRangeText> ReliableRangeOf(const PhaseProjection& projection) {
  if (!projection.reliable_range || projection.Find(projection.reliable_range->factor) == nullptr) return std::nullopt;
  const ReliableRange& reliable_range = *projection.reliable_range;
  const FactorProjection& factor = *projection.Find(reliable_range.factor);
  ReliableRangeText text{.name = NameInSentence(reliable_range.factor), .cores = FormatCores(reliable_range.cores)};
  text.ratio = FormatRatio(reliable_range.cores / projection.fitted_cores.back());
  text.is_everywhere = reliable_range.reach == Reach::kAtLeast;
  text.is_up_to = reliable_range.reach == Reach::kUpTo;
  text.is_only_measured = reliable_range.reach == Reach::kOnlyMeasured;
  text.is_misfit = reliable_range.reach == Reach::kMisfit;
  const bool has_interval = std::ranges::any_of(factor.curve, [&](const ProjectedValue& value) {
    return value.cores == reliable_range.cores && value.interval80.has_value();
  });
  if (has_interval) {
    text.share = fmt::format("{:g} %", 100 * reliable_range.limits.share);
    text.absolute = fmt::format("{:g}", reliable_range.limits.absolute);
  }
  const double uncertain = UncertainUpTo(projection);
  text.is_unknown_beyond = !text.is_misfit && uncertain < factor.curve.back().cores;
  if (text.is_unknown_beyond && uncertain > reliable_range.cores) text.uncertain_cores = FormatCores(uncertain);
  if (const auto misfit = FindMisfit(factor, reliable_range.cores)) {
    text.measured = FormatValue(reliable_range.factor, misfit->measured);
    text.fitted = FormatBounds(reliable_range.factor, misfit->fitted95, "–");
  }
  const double reach = ReliableUpTo(projection, Factor::kGlobalEfficiency);
  const bool ends_earlier = projection.Find(Factor::kGlobalEfficiency) != nullptr && reach < reliable_range.cores;
  if (ends_earlier) text.global_cores = FormatCores(reach);
  return text;
}

std::vector<std::string> DescribeReliableRange(const PhaseProjection& projection, const Partials& texts) {
  return RenderSentences(texts, "reliable_range.txt", {{"range", ToData(ReliableRangeOf(projection))}});
}

void MarkReliableRange(const PhaseProjection& projection, Chart& chart) {
  if (!projection.reliable_range) return;
  const ReliableRange& reliable_range = *projection.reliable_range;
  const std::string cores = FormatCores(reliable_range.cores);
  chart.reliable_to_x = reliable_range.cores;
  chart.has_end = reliable_range.reach != Reach::kAtLeast;
  switch (reliable_range.reach) {
    case Reach::kAtLeast: chart.reliable_label = "reliable to " + cores + " at least"; break;
    case Reach::kUpTo: chart.reliable_label = "reliable to " + cores; break;
    case Reach::kOnlyMeasured:
    case Reach::kMisfit: chart.reliable_label = LabelBeyond(reliable_range.cores, UncertainUpTo(projection)); break;
  }
  MarkUnknown(projection.Find(reliable_range.factor), UncertainUpTo(projection), chart);
}

void MarkReliableRange(const PhaseProjection& projection, Factor factor, Chart& chart) {
  MarkReliableRange(projection, chart);
  const double uncertain = UncertainUpTo(projection, factor);
  MarkUnknown(projection.Find(factor), uncertain, chart);
  const std::optional<double> end = EndsEarly(projection, factor);
  if (!end) return;
  const bool is_measured = *end <= projection.fitted_cores.back();
  chart.reliable_to_x = end;
  chart.has_end = true;
  chart.reliable_label = is_measured ? LabelBeyond(*end, uncertain) : "reliable to " + FormatCores(*end);
}

std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor) {
  if (!projection.reliable_range) return std::nullopt;
  const double end = ReliableUpTo(projection, factor);
  return end < projection.reliable_range->cores ? std::optional(end) : std::nullopt;
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
    const bool is_known = IsReliable(projection, next.factor, next.cores) &&
                          (!is_change || IsReliable(projection, known.ranges.back().factor, next.cores));
    if (is_change && !is_known) break;
    known.ranges.push_back(next);
  }
  if (known.ranges.empty() || !projection.reliable_range) return known;
  const double end = ReliableUpTo(projection, known.ranges.back().factor);
  const bool is_open = projection.reliable_range->reach == Reach::kAtLeast && end >= projection.reliable_range->cores;
  if (!is_open || known.ranges.size() < projection.dominance.size()) known.end = end;
  return known;
}

std::string LabelOf(Reliability level) { return level == Reliability::kReliable ? "" : ToString(level); }

std::string UnknownText(const PhaseProjection& projection, double cores) {
  const Reliability phase = ReliabilityOf(projection, cores);
  return phase == Reliability::kUnknown ? "–" : ToString(Reliability::kUnknown);
}

ProjectedCell CellOf(const PhaseProjection& projection, Factor factor, const ProjectedValue& value, bool is_colored) {
  const Reliability level = ReliabilityOf(projection, factor, value.cores);
  const std::string interval =
      level == Reliability::kUnknown ? UnknownText(projection, value.cores) : FormatBounds(factor, value.interval80);
  const FactorProjection* found = projection.Find(factor);
  const std::string measured = found != nullptr ? MeasuredAt(*found, value.cores) : "";
  if (level != Reliability::kReliable) {
    return {interval, "", measured, kUncertainColor, kUncertainTone};
  }
  return {FormatValue(factor, value.value), interval, measured, is_colored ? PopColor(value.value) : kNoColor,
          is_colored ? PopTone(value.value) : kNoTone};
}

std::string ToneOf(Factor factor, double value) { return factor == Factor::kSpeedup ? kNoTone : PopTone(value); }

}  // namespace farscale
