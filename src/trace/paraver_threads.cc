#include "trace/paraver_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/search.h"
#include "trace/anomalies.h"

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

using States = std::vector<ParaverThreadState>;
using Counts = std::vector<ParaverThreadCount>;
using CounterByType = std::map<std::uint32_t, std::uint32_t>;

// Up to a time, how long a thread ran.
class RunningTime {
 public:
  RunningTime(States::const_iterator first, States::const_iterator end) {
    for (; first != end; ++first) {
      if (first->state != kParaverRunning || first->end <= first->begin) continue;
      stretches_.push_back({first->begin, first->end, before_});
      before_ += first->end - first->begin;
    }
  }

  Tick Until(Tick tick) const {
    const auto next = std::ranges::lower_bound(stretches_, tick, {}, &Running::begin);
    if (next == stretches_.begin()) return 0;
    const Running& last = *(next - 1);
    return last.before + std::min(tick, last.end) - last.begin;
  }

 private:
  struct Running {
    Tick begin = 0, end = 0, before = 0;
  };
  std::vector<Running> stretches_;
  Tick before_ = 0;
};

// One counter of one thread, at times in order.
class PassingCount {
 public:
  PassingCount(Counts::const_iterator first, Counts::const_iterator end, std::uint32_t type,
               const RunningTime& running) {
    double total = 0;
    for (; first != end; ++first) {
      if (first->type != type) continue;
      total += static_cast<double>(first->count);
      samples_.push_back({running.Until(first->tick), total});
    }
  }

  std::size_t samples() const { return samples_.size() - 1; }
  std::int64_t At(Tick running) {
    while (next_ < samples_.size() && samples_[next_].running <= running) ++next_;
    const Sample& last = samples_[next_ - 1];
    if (next_ == samples_.size()) return std::llround(last.total);
    const Sample& next = samples_[next_];
    const double share = static_cast<double>(running - last.running) / static_cast<double>(next.running - last.running);
    return std::llround(last.total + share * (next.total - last.total));
  }

 private:
  struct Sample {
    Tick running = 0;
    double total = 0;
  };
  std::vector<Sample> samples_ = {{}};
  std::size_t next_ = 1;
};

class WorkerBuilder {
 public:
  WorkerBuilder(const Trace& definitions, const ParaverTraceFacts& facts, Location location,
                const std::vector<Stretch>& teams)
      : facts_(facts), location_(location), teams_(teams), builder_(definitions, location.rank) {}

  // Counters of the thread, whose samples are in the order of time; before Build.
  void Count(Counts::const_iterator first, Counts::const_iterator end, const RunningTime& running,
             const CounterByType& counters) {
    running_ = &running;
    std::size_t most = 0;
    for (const auto& [type, counter] : counters) {
      PassingCount count(first, end, type, running);
      most = std::max(most, count.samples());
      if (count.samples() > 0) counts_.emplace_back(counter, std::move(count));
    }
    for (const auto& [counter, count] : counts_) {
      constexpr double kSmallestShare = 0.99;  // chosen: as of main threads
      if (static_cast<double>(count.samples()) < kSmallestShare * static_cast<double>(most)) {
        builder_.DistrustCounter(counter);
      }
    }
  }

  // States of the thread in the order of time.
  WorkerThread Build(States::const_iterator first, States::const_iterator end) {
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
  using Iterator = States::const_iterator;

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
      std::optional<std::uint32_t> region = RegionOf(state->state);
      if (!region && !counts_.empty()) region = facts_.application_region;  // whose edges have samples
      if (region) In(*region, from, to);
      now = to;
    }
    builder_.Team(TeamEvent::Kind::kEnd, now, kTeam);
    return behind;
  }

  void In(std::uint32_t region, Tick from, Tick to) {
    if (to <= from) return;
    SetCounters(from);
    builder_.Enter(from, region);
    SetCounters(to);
    builder_.Leave(to, region);
  }

  void SetCounters(Tick tick) {
    for (auto& [counter, count] : counts_) builder_.SetCounter(tick, counter, count.At(running_->Until(tick)));
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
  const RunningTime* running_ = nullptr;
  std::vector<std::pair<std::uint32_t, PassingCount>> counts_;  // by the counter
};

struct TaskThreads {
  std::vector<TeamEvent> of_main;
  std::vector<WorkerThread> workers;
};

TaskThreads ThreadsOf(const Trace& trace, const ParaverTraceFacts& facts, std::size_t rank, States states,
                      Counts counts, const CounterByType& counters) {
  std::ranges::stable_sort(states, {}, [](const ParaverThreadState& s) { return std::pair(s.thread, s.begin); });
  std::ranges::stable_sort(counts, {}, [](const ParaverThreadCount& c) { return std::pair(c.thread, c.tick); });
  const std::vector<Stretch> teams = ActiveStretches(states);
  TaskThreads threads{ForksOf(trace.timelines[rank], teams), {}};
  for (auto first = states.cbegin(); first != states.cend();) {
    const std::uint32_t thread = first->thread;
    const auto end =
        std::find_if(first, states.cend(), [&](const ParaverThreadState& state) { return state.thread != thread; });
    const Location location{static_cast<std::int32_t>(rank), static_cast<std::int32_t>(thread)};
    const RunningTime running(first, end);
    const auto own = std::ranges::equal_range(std::as_const(counts), thread, {}, &ParaverThreadCount::thread);
    WorkerBuilder builder(trace, facts, location, teams);
    builder.Count(own.begin(), own.end(), running, counters);
    threads.workers.push_back(builder.Build(first, end));
    first = end;
  }
  return threads;
}

CounterByType CountersOf(const ParaverBlocks& all) {
  CounterByType counters;
  for (std::size_t block = 0; block < all.blocks.size(); ++block) {
    for (std::size_t i = 0; i < all.blocks[block].types.size(); ++i) {
      const std::uint32_t counter = all.meanings[block].counters[i];
      if (counter != ParaverBlockMeaning::kNothing) counters[all.blocks[block].types[i]] = counter;
    }
  }
  return counters;
}

// Counters that the main thread has count for all threads or for none.
void CheckCounters(Trace& trace, const WorkerThread& worker) {
  const auto [rank, thread] = worker.location;
  const RankTimeline& main = trace.timelines[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < trace.counters.size() && !worker.team_events.empty(); ++i) {
    if (!main.has_counter(i) || worker.timeline.has_counter(i)) continue;
    trace.diagnostics.Add(anomaly::kThreadWithoutCounter, 1,
                          fmt::format("{} on rank {}, thread {}", trace.counters[i].name, rank, thread));
  }
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

void AddParaverThreads(ParaverRecords& records, const ParaverTraceFacts& facts, TraceBuilder& builder) {
  Trace& trace = builder.trace();
  const CounterByType counters = CountersOf(records.all);
  std::vector<TaskThreads> of_tasks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    of_tasks[rank] = ThreadsOf(trace, facts, rank, std::move(records.thread_states[rank]),
                               std::move(records.thread_counts[rank]), counters);
  });
  TeamThreads& threads = trace.team_threads;
  threads.teams.emplace_back();
  for (TaskThreads& of_task : of_tasks) {
    for (const WorkerThread& worker : of_task.workers) CheckCounters(trace, worker);
    threads.of_ranks.push_back(std::move(of_task.of_main));
    std::ranges::move(of_task.workers, std::back_inserter(threads.workers));
  }
}

}  // namespace farscale
