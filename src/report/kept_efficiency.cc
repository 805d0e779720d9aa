#include "report/kept_efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "factors/table_terms.h"

namespace farscale {
namespace {

using Kind = CountBound::Kind;

constexpr double kWantedLevel = 0.75;

double LevelToKeep(const PhaseProjection* projection) {
  if (projection == nullptr || !projection->key_results || projection->key_results->levels.empty()) return kWantedLevel;
  const auto distance = [](const LevelCounts& level) { return std::fabs(level.level - kWantedLevel); };
  return std::ranges::min_element(projection->key_results->levels, {}, distance)->level;
}

// That all runs have.
std::optional<Factor> GradedFactor(const std::vector<FactorRow>& rows) {
  for (const Factor factor : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    const auto knows = [&](const FactorRow& row) { return row.values[factor].has_value(); };
    if (!rows.empty() && std::ranges::all_of(rows, knows)) return factor;
  }
  return std::nullopt;
}

// Medians over the repeats of each core count.
std::map<double, double> MeasuredValues(const std::vector<FactorRow>& rows, Factor factor) {
  std::map<double, std::vector<const FactorRow*>> runs;
  for (const FactorRow& row : rows) runs[static_cast<double>(row.cores)].push_back(&row);
  std::map<double, double> values;
  for (const auto& [cores, repeats] : runs) {
    values[cores] = *MedianOf(repeats, [&](const FactorRow& row) { return row.values[factor]; });
  }
  return values;
}

// From the smallest run on to the last that keeps the level.
CountBound KeptByRuns(const std::map<double, double>& measured, double level) {
  const CountBound none{Kind::kBelow, measured.begin()->first};
  CountBound kept = none;
  for (const auto& [cores, value] : measured) {
    if (value >= level) kept = {Kind::kAt, cores};
  }
  return kept;
}

}  // namespace

std::optional<KeptEfficiency> KeptEfficiencyOf(const std::vector<FactorRow>& rows, const PhaseProjection* projection) {
  const std::optional<Factor> factor = GradedFactor(rows);
  if (!factor) return std::nullopt;
  const double level = LevelToKeep(projection);
  const std::map<double, double> measured = MeasuredValues(rows, *factor);
  KeptEfficiency kept{*factor, level, {KeptByRuns(measured, level), {}, {}}};
  kept.smallest = measured.begin()->first;
  kept.largest = measured.rbegin()->first;
  kept.at_largest = measured.rbegin()->second;
  const FactorProjection* curve = projection == nullptr ? nullptr : projection->Find(*factor);
  if (curve != nullptr && !curve->curve.empty() && projection->obstacle.empty()) {
    kept.count = LargestCountKeeping(*projection, *curve, level, measured);
    kept.reliability = ReliabilityOf(*projection, *factor, kept.count.value);
  } else if (kept.count.value == CountBound{Kind::kAt, kept.largest}) {
    kept.count.value.kind = Kind::kMoreThan;
  }
  return kept;
}

std::string ShortCount(const CountBound& bound) {
  const std::string cores = FormatCores(bound.cores);
  if (bound.kind == Kind::kBelow) return "<" + cores;
  return bound.kind == Kind::kMoreThan ? cores + "+" : cores;
}

std::string ShortCount(const KeptEfficiency& kept) {
  const CountEstimate& count = kept.count;
  const std::string value = ShortCount(count.value);
  const bool has_interval = count.low && count.high;
  const std::string interval = has_interval ? FormatRange(ShortCount(*count.low), ShortCount(*count.high), "–") : "";
  if (kept.reliability == Reliability::kUnknown) return "";
  if (kept.reliability == Reliability::kUncertain) return has_interval ? "(" + interval + ")" : "";
  return has_interval && interval != value ? fmt::format("{} ({})", value, interval) : value;
}

}  // namespace farscale
