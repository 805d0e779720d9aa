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

// Region events from one index to another.
using EventRange = std::pair<std::uint32_t, std::uint32_t>;

struct ThreadSpans {
  std::vector<TeamSpan> spans;
  std::vector<TeamFork> forks;     // the main thread's, joined
  std::vector<EventRange> nested;  // teams that the thread forks inside its team
};

// Reads the team events of one thread. Where some are missing, what is open is given up at the next that cannot be.
class SpanReader {
 public:
  SpanReader(bool is_main, Diagnostics& diagnostics, std::string place)
      : is_main_(is_main), diagnostics_(diagnostics), place_(std::move(place)) {}

  ThreadSpans Read(const std::vector<TeamEvent>& events) {
    for (const TeamEvent& event : events) {
      switch (event.kind) {
        case TeamEvent::Kind::kFork: Fork(event); break;
        case TeamEvent::Kind::kBegin: Begin(event); break;
        case TeamEvent::Kind::kEnd: End(event); break;
        case TeamEvent::Kind::kJoin: Join(event); break;
      }
    }
    if (fork_ || begin_) Unbalanced();
    return std::move(result_);
  }

 private:
  void Unbalanced() {
    diagnostics_.Add(anomaly::kTeamRecordsUnbalanced, 1, place_);
    Close();
    inner_forks_ = inner_teams_ = 0;
  }

  bool IsInTeam() const { return begin_ && !end_; }

  void Fork(const TeamEvent& event) {
    if (IsInTeam()) {
      if (inner_forks_++ > 0) return;
      diagnostics_.Add(anomaly::kTeamNested, 1, place_);
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
    result_.spans.push_back({*begin_, *end_, kNoFork, {}});
    Close();
  }

  void Join(const TeamEvent& event) {
    if (inner_forks_ > 0) {
      if (--inner_forks_ == 0) {
        result_.nested.emplace_back(inner_begin_, event.event);
        inner_teams_ = 0;
      }
      return;
    }
    if (!fork_ || !end_) return Unbalanced();
    result_.spans.push_back({*begin_, *end_, static_cast<std::uint32_t>(result_.forks.size()), {}});
    result_.forks.push_back({*fork_, *begin_, event, {0}, false, false});
    Close();
  }

  void Close() {
    fork_.reset();
    begin_.reset();
    end_.reset();
  }

  const bool is_main_;
  Diagnostics& diagnostics_;
  const std::string place_;
  ThreadSpans result_;
  std::optional<TeamEvent> fork_, begin_, end_;
  std::size_t inner_forks_ = 0, inner_teams_ = 0;
  std::uint32_t inner_begin_ = 0;
};

std::string Place(const ThreadInput& thread) {
  return fmt::format("on rank {}, thread {}", thread.location.rank, thread.location.thread);
}

// Threads of a rank share its clock: one that begins in a team between its fork and its join belongs to that fork.
void FindForks(std::size_t thread, const std::string& place, bool has_nested, std::vector<TeamSpan>& spans,
               RankTeams& result) {
  std::uint32_t next = 0;
  std::vector<TeamFork>& forks = result.forks;
  for (TeamSpan& span : spans) {
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
    const bool is_inner = is_in_team && has_nested;
    result.diagnostics.Add(is_inner ? anomaly::kTeamNested : anomaly::kTeamRecordsUnbalanced, 1, place);
  }
}

void FindBarriers(const std::vector<Region>& regions, const RankTimeline& timeline,
                  const std::vector<EventRange>& nested, TeamSpan& span) {
  for (std::uint32_t event = span.begin.event; event < span.end.event; ++event) {
    const auto inner = std::lower_bound(nested.begin(), nested.end(), EventRange{event, event + 1});
    if (inner != nested.end() && inner->first == event) {
      event = inner->second - 1;
      continue;
    }
    const RankTimeline::RegionEvent entered = timeline.region_event(event);
    if (!entered.is_leave && regions[entered.region].IsTeamBarrier()) span.barriers.push_back(event);
  }
}

void CheckMembers(const std::vector<ThreadTeam>& teams, const std::vector<ThreadInput>& threads, TeamFork& fork,
                  Diagnostics& diagnostics) {
  const std::vector<Location>& expected = teams[fork.begin.team].members;
  std::vector<Location> found;
  for (const std::size_t thread : fork.threads) found.push_back(threads[thread].location);
  std::ranges::sort(found);
  if (!expected.empty() && found != expected) {
    diagnostics.Add(anomaly::kTeamIncomplete, 1, Place(threads.front()));
    return;
  }
  fork.is_whole = found.size() > 1;
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
void CompareBarriers(const std::vector<Region>& regions, const std::vector<ThreadInput>& threads, RankTeams& result) {
  std::vector<std::size_t> next(threads.size());
  for (std::uint32_t i = 0; i < result.forks.size(); ++i) {
    TeamFork& fork = result.forks[i];
    std::vector<TeamRole> first;
    bool agree = true, has_inside = false;
    for (const std::size_t thread : fork.threads) {
      const std::vector<TeamSpan>& spans = result.spans[thread];
      while (spans[next[thread]].fork != i) ++next[thread];
      const std::vector<TeamRole> roles =
          BarrierRoles(regions, *threads[thread].timeline, spans[next[thread]], has_inside);
      if (thread == fork.threads.front()) first = roles;
      agree = agree && roles == first;
    }
    if (!fork.is_whole) continue;
    fork.barriers_agree = agree && !has_inside;
    if (has_inside) result.diagnostics.Add(anomaly::kTaskInTeamBarrier, 1, Place(threads.front()));
    if (!agree && !has_inside) result.diagnostics.Add(anomaly::kTeamBarrierMismatch, 1, Place(threads.front()));
  }
}

// Threads of one rank that are in teams.
struct RankPlan {
  std::vector<ThreadInput> threads;
  RankTeams teams;
  std::vector<std::uint32_t> communicators;        // one a fork, in the trace of locations
  std::vector<std::uint32_t> regions;              // the same: of its call
  std::vector<std::vector<std::uint32_t>> opened;  // the same: regions in which the main thread forks
};

std::optional<std::uint32_t> ForkCommunicator(const RankPlan& plan, std::uint32_t fork) {
  if (fork == kNoFork || !plan.teams.forks[fork].is_whole) return std::nullopt;
  return plan.communicators[fork];
}

// Hands events of one thread on to the builder of its location. A barrier around others is interrupted by them, since
// calls do not nest.
class ThreadWriter {
 public:
  ThreadWriter(const std::vector<Region>& regions, const RankPlan& plan, std::size_t thread, RankBuilder& builder)
      : regions_(regions), builder_(builder) {
    for (const TeamSpan& span : plan.teams.spans[thread]) {
      if (span.fork == kNoFork || !plan.teams.forks[span.fork].barriers_agree) continue;
      for (const std::uint32_t event : span.barriers) barriers_[event] = plan.communicators[span.fork];
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
class MainSink : public BuilderSink {
 public:
  MainSink(const std::vector<Region>& regions, RankPlan& plan, RankBuilder& builder)
      : BuilderSink(builder), regions_(regions), plan_(plan), writer_(regions, plan, 0, builder) {}

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
      ++calls_;
    }
  }

  void ForkUntilEnd() {
    events_ = calls_ = std::numeric_limits<std::uint32_t>::max();
    ForkUntilHere();
  }

  void SetCounter(Tick, std::uint32_t, std::int64_t) override {}

 private:
  // The timeline numbers barriers as regions.
  bool IsEvent(std::uint32_t region) const {
    return regions_[region].IsTeamBarrier() || (!regions_[region].is_mpi && !regions_[region].is_outside);
  }

  void ForkUntilHere() {
    for (; next_ < plan_.teams.forks.size(); ++next_) {
      const TeamFork& fork = plan_.teams.forks[next_];
      if (fork.fork.call > calls_ || fork.fork.event > events_) return;
      for (const std::uint32_t region : writer_.open()) {
        if (!regions_[region].is_mpi) plan_.opened[next_].push_back(region);
      }
      if (!fork.is_whole) continue;
      // Before the team begins, the main thread works.
      const bool begins_at_once = fork.fork.call == fork.begin.call && fork.fork.event == fork.begin.event;
      const Tick end = begins_at_once ? fork.begin.tick : fork.fork.tick;
      writer_.Fork(fork.fork.tick, end, plan_.regions[next_], plan_.communicators[next_]);
    }
  }

  const std::vector<Region>& regions_;
  RankPlan& plan_;
  ThreadWriter writer_;
  std::size_t next_ = 0;
  std::uint32_t events_ = 0, calls_ = 0;  // written so far
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

// A worker: its teams, and between them idle time, from `idle_since` on.
void WriteWorker(const std::vector<Region>& regions, const RankPlan& plan, std::size_t thread,
                 std::uint32_t fork_region, Tick idle_since, RankBuilder& builder) {
  ThreadWriter writer(regions, plan, thread, builder);
  for (const TeamSpan& span : plan.teams.spans[thread]) {
    const bool has_fork = span.fork != kNoFork;
    if (has_fork) OpenLike(plan.opened[span.fork], idle_since, writer);
    const Tick until = std::max(span.begin.tick, idle_since);
    writer.Fork(idle_since, until, has_fork ? plan.regions[span.fork] : fork_region, ForkCommunicator(plan, span.fork));
    WriteSpan(*plan.threads[thread].timeline, span, writer);
    idle_since = std::max(span.end.tick, until);
  }
  OpenLike({}, idle_since, writer);
}

// Region events that no team of the thread contains.
std::uint64_t EventsOutside(const RankTimeline& timeline, const std::vector<TeamSpan>& spans) {
  std::uint64_t inside = 0;
  for (const TeamSpan& span : spans) inside += span.end.event - span.begin.event;
  return timeline.region_events() - inside;
}

class LocationTraceBuilder {
 public:
  explicit LocationTraceBuilder(const Trace& trace) : trace_(trace), plans_(trace.size()) {}

  Trace Run() {
    CopyDefinitions();
    Plan();
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

  void Plan() {
    const TeamThreads& threads = trace_.team_threads;
    for (std::size_t rank = 0; rank < trace_.size(); ++rank) {
      plans_[rank].threads.push_back(
          {&trace_.timelines[rank], &threads.of_ranks[rank], {static_cast<std::int32_t>(rank), 0}});
    }
    for (const WorkerThread& worker : threads.workers) {
      RankPlan& plan = plans_[static_cast<std::size_t>(worker.location.rank)];
      plan.threads.push_back({&worker.timeline, &worker.team_events, worker.location});
    }
    ParallelFor(trace_.size(), [&](std::size_t rank) {
      RankPlan& plan = plans_[rank];
      plan.teams = PlanTeams(trace_.regions, threads.teams, plan.threads);
      for (const TeamFork& fork : plan.teams.forks) plan.regions.push_back(RegionOf(rank, fork));
      plan.opened.resize(plan.teams.forks.size());
    });
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
      const RankPlan& plan = plans_[rank];
      diagnostics.Merge(plan.teams.diagnostics);
      location_of_.emplace_back();
      for (std::size_t i = 0; i < plan.threads.size(); ++i) {
        const Location& location = plan.threads[i].location;
        const std::string name = fmt::format("rank {}, thread {}", location.rank, location.thread);
        const std::vector<TeamSpan>& spans = plan.teams.spans[i];
        if (i > 0 && (spans.empty() || EventsOutside(*plan.threads[i].timeline, spans) > 0)) {
          diagnostics.Add(anomaly::kThreadOutsideTeams, 1, name);
        }
        location_of_.back().push_back(static_cast<std::int32_t>(builder_.definitions().size()));
        if (i > 0 && spans.empty()) continue;
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
      RankPlan& plan = plans_[rank];
      for (const TeamFork& fork : plan.teams.forks) {
        plan.communicators.push_back(0);
        if (!fork.is_whole) continue;
        const auto [entry, is_new] = known.try_emplace(fork.threads, 0);
        if (is_new) entry->second = AddTeam(rank, fork);
        plan.communicators.back() = entry->second;
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
    RankPlan& plan = plans_[rank];
    const Trace& definitions = builder_.definitions();
    std::vector<std::unique_ptr<RankBuilder>> builders;
    builders.push_back(std::make_unique<RankBuilder>(definitions, location_of_[rank][0]));
    MainSink sink(definitions.regions, plan, *builders.back());
    FeedTimeline(trace_, local_ranks, rank, sink);
    sink.ForkUntilEnd();
    const Tick begin = trace_.timelines[rank].empty() ? trace_.begin() : trace_.timelines[rank].begin();
    for (std::size_t i = 1; i < plan.threads.size(); ++i) {
      if (plan.teams.spans[i].empty()) continue;
      builders.push_back(std::make_unique<RankBuilder>(definitions, location_of_[rank][i]));
      WriteWorker(definitions.regions, plan, i, fork_region_, begin, *builders.back());
    }
    return builders;
  }

  const Trace& trace_;
  TraceBuilder builder_;
  std::vector<RankPlan> plans_;
  std::uint32_t fork_region_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> fork_regions_;  // indexed by parallel region
  std::vector<std::vector<std::int32_t>> location_of_;             // one list a rank: its threads
};

}  // namespace

RankTeams PlanTeams(const std::vector<Region>& regions, const std::vector<ThreadTeam>& teams,
                    const std::vector<ThreadInput>& threads) {
  RankTeams result;
  std::vector<ThreadSpans> read;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    read.push_back(SpanReader(i == 0, result.diagnostics, Place(threads[i])).Read(*threads[i].team_events));
  }
  const bool has_nested = std::ranges::any_of(read, [](const ThreadSpans& spans) { return !spans.nested.empty(); });
  result.forks = std::move(read.front().forks);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (i > 0) FindForks(i, Place(threads[i]), has_nested, read[i].spans, result);
    for (TeamSpan& span : read[i].spans) FindBarriers(regions, *threads[i].timeline, read[i].nested, span);
    result.spans.push_back(std::move(read[i].spans));
  }
  for (TeamFork& fork : result.forks) CheckMembers(teams, threads, fork, result.diagnostics);
  CompareBarriers(regions, threads, result);
  return result;
}

Trace LocationTrace(const Trace& trace) { return LocationTraceBuilder(trace).Run(); }

std::string NameOfRank(const Trace& trace, std::size_t rank) {
  if (trace.locations.empty()) return fmt::format("rank {}", rank);
  return fmt::format("rank {}, thread {}", trace.locations[rank].rank, trace.locations[rank].thread);
}

}  // namespace farscale
