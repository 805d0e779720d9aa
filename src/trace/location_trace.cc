#include "trace/location_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "base/parallel.h"
#include "trace/anomalies.h"
#include "trace/timeline_feed.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

std::string Place(const TeamThread& thread) {
  return fmt::format("on rank {}, thread {}", thread.location.rank, thread.location.thread);
}

// Reads the team events of one thread. Where some are missing, what is open is given up at the next that cannot be.
void ReadSpans(TeamThread& thread, RankTeams& result) {
  const bool is_main = thread.location.thread == 0;
  std::optional<TeamEvent> fork, begin, end;
  std::size_t inner_forks = 0, inner_teams = 0;
  std::uint32_t inner_begin = 0;
  const auto close = [&] {
    fork.reset();
    begin.reset();
    end.reset();
  };
  const auto unbalanced = [&] {
    result.diagnostics.Add(anomaly::kTeamRecordsUnbalanced, 1, Place(thread));
    close();
    inner_forks = inner_teams = 0;
  };
  const auto is_in_team = [&] { return begin && !end; };
  const auto on_fork = [&](const TeamEvent& event) {
    if (is_in_team()) {
      if (inner_forks++ > 0) return;
      result.diagnostics.Add(anomaly::kTeamNested, 1, Place(thread));
      inner_begin = event.event;
      return;
    }
    if (fork || begin) unbalanced();  // the last one was never joined
    if (!is_main) return unbalanced();
    fork = event;
  };
  const auto on_begin = [&](const TeamEvent& event) {
    if (inner_forks > 0) {
      ++inner_teams;
      return;
    }
    if (begin || (is_main && !fork)) unbalanced();
    if (!is_main || fork) begin = event;
  };
  const auto on_end = [&](const TeamEvent& event) {
    if (inner_teams > 0) {
      --inner_teams;
      return;
    }
    if (!is_in_team() || event.team != begin->team || inner_forks > 0) return unbalanced();
    end = event;
    if (is_main) return;
    thread.spans.push_back({*begin, *end, kNoFork, {}});
    close();
  };
  const auto on_join = [&](const TeamEvent& event) {
    if (inner_forks > 0) {
      if (--inner_forks > 0) return;
      thread.nested.emplace_back(inner_begin, event.event);
      inner_teams = 0;
      return;
    }
    if (!fork || !end) return unbalanced();
    thread.spans.push_back({*begin, *end, static_cast<std::uint32_t>(result.forks.size()), {}});
    result.forks.push_back({.fork = *fork, .begin = *begin, .join = event, .threads = {0}});
    close();
  };
  for (const TeamEvent& event : *thread.events) {
    switch (event.kind) {
      case TeamEvent::Kind::kFork: on_fork(event); break;
      case TeamEvent::Kind::kBegin: on_begin(event); break;
      case TeamEvent::Kind::kEnd: on_end(event); break;
      case TeamEvent::Kind::kJoin: on_join(event); break;
    }
  }
  if (fork || begin) unbalanced();
}

// Threads of a rank share its clock: one that begins in a team between its fork and its join belongs to that fork.
void FindForks(std::size_t thread, bool has_nested, RankTeams& result) {
  std::uint32_t next = 0;
  std::vector<TeamFork>& forks = result.forks;
  for (TeamSpan& span : result.threads[thread].spans) {
    while (next < forks.size() && forks[next].join.tick < span.begin.tick) ++next;
    for (std::uint32_t i = next; i < forks.size() && forks[i].fork.tick <= span.begin.tick; ++i) {
      if (forks[i].begin.team != span.begin.team) continue;
      span.fork = i;
      forks[i].threads.push_back(thread);
      next = i + 1;
      break;
    }
    if (span.fork != kNoFork) continue;
    const bool is_in_team = next < forks.size() && forks[next].fork.tick <= span.begin.tick;
    result.diagnostics.Add(is_in_team && has_nested ? anomaly::kTeamNested : anomaly::kTeamRecordsUnbalanced, 1,
                           Place(result.threads[thread]));
  }
}

// Every thread goes through the spans in the order of forks.
void CompareBarriers(const std::vector<Region>& regions, RankTeams& result) {
  std::vector<std::size_t> next(result.threads.size());
  for (std::uint32_t i = 0; i < result.forks.size(); ++i) {
    TeamFork& fork = result.forks[i];
    std::vector<TeamRole> first;
    bool agree = true, has_inside = false;  // a barrier is not left by the next event, or there is a call in it
    for (const std::size_t number : fork.threads) {
      const TeamThread& thread = result.threads[number];
      while (thread.spans[next[number]].fork != i) ++next[number];
      std::vector<TeamRole> roles;
      for (const std::uint32_t event : thread.spans[next[number]].barriers) {
        const RankTimeline::RegionEvent entered = thread.timeline->region_event(event);
        roles.push_back(regions[entered.region].team_role);
        if (event + 1 >= thread.timeline->region_events()) continue;
        const RankTimeline::RegionEvent left = thread.timeline->region_event(event + 1);
        has_inside = has_inside || !left.is_leave || left.call != entered.call;
      }
      if (number == fork.threads.front()) first = roles;
      agree = agree && roles == first;
    }
    if (!fork.is_whole) continue;
    fork.barriers_agree = agree && !has_inside;
    const std::string place = Place(result.threads.front());
    if (has_inside) result.diagnostics.Add(anomaly::kTaskInTeamBarrier, 1, place);
    if (!agree && !has_inside) result.diagnostics.Add(anomaly::kTeamBarrierMismatch, 1, place);
  }
}

// Hands events of one thread on to the builder of its location, with the thread's forks in their places. Counters are
// left out. A barrier around others is interrupted by them, since calls do not nest.
class ThreadWriter : public TimelineSink {
 public:
  ThreadWriter(const Trace& definitions, std::int32_t location, RankTeams& teams, std::size_t thread)
      : builder_(definitions, location) {
    if (thread == 0) forks_ = teams.forks;
    for (const TeamSpan& span : teams.threads[thread].spans) {
      if (span.fork == kNoFork || !teams.forks[span.fork].barriers_agree) continue;
      for (const std::uint32_t event : span.barriers) barriers_[event] = *teams.forks[span.fork].communicator;
    }
  }

  void Enter(Tick tick, std::uint32_t region) override {
    ForkUntilHere();
    Open(tick, region);
    const auto communicator = barriers_.find(events_);
    events_ += IsEvent(region) ? 1 : 0;
    if (!RegionAt(region).IsTeamBarrier() || communicator == barriers_.end()) return;
    const bool is_implicit = RegionAt(region).team_role == TeamRole::kImplicitBarrier;
    builder_.Collective(is_implicit ? CollectiveKind::kImplicitBarrier : CollectiveKind::kThreadBarrier,
                        communicator->second, std::nullopt, 0, 0);
  }

  void Leave(Tick tick, std::uint32_t region) override {
    if (IsEvent(region)) ForkUntilHere();
    Close(tick);
    if (IsEvent(region)) {
      ++events_;
    } else if (RegionAt(region).is_mpi) {
      ++mpi_calls_;
    }
  }

  void Record(const FedRecord& record) override { builder_.Record(record); }
  void SetCounter(Tick, std::uint32_t, std::int64_t) override {}
  void MeasurementOff(Tick tick) override { builder_.MeasurementOff(tick); }
  void MeasurementOn(Tick tick) override { builder_.MeasurementOn(tick); }
  void BufferFlush(Tick begin, Tick end) override { builder_.BufferFlush(begin, end); }

  RankTimeline Finish() {
    events_ = mpi_calls_ = std::numeric_limits<std::uint32_t>::max();
    ForkUntilHere();
    return builder_.Finish();
  }

  void Fork(Tick begin, Tick end, std::uint32_t region, std::optional<std::uint32_t> communicator) {
    Open(begin, region);
    if (communicator) builder_.Collective(CollectiveKind::kFork, *communicator, std::uint32_t{0}, 0, 0);
    Close(end);
  }

  // Leaves and enters regions until these are open, when the thread begins to idle.
  void OpenLike(const std::vector<std::uint32_t>& regions, Tick tick) {
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(open_, regions).in2 - regions.begin());
    while (open_.size() > same) Close(tick);
    for (std::size_t i = same; i < regions.size(); ++i) Open(tick, regions[i]);
  }

  // The part of another thread than the main one in a team.
  void WriteSpan(const RankTimeline& timeline, const TeamSpan& span) {
    const std::size_t around = open_.size();
    events_ = span.begin.event;
    for (std::uint32_t call = span.begin.call; call <= span.end.call; ++call) {
      const bool is_last = call == span.end.call;
      while (events_ < span.end.event) {
        const RankTimeline::RegionEvent next = timeline.region_event(events_);
        if (!is_last && next.call > call) break;
        if (!next.is_leave) {
          Enter(next.tick, next.region);
        } else if (open_.size() > around) {
          Leave(next.tick, next.region);
        } else {
          ++events_;  // the thread entered it before its team
        }
      }
      if (is_last) break;
      Open(timeline.enter(call), timeline.region(call));
      Close(timeline.leave(call));
    }
    while (open_.size() > around) Close(span.end.tick);
  }

 private:
  const Region& RegionAt(std::uint32_t index) const { return builder_.definitions().regions[index]; }
  bool InBarrier() const { return !open_.empty() && RegionAt(open_.back()).IsTeamBarrier(); }
  // The timeline numbers barriers as regions.
  bool IsEvent(std::uint32_t index) const {
    const Region& region = RegionAt(index);
    return region.IsTeamBarrier() || (!region.is_mpi && !region.is_outside);
  }

  void Open(Tick tick, std::uint32_t region) {
    if (InBarrier()) builder_.Leave(tick, open_.back());
    open_.push_back(region);
    builder_.Enter(tick, region);
  }
  void Close(Tick tick) {
    builder_.Leave(tick, open_.back());
    open_.pop_back();
    if (InBarrier()) builder_.Enter(tick, open_.back());
  }

  void ForkUntilHere() {
    for (; next_ < forks_.size(); ++next_) {
      TeamFork& fork = forks_[next_];
      if (fork.fork.call > mpi_calls_ || fork.fork.event > events_) return;
      for (const std::uint32_t region : open_) {
        if (!RegionAt(region).is_mpi) fork.open.push_back(region);
      }
      if (!fork.communicator) continue;
      // Before the team begins, the main thread works.
      const bool begins_at_once = fork.fork.call == fork.begin.call && fork.fork.event == fork.begin.event;
      const Tick end = begins_at_once ? fork.begin.tick : fork.fork.tick;
      Fork(fork.fork.tick, end, fork.region, fork.communicator);
    }
  }

  RankBuilder builder_;
  std::unordered_map<std::uint32_t, std::uint32_t> barriers_;  // communicators by event
  std::vector<std::uint32_t> open_;                            // regions, the outermost first, calls included
  std::span<TeamFork> forks_;                                  // the main thread's
  std::size_t next_ = 0;
  std::uint32_t events_ = 0, mpi_calls_ = 0;  // written so far
};

// The teams of a worker, and between them idle time, which begins with the rank.
RankTimeline WriteWorker(const RankTeams& teams, std::size_t thread, Tick idle_since, std::uint32_t unknown_fork,
                         ThreadWriter writer) {
  for (const TeamSpan& span : teams.threads[thread].spans) {
    const TeamFork* fork = span.fork == kNoFork ? nullptr : &teams.forks[span.fork];
    if (fork != nullptr) writer.OpenLike(fork->open, idle_since);
    const Tick until = std::max(span.begin.tick, idle_since);
    writer.Fork(idle_since, until, fork != nullptr ? fork->region : unknown_fork,
                fork != nullptr ? fork->communicator : std::nullopt);
    writer.WriteSpan(*teams.threads[thread].timeline, span);
    idle_since = std::max(span.end.tick, until);
  }
  writer.OpenLike({}, idle_since);
  return writer.Finish();
}

// Returns one list a rank: the locations of its threads. Adds communicators: those of MPI under the same numbers, and
// one for every set of threads that form a team.
std::vector<std::vector<std::int32_t>> AddLocations(const Trace& trace, std::vector<RankTeams>& teams,
                                                    TraceBuilder& builder) {
  std::vector<std::vector<std::int32_t>> locations(trace.size());
  Diagnostics& diagnostics = builder.trace().diagnostics;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    diagnostics.Merge(teams[rank].diagnostics);
    for (const TeamThread& thread : teams[rank].threads) {
      const Location& location = thread.location;
      const std::string name = fmt::format("rank {}, thread {}", location.rank, location.thread);
      const bool is_worker = location.thread > 0, is_idle = thread.spans.empty();
      std::uint64_t inside = 0;  // region events
      for (const TeamSpan& span : thread.spans) inside += span.end.event - span.begin.event;
      const bool has_outside = is_idle || thread.timeline->region_events() != inside;
      if (is_worker && has_outside) diagnostics.Add(anomaly::kThreadOutsideTeams, 1, name);
      locations[rank].push_back(static_cast<std::int32_t>(builder.definitions().size()));
      if (is_worker && is_idle) continue;
      builder.AddRank({trace.ranks[rank].node, 1, name});
      builder.trace().locations.push_back(location);
    }
  }
  for (Communicator communicator : trace.communicators) {
    for (std::vector<std::int32_t>* group : {&communicator.members, &communicator.remote}) {
      for (std::int32_t& rank : *group) rank = locations[static_cast<std::size_t>(rank)].front();
    }
    builder.AddCommunicator(std::move(communicator));
  }
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    std::map<std::vector<std::size_t>, std::uint32_t> known;
    for (TeamFork& fork : teams[rank].forks) {
      if (!fork.is_whole) continue;
      const auto [entry, is_new] = known.try_emplace(fork.threads, 0);
      if (is_new) {
        Communicator team{.name = fmt::format("OpenMP team of rank {}", rank), .members = {}, .remote = {}};
        for (const std::size_t thread : fork.threads) team.members.push_back(locations[rank][thread]);
        entry->second = builder.AddCommunicator(std::move(team));
      }
      fork.communicator = entry->second;
    }
  }
  return locations;
}

}  // namespace

std::vector<TeamThread> ThreadsOfRank(const Trace& trace, std::size_t rank) {
  static const std::vector<TeamEvent> kNone;
  const TeamThreads& all = trace.team_threads;
  const auto own = static_cast<std::int32_t>(rank);
  std::vector<TeamThread> threads = {
      {&trace.timelines[rank], rank < all.of_ranks.size() ? &all.of_ranks[rank] : &kNone, {own, 0}}};
  const auto rank_of = [](const WorkerThread& worker) { return worker.location.rank; };
  auto worker = std::ranges::lower_bound(all.workers, own, {}, rank_of);
  for (; worker != all.workers.end() && rank_of(*worker) == own; ++worker) {
    threads.push_back({&worker->timeline, &worker->team_events, worker->location});
  }
  return threads;
}

RankTeams PlanTeams(const Trace& trace, std::vector<TeamThread> threads) {
  RankTeams result;
  result.threads = std::move(threads);
  for (TeamThread& thread : result.threads) {
    ReadSpans(thread, result);
    for (TeamSpan& span : thread.spans) {
      for (std::uint32_t event = span.begin.event; event < span.end.event; ++event) {
        const auto inner = std::ranges::lower_bound(thread.nested, std::pair(event, event + 1));
        if (inner != thread.nested.end() && inner->first == event) {
          event = inner->second - 1;
          continue;
        }
        const RankTimeline::RegionEvent entered = thread.timeline->region_event(event);
        if (!entered.is_leave && trace.regions[entered.region].IsTeamBarrier()) span.barriers.push_back(event);
      }
    }
  }
  const bool has_nested =
      std::ranges::any_of(result.threads, [](const TeamThread& thread) { return !thread.nested.empty(); });
  for (std::size_t i = 1; i < result.threads.size(); ++i) FindForks(i, has_nested, result);
  for (TeamFork& fork : result.forks) {
    const std::vector<Location>& expected = trace.team_threads.teams[fork.begin.team];
    std::vector<Location> found;
    for (const std::size_t thread : fork.threads) found.push_back(result.threads[thread].location);
    std::ranges::sort(found);
    const bool is_complete = expected.empty() || found == expected;
    if (!is_complete) result.diagnostics.Add(anomaly::kTeamIncomplete, 1, Place(result.threads.front()));
    fork.is_whole = is_complete && found.size() > 1;
  }
  CompareBarriers(trace.regions, result);
  return result;
}

Trace LocationTrace(const Trace& trace) {
  TraceBuilder builder;
  builder.CopyHeader(trace);
  builder.trace().diagnostics = trace.team_threads.diagnostics;
  for (Region& region : builder.trace().regions) {
    if (!region.IsTeamBarrier()) continue;
    region.is_mpi = true;
    region.call = MpiCall::kOther;
  }
  const auto add_fork = [&](std::string name) {
    return builder.AddRegion({.name = std::move(name), .is_mpi = true, .call = MpiCall::kOther, .is_fork = true});
  };
  const std::uint32_t unknown_fork = add_fork(std::string(kForkRegion));
  std::unordered_map<std::uint32_t, std::uint32_t> fork_regions;  // indexed by parallel region
  for (std::uint32_t region = 0; region < trace.regions.size(); ++region) {
    if (trace.regions[region].team_role != TeamRole::kParallel) continue;
    fork_regions[region] = add_fork(fmt::format("{}: {}", kForkRegion, trace.regions[region].name));
  }
  std::vector<RankTeams> teams(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    teams[rank] = PlanTeams(trace, ThreadsOfRank(trace, rank));
    const RankTimeline& main = trace.timelines[rank];
    for (TeamFork& fork : teams[rank].forks) {
      fork.region = unknown_fork;
      // The parallel region in which the main thread forks, or rather that it enters with the team.
      for (const std::uint32_t event : {fork.fork.event - 1, fork.begin.event}) {
        if (event >= main.region_events()) continue;  // or there is no event at all
        const RankTimeline::RegionEvent entered = main.region_event(event);
        const auto parallel = fork_regions.find(entered.region);
        if (!entered.is_leave && parallel != fork_regions.end()) fork.region = parallel->second;
      }
    }
  });
  const std::vector<std::vector<std::int32_t>> locations = AddLocations(trace, teams, builder);
  const LocalRanks local_ranks(trace);
  std::vector<RankTimeline>& timelines = builder.trace().timelines;  // diagnostics are those of reading, once more
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const auto writer = [&](std::size_t thread) {
      return ThreadWriter(builder.definitions(), locations[rank][thread], teams[rank], thread);
    };
    const RankTimeline& main = trace.timelines[rank];
    ThreadWriter of_main = writer(0);
    FeedTimeline(trace, local_ranks, rank, of_main);
    timelines[static_cast<std::size_t>(locations[rank][0])] = of_main.Finish();
    for (std::size_t i = 1; i < teams[rank].threads.size(); ++i) {
      if (teams[rank].threads[i].spans.empty()) continue;
      timelines[static_cast<std::size_t>(locations[rank][i])] =
          WriteWorker(teams[rank], i, main.empty() ? trace.begin() : main.begin(), unknown_fork, writer(i));
    }
  });
  return std::move(builder).Finish();
}

std::string NameOfRank(const Trace& trace, std::size_t rank) {
  if (trace.locations.empty()) return fmt::format("rank {}", rank);
  return fmt::format("rank {}, thread {}", trace.locations[rank].rank, trace.locations[rank].thread);
}

}  // namespace farscale
