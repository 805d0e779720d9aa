#include "factors/phase_totals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "replay/network.h"
#include "stats/sample_quantiles.h"

namespace farscale {

double LargestNodeLoad(const std::vector<double>& loads, const std::vector<std::int32_t>& nodes) {
  std::map<std::int32_t, std::pair<double, double>> of_node;  // sum and processors
  for (std::size_t i = 0; i < loads.size(); ++i) {
    auto& [sum, processors] = of_node[nodes[i]];
    sum += loads[i];
    ++processors;
  }
  double largest = 0;
  for (const auto& [node, of] : of_node) largest = std::max(largest, of.first / of.second);
  return largest;
}

double ClampEstimate(double estimated_ideal, const PhaseTotals& totals) {
  return std::clamp(estimated_ideal, std::min(totals.largest_useful, totals.elapsed), totals.elapsed);
}

FactorValues FactorsOf(const PhaseTotals& t, RuleSet rules) {
  FactorValues values;
  const bool knows_elapsed = t.elapsed > 0;
  if (knows_elapsed) values[Factor::kParallelEfficiency] = ParallelEfficiency(t.average_useful, t.elapsed);
  if (t.threads) {
    const ThreadTimes& threads = *t.threads;
    if (knows_elapsed) {
      values[Factor::kMpiParallelEfficiency] = ParallelEfficiency(t.average_useful, t.elapsed);
      values[Factor::kParallelEfficiency] = ParallelEfficiency(threads.useful / threads.cpus, t.elapsed);
    }
    values[Factor::kOmpParallelEfficiency] = OmpParallelEfficiency(threads);
    values[Factor::kOmpLoadBalance] = OmpLoadBalance(threads);
    values[Factor::kOmpScheduling] = OmpScheduling(threads);
    values[Factor::kOmpSerialization] = OmpSerialization(threads);
    values[Factor::kDeviceOffload] = DeviceOffload(threads);
  }
  if (t.devices && t.devices->kernels > 0 && knows_elapsed) {
    values[Factor::kDeviceParallelEfficiency] = DeviceParallelEfficiency(*t.devices, t.elapsed);
    values[Factor::kDeviceLoadBalance] = DeviceLoadBalance(*t.devices);
    values[Factor::kDeviceCommunication] = DeviceCommunication(*t.devices);
    values[Factor::kDeviceOrchestration] = DeviceOrchestration(*t.devices, t.elapsed);
  }
  values[Factor::kLoadBalance] = LoadBalance(t.average_useful, t.largest_useful);
  values[Factor::kLoadBalanceIn] = LoadBalanceWithinNodes(t.largest_node_load, t.largest_useful);
  values[Factor::kLoadBalanceOut] = LoadBalanceBetweenNodes(t.average_useful, t.largest_node_load);
  if (knows_elapsed) values[Factor::kCommunicationEfficiency] = CommunicationEfficiency(t.largest_useful, t.elapsed);
  if (t.ideal_elapsed == 0) {
    // Neither is known.
  } else if (rules == RuleSet::kBsc && t.largest_computation > t.largest_useful) {
    // The BSC tools compare the replay with its own computation, and give transfer what is left.
    values[Factor::kSerialization] = Serialization(t.largest_computation, t.ideal_elapsed);
    values[Factor::kTransfer] = CommunicationEfficiency(t.largest_useful, t.elapsed) / *values[Factor::kSerialization];
  } else {
    values[Factor::kSerialization] = Serialization(t.largest_useful, t.ideal_elapsed);
    values[Factor::kTransfer] = Transfer(t.ideal_elapsed, t.elapsed);
  }
  if (t.estimated_ideal) {
    values[Factor::kSerializationPhaseEstimate] = Serialization(t.largest_useful, *t.estimated_ideal);
  }
  return values;
}

std::optional<AdditiveLosses> AdditiveLossesOf(const PhaseTotals& t) {
  if (!t.threads || t.elapsed == 0) return std::nullopt;
  const ThreadTimes& threads = *t.threads;
  const double all = threads.cpus * t.elapsed;
  const double ideal = t.ideal_elapsed > 0 ? t.ideal_elapsed : t.largest_useful;
  AdditiveLosses losses;
  losses.mpi_load_balance = (t.largest_useful - t.average_useful) / t.elapsed;
  losses.mpi_serialization = (ideal - t.largest_useful) / t.elapsed;
  losses.mpi_transfer = (t.elapsed - ideal) / t.elapsed;
  losses.parallel_regions = (threads.imbalance + threads.scheduling + threads.idle_in_region) / all;
  losses.serial_regions = (threads.serialization - threads.idle_in_region) / all;
  losses.device_runtime = threads.device_runtime / all;
  return losses;
}

namespace {

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean of (x - mean)^power.
double CentralMoment(const std::vector<double>& values, double mean, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean, power);
  return sum / static_cast<double>(values.size());
}

}  // namespace

// The i-th smallest of P values is the largest of n with the probability C(i - 1, n - 1) / C(P, n), which is n / P for
// i = P, and decreases by the factor (i - n) / (i - 1) from i to i - 1.
double ExpectedLargestOf(const std::vector<double>& sorted, std::size_t count) {
  const auto n = static_cast<double>(count);
  double probability = n / static_cast<double>(sorted.size()), sum = 0;
  for (std::size_t i = sorted.size(); i >= count; --i) {
    sum += probability * sorted[i - 1];
    if (i == 1) break;
    probability *= (static_cast<double>(i) - n) / (static_cast<double>(i) - 1);
  }
  return sum;
}

std::optional<LoadDistribution> DistributionOf(std::vector<double> useful) {
  if (useful.size() < 2) return std::nullopt;
  const double mean = MeanOf(useful);
  if (!(mean > 0)) return std::nullopt;
  std::vector<double>& loads = useful;
  for (double& load : loads) load /= mean;
  std::sort(loads.begin(), loads.end());
  LoadDistribution distribution;
  const double count = static_cast<double>(loads.size()), variance = CentralMoment(loads, 1, 2);
  distribution.deviation = std::sqrt(variance * count / (count - 1));
  distribution.skewness = variance > 0 ? CentralMoment(loads, 1, 3) / std::pow(variance, 1.5) : 0;
  distribution.kurtosis = variance > 0 ? CentralMoment(loads, 1, 4) / (variance * variance) - 3 : 0;
  distribution.quantile5 = QuantileOfSorted(loads, 0.05);
  distribution.quantile25 = QuantileOfSorted(loads, 0.25);
  distribution.quantile50 = QuantileOfSorted(loads, 0.50);
  distribution.quantile75 = QuantileOfSorted(loads, 0.75);
  distribution.quantile95 = QuantileOfSorted(loads, 0.95);
  // Within what is possible, whatever the rounding.
  distribution.largest_of_half = std::max(1.0, std::min(ExpectedLargestOf(loads, loads.size() / 2), loads.back()));
  return distribution;
}

void SplitVariation(const std::vector<std::vector<double>>& loads, LoadDistribution& distribution) {
  if (loads.size() < 2 || loads.front().size() < 2) return;
  double squares_within = 0;  // Σ (x_ik - mean of rank i)²
  std::vector<double> means;
  for (const std::vector<double>& of_rank : loads) {
    const double mean = means.emplace_back(MeanOf(of_rank));
    for (const double load : of_rank) squares_within += (load - mean) * (load - mean);
  }
  const auto ranks = static_cast<double>(loads.size()), iterations = static_cast<double>(loads.front().size());
  // Loads of an iteration have the mean 1, which takes one rank's freedom in each.
  const double noise_squared = squares_within / ((ranks - 1) * (iterations - 1));
  const double of_means = CentralMoment(means, MeanOf(means), 2) * ranks / (ranks - 1);
  distribution.noise = std::sqrt(noise_squared);
  distribution.persistent = std::sqrt(std::max(0.0, of_means - noise_squared / iterations));
}

}  // namespace farscale
