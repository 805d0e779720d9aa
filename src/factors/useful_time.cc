#include "factors/useful_time.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "factors/phase_factors.h"
#include "phases/phase_cut.h"

namespace farscale {
namespace {

// Calls visit(pause, begin, end) for pauses that have some time in the interval, with the part inside.
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

}  // namespace

Tick PausedTicks(const RankTimeline& timeline, const Interval& interval) {
  Tick paused = 0;
  ForEachPause(timeline, interval, [&](const Pause&, Tick begin, Tick end) { paused += end - begin; });
  const std::vector<Interruption>& interruptions = timeline.interruptions();
  const auto first = std::ranges::partition_point(
      interruptions, [&](const Interruption& one) { return one.end <= interval.begin.tick; });
  for (auto one = first; one != interruptions.end() && one->begin < interval.end.tick; ++one) {
    if (one->is_flush) continue;
    paused += std::min(one->end, interval.end.tick) - std::max(one->begin, interval.begin.tick);
  }
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
  double in_pauses = 0;  // a pause cut by the interval's edge counts with its share by time
  ForEachPause(timeline, interval, [&](const Pause& pause, Tick begin, Tick stop) {
    const Tick length = timeline.event_tick(pause.end_event) - timeline.event_tick(pause.begin_event);
    if (length <= 0) return;
    const double whole =
        timeline.counter_at_event(counter, pause.end_event) - timeline.counter_at_event(counter, pause.begin_event);
    in_pauses += whole * (static_cast<double>(stop - begin) / static_cast<double>(length));
  });
  return std::max(0.0, at_end - at_begin - in_calls - in_pauses);
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
  return std::accumulate(largest.begin(), largest.end(), Tick{0});
}

namespace {

constexpr Tick kNoTick = std::numeric_limits<Tick>::max();

// When the ranks begin and end an iteration, on the clock as measured or on that of the replay.
struct Ends {
  Tick first = kNoTick;         // begin of any rank
  Tick last = 0;                // end of any rank
  Tick longest = 0;             // length on any rank
  Tick smallest_gap = kNoTick;  // since the iteration before, on any rank

  void Add(Tick begin, Tick end, Tick gap) {
    first = std::min(first, begin);
    last = std::max(last, end);
    longest = std::max(longest, end - begin);
    smallest_gap = std::min(smallest_gap, gap);
  }
};

// Adds the iterations of a rank on a clock, on which `time_at` says when an edge is.
void AddEnds(const RankCut& cut, std::vector<Ends>& iterations, const auto& time_at) {
  Tick before = 0;
  for (std::size_t k = 0; k < cut.iterations.size(); ++k) {
    const Tick begin = time_at(cut.iterations[k].begin), end = time_at(cut.iterations[k].end);
    iterations[k].Add(begin, end, k > 0 ? begin - before : 0);
    before = end;
  }
}

// The distance by which an iteration moves the end of the run, which had reached `reached`. Ranks that run fewer
// iterations may end them later than others their next ones.
Tick Advance(const Ends& ends, Tick& reached) {
  const Tick before = reached;
  reached = std::max(reached, ends.last);
  return std::max<Tick>(0, reached - before - ends.smallest_gap);
}

}  // namespace

std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                                const ThreadStates* threads, RuleSet rules) {
  std::vector<IterationProfile> profiles(cut.iterations);  // first in ticks, and sums of all threads
  std::vector<Ends> measured(cut.iterations), ideal(cut.iterations);
  Tick start = kNoTick;  // when the first of the ranks that count begins, since the begin of the phase on all ranks
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) start = std::min(start, replay.begin[rank]);
  }
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankCut& rank_cut = cut.ranks[rank];
    if (!rank_cut.present) continue;
    const RankTimeline& timeline = trace.timelines[rank];
    for (std::size_t k = 0; k < rank_cut.iterations.size(); ++k) {
      const Interval& interval = rank_cut.iterations[k];
      // Ticks: useful and outside MPI of all threads, and outside MPI for a thread.
      double useful = 0, outside_mpi = 0, computation = 0;
      if (threads != nullptr) {
        const ThreadTicks ticks = threads->In(rank, interval);
        useful = static_cast<double>(ticks.Of(ThreadState::kUseful));
        outside_mpi = static_cast<double>(ticks.OutsideMpi());
        computation = outside_mpi / static_cast<double>(ticks.outside.size());
      } else {
        useful = outside_mpi = computation = static_cast<double>(UsefulTicks(timeline, interval));
      }
      const Tick paused = rules == RuleSet::kBsc ? PausedTicks(timeline, interval) : 0;
      IterationProfile& profile = profiles[k];
      profile.average_useful += useful;
      profile.average_load += outside_mpi;
      profile.largest_useful = std::max(profile.largest_useful, computation);
      profile.largest_computation = std::max(profile.largest_computation, computation + static_cast<double>(paused));
    }
    const Tick origin = rank_cut.window.begin.tick - replay.begin[rank] + start;
    AddEnds(rank_cut, measured, [&](const Edge& edge) { return edge.tick - origin; });
    AddEnds(rank_cut, ideal, [&](const Edge& edge) { return replay.TimeAt(timeline, rank_cut, rank, edge) - start; });
  }
  double count = 0;
  for (const std::size_t rank : cut.CountedRanks()) {
    count += threads != nullptr ? static_cast<double>(threads->Threads(rank)) : 1;
  }
  const bool is_each = cut.span == Span::kEach;
  const Tick before = cut.begin() - trace.begin();
  Tick reached = 0, ideal_reached = 0;
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    IterationProfile& profile = profiles[k];
    profile.begin = trace.Seconds(before + measured[k].first);
    const Tick advance = Advance(measured[k], reached), ideal_advance = Advance(ideal[k], ideal_reached);
    profile.elapsed = trace.Seconds(is_each ? measured[k].longest : advance);
    if (!replay.unknown_waits.any()) profile.ideal = trace.Seconds(is_each ? ideal[k].longest : ideal_advance);
    for (double* load : {&profile.average_useful, &profile.average_load})
      *load = *load / trace.ticks_per_second / count;
    for (double* load : {&profile.largest_useful, &profile.largest_computation}) *load /= trace.ticks_per_second;
  }
  return profiles;
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
  // A rank that starts later than others in a whole run computes before its own begin. In a trace cut out of a run, and
  // in every other phase, ranks did something else before.
  const bool is_run = cut.spec.kind == PhaseSpec::Kind::kWholeRun && !trace.IsCutOut();
  const Tick first = is_run ? cut.begin() : 0;
  Tick total = 0, total_paused = 0, largest = 0, largest_computation = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    total += useful[rank];
    total_paused += paused[rank];
    largest = std::max(largest, useful[rank]);
    const Tick before = is_run && cut.ranks[rank].present ? cut.ranks[rank].window.begin.tick - first : 0;
    largest_computation = std::max(largest_computation, before + useful[rank] + paused[rank]);
  }
  totals.total_useful = trace.Seconds(total);
  totals.average_useful = totals.total_useful / static_cast<double>(cut.CountedRanks().size());
  totals.largest_useful = trace.Seconds(largest);
  totals.total_paused = trace.Seconds(total_paused);
  totals.largest_computation = trace.Seconds(largest_computation);
  std::vector<double> loads;
  std::vector<std::int32_t> nodes;
  for (const std::size_t rank : cut.CountedRanks()) {
    loads.push_back(trace.Seconds(useful[rank]));
    nodes.push_back(trace.ranks[rank].node);
  }
  totals.largest_node_load = LargestNodeLoad(loads, nodes);
  return totals;
}

}  // namespace farscale
