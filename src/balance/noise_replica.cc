#include "balance/noise_replica.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::size_t kReach = 2;  // iterations on either side of the running median

std::vector<double> RunningMedian(const std::vector<Tick>& loads) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto first = loads.begin() + static_cast<std::ptrdiff_t>(i - std::min(i, kReach));
    const auto last = loads.begin() + static_cast<std::ptrdiff_t>(std::min(loads.size(), i + kReach + 1));
    medians.push_back(Median(std::vector<double>(first, last)));
  }
  return medians;
}

// Every task's load as multiple of its running median; 1 where there is none.
std::vector<std::vector<double>> Residuals(const TaskLoads& loads) {
  std::vector<std::vector<double>> residuals;
  for (const std::vector<Tick>& task : loads) {
    const std::vector<double> medians = RunningMedian(task);
    residuals.emplace_back();
    for (std::size_t i = 0; i < task.size(); ++i) {
      residuals.back().push_back(medians[i] > 0 && task[i] > 0 ? static_cast<double>(task[i]) / medians[i] : 1);
    }
  }
  return residuals;
}

}  // namespace

std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed) {
  if (loads.empty() || loads.front().size() < kFewestNoisyIterations) return std::nullopt;
  std::vector<std::vector<double>> own = Residuals(loads);
  const std::size_t iterations = loads.front().size();
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> all;
    for (const std::vector<double>& task : own) all.push_back(task[i]);
    const double common = Median(all);
    for (std::vector<double>& task : own) task[i] /= common;
  }
  LoadScale scale;
  Random random(seed);
  for (const std::vector<double>& task : own) {
    std::vector<std::size_t> order(iterations);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.Shuffle(order);
    scale.emplace_back();
    for (std::size_t i = 0; i < iterations; ++i) scale.back().push_back(task[order[i]] / task[i]);
  }
  return scale;
}

}  // namespace farscale
