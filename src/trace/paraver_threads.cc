#include "trace/paraver_threads.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {
namespace {

constexpr std::uint32_t kTeam = 0;  // who is in it is not recorded

using Stretch = std::pair<Tick, Tick>;

bool IsActive(std::uint32_t state) { return state != kParaverIdle && state != kParaverNotCreated; }

// Stretches in which any of the threads is active, in order and apart.
std::vector<Stretch> ActiveStretches(const std::vector<ParaverThreadState>& states) {
  std::vector<Stretch> active;
  for (const ParaverThreadState& state : states) {
    if (IsActive(state.state) && state.end > state.begin) active.emplace_back(state.begin, state.end);
  }
  std::ranges::sort(active);
  std::vector<Stretch> joined;
  for (const Stretch& stretch : active) {
    if (!joined.empty() && stretch.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, stretch.second);
    } else {
      joined.push_back(stretch);
    }
  }
  return joined;
}

// Where the main thread forks and joins, by time alone.
std::vector<TeamEvent> ForksOf(const RankTimeline& timeline, const std::vector<Stretch>& teams) {
  std::vector<TeamEvent> events;
  const auto add = [&](TeamEvent::Kind kind, Tick tick) {
    const std::size_t call =
        PartitionIndex(0, timeline.calls(), [&](std::size_t i) { return timeline.enter(i) < tick; });
    const std::size_t event =
        PartitionIndex(0, timeline.region_events(), [&](std::size_t i) { return timeline.event_tick(i) < tick; });
    events.push_back({kind, tick, static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(event), kTeam});
  };
  for (const auto& [begin, end] : teams) {
    add(TeamEvent::Kind::kFork, begin);
    add(TeamEvent::Kind::kBegin, begin);
    add(TeamEvent::Kind::kEnd, end);
    add(TeamEvent::Kind::kJoin, end);
  }
  return events;
}

class WorkerBuilder {
 public:
  WorkerBuilder(const Trace& definitions, const ParaverTraceFacts& facts, Location location,
                const std::vector<Stretch>& teams)
      : facts_(facts), location_(location), teams_(teams), builder_(definitions, location.rank) {}

  // States of the thread in the order of time.
  WorkerThread Build(std::vector<ParaverThreadState>::const_iterator first,
                     std::vector<ParaverThreadState>::const_iterator end) {
    auto team = teams_.begin();
    while (first != end) {
      const auto is_before = [&](const ParaverThreadState& state) {
        return !IsActive(state.state) || state.end <= state.begin;
      };
      first = std::find_if_not(first, end, is_before);
      if (first == end) break;
      while (team->second < first->end) ++team;
      first = AddSpan(first, end, team->second);
    }
    return {location_, builder_.Finish(), builder_.TakeTeamEvents()};
  }

 private:
  using Iterator = std::vector<ParaverThreadState>::const_iterator;

  // What the thread does in one team; returns the state behind it.
  Iterator AddSpan(Iterator first, Iterator end, Tick team_end) {
    Iterator behind = first, last = first;
    for (; behind != end && behind->begin < team_end; ++behind) {
      if (IsActive(behind->state)) last = behind;
    }
    Tick now = first->begin;
    builder_.Team(TeamEvent::Kind::kBegin, now, kTeam);
    for (Iterator state = first; state <= last; ++state) {
      const Tick from = std::max(now, state->begin), to = std::max(from, state->end);
      In(facts_.scheduling_region, now, from);  // no state is recorded
      const std::optional<std::uint32_t> region = RegionOf(state->state);
      if (region) In(*region, from, to);
      now = to;
    }
    builder_.Team(TeamEvent::Kind::kEnd, now, kTeam);
    return behind;
  }

  void In(std::uint32_t region, Tick from, Tick to) {
    if (to <= from) return;
    builder_.Enter(from, region);
    builder_.Leave(to, region);
  }

  // Nothing for work.
  std::optional<std::uint32_t> RegionOf(std::uint32_t state) const {
    switch (state) {
      case kParaverRunning: return std::nullopt;
      case kParaverSynchronization: return facts_.barrier_region;
      case kParaverForkJoin:
      case kParaverIdle:
      case kParaverNotCreated: return facts_.scheduling_region;
      default: return facts_.pause_region;
    }
  }

  const ParaverTraceFacts& facts_;
  const Location location_;
  const std::vector<Stretch>& teams_;
  RankBuilder builder_;
};

struct TaskThreads {
  std::vector<TeamEvent> of_main;
  std::vector<WorkerThread> workers;
};

TaskThreads ThreadsOf(const Trace& trace, const ParaverTraceFacts& facts, std::size_t rank,
                      std::vector<ParaverThreadState> states) {
  std::ranges::stable_sort(states, {}, [](const ParaverThreadState& s) { return std::pair(s.thread, s.begin); });
  const std::vector<Stretch> teams = ActiveStretches(states);
  TaskThreads threads{ForksOf(trace.timelines[rank], teams), {}};
  for (auto first = states.cbegin(); first != states.cend();) {
    const auto end = std::find_if(first, states.cend(),
                                  [&](const ParaverThreadState& state) { return state.thread != first->thread; });
    const Location location{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(first->thread)};
    threads.workers.push_back(WorkerBuilder(trace, facts, location, teams).Build(first, end));
    first = end;
  }
  return threads;
}

}  // namespace

void AddParaverTeamRegions(TraceBuilder& builder, ParaverTraceFacts& facts) {
  Region barrier{.name = "OpenMP synchronization"}, scheduling{.name = "OpenMP fork, join and scheduling"};
  barrier.team_role = TeamRole::kBarrier;
  scheduling.team_role = TeamRole::kScheduling;
  facts.barrier_region = builder.AddRegion(std::move(barrier));
  facts.scheduling_region = builder.AddRegion(std::move(scheduling));
  facts.knows_threads = true;
}

void AddParaverThreads(std::vector<std::vector<ParaverThreadState>> states, const ParaverTraceFacts& facts,
                       TraceBuilder& builder) {
  Trace& trace = builder.trace();
  std::vector<TaskThreads> of_tasks(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { of_tasks[rank] = ThreadsOf(trace, facts, rank, std::move(states[rank])); });
  TeamThreads& threads = trace.team_threads;
  threads.teams.emplace_back();
  for (TaskThreads& of_task : of_tasks) {
    threads.of_ranks.push_back(std::move(of_task.of_main));
    std::ranges::move(of_task.workers, std::back_inserter(threads.workers));
  }
}

}  // namespace farscale
