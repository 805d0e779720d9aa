#include "phases/heavy_iterations.h"

#include <algorithm>
#include <numeric>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen.
constexpr double kHeavy = 1.1;      // of the middle iteration
constexpr double kAlike = 0.25;     // of their mean excess
constexpr std::size_t kFewest = 3;  // that recur
constexpr double kMostHeavy = 0.5;  // of all iterations

std::vector<double> SumsOf(const std::vector<std::vector<double>>& load) {
  std::vector<double> sums;
  for (const std::vector<double>& of_rank : load) {
    sums.resize(std::max(sums.size(), of_rank.size()));
    for (std::size_t k = 0; k < of_rank.size(); ++k) sums[k] += of_rank[k];
  }
  return sums;
}

// Whether on most ranks these take longer than the middle iteration.
bool AreOfMostRanks(const std::vector<std::vector<double>>& load, const std::vector<std::size_t>& heavy) {
  std::size_t ranks = 0, longer = 0;
  for (const std::vector<double>& of_rank : load) {
    const double usual = of_rank.empty() ? 0 : Median(of_rank);
    if (!(usual > 0)) continue;
    ++ranks;
    longer += std::ranges::all_of(heavy, [&](std::size_t k) { return of_rank[k] > kHeavy * usual; });
  }
  return 2 * longer > ranks;
}

}  // namespace

HeavyIterations FindHeavyIterations(const std::vector<std::vector<double>>& load) {
  const std::vector<double> sums = SumsOf(load);
  const double usual = sums.empty() ? 0 : Median(sums);
  std::vector<std::size_t> heavy;
  double excess = 0, time = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k] <= kHeavy * usual) continue;
    heavy.push_back(k);
    excess += sums[k] - usual;
    time += sums[k];
  }
  const auto count = static_cast<double>(heavy.size()), all = static_cast<double>(sums.size());
  if (!(usual > 0) || heavy.size() < kFewest || count > kMostHeavy * all) return {};
  const std::size_t every = heavy[1] - heavy[0];
  for (std::size_t i = 1; i < heavy.size(); ++i) {
    if (heavy[i] - heavy[i - 1] != every) return {};
  }
  // Nor is one missing before the first or behind the last.
  if (every < 2 || heavy.front() >= every || heavy.back() + every < sums.size()) return {};
  const double mean = excess / count;
  const bool are_alike =
      std::ranges::all_of(heavy, [&](std::size_t k) { return std::abs(sums[k] - usual - mean) <= kAlike * mean; });
  if (!are_alike || !AreOfMostRanks(load, heavy)) return {};
  const double whole = std::accumulate(sums.begin(), sums.end(), 0.0);
  return {every, heavy.front(), time / count / ((whole - time) / (all - count)), time / whole};
}

}  // namespace farscale
