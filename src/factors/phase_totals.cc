#include "factors/phase_totals.h"

#include <algorithm>
#include <map>
#include <utility>

namespace farscale {
namespace {

// Computation before the rank's own begin in the replay of a whole run: the rank has started later than others. In a
// trace cut out of a run, and in every other phase, ranks did something else before.
std::vector<Tick> BeforeOwnBegins(const Trace& trace, const PhaseCut& cut) {
  std::vector<Tick> before(trace.size());
  if (cut.spec.kind != PhaseSpec::Kind::kWholeRun || trace.IsCutOut()) return before;
  const Tick first = cut.begin();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) before[rank] = cut.ranks[rank].window.begin.tick - first;
  }
  return before;
}

double LargestNodeLoad(const Trace& trace, const PhaseCut& cut, const std::vector<Tick>& useful) {
  std::vector<double> loads;
  std::vector<std::int32_t> nodes;
  for (const std::size_t rank : cut.CountedRanks()) {
    loads.push_back(trace.Seconds(useful[rank]));
    nodes.push_back(trace.ranks[rank].node);
  }
  return farscale::LargestNodeLoad(loads, nodes);
}

}  // namespace

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

void UseThreads(const Trace& trace, const PhaseCut& cut, const std::vector<ThreadTicks>& of_ranks,
                PhaseTotals& totals) {
  ThreadTimes times;
  double largest = 0, all_time = 0, useful = 0;
  Tick longest = 0;
  std::map<std::int32_t, std::pair<double, double>> of_node;  // time outside MPI and threads
  for (const std::size_t rank : cut.CountedRanks()) {
    const ThreadTicks& ticks = of_ranks[rank];
    const auto threads = static_cast<double>(ticks.outside.size());
    const auto seconds = [&](ThreadState state) { return trace.Seconds(ticks.Of(state)); };
    const double outside = trace.Seconds(ticks.OutsideMpi());
    times.cpus += threads;
    times.useful += seconds(ThreadState::kUseful);
    times.mpi += seconds(ThreadState::kMpi);
    times.mpi_idle += seconds(ThreadState::kMpiIdle);
    times.imbalance += seconds(ThreadState::kImbalance);
    times.scheduling += seconds(ThreadState::kScheduling);
    times.idle_in_region += seconds(ThreadState::kIdleInRegion);
    times.serialization += seconds(ThreadState::kSerialization) + seconds(ThreadState::kIdleInRegion);
    times.device_runtime += seconds(ThreadState::kDeviceRuntime);
    largest = std::max(largest, outside / threads);
    useful += outside / threads;
    all_time += outside / threads + (seconds(ThreadState::kMpi) + seconds(ThreadState::kMpiIdle)) / threads;
    longest = std::max(longest, std::ranges::max(ticks.outside));
    auto& [sum, processors] = of_node[trace.ranks[rank].node];
    sum += outside;
    processors += threads;
  }
  totals.threads = times;
  totals.average_useful = times.OutsideMpi() / times.cpus;
  totals.largest_useful = largest;
  totals.total_useful = useful;
  totals.total_mpi = all_time - useful - totals.total_paused;
  totals.largest_computation = std::max(totals.largest_computation, largest);
  totals.largest_node_load = 0;
  for (const auto& [node, of] : of_node) {
    totals.largest_node_load = std::max(totals.largest_node_load, of.first / of.second);
  }
  if (totals.ideal_elapsed > 0) totals.ideal_elapsed = std::max(totals.ideal_elapsed, trace.Seconds(longest));
}

PhaseTotals SumRanks(const Trace& trace, const PhaseCut& cut, const std::vector<Tick>& useful,
                     const std::vector<Tick>& paused) {
  PhaseTotals totals;
  const std::vector<Tick> before = BeforeOwnBegins(trace, cut);
  Tick total = 0, total_paused = 0, largest = 0, largest_computation = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    total += useful[rank];
    total_paused += paused[rank];
    largest = std::max(largest, useful[rank]);
    largest_computation = std::max(largest_computation, before[rank] + useful[rank] + paused[rank]);
  }
  totals.total_useful = trace.Seconds(total);
  totals.average_useful = totals.total_useful / static_cast<double>(cut.CountedRanks().size());
  totals.largest_useful = trace.Seconds(largest);
  totals.total_paused = trace.Seconds(total_paused);
  totals.largest_computation = trace.Seconds(largest_computation);
  totals.largest_node_load = LargestNodeLoad(trace, cut, useful);
  return totals;
}

}  // namespace farscale
