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
#include "trace/team_plan.h"
#include "trace/timeline_feed.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Threads of one rank that are in teams, and what they do there.
struct RankPlan {
  std::vector<ThreadInput> threads;
  RankTeams teams;
  std::vector<std::uint32_t> communicators;        // of every fork, in the trace of locations
  std::vector<std::uint32_t> regions;              // the same: of its call
  std::vector<std::vector<std::uint32_t>> opened;  // the same: regions in which the main thread forks
};

// Hands events on to the builder of a location. A barrier around others is interrupted by them: calls do not nest.
class RankAssembler {
 public:
  RankAssembler(const std::vector<Region>& regions, RankBuilder& builder) : regions_(regions), builder_(builder) {}

  void Enter(Tick tick, std::uint32_t region) {
    if (InBarrier()) builder_.Leave(tick, open_.back());
    open_.push_back(region);
    builder_.Enter(tick, region);
  }

  void Leave(Tick tick) {
    builder_.Leave(tick, open_.back());
    open_.pop_back();
    if (InBarrier()) builder_.Enter(tick, open_.back());
  }

  void Collective(CollectiveKind kind, std::uint32_t communicator) {
    const bool has_root = kind == CollectiveKind::kFork;
    builder_.Collective(kind, communicator, has_root ? std::optional(std::uint32_t{0}) : std::nullopt, 0, 0);
  }

  // An OpenMP barrier, of a whole team when there is a communicator.
  void EnterBarrier(Tick tick, std::uint32_t region, std::optional<std::uint32_t> communicator) {
    Enter(tick, region);
    const bool is_implicit = regions_[region].team_role == TeamRole::kImplicitBarrier;
    if (communicator) {
      Collective(is_implicit ? CollectiveKind::kImplicitBarrier : CollectiveKind::kThreadBarrier, *communicator);
    }
  }

  void Fork(Tick begin, Tick end, std::uint32_t region, std::optional<std::uint32_t> communicator) {
    Enter(begin, region);
    if (communicator) Collective(CollectiveKind::kFork, *communicator);
    Leave(end);
  }

  // Regions open, the outermost first, calls included.
  const std::vector<std::uint32_t>& open() const { return open_; }

 private:
  bool InBarrier() const { return !open_.empty() && regions_[open_.back()].IsTeamBarrier(); }

  const std::vector<Region>& regions_;
  RankBuilder& builder_;
  std::vector<std::uint32_t> open_;
};

// Communicators of the barriers of one thread, by their events.
class BarrierTable {
 public:
  BarrierTable(const RankPlan& plan, std::size_t thread) {
    for (const TeamSpan& span : plan.teams.spans[thread]) {
      if (span.fork == kNoFork || !plan.teams.forks[span.fork].barriers_agree) continue;
      for (const std::uint32_t event : span.barriers) communicators_[event] = plan.communicators[span.fork];
    }
  }

  std::optional<std::uint32_t> At(std::uint32_t event) const {
    const auto found = communicators_.find(event);
    return found == communicators_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> communicators_;
};

std::optional<std::uint32_t> CommunicatorOf(const RankPlan& plan, std::uint32_t fork) {
  if (fork == kNoFork || !plan.teams.forks[fork].is_whole) return std::nullopt;
  return plan.communicators[fork];
}

// The main thread's own events, with forks in their places. Counters are left out.
class MainSink : public BuilderSink {
 public:
  MainSink(const std::vector<Region>& regions, RankPlan& plan, RankBuilder& builder)
      : BuilderSink(builder), regions_(regions), plan_(plan), writer_(regions, builder), barriers_(plan, 0) {}

  void Enter(Tick tick, std::uint32_t region) override {
    ForkUntilHere();
    if (regions_[region].IsTeamBarrier()) {
      writer_.EnterBarrier(tick, region, barriers_.At(events_));
    } else {
      writer_.Enter(tick, region);
    }
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
  // As numbered by the timeline, in which barriers are regions.
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
      // What comes before the team begins is work of the main thread.
      const bool begins_at_once = fork.fork.call == fork.begin.call && fork.fork.event == fork.begin.event;
      const Tick end = begins_at_once ? fork.begin.tick : fork.fork.tick;
      writer_.Fork(fork.fork.tick, end, plan_.regions[next_], plan_.communicators[next_]);
    }
  }

  const std::vector<Region>& regions_;
  RankPlan& plan_;
  RankAssembler writer_;
  BarrierTable barriers_;
  std::size_t next_ = 0;
  std::uint32_t events_ = 0, calls_ = 0;  // written so far
};

// A worker: its teams, and between them idle time.
class WorkerWriter {
 public:
  WorkerWriter(const std::vector<Region>& regions, const RankPlan& plan, std::size_t thread, std::uint32_t fork_region,
               RankBuilder& builder)
      : regions_(regions),
        plan_(plan),
        timeline_(*plan.threads[thread].timeline),
        spans_(plan.teams.spans[thread]),
        fork_region_(fork_region),
        writer_(regions, builder),
        barriers_(plan, thread) {}

  void Run(Tick begin) {
    idle_since_ = begin;
    for (const TeamSpan& span : spans_) {
      const bool has_fork = span.fork != kNoFork;
      if (has_fork) OpenLike(plan_.opened[span.fork]);
      const Tick until = std::max(span.begin.tick, idle_since_);
      writer_.Fork(idle_since_, until, has_fork ? plan_.regions[span.fork] : fork_region_,
                   CommunicatorOf(plan_, span.fork));
      WriteSpan(span);
      idle_since_ = std::max(span.end.tick, until);
    }
    OpenLike({});
  }

 private:
  // From the regions that are open to others, when the thread begins to idle.
  void OpenLike(const std::vector<std::uint32_t>& regions) {
    const std::size_t open = writer_.open().size();
    std::size_t same = 0;
    while (same < std::min(open, regions.size()) && writer_.open()[same] == regions[same]) ++same;
    for (std::size_t i = open; i > same; --i) writer_.Leave(idle_since_);
    for (std::size_t i = same; i < regions.size(); ++i) writer_.Enter(idle_since_, regions[i]);
  }

  void WriteSpan(const TeamSpan& span) {
    const std::size_t around = writer_.open().size();
    std::uint32_t event = span.begin.event;
    for (std::uint32_t call = span.begin.call; call <= span.end.call; ++call) {
      const bool is_last = call == span.end.call;
      for (; event < span.end.event; ++event) {
        const RankTimeline::RegionEvent next = timeline_.region_event(event);
        if (!is_last && next.call > call) break;
        WriteEvent(event, next, around);
      }
      if (is_last) break;
      writer_.Enter(timeline_.enter(call), timeline_.region(call));
      writer_.Leave(timeline_.leave(call));
    }
    while (writer_.open().size() > around) writer_.Leave(span.end.tick);
  }

  void WriteEvent(std::uint32_t index, const RankTimeline::RegionEvent& event, std::size_t around) {
    if (event.is_leave) {  // of what the thread entered before its team: not in the team
      if (writer_.open().size() > around) writer_.Leave(event.tick);
    } else if (regions_[event.region].IsTeamBarrier()) {
      writer_.EnterBarrier(event.tick, event.region, barriers_.At(index));
    } else {
      writer_.Enter(event.tick, event.region);
    }
  }

  const std::vector<Region>& regions_;
  const RankPlan& plan_;
  const RankTimeline& timeline_;
  const std::vector<TeamSpan>& spans_;
  const std::uint32_t fork_region_;
  RankAssembler writer_;
  BarrierTable barriers_;
  Tick idle_since_ = 0;
};

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

  // By the parallel region that the main thread enters with the team, or in which it forks.
  std::uint32_t RegionOf(std::size_t rank, const TeamFork& fork) const {
    const RankTimeline& timeline = trace_.timelines[rank];
    for (const std::uint32_t event : {fork.begin.event, fork.fork.event - 1}) {
      if (event >= timeline.region_events()) continue;  // of no event at all, too
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
      WorkerWriter(definitions.regions, plan, i, fork_region_, *builders.back()).Run(begin);
    }
    return builders;
  }

  const Trace& trace_;
  TraceBuilder builder_;
  std::vector<RankPlan> plans_;
  std::uint32_t fork_region_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> fork_regions_;  // by parallel region
  std::vector<std::vector<std::int32_t>> location_of_;             // of the threads of every rank
};

}  // namespace

Trace LocationTrace(const Trace& trace) { return LocationTraceBuilder(trace).Run(); }

std::string NameOfRank(const Trace& trace, std::size_t rank) {
  if (trace.locations.empty()) return fmt::format("rank {}", rank);
  return fmt::format("rank {}, thread {}", trace.locations[rank].rank, trace.locations[rank].thread);
}

}  // namespace farscale
