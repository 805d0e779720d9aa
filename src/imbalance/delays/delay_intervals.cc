#include "imbalance/delays/delay_costs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>

#include "base/parallel.h"
#include "base/search.h"
#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"

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

// Times of one rank by path. Handles any interval in constant time, from sums stored at some activities.
class IntervalTimes {
 public:
  IntervalTimes(const RankActivities& activities, const std::vector<WaitState>& waits)
      : activities_(activities), waits_(waits) {
    std::vector<char> is_known;
    std::size_t known = 0;
    for (std::size_t a = 0; a < activities.size(); ++a) {
      const PathId path = activities.path(a);
      if (path >= is_known.size()) is_known.resize(path + 1);
      known += is_known[path] == 0;
      is_known[path] = 1;
    }
    // There are no more sums than activities between them.
    step_ = std::max(kSmallestStep, known);
    FindFirstWaits();
    PathTimes times(is_known.size());
    std::size_t begin = 0;
    for (std::size_t end = step_; end <= activities.size(); begin = end, end += step_) {
      Walk(times, begin, end, 1);
      for (const PathId path : times.used()) sums_.push_back(times[path]);
      sum_ends_.push_back(static_cast<std::uint32_t>(sums_.size()));
    }
    sums_.shrink_to_fit();
    sum_ends_.shrink_to_fit();
    order_ = times.used();
  }

  // Adds activities [first, end).
  void AddTo(PathTimes& times, std::size_t first, std::size_t end) const {
    if (end <= first + 2 * step_) return Walk(times, first, end, 1);
    AddUntil(times, end, 1);
    AddUntil(times, first, -1);
  }

 private:
  void Walk(PathTimes& times, std::size_t first, std::size_t end, Tick sign) const {
    if (first >= end) return;
    Tick begin = activities_.edge(first);
    for (std::size_t a = first; a < end; ++a) {
      const Tick next = activities_.edge(a + 1);
      times.Add(activities_.path(a), sign * (next - begin));
      begin = next;
    }
    std::size_t wait = PartitionIndex(first_waits_[first / step_], first_waits_[first / step_ + 1],
                                      [&](std::size_t i) { return Activity(i) < first; });
    for (; wait < waits_.size(); ++wait) {
      const std::uint32_t activity = Activity(wait);
      if (activity >= end) break;
      times.Add(activities_.path(activity), -sign * waits_[wait].length);
    }
  }

  std::uint32_t Activity(std::size_t wait) const { return activities_.activity_of(waits_[wait].call); }

  void FindFirstWaits() {
    first_waits_.reserve(activities_.size() / step_ + 2);
    for (std::uint32_t i = 0; i < waits_.size(); ++i) {
      while (first_waits_.size() * step_ <= Activity(i)) first_waits_.push_back(i);
    }
    first_waits_.resize(activities_.size() / step_ + 2, static_cast<std::uint32_t>(waits_.size()));
  }

  void AddUntil(PathTimes& times, std::size_t end, Tick sign) const {
    const std::size_t noted = end / step_;
    if (noted > 0) {
      const std::uint32_t first = noted > 1 ? sum_ends_[noted - 2] : 0, behind = sum_ends_[noted - 1];
      for (std::uint32_t i = first; i < behind; ++i) {
        if (sums_[i] != 0) times.Add(order_[i - first], sign * sums_[i]);
      }
    }
    Walk(times, noted * step_, end, sign);
  }

  const RankActivities& activities_;
  const std::vector<WaitState>& waits_;
  // Sums are kept at every so many activities at least; chosen: walking that far takes about as long as adding sums.
  static constexpr std::size_t kSmallestStep = 64;

  // Sums over activities [0, (i + 1) * step_), for paths in the order in which the rank first comes to them.
  std::size_t step_ = 0;
  std::vector<PathId> order_;
  std::vector<Tick> sums_;
  std::vector<std::uint32_t> sum_ends_;     // in sums_, for activities [0, (i + 1) * step_)
  std::vector<std::uint32_t> first_waits_;  // in or behind activity i * step_
};

// The last point where one of the two waited for the other.
SyncedCalls MarkBefore(const std::vector<SyncMark>& marks, const WaitState& wait) {
  auto mark = std::ranges::lower_bound(marks, SyncMark{wait.delayer, wait.call, 0});
  while (mark != marks.begin() && std::prev(mark)->peer == wait.delayer) {
    --mark;
    if (mark->peer_call < wait.delayer_call) return {mark->call, mark->peer_call};
  }
  return {};
}

// The last synchronization point of a waiter and its delayer before a wait state, in either direction and of any kind.
// If several cross, which non-blocking calls allow, it is the one latest on the waiter.
SyncedCalls PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                        const WaitState& wait) {
  SyncedCalls point = MarkBefore(states.marks[rank], wait);
  const std::vector<CollectiveWaits::SyncCall>& calls = collectives.sync_calls(rank);
  auto before = std::ranges::lower_bound(calls, wait.call, {}, &CollectiveWaits::SyncCall::call);
  while (before != calls.begin()) {
    --before;
    if (point.call != kNoCall && before->call < point.call) break;
    const auto synced = collectives.Synchronises(before->operation, rank, wait.delayer);
    if (!synced || synced->call != before->call || synced->peer_call >= wait.delayer_call) continue;
    // One call may complete several operations.
    if (point.call != synced->call || point.peer_call < synced->peer_call) point = *synced;
  }
  return point;
}

// The first wait of a rank in a call or behind it.
std::uint32_t FirstWaitFrom(const std::vector<WaitState>& waits, std::uint32_t call) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(waits, call, {}, &WaitState::call) - waits.begin());
}

// Compares both sides of wait states since the two ranks last ran together.
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

  // `own`, `other`: room for the times of the two ranks.
  void Find(const WaitRange& range, PathTimes& own, PathTimes& other, RankIntervals& result) const {
    result.intervals.clear();
    result.delays.clear();
    for (std::uint32_t i = range.first; i < range.end; ++i) {
      const WaitState& wait = states_.ranks[range.rank].waits[i];
      const SyncedCalls from = PointBefore(states_, collectives_, range.rank, wait);
      own.Clear();
      other.Clear();
      AddBetween(own, range.rank, from.call, wait.call);
      AddBetween(other, wait.delayer, from.peer_call, wait.delayer_call);
      result.intervals.push_back(Compare(own, other, wait, from.peer_call, result.delays));
    }
  }

 private:
  // Activities behind one call and before another; from the beginning without the first.
  void AddBetween(PathTimes& times, std::uint32_t rank, std::uint32_t from, std::uint32_t to) const {
    const RankActivities& activities = activities_.ranks[rank];
    const std::size_t behind = rules_ == DelayRules::kScalasca ? 0 : 1;
    const std::size_t first = from == kNoCall ? 0 : activities.activity_of(from) + behind;
    times_[rank]->AddTo(times, first, activities.activity_of(to));
  }

  // Finds where the delayer was longer than the waiter since its call `from`; adds to `delays`.
  DelayInterval Compare(const PathTimes& own, const PathTimes& delayer, const WaitState& wait, std::uint32_t from,
                        std::vector<Delay>& delays) const {
    DelayInterval interval;
    interval.first_delay = static_cast<std::uint32_t>(delays.size());
    for (const PathId path : delayer.used()) {
      const Tick excess = delayer[path] - own[path];
      if (excess <= 0) continue;
      delays.push_back({path, excess});
      interval.delays += excess;
    }
    interval.end_delay = static_cast<std::uint32_t>(delays.size());
    const std::vector<WaitState>& waits = states_.ranks[wait.delayer].waits;
    const std::vector<Tick>& sums = sums_[wait.delayer];
    interval.first_wait = from != kNoCall ? FirstWaitFrom(waits, from + 1) : 0;
    interval.end_wait = std::max(interval.first_wait, FirstWaitFrom(waits, wait.delayer_call));
    if (from != kNoCall) interval.exit_path = activities_.ranks[wait.delayer].path_of_call(from);
    interval.waits = sums[interval.end_wait] - sums[interval.first_wait];
    return interval;
  }

  const Activities& activities_;
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  const DelayRules rules_;
  std::vector<std::optional<IntervalTimes>> times_;
  std::vector<std::vector<Tick>> sums_;  // one a rank: waits before each of its waits
};

}  // namespace

FindIntervals MakeIntervalFinder(const Activities& activities, const WaitStates& states,
                                 const CollectiveWaits& collectives, DelayRules rules) {
  const auto search = std::make_shared<const IntervalSearch>(activities, states, collectives, rules);
  return
      [search, paths = activities.paths.size()](std::span<const WaitRange> ranges, std::span<RankIntervals> results) {
        constexpr std::size_t kTasks = 32;  // chosen: room for times is made once a task
        const std::size_t each = (ranges.size() + kTasks - 1) / kTasks;
        ParallelFor(kTasks, [&](std::size_t task) {
          const std::size_t first = task * each, end = std::min(ranges.size(), first + each);
          if (first >= end) return;
          PathTimes own(paths), other(paths);
          for (std::size_t i = first; i < end; ++i) search->Find(ranges[i], own, other, results[i]);
        });
      };
}

}  // namespace farscale
