#include "imbalance/interval_sides.h"

#include <iterator>

#include "base/parallel.h"

namespace farscale {
namespace {

SyncPoint MarkBefore(const std::vector<SyncMark>& marks, const WaitState& wait) {
  auto mark = std::lower_bound(marks.begin(), marks.end(), SyncMark{wait.delayer, wait.call, 0});
  while (mark != marks.begin() && std::prev(mark)->peer == wait.delayer) {
    --mark;
    if (mark->peer_call < wait.delayer_call) return {mark->call, mark->peer_call};
  }
  return {};
}

}  // namespace

SyncPointSearch::SyncPointSearch(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                                 const WaitState& wait)
    : calls_(collectives.sync_calls(rank)),
      delayer_call_(wait.delayer_call),
      point_(MarkBefore(states.marks[rank], wait)) {
  const auto before = std::ranges::lower_bound(calls_, wait.call, {}, &SyncCall::call);
  left_ = static_cast<std::size_t>(before - calls_.begin());
}

std::optional<SyncPointSearch::SyncCall> SyncPointSearch::Next() {
  if (left_ == 0 || !MayBeAsked(calls_[left_ - 1])) return std::nullopt;
  return calls_[--left_];
}

void SyncPointSearch::Take(const SyncCall& asked, const std::optional<CollectiveWaits::SyncedCalls>& synced) {
  if (!synced || synced->call != asked.call || synced->peer_call >= delayer_call_) return;
  // One call may complete several operations.
  const bool is_later = point_.call != synced->call || point_.delayer_call < synced->peer_call;
  if (is_later) point_ = {synced->call, synced->peer_call};
}

SyncPoint PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                      const WaitState& wait) {
  SyncPointSearch search(states, collectives, rank, wait);
  while (const auto sync = search.Next()) {
    search.Take(*sync, collectives.Synchronises(sync->operation, rank, wait.delayer));
  }
  return search.point();
}

IntervalSides::IntervalSides(const Activities& activities, const WaitStates& states, DelayRules rules)
    : activities_(activities), states_(states), rules_(rules) {
  times_.resize(states.ranks.size());
  sums_.resize(states.ranks.size());
  ParallelFor(states.ranks.size(), [&](std::size_t rank) {
    const std::vector<WaitState>& waits = states.ranks[rank].waits;
    std::vector<Tick>& sums = sums_[rank];
    sums.assign(waits.size() + 1, 0);
    for (std::size_t i = 0; i < waits.size(); ++i) sums[i + 1] = sums[i] + waits[i].length;
    if (activities.ranks[rank].present) times_[rank].emplace(activities.ranks[rank], waits);
  });
}

void IntervalSides::AddBetween(PathTimes& times, std::uint32_t rank, std::uint32_t from, std::uint32_t to) const {
  const RankActivities& activities = activities_.ranks[rank];
  const std::size_t behind = rules_ == DelayRules::kScalasca ? 0 : 1;
  const std::size_t first = from == kNoCall ? 0 : activities.activity_of(from) + behind;
  times_[rank]->AddTo(times, first, activities.activity_of(to));
}

DelayInterval IntervalSides::Compare(const PathTimes& own, std::uint32_t delayer, const SyncPoint& from,
                                     std::uint32_t to, PathTimes& other, std::vector<Delay>& delays) const {
  other.Clear();
  AddBetween(other, delayer, from.delayer_call, to);
  DelayInterval interval;
  interval.first_delay = static_cast<std::uint32_t>(delays.size());
  for (const PathId path : other.used()) {
    const Tick excess = other[path] - own[path];
    if (excess <= 0) continue;
    delays.push_back({path, excess});
    interval.delays += excess;
  }
  interval.end_delay = static_cast<std::uint32_t>(delays.size());
  const bool has_point = from.delayer_call != kNoCall;
  interval.first_wait = has_point ? FirstWaitFrom(delayer, from.delayer_call + 1) : 0;
  interval.end_wait = std::max(interval.first_wait, FirstWaitFrom(delayer, to));
  if (has_point) interval.exit_path = activities_.ranks[delayer].path_of_call(from.delayer_call);
  interval.waits = sums_[delayer][interval.end_wait] - sums_[delayer][interval.first_wait];
  return interval;
}

std::uint32_t IntervalSides::FirstWaitFrom(std::uint32_t rank, std::uint32_t call) const {
  const std::vector<WaitState>& waits = states_.ranks[rank].waits;
  return static_cast<std::uint32_t>(
      std::partition_point(waits.begin(), waits.end(), [call](const WaitState& w) { return w.call < call; }) -
      waits.begin());
}

}  // namespace farscale
