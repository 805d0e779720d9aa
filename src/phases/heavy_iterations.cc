#include "phases/heavy_iterations.h"

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen.
constexpr double kHeavy = 1.1;      // of the rank's middle iteration
constexpr std::size_t kFewest = 3;  // that recur
constexpr double kMostHeavy = 0.5;  // of all iterations

// Nothing where they do not recur at one distance of two or more, from the first to the last.
std::size_t DistanceOf(const std::vector<std::size_t>& heavy, std::size_t iterations) {
  if (heavy.size() < kFewest) return 0;
  const std::size_t every = heavy[1] - heavy[0];
  for (std::size_t i = 1; i < heavy.size(); ++i) {
    if (heavy[i] - heavy[i - 1] != every) return 0;
  }
  return every < 2 || heavy.front() >= every || heavy.back() + every < iterations ? 0 : every;
}

}  // namespace

HeavyIterations FindHeavyIterations(std::size_t ranks, const LoadOfRank& load_of) {
  std::vector<std::size_t> longer;  // ranks that take longer than usual, by iteration
  std::vector<double> sums;
  std::size_t busy = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::span<const double> load = load_of(rank);
    const double usual = load.empty() ? 0 : Median(std::vector<double>(load.begin(), load.end()));
    sums.resize(std::max(sums.size(), load.size()));
    longer.resize(sums.size());
    for (std::size_t k = 0; k < load.size(); ++k) {
      sums[k] += load[k];
      longer[k] += usual > 0 && load[k] > kHeavy * usual;
    }
    busy += usual > 0;
  }
  std::vector<std::size_t> heavy;
  double time = 0, whole = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    whole += sums[k];
    if (2 * longer[k] <= busy) continue;
    heavy.push_back(k);
    time += sums[k];
  }
  const auto count = static_cast<double>(heavy.size()), all = static_cast<double>(sums.size());
  const std::size_t every = DistanceOf(heavy, sums.size());
  if (every == 0 || count > kMostHeavy * all) return {};
  const double usual = (whole - time) / (all - count);
  if (!(usual > 0)) return {};
  return {every, heavy.front(), time / count / usual, (time - count * usual) / whole};
}

}  // namespace farscale
