// Time per call path between two activities of a rank, waits left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/activities.h"
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
  void Clear();

  Tick operator[](PathId path) const { return ticks_[path]; }
  const std::vector<PathId>& used() const { return used_; }  // in the order of use; some may have come to 0

 private:
  std::vector<Tick> ticks_;
  std::vector<char> is_used_;
  std::vector<PathId> used_;
};

// Answers for any interval in a time that does not grow with its length, from sums noted down at some activities.
class IntervalTimes {
 public:
  IntervalTimes(const RankActivities& activities, const std::vector<WaitState>& waits);

  // Of activities [first, end).
  void AddTo(PathTimes& times, std::size_t first, std::size_t end) const;

 private:
  void Walk(PathTimes& times, std::size_t first, std::size_t end, Tick sign) const;
  void AddUntil(PathTimes& times, std::size_t end, Tick sign) const;

  const RankActivities& activities_;
  const std::vector<WaitState>& waits_;
  // Sums over activities [0, (i + 1) * step_): of paths in the order in which the rank first comes to them.
  std::size_t step_ = 0;
  std::vector<PathId> order_;
  std::vector<std::vector<Tick>> sums_;
};

}  // namespace farscale
