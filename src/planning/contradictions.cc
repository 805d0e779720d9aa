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

void CheckTimes(const AllocationTerms& terms, std::vector<std::string>& sentences) {
  if (!terms.scaling() || !IsAboutAllRanks(terms.rows())) return;
  const Scaling scaling = *terms.scaling(), other = scaling == Scaling::kStrong ? Scaling::kWeak : Scaling::kStrong;
  const std::vector<Pair> pairs = PairsOf(terms, scaling), different = Different(pairs);
  if (different.empty()) return;
  if (different.size() == pairs.size() && Different(PairsOf(terms, other)).empty()) {
    throw Error(
        ErrorKind::kUsage, terms.phase().IsUnnamed() ? "" : "phase '" + terms.phase().Text() + "'",
        fmt::format("times and factors contradict each other with {} scaling: efficiency is {}; with {} scaling "
                    "they agree",
                    ToString(scaling), InWords(different), ToString(other)),
        "state that the scaling is " + ToString(other));
  }
  sentences.push_back(fmt::format(
      "Times and factors contradict each other beyond noise: with {} scaling, efficiency is {}. Measured rows "
      "come from times and predicted ones from factors, so they do not go together. Likely, the times are not "
      "those of the runs that the factors are of, iterations are counted otherwise, or the problem was of "
      "another size.",
      ToString(scaling), InWords(different)));
}

void CheckSizes(const AllocationTerms& terms, const std::vector<AllocationRow>& rows,
                std::vector<std::string>& sentences) {
  if (!terms.scaling()) return;
  const bool is_strong = *terms.scaling() == Scaling::kStrong;
  const AllocationRow* baseline = nullptr;
  for (const AllocationRow& row : rows) {
    if (row.is_baseline) baseline = &row;
  }
  std::vector<std::string> others;
  for (const AllocationRow& row : rows) {
    const std::optional<double>&size = is_strong ? row.size : row.portion,
          &expected = is_strong ? baseline->size : baseline->portion;
    if (!row.is_measured || !size || !expected || std::fabs(*size / *expected - 1) < kSameSize) continue;
    others.push_back(fmt::format("{} on {}", FormatCores(*size), FormatCores(row.cores)));
  }
  if (others.empty()) return;
  const double expected = is_strong ? *baseline->size : *baseline->portion;
  sentences.push_back(
      fmt::format("With {} scaling every run has a problem of the same size{}, but it is {} on {} cores, and {}: these "
                  "efficiencies "
                  "compare different problems.",
                  ToString(*terms.scaling()), is_strong ? "" : " per process", FormatCores(expected),
                  FormatCores(baseline->cores), Join(others, ", ")));
}

}  // namespace

std::vector<std::string> FindContradictions(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  const FactorTable& table = terms.results().table;
  std::vector<std::string> sentences = DoubtsOf(table.findings);
  const std::string doubt = CheckScalingOf(table, terms.series(), terms.phase());
  const bool is_said = std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return sentence.find(doubt) != std::string::npos;
  });
  if (!doubt.empty() && !is_said) {
    sentences.push_back(
        fmt::format("The work of this phase does not grow as the scaling of its runs says: {}.", doubt));
  }
  CheckTimes(terms, sentences);
  CheckSizes(terms, rows, sentences);
  return sentences;
}

}  // namespace farscale
