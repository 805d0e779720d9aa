#include "planning/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/format.h"
#include "base/text.h"
#include "factors/scaling.h"

namespace farscale {
namespace {

constexpr double kRounding = 0.02;  // of logarithms: what two digits of a table leave open
constexpr double kSameSize = 0.05;  // relative: processes seldom divide a problem evenly
constexpr double kWholeConfidence = 0.05;

// Efficiency at a count by times and by global efficiency.
struct Pair {
  double cores = 0;
  double by_times = 0, by_factors = 0;
  Change change;  // between them; 1 where they agree
};

// T p GE with strong and T GE with weak scaling: the useful time of the baseline's work, the same at every count.
std::vector<double> WorkOf(const RunsAt& runs, Scaling scaling) {
  std::vector<double> work = runs.Seconds();
  const std::vector<double> efficiencies = runs.Values(Factor::kGlobalEfficiency);
  if (work.size() != efficiencies.size()) return {};
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i] *= efficiencies[i] * (scaling == Scaling::kStrong ? static_cast<double>(runs.cores) : 1);
  }
  return work;
}

// Rows about some of the ranks have times of all and factors of their own.
bool IsAboutAllRanks(const std::vector<FactorRow>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [](const FactorRow& row) { return row.ranks * row.threads == row.cores; });
}

std::vector<Pair> PairsOf(const AllocationTerms& terms, Scaling scaling) {
  std::vector<std::vector<double>> work;
  for (const RunsAt& runs : terms.counts()) work.push_back(WorkOf(runs, scaling));
  const auto repeats = NoiseOfRepeats(work);
  const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
  const auto at_baseline = Measure(WorkOf(terms.baseline(), scaling), {}, noise);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < work.size() && at_baseline; ++i) {
    const RunsAt& runs = terms.counts()[i];
    const auto measured = Measure(work[i], {}, noise);
    if (!measured || runs.cores == terms.baseline().cores) continue;
    const auto mean = [](const RunsAt& at) { return Measure(at.Values(Factor::kGlobalEfficiency), {})->value; };
    const double by_factors = mean(runs) / mean(terms.baseline());
    const Change change = ChangeBetween(*at_baseline, *measured);
    pairs.push_back({static_cast<double>(runs.cores), by_factors / change.ratio, by_factors, change});
  }
  return pairs;
}

// Those that differ beyond noise; all share the chance of an error [Dunn61].
std::vector<Pair> Different(const std::vector<Pair>& pairs) {
  const double confidence = 1 - kWholeConfidence / static_cast<double>(std::max<std::size_t>(1, pairs.size()));
  std::vector<Pair> different;
  for (const Pair& pair : pairs) {
    const bool is_rounding = std::fabs(std::log(pair.change.ratio)) < kRounding;
    if (!is_rounding && pair.change.IsBeyondNoise(confidence)) different.push_back(pair);
  }
  return different;
}

std::string InWords(const std::vector<Pair>& pairs) {
  std::vector<std::string> texts;
  for (const Pair& pair : pairs) {
    texts.push_back(fmt::format("on {} cores {} by times and {} by factors", FormatCores(pair.cores),
                                FormatPercent(pair.by_times), FormatPercent(pair.by_factors)));
  }
  return Join(texts, ", ");
}

std::vector<ContradictingEfficiency> CheckTimes(const AllocationTerms& terms) {
  if (!terms.scaling() || !IsAboutAllRanks(terms.rows())) return {};
  const Scaling scaling = *terms.scaling(), other = scaling == Scaling::kStrong ? Scaling::kWeak : Scaling::kStrong;
  const std::vector<Pair> pairs = PairsOf(terms, scaling), different = Different(pairs);
  if (!different.empty() && different.size() == pairs.size() && Different(PairsOf(terms, other)).empty()) {
    throw Error(
        ErrorKind::kUsage, terms.phase().IsUnnamed() ? "" : "phase '" + terms.phase().Text() + "'",
        fmt::format("times and factors contradict each other with {} scaling: efficiency is {}; with {} scaling "
                    "they agree",
                    ToString(scaling), InWords(different), ToString(other)),
        "state that the scaling is " + ToString(other));
  }
  std::vector<ContradictingEfficiency> efficiencies;
  for (const Pair& pair : different) efficiencies.push_back({pair.cores, pair.by_times, pair.by_factors});
  return efficiencies;
}

std::vector<SizeOfCount> CheckSizes(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  if (!terms.scaling()) return {};
  const auto size_of = [&](const AllocationRow& row) {
    return *terms.scaling() == Scaling::kStrong ? row.size : row.portion;
  };
  const auto baseline = std::ranges::find_if(rows, &AllocationRow::is_baseline);
  const std::optional<double> expected = size_of(*baseline);
  std::vector<SizeOfCount> others;
  for (const AllocationRow& row : rows) {
    const std::optional<double> size = size_of(row);
    if (!row.is_measured || !size || !expected || std::fabs(*size / *expected - 1) < kSameSize) continue;
    if (others.empty()) others.push_back({baseline->cores, *expected});
    others.push_back({row.cores, *size});
  }
  return others;
}

}  // namespace

Contradictions FindContradictions(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  const FactorTable& table = terms.results().table;
  Contradictions found;
  found.doubts = DoubtsOf(table.findings);
  found.work = CheckScalingOf(table, terms.series(), terms.phase());
  const bool is_said = std::ranges::any_of(
      found.doubts, [&](const std::string& doubt) { return doubt.find(found.work) != std::string::npos; });
  if (is_said) found.work.clear();
  found.efficiencies = CheckTimes(terms);
  found.sizes = CheckSizes(terms, rows);
  return found;
}

}  // namespace farscale
