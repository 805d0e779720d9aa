#include "imbalance/delay_intervals.h"

#include <algorithm>

#include "base/parallel.h"
#include "imbalance/interval_sides.h"

namespace farscale {
class DelayIntervalSearch::Search {
 public:
  Search(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives, DelayRules rules)
      : states_(states), collectives_(collectives), sides_(activities, states, rules) {}

  std::size_t paths() const { return sides_.paths(); }

  // `own`, `other`: room for the times of the two ranks.
  void Find(const Part& part, PathTimes& own, PathTimes& other, RankIntervals& result) const {
    result.intervals.clear();
    result.delays.clear();
    for (std::uint32_t i = part.first; i < part.end; ++i) {
      const WaitState& wait = states_.ranks[part.rank].waits[i];
      const SyncPoint from = PointBefore(states_, collectives_, part.rank, wait);
      own.Clear();
      sides_.AddBetween(own, part.rank, from.call, wait.call);
      result.intervals.push_back(sides_.Compare(own, wait.delayer, from, wait.delayer_call, other, result.delays));
    }
  }

 private:
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  const IntervalSides sides_;
};

DelayIntervalSearch::DelayIntervalSearch(const Activities& activities, const WaitStates& states,
                                         const CollectiveWaits& collectives, DelayRules rules)
    : search_(std::make_unique<Search>(activities, states, collectives, rules)) {}

DelayIntervalSearch::~DelayIntervalSearch() = default;

void DelayIntervalSearch::Find(std::span<const Part> parts, std::span<RankIntervals> results) const {
  constexpr std::size_t kTasks = 32;  // chosen: room for times is made once a task
  const std::size_t each = (parts.size() + kTasks - 1) / kTasks;
  ParallelFor(kTasks, [&](std::size_t task) {
    const std::size_t first = task * each, end = std::min(parts.size(), first + each);
    if (first >= end) return;
    PathTimes own(search_->paths()), other(search_->paths());
    for (std::size_t i = first; i < end; ++i) search_->Find(parts[i], own, other, results[i]);
  });
}

}  // namespace farscale
