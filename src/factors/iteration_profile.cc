#include "factors/iteration_profile.h"

#include <algorithm>
#include <limits>

#include "factors/phase_factors.h"
#include "factors/useful_time.h"

namespace farscale {
namespace {

constexpr Tick kNever = std::numeric_limits<Tick>::max();

// When the ranks begin and end an iteration, on the clock as measured or on that of the replay.
struct Ends {
  Tick first = kNever;         // begin of any rank
  Tick last = 0;               // end of any rank
  Tick longest = 0;            // length on any rank
  Tick smallest_gap = kNever;  // since the iteration before, on any rank

  void Add(Tick begin, Tick end, Tick gap) {
    first = std::min(first, begin);
    last = std::max(last, end);
    longest = std::max(longest, end - begin);
    smallest_gap = std::min(smallest_gap, gap);
  }
};

// One iteration in ticks since the begin of the phase.
struct Iteration {
  Ends measured, ideal;
  double total_useful = 0, total_load = 0;  // of all threads
  double largest_useful = 0;
  double largest_computation = 0;
};

// What a rank does in an interval, in ticks.
struct RankLoad {
  double useful = 0, outside_mpi = 0;  // of all threads
  double computation = 0;              // outside MPI, for a thread
};

RankLoad LoadIn(const RankTimeline& timeline, std::size_t rank, const Interval& interval, const ThreadStates* threads) {
  if (threads != nullptr) {
    const ThreadTicks ticks = threads->In(rank, interval);
    const auto outside = static_cast<double>(ticks.OutsideMpi()), count = static_cast<double>(ticks.outside.size());
    return {static_cast<double>(ticks.Of(ThreadState::kUseful)), outside, outside / count};
  }
  const auto useful = static_cast<double>(UsefulTicks(timeline, interval));
  return {useful, useful, useful};
}

// When the first of the ranks that count begins, since the begin of the phase on all ranks.
Tick EarliestBegin(const PhaseCut& cut, const ReplayResult& replay) {
  Tick earliest = kNever;
  for (std::size_t rank = 0; rank < cut.ranks.size(); ++rank) {
    if (cut.ranks[rank].present) earliest = std::min(earliest, replay.begin[rank]);
  }
  return earliest;
}

void AddRank(const Trace& trace, const PhaseCut& cut, std::size_t rank, const ReplayResult& replay,
             const ThreadStates* threads, RuleSet rules, Tick start, std::vector<Iteration>& iterations) {
  const RankTimeline& timeline = trace.timelines[rank];
  const RankCut& rank_cut = cut.ranks[rank];
  const Tick origin = rank_cut.window.begin.tick - replay.begin[rank] + start;
  Tick end = 0, ideal_end = 0;
  for (std::size_t k = 0; k < rank_cut.iterations.size(); ++k) {
    const Interval& interval = rank_cut.iterations[k];
    Iteration& iteration = iterations[k];
    const RankLoad load = LoadIn(timeline, rank, interval, threads);
    const Tick paused = rules == RuleSet::kBsc ? PausedTicks(timeline, interval) : 0;
    iteration.total_useful += load.useful;
    iteration.total_load += load.outside_mpi;
    iteration.largest_useful = std::max(iteration.largest_useful, load.computation);
    iteration.largest_computation =
        std::max(iteration.largest_computation, load.computation + static_cast<double>(paused));
    const Tick begin = interval.begin.tick - origin,
               ideal_begin = replay.TimeAt(timeline, rank_cut, rank, interval.begin) - start;
    const Tick gap = k > 0 ? begin - end : 0, ideal_gap = k > 0 ? ideal_begin - ideal_end : 0;
    end = interval.end.tick - origin;
    ideal_end = replay.TimeAt(timeline, rank_cut, rank, interval.end) - start;
    iteration.measured.Add(begin, end, gap);
    iteration.ideal.Add(ideal_begin, ideal_end, ideal_gap);
  }
}

// How far an iteration moves the end of the run, which had reached `reached`. Ranks that run fewer iterations may end
// them later than others their next ones.
Tick Advance(const Ends& ends, Tick& reached) {
  const Tick before = reached;
  reached = std::max(reached, ends.last);
  return std::max<Tick>(0, reached - before - ends.smallest_gap);
}

}  // namespace

std::vector<IterationProfile> ProfileIterations(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                                const ThreadStates* threads, RuleSet rules) {
  std::vector<Iteration> iterations(cut.iterations);
  const Tick start = EarliestBegin(cut, replay);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) AddRank(trace, cut, rank, replay, threads, rules, start, iterations);
  }
  std::vector<IterationProfile> profiles;
  double count = 0;
  for (const std::size_t rank : cut.CountedRanks()) {
    count += threads != nullptr ? static_cast<double>(threads->Threads(rank)) : 1;
  }
  const auto seconds = [&](double ticks) { return ticks / trace.ticks_per_second; };
  const Tick begin = cut.begin() - trace.begin();
  Tick reached = 0, ideal_reached = 0;
  for (const Iteration& iteration : iterations) {
    const Tick advance = Advance(iteration.measured, reached), ideal_advance = Advance(iteration.ideal, ideal_reached);
    const bool is_each = cut.span == Span::kEach;
    IterationProfile& profile = profiles.emplace_back();
    profile.begin = trace.Seconds(begin + iteration.measured.first);
    profile.elapsed = trace.Seconds(is_each ? iteration.measured.longest : advance);
    if (!replay.unknown_waits.any()) {
      profile.ideal = trace.Seconds(is_each ? iteration.ideal.longest : ideal_advance);
    }
    profile.average_useful = seconds(iteration.total_useful) / count;
    profile.average_load = seconds(iteration.total_load) / count;
    profile.largest_useful = seconds(iteration.largest_useful);
    profile.largest_computation = seconds(iteration.largest_computation);
  }
  return profiles;
}

}  // namespace farscale
