// What either side of a wait state did since the two ranks last ran together [imbalance/delay_intervals.h], each side
// by itself: the waiter may be a rank of another process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/search.h"
#include "imbalance/activities.h"
#include "imbalance/collective_waits.h"
#include "imbalance/delay_intervals.h"
#include "imbalance/wait_states.h"

namespace farscale {

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

// Of one rank. Handles any interval in constant time, from sums stored at some activities.
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

  // Of activities [first, end).
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
                                      [&](std::size_t i) { return ActivityOf(i) < first; });
    for (; wait < waits_.size(); ++wait) {
      const std::uint32_t activity = ActivityOf(wait);
      if (activity >= end) break;
      times.Add(activities_.path(activity), -sign * waits_[wait].length);
    }
  }

  std::uint32_t ActivityOf(std::size_t wait) const { return activities_.activity_of(waits_[wait].call); }

  void FindFirstWaits() {
    first_waits_.reserve(activities_.size() / step_ + 2);
    for (std::uint32_t i = 0; i < waits_.size(); ++i) {
      while (first_waits_.size() * step_ <= ActivityOf(i)) first_waits_.push_back(i);
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

  // Sums over activities [0, (i + 1) * step_): of paths in the order in which the rank first comes to them.
  std::size_t step_ = 0;
  std::vector<PathId> order_;
  std::vector<Tick> sums_;
  std::vector<std::uint32_t> sum_ends_;     // of activities [0, (i + 1) * step_), in sums_
  std::vector<std::uint32_t> first_waits_;  // in or behind activity i * step_
};

// Calls of a waiter and its delayer at their synchronization point before a wait state; kNoCall: there is none, the
// interval begins with the phase.
struct SyncPoint {
  std::uint32_t call = kNoCall;
  std::uint32_t delayer_call = kNoCall;
};

// Looks for the last one before a wait state, in either direction and of any kind. Of several that cross, which
// non-blocking calls allow, the one latest on the waiter.
class SyncPointSearch {
 public:
  using SyncCall = CollectiveWaits::SyncCall;

  SyncPointSearch(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                  const WaitState& wait);

  // The operation to be asked about next, from the last to the first; nothing: the point is known.
  std::optional<SyncCall> Next();
  // How it synchronises waiter and delayer.
  void Take(const SyncCall& asked, const std::optional<CollectiveWaits::SyncedCalls>& synced);
  // The next operations as far as they may be asked about, whatever becomes of those before.
  const std::vector<SyncCall>& calls() const { return calls_; }
  std::size_t left() const { return left_; }
  bool MayBeAsked(const SyncCall& sync) const { return point_.call == kNoCall || sync.call >= point_.call; }
  const SyncPoint& point() const { return point_; }

 private:
  const std::vector<SyncCall>& calls_;
  const std::uint32_t delayer_call_;
  std::size_t left_ = 0;
  SyncPoint point_;
};

// Of two ranks that are here.
SyncPoint PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                      const WaitState& wait);

// Of waits and delayers that are ranks here.
class IntervalSides {
 public:
  IntervalSides(const Activities& activities, const WaitStates& states, DelayRules rules);

  std::size_t paths() const { return activities_.paths.size(); }
  // Activities behind one call and before another; from the beginning without the first.
  void AddBetween(PathTimes& times, std::uint32_t rank, std::uint32_t from, std::uint32_t to) const;
  // Where the delayer was longer than the waiter, whose times are `own`, from the point to its call; adds to `delays`.
  // `other`: room for its times.
  DelayInterval Compare(const PathTimes& own, std::uint32_t delayer, const SyncPoint& from, std::uint32_t to,
                        PathTimes& other, std::vector<Delay>& delays) const;

 private:
  // The first wait of a rank in a call or behind it.
  std::uint32_t FirstWaitFrom(std::uint32_t rank, std::uint32_t call) const;

  const Activities& activities_;
  const WaitStates& states_;
  const DelayRules rules_;
  std::vector<std::optional<IntervalTimes>> times_;
  std::vector<std::vector<Tick>> sums_;  // of the waits of every rank before each
};

}  // namespace farscale
