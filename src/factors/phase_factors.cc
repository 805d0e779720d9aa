#include "factors/phase_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "factors/anomalies.h"
#include "factors/spread.h"
#include "phases/counter_at.h"

namespace farscale {

namespace {

// A counter can be used when every rank of the phase has reliable samples of it, and every thread that counts.
bool IsUsable(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads, std::size_t counter) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    const RankTimeline& timeline = trace.timelines[rank];
    if (!timeline.has_counter(counter) || !timeline.counter_is_reliable(counter)) return false;
    if (threads != nullptr && !ThreadStates::HaveCounter(trace, rank, counter)) return false;
  }
  return true;
}

std::optional<double> TotalCount(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads,
                                 std::optional<std::size_t> counter) {
  if (!counter || !IsUsable(trace, cut, threads, *counter)) return std::nullopt;
  double total = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const Interval& interval : cut.CountedTime(rank)) {
      total += threads != nullptr ? threads->UsefulCount(trace, rank, *counter, interval)
                                  : UsefulCount(trace.timelines[rank], *counter, interval);
    }
  }
  return total > 0 ? std::optional(total * trace.counters[*counter].scale) : std::nullopt;
}

// Of the pauses that have some time in the interval: calls visit(pause, begin, end) with the part inside.
template <typename Visit>
void ForEachPause(const RankTimeline& timeline, const Interval& interval, Visit visit) {
  const std::vector<Pause>& pauses = timeline.pauses();
  const auto first = std::partition_point(pauses.begin(), pauses.end(), [&](const Pause& pause) {
    return timeline.event_tick(pause.end_event) <= interval.begin.tick;
  });
  for (auto pause = first; pause != pauses.end(); ++pause) {
    const Tick begin = timeline.event_tick(pause->begin_event);
    if (begin >= interval.end.tick) break;
    visit(*pause, std::max(begin, interval.begin.tick),
          std::min(timeline.event_tick(pause->end_event), interval.end.tick));
  }
}

// Of one counter within the pauses of an interval. What lies at a pause cut by the interval's edge is its share by
// time.
double PausedCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval) {
  double count = 0;
  ForEachPause(timeline, interval, [&](const Pause& pause, Tick begin, Tick end) {
    const Tick length = timeline.event_tick(pause.end_event) - timeline.event_tick(pause.begin_event);
    if (length <= 0) return;
    const double whole =
        timeline.counter_at_event(counter, pause.end_event) - timeline.counter_at_event(counter, pause.begin_event);
    count += whole * (static_cast<double>(end - begin) / static_cast<double>(length));
  });
  return count;
}

// Useful and paused ticks of every rank, and T in ticks.
struct Times {
  std::vector<Tick> useful, paused;
  Tick covered = 0;  // length of all intervals
  Tick elapsed = 0;
  Tick ideal = 0;
};

// From the earliest begin of a window to the latest end, as measured.
Tick MeasuredDuration(const PhaseCut& cut) {
  Tick begin = std::numeric_limits<Tick>::max(), end = 0;
  for (const RankCut& rank : cut.ranks) {
    if (!rank.present) continue;
    begin = std::min(begin, rank.window.begin.tick);
    end = std::max(end, rank.window.end.tick);
  }
  return end - begin;
}

// From the earliest begin of a window to the latest end in the replay.
Tick IdealDuration(const PhaseCut& cut, const ReplayResult& replay) {
  Tick begin = std::numeric_limits<Tick>::max(), end = 0;
  for (std::size_t rank = 0; rank < cut.ranks.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    begin = std::min(begin, replay.begin[rank]);
    end = std::max(end, replay.end[rank]);
  }
  return end - begin;
}

// Of a phase that takes longer in the replay than measured, whether that is since ranks get to its occurrences earlier
// there, and wait in them for what they waited for before: then all from the first occurrence to the last takes no
// longer than measured. Else measured times contradict each other.
bool WaitsMovedIn(const PhaseCut& cut, const ReplayResult& replay) {
  return cut.span == Span::kEach && IdealDuration(cut, replay) <= MeasuredDuration(cut);
}

Times MeasureTimes(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay) {
  Times times;
  times.useful.resize(trace.size());
  times.paused.resize(trace.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    Tick inside = 0, ideal = 0;
    for (const Interval& interval : cut.CountedTime(rank)) {
      times.useful[rank] += UsefulTicks(timeline, interval);
      times.paused[rank] += PausedTicks(timeline, interval);
      inside += interval.length();
      if (cut.span == Span::kEach) {
        ideal += replay.TimeAt(timeline, cut.ranks[rank], rank, interval.end) -
                 replay.TimeAt(timeline, cut.ranks[rank], rank, interval.begin);
      }
    }
    times.covered += inside;
    times.elapsed = std::max(times.elapsed, inside);  // T = max over ranks of Σ (e - b) [Lopez21, eq. 1]
    times.ideal = std::max(times.ideal, ideal);
  }
  if (cut.span == Span::kWhole) {
    times.elapsed = cut.end() - cut.begin();  // T = max e - min b
    times.ideal = IdealDuration(cut, replay);
  }
  return times;
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

void AddEstimate(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads, PhaseFactors& result) {
  if (cut.iterations < 2) return;
  PhaseTotals& totals = result.totals;
  const double estimate = trace.Seconds(EstimateIdealFromIterations(trace, cut, threads));
  // A hair's breadth outside is rounding and the gaps between iterations, not an error of the estimate.
  if (estimate > (1 + 1e-3) * totals.elapsed || estimate < (1 - 1e-3) * totals.largest_useful) {
    result.diagnostics.Add(anomaly::kPhaseEstimateClamped, 1,
                           fmt::format("in phase {}: {:.6g} s where {:.6g} s to {:.6g} s are possible", cut.Id().Text(),
                                       estimate, totals.largest_useful, totals.elapsed));
  }
  totals.estimated_ideal = ClampEstimate(estimate, totals);
}

std::optional<LoadDistribution> LoadsOf(const Trace& trace, const PhaseCut& cut, const std::vector<Tick>& useful) {
  std::vector<double> loads;
  for (const std::size_t rank : cut.CountedRanks()) loads.push_back(trace.Seconds(useful[rank]));
  return DistributionOf(std::move(loads));
}

std::vector<ThreadTicks> TicksOfThreads(const PhaseCut& cut, const ThreadStates& threads) {
  std::vector<ThreadTicks> of_ranks(cut.ranks.size());
  ParallelFor(cut.ranks.size(), [&](std::size_t rank) {
    of_ranks[rank].outside.resize(threads.Threads(rank));
    for (const Interval& interval : cut.CountedTime(rank)) of_ranks[rank] += threads.In(rank, interval);
  });
  return of_ranks;
}

std::optional<LoadDistribution> LoadsOf(const Trace& trace, const PhaseCut& cut,
                                        const std::vector<ThreadTicks>& of_threads) {
  std::vector<double> loads;
  for (const std::size_t rank : cut.CountedRanks()) {
    const ThreadTicks& ticks = of_threads[rank];
    loads.push_back(trace.Seconds(ticks.OutsideMpi()) / static_cast<double>(ticks.outside.size()));
  }
  return DistributionOf(std::move(loads));
}

// Nothing where ranks differ in how many iterations they run, or an iteration has no load to compare with.
void AddVariation(const Trace& trace, const PhaseCut& cut, const std::vector<IterationProfile>& profiles,
                  LoadDistribution& loads) {
  const bool have_loads =
      std::ranges::all_of(profiles, [](const IterationProfile& profile) { return profile.average_useful > 0; });
  if (!have_loads) return;
  LoadVariation variation;
  std::vector<double> of_rank;
  for (const std::size_t rank : cut.CountedRanks()) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    if (iterations.size() != profiles.size()) return;
    of_rank.clear();
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const Tick ticks = UsefulTicks(trace.timelines[rank], iterations[k]);
      of_rank.push_back(trace.Seconds(ticks) / profiles[k].average_useful);
    }
    variation.AddRank(of_rank);
  }
  variation.Set(loads);
}

// Time that intervals, in order and apart, share with interruptions of one kind, in order and apart too.
Tick SharedTime(const std::vector<Interval>& intervals, const std::vector<Interruption>& interruptions) {
  Tick shared = 0;
  std::size_t next = 0;
  for (const Interval& interval : intervals) {
    while (next < interruptions.size() && interruptions[next].end <= interval.begin.tick) ++next;
    for (std::size_t i = next; i < interruptions.size() && interruptions[i].begin < interval.end.tick; ++i) {
      const Tick begin = std::max(interruptions[i].begin, interval.begin.tick);
      shared += std::max<Tick>(0, std::min(interruptions[i].end, interval.end.tick) - begin);
    }
  }
  return shared;
}

std::uint64_t Microseconds(const Trace& trace, Tick ticks) {
  return static_cast<std::uint64_t>(1e6 * trace.Seconds(ticks) + 0.5);
}

void AddInterruptions(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics) {
  std::array<Tick, 2> inside = {};
  Tick total = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval> intervals = cut.CountedTime(rank);
    for (const Interval& interval : intervals) total += interval.length();
    for (const bool is_flush : {false, true}) {
      std::vector<Interruption> of_kind;
      for (const Interruption& interruption : trace.timelines[rank].interruptions()) {
        if (interruption.is_flush == is_flush) of_kind.push_back(interruption);
      }
      inside[is_flush ? 1 : 0] += SharedTime(intervals, of_kind);
    }
  }
  for (std::size_t kind = 0; kind < inside.size(); ++kind) {
    const Anomaly& anomaly = kind == 1 ? anomaly::kBufferFlush : anomaly::kMeasurementOff;
    diagnostics.Add(anomaly, Microseconds(trace, inside[kind]), "in phase " + cut.Id().Text());
    if (inside[kind] > 0) diagnostics.AddPopulation(anomaly, Microseconds(trace, total));
  }
}

// What the replay of a whole run computes before the rank's own begin: the rank has started later than others. In a
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

void RequireComputation(const Trace& trace, const PhaseFactors& result) {
  if (result.totals.largest_useful > 0 && result.totals.UsefulOfAll() > 0 && result.totals.elapsed > 0) return;
  throw Error(ErrorKind::kNotEnoughData, trace.path,
              fmt::format("phase '{}' contains no computation, so it has no efficiency factors", result.phase.Text()),
              "choose another phase");
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
  values[Factor::kParallelEfficiency] = ParallelEfficiency(t.average_useful, t.elapsed);
  if (t.threads) {
    const ThreadTimes& threads = *t.threads;
    values[Factor::kMpiParallelEfficiency] = ParallelEfficiency(t.average_useful, t.elapsed);
    values[Factor::kParallelEfficiency] = ParallelEfficiency(threads.useful / threads.cpus, t.elapsed);
    values[Factor::kOmpParallelEfficiency] = OmpParallelEfficiency(threads);
    values[Factor::kOmpLoadBalance] = OmpLoadBalance(threads);
    values[Factor::kOmpScheduling] = OmpScheduling(threads);
    values[Factor::kOmpSerialization] = OmpSerialization(threads);
    values[Factor::kDeviceOffload] = DeviceOffload(threads);
  }
  if (t.devices && t.devices->kernels > 0) {
    values[Factor::kDeviceParallelEfficiency] = DeviceParallelEfficiency(*t.devices, t.elapsed);
    values[Factor::kDeviceLoadBalance] = DeviceLoadBalance(*t.devices);
    values[Factor::kDeviceCommunication] = DeviceCommunication(*t.devices);
    values[Factor::kDeviceOrchestration] = DeviceOrchestration(*t.devices, t.elapsed);
  }
  values[Factor::kLoadBalance] = LoadBalance(t.average_useful, t.largest_useful);
  values[Factor::kLoadBalanceIn] = LoadBalanceWithinNodes(t.largest_node_load, t.largest_useful);
  values[Factor::kLoadBalanceOut] = LoadBalanceBetweenNodes(t.average_useful, t.largest_node_load);
  values[Factor::kCommunicationEfficiency] = CommunicationEfficiency(t.largest_useful, t.elapsed);
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
  if (!t.threads) return std::nullopt;
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

Tick PausedTicks(const RankTimeline& timeline, const Interval& interval) {
  Tick paused = 0;
  ForEachPause(timeline, interval, [&](const Pause&, Tick begin, Tick end) { paused += end - begin; });
  return paused;
}

Tick UsefulTicks(const RankTimeline& timeline, const Interval& interval) {
  Tick mpi = 0;
  for (std::size_t call = interval.begin.call; call < interval.end.call; ++call) mpi += timeline.duration(call);
  if (interval.begin.call < interval.end.call) {  // calls cut by the window's edges
    mpi -= std::max<Tick>(0, interval.begin.tick - timeline.enter(interval.begin.call));
    mpi -= std::max<Tick>(0, timeline.leave(interval.end.call - 1) - interval.end.tick);
  }
  return interval.length() - mpi - PausedTicks(timeline, interval);
}

double UsefulCount(const RankTimeline& timeline, std::size_t counter, const Interval& interval) {
  std::size_t first = interval.begin.call, end = interval.end.call;
  double at_begin, at_end;
  if (first < end && timeline.enter(first) < interval.begin.tick) {  // the window begins inside a call
    at_begin = timeline.counter_at_leave(counter, first++);
  } else {
    at_begin = CounterAt(timeline, counter, interval.begin);
  }
  if (end > first && timeline.leave(end - 1) > interval.end.tick) {  // or ends inside one
    at_end = timeline.counter_at_enter(counter, --end);
  } else {
    at_end = CounterAt(timeline, counter, interval.end);
  }
  double in_calls = 0;
  for (std::size_t call = first; call < end; ++call) in_calls += timeline.counter_in_call(counter, call);
  return std::max(0.0, at_end - at_begin - in_calls - PausedCount(timeline, counter, interval));
}

Tick EstimateIdealFromIterations(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads) {
  std::vector<Tick> largest(cut.iterations);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const Tick useful =
          threads != nullptr ? threads->In(rank, iterations[k]).OutsideMpi() / static_cast<Tick>(threads->Threads(rank))
                             : UsefulTicks(trace.timelines[rank], iterations[k]);
      largest[k] = std::max(largest[k], useful);
    }
  }
  Tick sum = 0;
  for (const Tick ticks : largest) sum += ticks;
  return sum;
}

namespace {

bool HasIterations(const PhaseCut& cut) { return cut.iterations > 1 || cut.spec.Repeats() || cut.span == Span::kEach; }

// The factors of the ranks that count in the cut; `replay` is that of the phase with all ranks.
PhaseFactors MeasureRanks(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                          const ThreadStates* threads, const FactorOptions& options) {
  PhaseFactors result;
  result.phase = cut.Id();
  result.span = cut.span;
  result.iterations = cut.iterations;
  result.diagnostics = cut.diagnostics;

  const Times times = MeasureTimes(trace, cut, replay);
  PhaseTotals& totals = result.totals;
  totals = SumRanks(trace, cut, times.useful, times.paused);
  totals.elapsed = trace.Seconds(times.elapsed);
  result.unknown_waits = replay.unknown_waits;
  const bool knows_waits = !replay.unknown_waits.any();
  totals.ideal_elapsed = knows_waits ? trace.Seconds(times.ideal) : 0;
  const Tick useful = std::accumulate(times.useful.begin(), times.useful.end(), Tick{0});
  const Tick paused = std::accumulate(times.paused.begin(), times.paused.end(), Tick{0});
  totals.total_mpi = trace.Seconds(times.covered - useful - paused);
  totals.instructions =
      TotalCount(trace, cut, threads, ChooseCounter(trace, CounterMeaning::kInstructions, options.counters));
  totals.cycles = TotalCount(trace, cut, threads, ChooseCounter(trace, CounterMeaning::kCycles, options.counters));
  std::vector<ThreadTicks> of_threads;
  if (threads != nullptr) {
    of_threads = TicksOfThreads(cut, *threads);
    UseThreads(trace, cut, of_threads, totals);
  }
  const std::vector<DeviceTicks> of_devices =
      TicksOfDevices(trace, cut, [&](std::size_t rank) { return cut.CountedTime(rank); });
  totals.devices = DeviceTimesOf(trace, of_devices, totals.elapsed);
  RequireComputation(trace, result);
  AddEstimate(trace, cut, threads, result);
  result.values = FactorsOf(totals, options.rules.set);
  result.loads = threads != nullptr ? LoadsOf(trace, cut, of_threads) : LoadsOf(trace, cut, times.useful);
  if (HasIterations(cut)) {
    result.profiles = ProfileIterations(trace, cut, replay, threads, options.rules.set);
    result.samples = SampleBlocks(trace, cut, replay, options,
                                  {times.useful, times.paused, threads, of_threads, of_devices}, result);
    if (result.loads && threads == nullptr) AddVariation(trace, cut, result.profiles, *result.loads);
  }
  AddInterruptions(trace, cut, result.diagnostics);
  if (paused > 0) {
    result.diagnostics.Add(anomaly::kNotRunning, Microseconds(trace, paused), "in phase " + cut.Id().Text());
    result.diagnostics.AddPopulation(anomaly::kNotRunning, Microseconds(trace, times.covered));
  }
  if (!knows_waits) {
    result.diagnostics.Add(anomaly::kWaitsUnknown, replay.unknown_waits.calls,
                           fmt::format("in phase {}: {}", cut.spec.name, replay.unknown_waits.example));
  } else if (times.ideal > times.elapsed) {
    result.diagnostics.Add(anomaly::kIdealAboveMeasured, 1,
                           fmt::format("phase {}: {:.6g} s ideal, {:.6g} s measured; {}", cut.Id().Text(),
                                       totals.ideal_elapsed, totals.elapsed,
                                       WaitsMovedIn(cut, replay) ? "waits from between its occurrences move into them"
                                                                 : "clocks of ranks differ"));
  }
  return result;
}

bool Computes(const Trace& trace, const PhaseCut& cut) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const Interval& interval : cut.CountedTime(rank)) {
      if (UsefulTicks(trace.timelines[rank], interval) > 0) return true;
    }
  }
  return false;
}

}  // namespace

GroupedFactors MeasurePhase(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                            const std::vector<RankGroup>& groups, const FactorOptions& options) {
  const ReplayResult replay = Replay(trace, matching, cut, {options.rules, HasIterations(cut)});
  std::optional<ThreadStates> states;
  if (ThreadStates::AreIn(trace)) states.emplace(trace);
  const ThreadStates* threads = states ? &*states : nullptr;
  GroupedFactors result;
  result.whole = MeasureRanks(trace, cut, replay, threads, options);
  result.whole.diagnostics.Merge(replay.diagnostics);
  for (const RankGroup& group : groups) {
    const PhaseCut part = cut.OnlyRanks(group.ranks, group.name);
    std::optional<PhaseFactors>& factors = result.groups.emplace_back();
    if (Computes(trace, part)) {
      factors = MeasureRanks(trace, part, replay, threads, options);
    } else {
      result.whole.diagnostics.Add(anomaly::kGroupWithoutFactors, 1, part.Id().Text());
    }
  }
  return result;
}

PhaseFactors MeasurePhase(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                          const FactorOptions& options) {
  return MeasurePhase(trace, matching, cut, {}, options).whole;
}

}  // namespace farscale
