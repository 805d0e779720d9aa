#include "factors/thread_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/parallel.h"
#include "phases/phase_cut.h"
#include "trace/anomalies.h"
#include "trace/device_records.h"
#include "trace/location_trace.h"

namespace farscale {
namespace {

constexpr Tick kBefore = std::numeric_limits<Tick>::min(), kNever = std::numeric_limits<Tick>::max();

// The activity of a thread by its own records.
enum class Activity : std::uint8_t { kOutside, kWork, kBarrier, kScheduling, kMpi, kNotRunning, kDevice };

struct ActivityChange {
  Tick tick;
  Activity activity;
  bool in_team;
};

struct OpenFork {
  std::size_t depth = 0;  // open regions
  bool has_begun = false, has_ended = false;
};

// Calls lie between region events, or around those of functions that are called back. What comes before all of them is
// the first change.
std::vector<ActivityChange> WithCalls(std::span<const ActivityChange> changes, const RankTimeline& timeline,
                                      Activity first) {
  ActivityChange last{kBefore, first, false};
  std::vector<ActivityChange> all = {last};
  std::size_t next = 0;
  const auto pass = [&](Tick until, bool is_hidden) {
    for (; next < changes.size() && changes[next].tick <= until; ++next) {
      last = changes[next];
      if (!is_hidden && last.tick < until) all.push_back(last);
    }
  };
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    pass(timeline.enter(call), false);
    all.push_back({timeline.enter(call), Activity::kMpi, last.in_team});
    pass(timeline.leave(call), true);
    all.push_back({timeline.leave(call), last.activity, last.in_team});
  }
  pass(kNever, false);
  return all;
}

// Walks through the region and team events of one thread.
std::vector<ActivityChange> ReadActivities(const std::vector<Region>& regions, const TeamThread& thread) {
  const RankTimeline& timeline = *thread.timeline;
  const bool is_main = thread.location.thread == 0;
  std::vector<std::uint32_t> open;
  std::vector<OpenFork> forks;
  std::size_t teams = 0;
  std::vector<ActivityChange> changes;
  const auto current = [&] {
    const bool is_forking = !forks.empty() && forks.back().has_begun == forks.back().has_ended;
    // Regions of its own that the main thread is in between fork and team are work.
    if (is_forking && open.size() <= forks.back().depth) return Activity::kScheduling;
    const bool is_idle = !is_main && teams == 0 && forks.empty();
    if (open.empty()) return is_idle ? Activity::kOutside : Activity::kWork;
    const Region& region = regions[open.back()];
    if (region.is_pause) return Activity::kNotRunning;
    if (region.is_device_runtime) return Activity::kDevice;
    if (region.team_role == TeamRole::kScheduling) return Activity::kScheduling;
    const bool waits = region.IsTeamBarrier() || region.team_role == TeamRole::kTaskWait;
    if (is_idle && (waits || region.team_role == TeamRole::kParallel)) return Activity::kOutside;
    return waits ? Activity::kBarrier : Activity::kWork;
  };
  const auto add = [&](Tick tick) {
    if (!changes.empty() && changes.back().tick >= tick) changes.pop_back();
    changes.push_back({tick, current(), teams > 0});
  };
  const auto pass_team = [&](const TeamEvent& event) {
    switch (event.kind) {
      case TeamEvent::Kind::kFork: forks.push_back({open.size(), false, false}); break;
      case TeamEvent::Kind::kBegin:
        if (!forks.empty()) forks.back().has_begun = true;
        ++teams;
        break;
      case TeamEvent::Kind::kEnd:
        if (!forks.empty() && forks.back().has_begun) forks.back().has_ended = true;
        if (teams > 0) --teams;
        break;
      case TeamEvent::Kind::kJoin:
        if (!forks.empty()) forks.pop_back();
        if (is_main && forks.empty()) teams = 0;
        break;
    }
    add(event.tick);
  };
  add(timeline.begin());
  auto team_event = thread.events->begin();
  for (std::size_t i = 0; i <= timeline.region_events(); ++i) {
    for (; team_event != thread.events->end() && team_event->event <= i; ++team_event) pass_team(*team_event);
    if (i == timeline.region_events()) break;
    const RankTimeline::RegionEvent event = timeline.region_event(i);
    if (!event.is_leave) {
      open.push_back(event.region);
    } else if (!open.empty()) {
      open.pop_back();
    }
    add(event.tick);
  }
  return WithCalls(changes, timeline, is_main ? Activity::kWork : Activity::kOutside);
}

ThreadState StateOfMain(const ActivityChange& own) {
  switch (own.activity) {
    case Activity::kMpi:
    case Activity::kNotRunning: return ThreadState::kMpi;
    case Activity::kBarrier: return ThreadState::kImbalance;
    case Activity::kScheduling: return ThreadState::kScheduling;
    case Activity::kDevice: return ThreadState::kDeviceRuntime;
    default: return ThreadState::kUseful;
  }
}

// `is_expected`: between a fork and a join of a team that the worker is in.
ThreadState StateOfWorker(const ActivityChange& own, const ActivityChange& main, bool is_expected) {
  const bool main_in_mpi = main.activity == Activity::kMpi || main.activity == Activity::kNotRunning;
  const bool has_work = own.activity != Activity::kBarrier && own.activity != Activity::kOutside;
  if (has_work) return StateOfMain(own);
  if (main_in_mpi) return ThreadState::kMpiIdle;
  if (own.activity == Activity::kBarrier) return ThreadState::kImbalance;
  if (is_expected) return ThreadState::kScheduling;
  return main.in_team ? ThreadState::kIdleInRegion : ThreadState::kSerialization;
}

bool IsMpi(ThreadState state) { return state == ThreadState::kMpi || state == ThreadState::kMpiIdle; }

// The main thread of a rank and the workers that are ever in a team.
std::vector<TeamThread> TeamThreadsOfRank(const Trace& trace, std::size_t rank) {
  std::vector<TeamThread> threads = ThreadsOfRank(trace, rank);
  std::erase_if(threads, [](const TeamThread& t) { return t.location.thread > 0 && t.events->empty(); });
  return threads;
}

}  // namespace

Tick ThreadTicks::OutsideMpi() const {
  Tick sum = 0;
  for (std::size_t i = 0; i < kThreadStates; ++i) sum += IsMpi(static_cast<ThreadState>(i)) ? 0 : in[i];
  return sum;
}

ThreadTicks& ThreadTicks::operator+=(const ThreadTicks& other) {
  outside.resize(std::max(outside.size(), other.outside.size()));
  for (std::size_t i = 0; i < kThreadStates; ++i) in[i] += other.in[i];
  for (std::size_t i = 0; i < other.outside.size(); ++i) outside[i] += other.outside[i];
  return *this;
}

ThreadTicks& ThreadTicks::operator-=(const ThreadTicks& other) {
  for (std::size_t i = 0; i < kThreadStates; ++i) in[i] -= other.in[i];
  for (std::size_t i = 0; i < other.outside.size(); ++i) outside[i] -= other.outside[i];
  return *this;
}

bool ThreadStates::AreIn(const Trace& trace) {
  if (!trace.team_threads.empty()) return true;
  const bool has_threads = trace.threads() > 1;  // nothing is known of them
  return !has_threads && std::ranges::any_of(trace.regions, &Region::is_device_runtime);
}

void ThreadStates::Append(Tick begin, ThreadState state, Segments& segments) {
  if (segments.empty() || segments.back().second != state) segments.emplace_back(begin, state);
}

Diagnostics ThreadStates::ReadRank(const Trace& trace, std::size_t rank) {
  const RankTeams teams = PlanTeams(trace, TeamThreadsOfRank(trace, rank));
  const std::vector<ActivityChange> of_main = ReadActivities(trace.regions, teams.threads.front());
  Segments& main_segments = ranks_[rank].emplace_back();
  for (const ActivityChange& change : of_main) Append(change.tick, StateOfMain(change), main_segments);
  for (std::size_t i = 1; i < teams.threads.size(); ++i) {
    const std::vector<ActivityChange> of_worker = ReadActivities(trace.regions, teams.threads[i]);
    // From every fork of a team that the thread is in to its join.
    std::vector<ActivityChange> expected = {{kBefore, Activity::kOutside, false}};
    for (const TeamSpan& span : teams.threads[i].spans) {
      if (span.fork == kNoFork) continue;
      expected.push_back({teams.forks[span.fork].fork.tick, Activity::kOutside, true});
      expected.push_back({teams.forks[span.fork].join.tick, Activity::kOutside, false});
    }
    Segments& segments = ranks_[rank].emplace_back();
    std::size_t main = 0, own = 0, fork = 0;  // the last change at the tick
    for (Tick tick = kBefore, next = kNever; tick != kNever; tick = std::exchange(next, kNever)) {
      const auto pass = [&](const std::vector<ActivityChange>& changes, std::size_t& last) {
        while (last + 1 < changes.size() && changes[last + 1].tick <= tick) ++last;
        if (last + 1 < changes.size()) next = std::min(next, changes[last + 1].tick);
      };
      pass(of_main, main);
      pass(of_worker, own);
      pass(expected, fork);
      Append(tick, StateOfWorker(of_worker[own], of_main[main], expected[fork].in_team), segments);
    }
  }
  Diagnostics diagnostics;
  diagnostics.Add(anomaly::kTeamRecordsUnbalanced, teams.diagnostics.count(anomaly::kTeamRecordsUnbalanced),
                  fmt::format("on rank {}", rank));
  return diagnostics;
}

ThreadStates::ThreadStates(const Trace& trace) : ranks_(trace.size()) {
  std::vector<Diagnostics> diagnostics(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) { diagnostics[rank] = ReadRank(trace, rank); });
  for (const Diagnostics& of_rank : diagnostics) diagnostics_.Merge(of_rank);
  for (const WorkerThread& worker : trace.team_threads.workers) {
    if (!worker.team_events.empty()) continue;
    diagnostics_.Add(anomaly::kThreadOutsideTeams, 1,
                     fmt::format("rank {}, thread {}", worker.location.rank, worker.location.thread));
  }
}

std::vector<std::pair<Tick, Tick>> ThreadStates::SpansOfMain(std::size_t rank, ThreadState state) const {
  std::vector<std::pair<Tick, Tick>> spans;
  const Segments& segments = ranks_[rank].front();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].second != state) continue;
    spans.emplace_back(segments[i].first, i + 1 < segments.size() ? segments[i + 1].first : kNever);
  }
  return spans;
}

void ThreadStates::ForEachPart(const Segments& segments, const Interval& interval, const auto& visit) {
  auto segment = std::ranges::upper_bound(segments, interval.begin.tick, {}, &Segments::value_type::first) - 1;
  for (; segment != segments.end() && segment->first < interval.end.tick; ++segment) {
    const Tick next = segment + 1 == segments.end() ? kNever : (segment + 1)->first;
    visit(std::max(segment->first, interval.begin.tick), std::min(next, interval.end.tick), segment->second);
  }
}

ThreadTicks ThreadStates::In(std::size_t rank, const Interval& interval) const {
  ThreadTicks ticks;
  for (const Segments& segments : ranks_[rank]) {
    Tick& outside = ticks.outside.emplace_back();
    ForEachPart(segments, interval, [&](Tick begin, Tick end, ThreadState state) {
      ticks.in[static_cast<std::size_t>(state)] += end - begin;
      if (!IsMpi(state)) outside += end - begin;
    });
  }
  return ticks;
}

bool ThreadStates::HaveCounter(const Trace& trace, std::size_t rank, std::size_t counter) {
  return std::ranges::all_of(TeamThreadsOfRank(trace, rank), [&](const TeamThread& thread) {
    return thread.timeline->has_counter(counter) && thread.timeline->counter_is_reliable(counter);
  });
}

double ThreadStates::UsefulCount(const Trace& trace, std::size_t rank, std::size_t counter,
                                 const Interval& interval) const {
  const std::vector<TeamThread> threads = TeamThreadsOfRank(trace, rank);
  double count = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const RankTimeline& timeline = *threads[i].timeline;
    ForEachPart(ranks_[rank][i], interval, [&](Tick begin, Tick end, ThreadState state) {
      if (state != ThreadState::kUseful) return;
      count += CounterAt(timeline, counter, EdgeAtTick(timeline, end, false)) -
               CounterAt(timeline, counter, EdgeAtTick(timeline, begin, true));
    });
  }
  return std::max(0.0, count);
}

std::int64_t ThreadsInTeams(const Trace& trace) {
  std::vector<std::int64_t> threads(trace.size(), 1);
  for (const WorkerThread& worker : trace.team_threads.workers) {
    if (!worker.team_events.empty()) ++threads[static_cast<std::size_t>(worker.location.rank)];
  }
  return threads.empty() ? 1 : std::ranges::max(threads);
}

namespace {

// The parts of spans inside of intervals; both are in order and apart.
void AddInside(const std::vector<DeviceSpan>& spans, const std::vector<Interval>& intervals,
               std::vector<DeviceSpan>& inside) {
  for (const Interval& interval : intervals) {
    auto span = std::ranges::upper_bound(spans, interval.begin.tick, {}, &DeviceSpan::end);
    for (; span != spans.end() && span->begin < interval.end.tick; ++span) {
      inside.push_back({std::max(span->begin, interval.begin.tick), std::min(span->end, interval.end.tick)});
    }
  }
}

Tick LengthOf(std::vector<DeviceSpan> spans) {
  Tick length = 0;
  for (const DeviceSpan& span : UnionOf(std::move(spans))) length += span.length();
  return length;
}

}  // namespace

std::vector<DeviceTicks> TicksOfDevices(const Trace& trace, const PhaseCut& cut, const IntervalsOfRank& intervals) {
  std::vector<char> counts(trace.size(), 0);
  for (const std::size_t rank : cut.CountedRanks()) counts[rank] = 1;
  std::vector<DeviceTicks> ticks;
  for (const Device& device : trace.devices) {
    std::vector<DeviceSpan> kernels, active;
    bool is_used = false;
    for (const DeviceWork& work : device.of_ranks) {
      const auto rank = static_cast<std::size_t>(work.rank);
      if (counts[rank] == 0) continue;
      is_used = true;
      AddInside(work.kernels, intervals(rank), kernels);
      AddInside(work.active, intervals(rank), active);
    }
    if (is_used) ticks.push_back({LengthOf(std::move(kernels)), LengthOf(std::move(active))});
  }
  return ticks;
}

std::optional<DeviceTimes> DeviceTimesOf(const Trace& trace, const std::vector<DeviceTicks>& devices, double elapsed) {
  DeviceTimes times;
  for (const DeviceTicks& device : devices) {
    // For ranks that share a device, occurrences of a phase at different times may take longer together than any of
    // them.
    const double kernels = std::min(trace.Seconds(device.kernels), elapsed);
    ++times.devices;
    times.kernels += kernels;
    times.most_kernels = std::max(times.most_kernels, kernels);
    times.most_active = std::max(times.most_active, std::min(trace.Seconds(device.active), elapsed));
  }
  return times.kernels > 0 ? std::optional(times) : std::nullopt;
}

}  // namespace farscale
