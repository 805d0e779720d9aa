#include "imbalance/delay_intervals.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"

namespace farscale {
namespace {

// Adds up times by path; a value for every path of the phase, of which few are used at a time.
class PathTimes {
 public:
  explicit PathTimes(std::size_t paths) : ticks_(paths), is_used_(paths) {}

  void Add(PathId path, Tick ticks) {
    if (!is_used_[path]) {
      is_used_[path] = 1;
      used_.push_back(path);
    }
    ticks_[path] += ticks;
  }
  void Clear() {
    for (const PathId path : used_) {
      ticks_[path] = 0;
      is_used_[path] = 0;
    }
    used_.clear();
  }

  Tick operator[](PathId path) const { return ticks_[path]; }
  const std::vector<PathId>& used() const { return used_; }  // in the order of use; some may have come to 0

 private:
  std::vector<Tick> ticks_;
  std::vector<char> is_used_;
  std::vector<PathId> used_;
};

// Handles any interval in constant time, from sums stored at some activities.
class IntervalTimes {
 public:
  IntervalTimes(const RankActivities& activities, const std::vector<WaitState>& waits)
      : activities_(activities), waits_(waits) {
    PathId largest = 0;
    for (const PathId path : activities.path) largest = std::max(largest, path);
    std::vector<char> is_known(largest + 1);
    std::size_t known = 0;
    for (const PathId path : activities.path) {
      known += is_known[path] == 0;
      is_known[path] = 1;
    }
    // Sums take no more room than the activities between them.
    step_ = std::max(kSmallestStep, known);
    PathTimes times(largest + 1);
    std::size_t begin = 0;
    for (std::size_t end = step_; end <= activities.size(); begin = end, end += step_) {
      Walk(times, begin, end, 1);
      std::vector<Tick> sums;
      sums.reserve(times.used().size());
      for (const PathId path : times.used()) sums.push_back(times[path]);
      sums_.push_back(std::move(sums));
    }
    order_ = times.used();
  }

  // Of activities [first, end).
  void AddTo(PathTimes& times, std::size_t first, std::size_t end) const {
    if (end <= first + 2 * step_) return Walk(times, first, end, 1);
    AddUntil(times, end, 1);
    AddUntil(times, first, -1);
  }

 private:
  void Walk(PathTimes& times, std::size_t first, std::size_t end, Tick sign) const {
    for (std::size_t a = first; a < end; ++a) {
      times.Add(activities_.path[a], sign * (activities_.edges[a + 1] - activities_.edges[a]));
    }
    const auto activity = [this](const WaitState& wait) { return activities_.call_activity[wait.call]; };
    auto wait = std::partition_point(waits_.begin(), waits_.end(),
                                     [&](const WaitState& other) { return activity(other) < first; });
    for (; wait != waits_.end() && activity(*wait) < end; ++wait) {
      times.Add(activities_.path[activity(*wait)], -sign * wait->length);
    }
  }

  void AddUntil(PathTimes& times, std::size_t end, Tick sign) const {
    const std::size_t noted = end / step_;
    if (noted > 0) {
      const std::vector<Tick>& sums = sums_[noted - 1];
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (sums[i] != 0) times.Add(order_[i], sign * sums[i]);
      }
    }
    Walk(times, noted * step_, end, sign);
  }

  const RankActivities& activities_;
  const std::vector<WaitState>& waits_;
  // Sums are kept at every so many activities at least; chosen: walking that far takes about as long as adding sums.
  static constexpr std::size_t kSmallestStep = 128;

  // Sums over activities [0, (i + 1) * step_): of paths in the order in which the rank first comes to them.
  std::size_t step_ = 0;
  std::vector<PathId> order_;
  std::vector<std::vector<Tick>> sums_;
};

// Calls of a waiter and its delayer at their synchronization point before a wait state; kNoCall: there is none, the
// interval begins with the phase.
struct SyncPoint {
  std::uint32_t call = kNoCall;
  std::uint32_t delayer_call = kNoCall;
};

// The last one before the wait state, in either direction and of any kind. Of several that cross, which non-blocking
// calls allow, the one latest on the waiter.
SyncPoint PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                      const WaitState& wait) {
  SyncPoint last;
  const std::vector<SyncMark>& marks = states.marks[rank];
  auto mark = std::lower_bound(marks.begin(), marks.end(), SyncMark{wait.delayer, wait.call, 0});
  while (mark != marks.begin() && std::prev(mark)->peer == wait.delayer) {
    --mark;
    if (mark->peer_call >= wait.delayer_call) continue;
    last = {mark->call, mark->peer_call};
    break;
  }
  using SyncCall = CollectiveWaits::SyncCall;
  const std::vector<SyncCall>& calls = collectives.sync_calls(rank);
  auto call = std::lower_bound(calls.begin(), calls.end(), wait.call,
                               [](const SyncCall& sync, std::uint32_t before) { return sync.call < before; });
  while (call != calls.begin()) {
    --call;
    if (last.call != kNoCall && call->call < last.call) break;
    const auto synced = collectives.Synchronises(call->operation, rank, wait.delayer);
    if (!synced || synced->call != call->call || synced->peer_call >= wait.delayer_call) continue;
    // One call may complete several operations.
    const bool is_later = last.call != synced->call || last.delayer_call < synced->peer_call;
    if (is_later) last = {synced->call, synced->peer_call};
  }
  return last;
}

class IntervalSearch {
 public:
  IntervalSearch(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
                 DelayRules rules)
      : activities_(activities), states_(states), collectives_(collectives), rules_(rules) {
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

  RankIntervals Run(std::uint32_t rank) const {
    RankIntervals result;
    PathTimes own(activities_.paths.size()), other(activities_.paths.size());
    for (const WaitState& wait : states_.ranks[rank].waits) {
      const SyncPoint from = PointBefore(states_, collectives_, rank, wait);
      own.Clear();
      other.Clear();
      AddBetween(own, rank, from.call, wait.call);
      AddBetween(other, wait.delayer, from.delayer_call, wait.delayer_call);
      DelayInterval interval;
      interval.first_delay = static_cast<std::uint32_t>(result.delays.size());
      for (const PathId path : other.used()) {
        const Tick excess = other[path] - own[path];
        if (excess <= 0) continue;
        result.delays.push_back({path, excess});
        interval.delays += excess;
      }
      interval.end_delay = static_cast<std::uint32_t>(result.delays.size());
      interval.first_wait = FirstWaitBehind(wait.delayer, from.delayer_call);
      interval.end_wait = std::max(interval.first_wait, FirstWaitFrom(wait.delayer, wait.delayer_call));
      if (from.call != kNoCall) interval.exit_path = PathOfCall(wait.delayer, from.delayer_call);
      interval.waits = sums_[wait.delayer][interval.end_wait] - sums_[wait.delayer][interval.first_wait];
      result.intervals.push_back(interval);
    }
    return result;
  }

 private:
  // Activities behind one call and before another; from the beginning without the first.
  void AddBetween(PathTimes& times, std::uint32_t rank, std::uint32_t from, std::uint32_t to) const {
    const RankActivities& activities = activities_.ranks[rank];
    const std::size_t behind = rules_ == DelayRules::kScalasca ? 0 : 1;
    const std::size_t first = from == kNoCall ? 0 : activities.call_activity[from] + behind;
    times_[rank]->AddTo(times, first, activities.call_activity[to]);
  }

  PathId PathOfCall(std::uint32_t rank, std::uint32_t call) const {
    const RankActivities& activities = activities_.ranks[rank];
    return activities.path[activities.call_activity[call]];
  }

  std::uint32_t FirstWaitFrom(std::uint32_t rank, std::uint32_t call) const {
    const std::vector<WaitState>& waits = states_.ranks[rank].waits;
    return static_cast<std::uint32_t>(
        std::partition_point(waits.begin(), waits.end(), [call](const WaitState& w) { return w.call < call; }) -
        waits.begin());
  }

  std::uint32_t FirstWaitBehind(std::uint32_t rank, std::uint32_t call) const {
    return call == kNoCall ? 0 : FirstWaitFrom(rank, call + 1);
  }

  const Activities& activities_;
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  const DelayRules rules_;
  std::vector<std::optional<IntervalTimes>> times_;
  std::vector<std::vector<Tick>> sums_;  // of the waits of every rank before each
};

}  // namespace

std::vector<RankIntervals> FindDelayIntervals(const Activities& activities, const WaitStates& states,
                                              const CollectiveWaits& collectives, DelayRules rules) {
  const IntervalSearch search(activities, states, collectives, rules);
  std::vector<RankIntervals> intervals(states.ranks.size());
  ParallelFor(states.ranks.size(),
              [&](std::size_t rank) { intervals[rank] = search.Run(static_cast<std::uint32_t>(rank)); });
  return intervals;
}

}  // namespace farscale
