#include "trace/team_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "trace/anomalies.h"

namespace farscale {
namespace {

// Region events from one index to another.
using EventRange = std::pair<std::uint32_t, std::uint32_t>;

struct ThreadSpans {
  std::vector<TeamSpan> spans;
  std::vector<TeamFork> forks;     // of the main thread, that are joined
  std::vector<EventRange> nested;  // of teams that the thread forks inside of its team
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

class Planner {
 public:
  Planner(const std::vector<Region>& regions, const std::vector<ThreadTeam>& teams,
          const std::vector<ThreadInput>& threads)
      : regions_(regions), teams_(teams), threads_(threads) {}

  RankTeams Run() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      read_.push_back(SpanReader(i == 0, result_.diagnostics, PlaceOf(i)).Read(*threads_[i].team_events));
    }
    result_.forks = std::move(read_.front().forks);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (i > 0) FindForks(i);
      for (TeamSpan& span : read_[i].spans) FindBarriers(i, span);
      result_.spans.push_back(std::move(read_[i].spans));
    }
    for (TeamFork& fork : result_.forks) CheckMembers(fork);
    CompareBarriers();
    return std::move(result_);
  }

 private:
  std::string PlaceOf(std::size_t thread) const {
    return fmt::format("on rank {}, thread {}", threads_[thread].location.rank, threads_[thread].location.thread);
  }

  // Threads of a rank share its clock: one that begins in a team between its fork and its join belongs to that fork.
  void FindForks(std::size_t thread) {
    std::uint32_t next = 0;
    std::vector<TeamFork>& forks = result_.forks;
    for (TeamSpan& span : read_[thread].spans) {
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
      const bool is_inner = is_in_team && HasNested();
      result_.diagnostics.Add(is_inner ? anomaly::kTeamNested : anomaly::kTeamRecordsUnbalanced, 1, PlaceOf(thread));
    }
  }

  bool HasNested() const {
    return std::ranges::any_of(read_, [](const ThreadSpans& spans) { return !spans.nested.empty(); });
  }

  void FindBarriers(std::size_t thread, TeamSpan& span) {
    const RankTimeline& timeline = *threads_[thread].timeline;
    const std::vector<EventRange>& nested = read_[thread].nested;
    for (std::uint32_t event = span.begin.event; event < span.end.event; ++event) {
      const auto inner = std::lower_bound(nested.begin(), nested.end(), EventRange{event, event + 1});
      if (inner != nested.end() && inner->first == event) {
        event = inner->second - 1;
        continue;
      }
      const RankTimeline::RegionEvent entered = timeline.region_event(event);
      if (!entered.is_leave && regions_[entered.region].IsTeamBarrier()) span.barriers.push_back(event);
    }
  }

  void CheckMembers(TeamFork& fork) {
    const std::vector<Location>& expected = teams_[fork.begin.team].members;
    std::vector<Location> found;
    for (const std::size_t thread : fork.threads) found.push_back(threads_[thread].location);
    std::sort(found.begin(), found.end());
    const bool is_known = !expected.empty();
    if (is_known && found != expected) {
      result_.diagnostics.Add(anomaly::kTeamIncomplete, 1, PlaceOf(0));
      return;
    }
    fork.is_whole = found.size() > 1;
  }

  // Every thread goes through the spans in the order of forks.
  void CompareBarriers() {
    std::vector<std::size_t> next(threads_.size());
    for (std::uint32_t i = 0; i < result_.forks.size(); ++i) {
      TeamFork& fork = result_.forks[i];
      std::vector<TeamRole> first;
      bool agree = true, has_inside = false;
      for (const std::size_t thread : fork.threads) {
        const std::vector<TeamSpan>& spans = result_.spans[thread];
        while (spans[next[thread]].fork != i) ++next[thread];
        const std::vector<TeamRole> roles = RolesOf(thread, spans[next[thread]], has_inside);
        if (thread == fork.threads.front()) first = roles;
        agree = agree && roles == first;
      }
      if (!fork.is_whole) continue;
      fork.barriers_agree = agree && !has_inside;
      if (has_inside) result_.diagnostics.Add(anomaly::kTaskInTeamBarrier, 1, PlaceOf(0));
      if (!agree && !has_inside) result_.diagnostics.Add(anomaly::kTeamBarrierMismatch, 1, PlaceOf(0));
    }
  }

  // `has_inside`: set where a barrier is not left by the next event, or there is a call in it.
  std::vector<TeamRole> RolesOf(std::size_t thread, const TeamSpan& span, bool& has_inside) const {
    const RankTimeline& timeline = *threads_[thread].timeline;
    std::vector<TeamRole> roles;
    for (const std::uint32_t event : span.barriers) {
      const RankTimeline::RegionEvent entered = timeline.region_event(event);
      roles.push_back(regions_[entered.region].team_role);
      if (event + 1 >= timeline.region_events()) continue;
      const RankTimeline::RegionEvent left = timeline.region_event(event + 1);
      has_inside = has_inside || !left.is_leave || left.call != entered.call;
    }
    return roles;
  }

  const std::vector<Region>& regions_;
  const std::vector<ThreadTeam>& teams_;
  const std::vector<ThreadInput>& threads_;
  std::vector<ThreadSpans> read_;
  RankTeams result_;
};

}  // namespace

RankTeams PlanTeams(const std::vector<Region>& regions, const std::vector<ThreadTeam>& teams,
                    const std::vector<ThreadInput>& threads) {
  return Planner(regions, teams, threads).Run();
}

}  // namespace farscale
