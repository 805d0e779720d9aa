#include "trace/location_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

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
class SpanReader {
 public:
  SpanReader(TeamThread& thread, RankTeams& result)
      : thread_(thread), is_main_(thread.location.thread == 0), result_(result) {}

  void Read() {
    for (const TeamEvent& event : *thread_.events) {
      switch (event.kind) {
        case TeamEvent::Kind::kFork: Fork(event); break;
        case TeamEvent::Kind::kBegin: Begin(event); break;
        case TeamEvent::Kind::kEnd: End(event); break;
        case TeamEvent::Kind::kJoin: Join(event); break;
      }
    }
    if (fork_ || begin_) Unbalanced();
  }

 private:
  void Unbalanced() {
    result_.diagnostics.Add(anomaly::kTeamRecordsUnbalanced, 1, Place(thread_));
    Close();
    inner_forks_ = inner_teams_ = 0;
  }

  bool IsInTeam() const { return begin_ && !end_; }

  void Fork(const TeamEvent& event) {
    if (IsInTeam()) {
      if (inner_forks_++ > 0) return;
      result_.diagnostics.Add(anomaly::kTeamNested, 1, Place(thread_));
      inner_begin_ = event.event;
      return;
    }
    if (fork_ || begin_) Unbalanced();  // the last one was never joined
    if (is_main_) {
      fork_ = event;
    } else {
      Unbalanced();
    }
  }

  void Begin(const TeamEvent& event) {
    if (inner_forks_ > 0) {
      ++inner_teams_;
      return;
    }
    if (begin_ || (is_main_ && !fork_)) Unbalanced();
    if (is_main_ && !fork_) return;
    begin_ = event;
  }

  void End(const TeamEvent& event) {
    if (inner_teams_ > 0) {
      --inner_teams_;
      return;
    }
    if (!IsInTeam() || event.team != begin_->team || inner_forks_ > 0) return Unbalanced();
    end_ = event;
    if (is_main_) return;
    thread_.spans.push_back({*begin_, *end_, kNoFork, {}});
    Close();
  }

  void Join(const TeamEvent& event) {
    if (inner_forks_ > 0) {
      if (--inner_forks_ == 0) {
        thread_.nested.emplace_back(inner_begin_, event.event);
        inner_teams_ = 0;
      }
      return;
    }
    if (!fork_ || !end_) return Unbalanced();
    thread_.spans.push_back({*begin_, *end_, static_cast<std::uint32_t>(result_.forks.size()), {}});
    result_.forks.push_back({*fork_, *begin_, event, {0}, false, false});
    Close();
  }

  void Close() {
    fork_.reset();
    begin_.reset();
    end_.reset();
  }

  TeamThread& thread_;
  const bool is_main_;
  RankTeams& result_;
  std::optional<TeamEvent> fork_, begin_, end_;
  std::size_t inner_forks_ = 0, inner_teams_ = 0;
  std::uint32_t inner_begin_ = 0;
};

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

void FindBarriers(const std::vector<Region>& regions, TeamThread& thread) {
  for (TeamSpan& span : thread.spans) {
    for (std::uint32_t event = span.begin.event; event < span.end.event; ++event) {
      const auto inner = std::ranges::lower_bound(thread.nested, std::pair(event, event + 1));
      if (inner != thread.nested.end() && inner->first == event) {
        event = inner->second - 1;
        continue;
      }
      const RankTimeline::RegionEvent entered = thread.timeline->region_event(event);
      if (!entered.is_leave && regions[entered.region].IsTeamBarrier()) span.barriers.push_back(event);
    }
  }
}

void CheckMembers(const std::vector<Location>& expected, TeamFork& fork, RankTeams& result) {
  std::vector<Location> found;
  for (const std::size_t thread : fork.threads) found.push_back(result.threads[thread].location);
  std::ranges::sort(found);
  const bool is_complete = expected.empty() || found == expected;
  if (!is_complete) result.diagnostics.Add(anomaly::kTeamIncomplete, 1, Place(result.threads.front()));
  fork.is_whole = is_complete && found.size() > 1;
}

// `has_inside`: set where a barrier is not left by the next event, or there is a call in it.
std::vector<TeamRole> BarrierRoles(const std::vector<Region>& regions, const RankTimeline& timeline,
                                   const TeamSpan& span, bool& has_inside) {
  std::vector<TeamRole> roles;
  for (const std::uint32_t event : span.barriers) {
    const RankTimeline::RegionEvent entered = timeline.region_event(event);
    roles.push_back(regions[entered.region].team_role);
    if (event + 1 >= timeline.region_events()) continue;
    const RankTimeline::RegionEvent left = timeline.region_event(event + 1);
    has_inside = has_inside || !left.is_leave || left.call != entered.call;
  }
  return roles;
}

// Every thread goes through the spans in the order of forks.
void CompareBarriers(const std::vector<Region>& regions, RankTeams& result) {
  std::vector<std::size_t> next(result.threads.size());
  for (std::uint32_t i = 0; i < result.forks.size(); ++i) {
    TeamFork& fork = result.forks[i];
    std::vector<TeamRole> first;
    bool agree = true, has_inside = false;
    for (const std::size_t number : fork.threads) {
      const TeamThread& thread = result.threads[number];
      while (thread.spans[next[number]].fork != i) ++next[number];
      const std::vector<TeamRole> roles =
          BarrierRoles(regions, *thread.timeline, thread.spans[next[number]], has_inside);
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

// A fork in the trace of locations.
struct ForkCall {
  std::uint32_t region = 0;
  std::optional<std::uint32_t> communicator;  // nothing: its team is not whole
  std::vector<std::uint32_t> opened;          // regions in which the main thread forks
};

// Hands events of one thread on to the builder of its location. A barrier around others is interrupted by them, since
// calls do not nest.
class ThreadWriter {
 public:
  ThreadWriter(const std::vector<Region>& regions, const RankTeams& teams, const std::vector<ForkCall>& calls,
               std::size_t thread, RankBuilder& builder)
      : regions_(regions), builder_(builder) {
    for (const TeamSpan& span : teams.threads[thread].spans) {
      if (span.fork == kNoFork || !teams.forks[span.fork].barriers_agree) continue;
      for (const std::uint32_t event : span.barriers) barriers_[event] = *calls[span.fork].communicator;
    }
  }

  void Enter(Tick tick, std::uint32_t region) {
    if (InBarrier()) builder_.Leave(tick, open_.back());
    open_.push_back(region);
    builder_.Enter(tick, region);
  }

  // Enters the region of an event, which may be an OpenMP barrier.
  void EnterAt(std::uint32_t event, Tick tick, std::uint32_t region) {
    Enter(tick, region);
    const auto communicator = barriers_.find(event);
    if (!regions_[region].IsTeamBarrier() || communicator == barriers_.end()) return;
    const bool is_implicit = regions_[region].team_role == TeamRole::kImplicitBarrier;
    builder_.Collective(is_implicit ? CollectiveKind::kImplicitBarrier : CollectiveKind::kThreadBarrier,
                        communicator->second, std::nullopt, 0, 0);
  }

  void Leave(Tick tick) {
    builder_.Leave(tick, open_.back());
    open_.pop_back();
    if (InBarrier()) builder_.Enter(tick, open_.back());
  }

  void Fork(Tick begin, Tick end, std::uint32_t region, std::optional<std::uint32_t> communicator) {
    Enter(begin, region);
    if (communicator) builder_.Collective(CollectiveKind::kFork, *communicator, std::uint32_t{0}, 0, 0);
    Leave(end);
  }

  // Regions open, the outermost first, calls included.
  const std::vector<std::uint32_t>& open() const { return open_; }

 private:
  bool InBarrier() const { return !open_.empty() && regions_[open_.back()].IsTeamBarrier(); }

  const std::vector<Region>& regions_;
  RankBuilder& builder_;
  std::unordered_map<std::uint32_t, std::uint32_t> barriers_;  // communicators by event
  std::vector<std::uint32_t> open_;
};

// The main thread's own events, with forks in their places. Counters are left out.
class MainSink : public TimelineSink {
 public:
  MainSink(const std::vector<Region>& regions, const RankTeams& teams, std::vector<ForkCall>& calls,
           RankBuilder& builder)
      : regions_(regions),
        teams_(teams),
        calls_(calls),
        builder_(builder),
        writer_(regions, teams, calls, 0, builder) {}

  void Enter(Tick tick, std::uint32_t region) override {
    ForkUntilHere();
    writer_.EnterAt(events_, tick, region);
    events_ += IsEvent(region) ? 1 : 0;
  }

  void Leave(Tick tick, std::uint32_t region) override {
    if (IsEvent(region)) ForkUntilHere();
    writer_.Leave(tick);
    if (IsEvent(region)) {
      ++events_;
    } else if (regions_[region].is_mpi) {
      ++mpi_calls_;
    }
  }

  void ForkUntilEnd() {
    events_ = mpi_calls_ = std::numeric_limits<std::uint32_t>::max();
    ForkUntilHere();
  }

  void Record(const FedRecord& record) override { builder_.Record(record); }
  void SetCounter(Tick, std::uint32_t, std::int64_t) override {}
  void MeasurementOff(Tick tick) override { builder_.MeasurementOff(tick); }
  void MeasurementOn(Tick tick) override { builder_.MeasurementOn(tick); }
  void BufferFlush(Tick begin, Tick end) override { builder_.BufferFlush(begin, end); }

 private:
  // The timeline numbers barriers as regions.
  bool IsEvent(std::uint32_t region) const {
    return regions_[region].IsTeamBarrier() || (!regions_[region].is_mpi && !regions_[region].is_outside);
  }

  void ForkUntilHere() {
    for (; next_ < calls_.size(); ++next_) {
      const TeamFork& fork = teams_.forks[next_];
      ForkCall& call = calls_[next_];
      if (fork.fork.call > mpi_calls_ || fork.fork.event > events_) return;
      for (const std::uint32_t region : writer_.open()) {
        if (!regions_[region].is_mpi) call.opened.push_back(region);
      }
      if (!call.communicator) continue;
      // Before the team begins, the main thread works.
      const bool begins_at_once = fork.fork.call == fork.begin.call && fork.fork.event == fork.begin.event;
      const Tick end = begins_at_once ? fork.begin.tick : fork.fork.tick;
      writer_.Fork(fork.fork.tick, end, call.region, call.communicator);
    }
  }

  const std::vector<Region>& regions_;
  const RankTeams& teams_;
  std::vector<ForkCall>& calls_;
  RankBuilder& builder_;
  ThreadWriter writer_;
  std::size_t next_ = 0;
  std::uint32_t events_ = 0, mpi_calls_ = 0;  // written so far
};

// Leaves and enters regions until these are open, when the thread begins to idle.
void OpenLike(const std::vector<std::uint32_t>& regions, Tick tick, ThreadWriter& writer) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(writer.open(), regions).in2 - regions.begin());
  while (writer.open().size() > same) writer.Leave(tick);
  for (std::size_t i = same; i < regions.size(); ++i) writer.Enter(tick, regions[i]);
}

void WriteSpan(const RankTimeline& timeline, const TeamSpan& span, ThreadWriter& writer) {
  const std::size_t around = writer.open().size();
  std::uint32_t event = span.begin.event;
  for (std::uint32_t call = span.begin.call; call <= span.end.call; ++call) {
    const bool is_last = call == span.end.call;
    for (; event < span.end.event; ++event) {
      const RankTimeline::RegionEvent next = timeline.region_event(event);
      if (!is_last && next.call > call) break;
      if (!next.is_leave) {
        writer.EnterAt(event, next.tick, next.region);
      } else if (writer.open().size() > around) {  // else the thread entered it before its team
        writer.Leave(next.tick);
      }
    }
    if (is_last) break;
    writer.Enter(timeline.enter(call), timeline.region(call));
    writer.Leave(timeline.leave(call));
  }
  while (writer.open().size() > around) writer.Leave(span.end.tick);
}

// Region events that no team of the thread contains.
std::uint64_t EventsOutside(const TeamThread& thread) {
  std::uint64_t inside = 0;
  for (const TeamSpan& span : thread.spans) inside += span.end.event - span.begin.event;
  return thread.timeline->region_events() - inside;
}

class LocationTraceBuilder {
 public:
  explicit LocationTraceBuilder(const Trace& trace)
      : trace_(trace), teams_(trace.size()), calls_(trace.size()), location_of_(trace.size()) {}

  Trace Run() {
    CopyDefinitions();
    ParallelFor(trace_.size(), [&](std::size_t rank) {
      teams_[rank] = PlanTeams(trace_, ThreadsOfRank(trace_, rank));
      for (const TeamFork& fork : teams_[rank].forks) calls_[rank].push_back({RegionOf(rank, fork), std::nullopt, {}});
    });
    AddLocations();
    AddCommunicators();
    std::vector<std::vector<std::unique_ptr<RankBuilder>>> builders(trace_.size());
    const LocalRanks local_ranks(trace_);
    ParallelFor(trace_.size(), [&](std::size_t rank) { builders[rank] = BuildThreads(rank, local_ranks); });
    for (auto& of_rank : builders) {  // their diagnostics are those of reading, once more
      for (const std::unique_ptr<RankBuilder>& location : of_rank) {
        builder_.trace().timelines[static_cast<std::size_t>(location->rank())] = location->Finish();
      }
    }
    return std::move(builder_).Finish();
  }

 private:
  void CopyDefinitions() {
    builder_.CopyHeader(trace_);
    Trace& copy = builder_.trace();
    copy.diagnostics = trace_.team_threads.diagnostics;
    for (Region& region : copy.regions) {
      if (!region.IsTeamBarrier()) continue;
      region.is_mpi = true;
      region.call = MpiCall::kOther;
    }
    const auto add_fork = [&](std::string name) {
      return builder_.AddRegion({.name = std::move(name), .is_mpi = true, .call = MpiCall::kOther, .is_fork = true});
    };
    fork_region_ = add_fork(std::string(kForkRegion));
    for (std::uint32_t region = 0; region < trace_.regions.size(); ++region) {
      if (trace_.regions[region].team_role != TeamRole::kParallel) continue;
      fork_regions_[region] = add_fork(fmt::format("{}: {}", kForkRegion, trace_.regions[region].name));
    }
  }

  // The region of the parallel region that the main thread enters with the team, or in which it forks.
  std::uint32_t RegionOf(std::size_t rank, const TeamFork& fork) const {
    const RankTimeline& timeline = trace_.timelines[rank];
    for (const std::uint32_t event : {fork.begin.event, fork.fork.event - 1}) {
      if (event >= timeline.region_events()) continue;  // or there is no event at all
      const RankTimeline::RegionEvent entered = timeline.region_event(event);
      const auto found = fork_regions_.find(entered.region);
      if (!entered.is_leave && found != fork_regions_.end()) return found->second;
    }
    return fork_region_;
  }

  void AddLocations() {
    Diagnostics& diagnostics = builder_.trace().diagnostics;
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) {
      diagnostics.Merge(teams_[rank].diagnostics);
      for (const TeamThread& thread : teams_[rank].threads) {
        const Location& location = thread.location;
        const std::string name = fmt::format("rank {}, thread {}", location.rank, location.thread);
        const bool is_worker = location.thread > 0, is_idle = thread.spans.empty();
        if (is_worker && (is_idle || EventsOutside(thread) > 0)) diagnostics.Add(anomaly::kThreadOutsideTeams, 1, name);
        location_of_[rank].push_back(static_cast<std::int32_t>(builder_.definitions().size()));
        if (is_worker && is_idle) continue;
        builder_.AddRank({trace_.ranks[rank].node, 1, name});
        builder_.trace().locations.push_back(location);
      }
    }
  }

  // Those of MPI under the same numbers, and one for every set of threads that form a team.
  void AddCommunicators() {
    const auto main_of = [&](std::int32_t rank) { return location_of_[static_cast<std::size_t>(rank)].front(); };
    for (Communicator communicator : trace_.communicators) {
      for (std::vector<std::int32_t>* group : {&communicator.members, &communicator.remote}) {
        std::transform(group->begin(), group->end(), group->begin(), main_of);
      }
      builder_.AddCommunicator(std::move(communicator));
    }
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) {
      std::map<std::vector<std::size_t>, std::uint32_t> known;
      for (std::size_t i = 0; i < calls_[rank].size(); ++i) {
        const TeamFork& fork = teams_[rank].forks[i];
        if (!fork.is_whole) continue;
        const auto [entry, is_new] = known.try_emplace(fork.threads, 0);
        if (is_new) entry->second = AddTeam(rank, fork);
        calls_[rank][i].communicator = entry->second;
      }
    }
  }

  std::uint32_t AddTeam(std::size_t rank, const TeamFork& fork) {
    Communicator team;
    team.name = fmt::format("OpenMP team of rank {}", rank);
    for (const std::size_t thread : fork.threads) team.members.push_back(location_of_[rank][thread]);
    return builder_.AddCommunicator(std::move(team));
  }

  std::vector<std::unique_ptr<RankBuilder>> BuildThreads(std::size_t rank, const LocalRanks& local_ranks) {
    const RankTeams& teams = teams_[rank];
    const Trace& definitions = builder_.definitions();
    std::vector<std::unique_ptr<RankBuilder>> builders;
    builders.push_back(std::make_unique<RankBuilder>(definitions, location_of_[rank][0]));
    MainSink sink(definitions.regions, teams, calls_[rank], *builders.back());
    FeedTimeline(trace_, local_ranks, rank, sink);
    sink.ForkUntilEnd();
    for (std::size_t i = 1; i < teams.threads.size(); ++i) {
      if (teams.threads[i].spans.empty()) continue;
      builders.push_back(std::make_unique<RankBuilder>(definitions, location_of_[rank][i]));
      WriteWorker(rank, i, *builders.back());
    }
    return builders;
  }

  // The teams of a worker, and between them idle time.
  void WriteWorker(std::size_t rank, std::size_t thread, RankBuilder& builder) const {
    const RankTimeline& main = trace_.timelines[rank];
    ThreadWriter writer(builder_.definitions().regions, teams_[rank], calls_[rank], thread, builder);
    Tick idle_since = main.empty() ? trace_.begin() : main.begin();
    const ForkCall unknown{fork_region_, std::nullopt, {}};
    for (const TeamSpan& span : teams_[rank].threads[thread].spans) {
      const ForkCall& call = span.fork == kNoFork ? unknown : calls_[rank][span.fork];
      if (span.fork != kNoFork) OpenLike(call.opened, idle_since, writer);
      const Tick until = std::max(span.begin.tick, idle_since);
      writer.Fork(idle_since, until, call.region, call.communicator);
      WriteSpan(*teams_[rank].threads[thread].timeline, span, writer);
      idle_since = std::max(span.end.tick, until);
    }
    OpenLike({}, idle_since, writer);
  }

  const Trace& trace_;
  TraceBuilder builder_;
  std::vector<RankTeams> teams_;              // one a rank
  std::vector<std::vector<ForkCall>> calls_;  // the same: one call a fork
  std::uint32_t fork_region_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> fork_regions_;  // indexed by parallel region
  std::vector<std::vector<std::int32_t>> location_of_;             // one list a rank: its threads
};

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
    SpanReader(thread, result).Read();
    FindBarriers(trace.regions, thread);
  }
  const bool has_nested =
      std::ranges::any_of(result.threads, [](const TeamThread& thread) { return !thread.nested.empty(); });
  for (std::size_t i = 1; i < result.threads.size(); ++i) FindForks(i, has_nested, result);
  for (TeamFork& fork : result.forks) CheckMembers(trace.team_threads.teams[fork.begin.team], fork, result);
  CompareBarriers(trace.regions, result);
  return result;
}

Trace LocationTrace(const Trace& trace) { return LocationTraceBuilder(trace).Run(); }

std::string NameOfRank(const Trace& trace, std::size_t rank) {
  if (trace.locations.empty()) return fmt::format("rank {}", rank);
  return fmt::format("rank {}, thread {}", trace.locations[rank].rank, trace.locations[rank].thread);
}

}  // namespace farscale
