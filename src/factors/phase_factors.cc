#include "factors/phase_factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "factors/anomalies.h"
#include "factors/spread.h"
#include "factors/useful_time.h"
#include "phases/rank_groups.h"

namespace farscale {
namespace {

// A counter can be used when every rank of the phase has reliable samples of it, and every thread that counts.
std::optional<double> TotalCount(const Trace& trace, const PhaseCut& cut, const ThreadStates* threads,
                                 std::optional<std::size_t> counter) {
  if (!counter) return std::nullopt;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    const RankTimeline& timeline = trace.timelines[rank];
    if (!timeline.has_counter(*counter) || !timeline.counter_is_reliable(*counter)) return std::nullopt;
    if (threads != nullptr && !ThreadStates::HaveCounter(trace, rank, *counter)) return std::nullopt;
  }
  double total = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    for (const Interval& interval : cut.CountedTime(rank)) {
      total += threads != nullptr ? threads->UsefulCount(trace, rank, *counter, interval)
                                  : UsefulCount(trace.timelines[rank], *counter, interval);
    }
  }
  return total > 0 ? std::optional(total * trace.counters[*counter].scale) : std::nullopt;
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

PhaseTicks MeasureTimes(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                        const ThreadStates* threads) {
  PhaseTicks times;
  times.states = threads;
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
  if (threads != nullptr) {
    times.threads.resize(trace.size());
    ParallelFor(trace.size(), [&](std::size_t rank) {
      times.threads[rank].outside.resize(threads->Threads(rank));
      for (const Interval& interval : cut.CountedTime(rank)) times.threads[rank] += threads->In(rank, interval);
    });
  }
  times.devices = TicksOfDevices(trace, cut, [&](std::size_t rank) { return cut.CountedTime(rank); });
  return times;
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

// Loads: useful time, where threads are known the time that a thread is outside MPI.
std::optional<LoadDistribution> LoadsOf(const Trace& trace, const PhaseCut& cut, const PhaseTicks& times) {
  std::vector<double> loads;
  for (const std::size_t rank : cut.CountedRanks()) {
    if (times.states == nullptr) {
      loads.push_back(trace.Seconds(times.useful[rank]));
    } else {
      const ThreadTicks& ticks = times.threads[rank];
      loads.push_back(trace.Seconds(ticks.OutsideMpi()) / static_cast<double>(ticks.outside.size()));
    }
  }
  return DistributionOf(std::move(loads));
}

// Nothing where ranks differ in how many iterations they run, or an iteration has no load to compare with.
void AddVariation(const Trace& trace, const PhaseCut& cut, const std::vector<IterationProfile>& profiles,
                  LoadDistribution& loads) {
  const bool have_loads =
      std::ranges::all_of(profiles, [](const IterationProfile& profile) { return profile.average_useful > 0; });
  if (!have_loads) return;
  std::vector<std::vector<double>> of_ranks;
  for (const std::size_t rank : cut.CountedRanks()) {
    const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
    if (iterations.size() != profiles.size()) return;
    std::vector<double>& of_rank = of_ranks.emplace_back();
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      const Tick ticks = UsefulTicks(trace.timelines[rank], iterations[k]);
      of_rank.push_back(trace.Seconds(ticks) / profiles[k].average_useful);
    }
  }
  SplitVariation(of_ranks, loads);
}

std::uint64_t Microseconds(const Trace& trace, Tick ticks) {
  return static_cast<std::uint64_t>(1e6 * trace.Seconds(ticks) + 0.5);
}

// Returns the time in which recording was off.
Tick AddInterruptions(const Trace& trace, const PhaseCut& cut, Diagnostics& diagnostics) {
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
      // Both are in order and apart.
      std::size_t next = 0;
      for (const Interval& interval : intervals) {
        while (next < of_kind.size() && of_kind[next].end <= interval.begin.tick) ++next;
        for (std::size_t i = next; i < of_kind.size() && of_kind[i].begin < interval.end.tick; ++i) {
          const Tick begin = std::max(of_kind[i].begin, interval.begin.tick);
          inside[is_flush ? 1 : 0] += std::max<Tick>(0, std::min(of_kind[i].end, interval.end.tick) - begin);
        }
      }
    }
  }
  for (std::size_t kind = 0; kind < inside.size(); ++kind) {
    const Anomaly& anomaly = kind == 1 ? anomaly::kBufferFlush : anomaly::kMeasurementOff;
    diagnostics.Add(anomaly, Microseconds(trace, inside[kind]), "in phase " + cut.Id().Text());
    if (inside[kind] > 0) diagnostics.AddPopulation(anomaly, Microseconds(trace, total));
  }
  return inside[0];
}

bool HasIterations(const PhaseCut& cut) { return cut.iterations > 1 || cut.spec.Repeats() || cut.span == Span::kEach; }

// The factors of the ranks that count in the cut; `replay` is that of the phase with all ranks.
PhaseFactors MeasureRanks(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                          const ThreadStates* threads, const FactorOptions& options) {
  PhaseFactors result;
  result.phase = cut.Id();
  result.span = cut.span;
  result.iterations = cut.iterations;
  result.diagnostics = cut.diagnostics;

  const PhaseTicks times = MeasureTimes(trace, cut, replay, threads);
  PhaseTotals& totals = result.totals;
  totals = SumRanks(trace, cut, times.useful, times.paused);
  const bool knows_clocks = !replay.clocks_unknown;
  totals.elapsed = knows_clocks ? trace.Seconds(times.elapsed) : 0;
  result.unknown_waits = replay.unknown_waits;
  const bool knows_waits = knows_clocks && !replay.unknown_waits.any();
  totals.ideal_elapsed = knows_waits ? trace.Seconds(times.ideal) : 0;
  const Tick useful = std::accumulate(times.useful.begin(), times.useful.end(), Tick{0});
  const Tick paused = std::accumulate(times.paused.begin(), times.paused.end(), Tick{0});
  totals.total_mpi = trace.Seconds(times.covered - useful - paused);
  totals.instructions =
      TotalCount(trace, cut, threads, ChooseCounter(trace, CounterMeaning::kInstructions, options.counters));
  totals.cycles = TotalCount(trace, cut, threads, ChooseCounter(trace, CounterMeaning::kCycles, options.counters));
  if (threads != nullptr) UseThreads(trace, cut, times.threads, totals);
  totals.devices = DeviceTimesOf(trace, times.devices, totals.elapsed);
  if (!(totals.largest_useful > 0 && totals.UsefulOfAll() > 0 && times.elapsed > 0)) {
    throw Error(ErrorKind::kNotEnoughData, trace.path,
                fmt::format("phase '{}' contains no computation, so it has no efficiency factors", result.phase.Text()),
                "choose another phase");
  }
  if (knows_clocks) AddEstimate(trace, cut, threads, result);
  result.values = FactorsOf(totals, options.rules.set);
  result.loads = LoadsOf(trace, cut, times);
  if (HasIterations(cut) && knows_clocks) {
    result.profiles = ProfileIterations(trace, cut, replay, threads, options.rules.set);
    result.samples = SampleBlocks(trace, cut, replay, options, times, result);
    if (result.loads && threads == nullptr) AddVariation(trace, cut, result.profiles, *result.loads);
  }
  const Tick off = AddInterruptions(trace, cut, result.diagnostics);
  if (paused > off) {
    result.diagnostics.Add(anomaly::kNotRunning, Microseconds(trace, paused - off), "in phase " + cut.Id().Text());
    result.diagnostics.AddPopulation(anomaly::kNotRunning, Microseconds(trace, times.covered));
  }
  if (result.unknown_waits.any()) {
    result.diagnostics.Add(anomaly::kWaitsUnknown, replay.unknown_waits.calls,
                           fmt::format("in phase {}: {}", cut.spec.name, replay.unknown_waits.example));
  } else if (knows_clocks && times.ideal > times.elapsed) {
    // Ranks may get to the occurrences earlier in the replay, and wait in them for what they waited for before: then
    // all from the first occurrence to the last takes no longer than measured. Else measured times contradict each
    // other.
    const bool waits_move = cut.span == Span::kEach && IdealDuration(cut, replay) <= cut.end() - cut.begin();
    result.diagnostics.Add(
        anomaly::kIdealAboveMeasured, 1,
        fmt::format("phase {}: {:.6g} s ideal, {:.6g} s measured; {}", cut.Id().Text(), totals.ideal_elapsed,
                    totals.elapsed,
                    waits_move ? "waits from between its occurrences move into them" : "clocks of ranks differ"));
  }
  return result;
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
    bool computes = false;
    for (std::size_t rank = 0; !computes && rank < trace.size(); ++rank) {
      for (const Interval& interval : part.CountedTime(rank))
        computes = computes || UsefulTicks(trace.timelines[rank], interval) > 0;
    }
    if (computes) {
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
