#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "imbalance/diagnosis_steps.h"

namespace farscale {
namespace {

// Fills in everything of one rank that needs no other.
class RankAccount {
 public:
  RankAccount(const Activities& all, const RankActivities& activities, RankLosses& result)
      : activities_(activities), result_(result), place_(all.paths.size(), kNoCall) {
    for (std::size_t a = 0; a < activities.size(); ++a) place_[activities.path(a)] = 0;
    for (PathId path = 0; path < place_.size(); ++path) {
      if (place_[path] == kNoCall) continue;
      place_[path] = static_cast<std::uint32_t>(result.paths.size());
      result.paths.push_back(path);
    }
    result.losses.resize(result.paths.size());
    result.present = true;
  }

  void AddTime() {
    Tick begin = activities_.begin();
    for (std::size_t a = 0; a < activities_.size(); ++a) {
      PathLosses& losses = Of(activities_.path(a));
      const Tick end = activities_.edge(a + 1);
      losses.time += static_cast<double>(end - begin);
      ++losses.visits;
      begin = end;
    }
  }

  void AddWaits(const RankWaits& states, const RankCosts& costs) {
    for (std::size_t i = 0; i < states.waits.size(); ++i) {
      const WaitState& wait = states.waits[i];
      PathLosses& losses = OfCall(wait.call);
      losses.waiting[static_cast<std::size_t>(wait.kind)] += static_cast<double>(wait.length);
      losses.indirect += costs.waits[i].indirect;
      losses.propagating += costs.waits[i].propagating;
      losses.caused += costs.waits[i].caused;
    }
    for (const WrongOrder& wrong : states.wrong_order) {
      const WaitState& wait = states.waits[wrong.wait];
      const auto length = static_cast<double>(wait.length);
      OfCall(wait.call).wrong_order += length;
      if (wrong.same_source) OfCall(wait.call).wrong_order_same += length;
    }
    for (const LateComplete& late : states.late_completes) {
      OfCall(states.waits[late.wait].call).late_complete += static_cast<double>(late.length);
    }
    for (const PathCosts& path : costs.paths) {
      Add(path.short_term, Of(path.path).short_term);
      Add(path.long_term, Of(path.path).long_term);
      Add(path.exit_skew, Of(path.path).exit_skew);
    }
  }

  PathLosses& OfCall(std::uint32_t call) { return Of(activities_.path_of_call(call)); }

 private:
  PathLosses& Of(PathId path) { return result_.losses[place_[path]]; }

  const RankActivities& activities_;
  RankLosses& result_;
  std::vector<std::uint32_t> place_;  // of every path among those of the rank
};

// max(0, X_r - max(min_j X_j, max_j E_j)): from when the first rank could leave.
void AddCompletion(const Activities& activities, const CollectiveWaits& collectives, std::vector<RankLosses>& ranks) {
  for (std::uint32_t operation = 0; operation < collectives.operations(); ++operation) {
    if (collectives.pattern(operation) != CollectivePattern::kAllToAll) continue;
    Tick first_leave = std::numeric_limits<Tick>::max(), last_enter = std::numeric_limits<Tick>::min();
    for (const Participant* p = collectives.begin(operation); p != collectives.end(operation); ++p) {
      if (!p->is_blocking) continue;
      first_leave = std::min(first_leave, p->done_leave);
      last_enter = std::max(last_enter, p->enter);
    }
    for (const Participant* p = collectives.begin(operation); p != collectives.end(operation); ++p) {
      const RankActivities& own = activities.ranks[p->rank];
      if (!p->is_blocking || !own.present) continue;
      const Tick completion = own.leave(p->call) - std::max(first_leave, last_enter);
      if (completion <= 0) continue;
      ranks[p->rank].Of(own.path_of_call(p->call)).completion += static_cast<double>(completion);
    }
  }
}

}  // namespace

std::vector<RankLosses> LossesOfRanks(const Activities& activities, const CollectiveWaits& collectives,
                                      const WaitStates& states, std::vector<RankCosts>& costs,
                                      const std::vector<PathSegment>& critical) {
  std::vector<RankLosses> ranks(activities.ranks.size());
  ParallelFor(ranks.size(), [&](std::size_t rank) {
    if (!activities.ranks[rank].present) return;
    RankAccount account(activities, activities.ranks[rank], ranks[rank]);
    account.AddTime();
    account.AddWaits(states.ranks[rank], costs[rank]);
    costs[rank].paths = {};
    costs[rank].waits = {};
  });
  AddCompletion(activities, collectives, ranks);
  for (const RankPathTicks& part : ProfileOf(activities, critical)) {
    ranks[part.rank].Of(part.path).critical = part.ticks;
  }
  return ranks;
}

PathLosses& RankLosses::Of(PathId path) {
  return losses[static_cast<std::size_t>(std::ranges::lower_bound(paths, path) - paths.begin())];
}

const PathLosses* RankLosses::Find(PathId path) const {
  const auto place = std::lower_bound(paths.begin(), paths.end(), path);
  return place != paths.end() && *place == path ? &losses[static_cast<std::size_t>(place - paths.begin())] : nullptr;
}

}  // namespace farscale
