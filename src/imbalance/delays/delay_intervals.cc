#include "imbalance/delays/delay_costs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

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

// Sums are kept at every so many activities at least; chosen: walking that far takes about as long as adding sums.
constexpr std::size_t kSmallestStep = 64;

std::uint32_t ActivityOfWait(const RankActivities& activities, const std::vector<WaitState>& waits, std::size_t wait) {
  return activities.activity_of(waits[wait].call);
}

void AddWalking(const RankActivities& activities, const std::vector<WaitState>& waits, const IntervalSums& sums,
                PathTimes& times, std::size_t first, std::size_t end, Tick sign) {
  if (first >= end) return;
  Tick begin = activities.edge(first);
  for (std::size_t a = first; a < end; ++a) {
    const Tick next = activities.edge(a + 1);
    times.Add(activities.path(a), sign * (next - begin));
    begin = next;
  }
  std::size_t wait = PartitionIndex(sums.first_waits[first / sums.step], sums.first_waits[first / sums.step + 1],
                                    [&](std::size_t i) { return ActivityOfWait(activities, waits, i) < first; });
  for (; wait < waits.size(); ++wait) {
    const std::uint32_t activity = ActivityOfWait(activities, waits, wait);
    if (activity >= end) break;
    times.Add(activities.path(activity), -sign * waits[wait].length);
  }
}

void AddUntil(const RankActivities& activities, const std::vector<WaitState>& waits, const IntervalSums& sums,
              PathTimes& times, std::size_t end, Tick sign) {
  const std::size_t noted = end / sums.step;
  if (noted > 0) {
    const std::uint32_t first = noted > 1 ? sums.ends[noted - 2] : 0, behind = sums.ends[noted - 1];
    for (std::uint32_t i = first; i < behind; ++i) {
      if (sums.ticks[i] != 0) times.Add(sums.order[i - first], sign * sums.ticks[i]);
    }
  }
  AddWalking(activities, waits, sums, times, noted * sums.step, end, sign);
}

IntervalSums FindSums(const RankActivities& activities, const std::vector<WaitState>& waits) {
  std::vector<char> is_known;
  std::size_t known = 0;
  for (std::size_t a = 0; a < activities.size(); ++a) {
    const PathId path = activities.path(a);
    if (path >= is_known.size()) is_known.resize(path + 1);
    known += is_known[path] == 0;
    is_known[path] = 1;
  }
  IntervalSums sums;
  sums.step = std::max(kSmallestStep, known);  // there are no more sums than activities between them
  sums.first_waits.reserve(activities.size() / sums.step + 2);
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    while (sums.first_waits.size() * sums.step <= ActivityOfWait(activities, waits, i)) sums.first_waits.push_back(i);
  }
  sums.first_waits.resize(activities.size() / sums.step + 2, static_cast<std::uint32_t>(waits.size()));
  PathTimes times(is_known.size());
  std::size_t begin = 0;
  for (std::size_t end = sums.step; end <= activities.size(); begin = end, end += sums.step) {
    AddWalking(activities, waits, sums, times, begin, end, 1);
    for (const PathId path : times.used()) sums.ticks.push_back(times[path]);
    sums.ends.push_back(static_cast<std::uint32_t>(sums.ticks.size()));
  }
  sums.ticks.shrink_to_fit();
  sums.ends.shrink_to_fit();
  sums.order = times.used();
  return sums;
}

// The last synchronization point of a waiter and its delayer before a wait state, in either direction and of any kind.
// If several cross, which non-blocking calls allow, it is the one latest on the waiter.
SyncMark PointBefore(const WaitStates& states, std::uint32_t rank, const WaitState& wait) {
  SyncMark point;
  const std::vector<SyncMark>& marks = states.marks[rank];
  auto mark = std::ranges::lower_bound(marks, SyncMark{wait.delayer, wait.call, 0});
  while (point.call == kNoCall && mark != marks.begin() && std::prev(mark)->peer == wait.delayer) {
    if ((--mark)->peer_call < wait.delayer_call) point = *mark;  // one of the two waited for the other
  }
  const std::vector<CollectiveWaits::SyncCall>& calls = states.collectives.sync_calls(rank);
  auto before = std::ranges::lower_bound(calls, wait.call, {}, &CollectiveWaits::SyncCall::first);
  while (before != calls.begin()) {
    const auto [call, operation] = *--before;
    if (point.call != kNoCall && call < point.call) break;
    const auto synced = states.collectives.FindMark(operation, rank, wait.delayer);
    if (!synced || synced->call != call || synced->peer_call >= wait.delayer_call) continue;
    // One call may complete several operations.
    if (point.call != synced->call || point.peer_call < synced->peer_call) point = *synced;
  }
  return point;
}

// The first wait of a rank in a call or behind it.
std::uint32_t FirstWaitFrom(const std::vector<WaitState>& waits, std::uint32_t call) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(waits, call, {}, &WaitState::call) - waits.begin());
}

// Finds where the delayer was longer than the waiter since its call `from`; adds to `delays`.
DelayInterval Compare(const WaitStates& states, const std::vector<Tick>& wait_sums, const PathTimes& own,
                      const PathTimes& delayer, const WaitState& wait, std::uint32_t from,
                      std::vector<std::pair<PathId, Tick>>& delays) {
  DelayInterval interval;
  interval.first_delay = static_cast<std::uint32_t>(delays.size());
  for (const PathId path : delayer.used()) {
    const Tick excess = delayer[path] - own[path];
    if (excess <= 0) continue;
    delays.emplace_back(path, excess);
    interval.delays += excess;
  }
  interval.end_delay = static_cast<std::uint32_t>(delays.size());
  const std::vector<WaitState>& waits = states.ranks[wait.delayer].waits;
  interval.first_wait = from != kNoCall ? FirstWaitFrom(waits, from + 1) : 0;
  interval.end_wait = std::max(interval.first_wait, FirstWaitFrom(waits, wait.delayer_call));
  if (from != kNoCall) interval.exit_path = states.activities.ranks[wait.delayer].path_of_call(from);
  interval.waits = wait_sums[interval.end_wait] - wait_sums[interval.first_wait];
  return interval;
}

}  // namespace

std::vector<IntervalSums> FindIntervalSums(const WaitStates& states) {
  const Activities& activities = states.activities;
  std::vector<IntervalSums> sums(states.ranks.size());
  ParallelFor(sums.size(), [&](std::size_t rank) {
    const std::vector<WaitState>& waits = states.ranks[rank].waits;
    if (activities.ranks[rank].present) sums[rank] = FindSums(activities.ranks[rank], waits);
    sums[rank].waits.assign(waits.size() + 1, 0);
    for (std::size_t i = 0; i < waits.size(); ++i) sums[rank].waits[i + 1] = sums[rank].waits[i] + waits[i].length;
  });
  return sums;
}

void FindIntervals(const WaitStates& states, DelayRules rules, const std::vector<IntervalSums>& sums,
                   std::span<RankIntervals> ranges) {
  const Activities& activities = states.activities;
  // Compares both sides of wait states since the two ranks last ran together. `own`, `other`: room for their times.
  const auto find = [&](RankIntervals& range, PathTimes& own, PathTimes& other) {
    // Adds activities behind one call and before another; from the beginning without the first.
    const auto add = [&](std::uint32_t rank, std::uint32_t from, std::uint32_t to, PathTimes& times) {
      const RankActivities& of_rank = activities.ranks[rank];
      const std::vector<WaitState>& waits = states.ranks[rank].waits;
      const std::size_t behind = rules == DelayRules::kScalasca ? 0 : 1, end = of_rank.activity_of(to);
      const std::size_t first = from == kNoCall ? 0 : of_rank.activity_of(from) + behind;
      times.Clear();
      if (end <= first + 2 * sums[rank].step) return AddWalking(of_rank, waits, sums[rank], times, first, end, 1);
      AddUntil(of_rank, waits, sums[rank], times, end, 1);
      AddUntil(of_rank, waits, sums[rank], times, first, -1);
    };
    range.intervals.reserve(range.end - range.first);
    for (std::uint32_t i = range.first; i < range.end; ++i) {
      const WaitState& wait = states.ranks[range.rank].waits[i];
      const SyncMark from = PointBefore(states, range.rank, wait);
      add(range.rank, from.call, wait.call, own);
      add(wait.delayer, from.peer_call, wait.delayer_call, other);
      range.intervals.push_back(
          Compare(states, sums[wait.delayer].waits, own, other, wait, from.peer_call, range.delays));
    }
  };
  constexpr std::size_t kTasks = 32;  // chosen: room for times is made once a task
  const std::size_t each = (ranges.size() + kTasks - 1) / kTasks;
  ParallelFor(kTasks, [&](std::size_t task) {
    const std::size_t first = task * each, end = std::min(ranges.size(), first + each);
    if (first >= end) return;
    PathTimes own(activities.paths.size()), other(activities.paths.size());
    for (std::size_t i = first; i < end; ++i) find(ranges[i], own, other);
  });
}

}  // namespace farscale
