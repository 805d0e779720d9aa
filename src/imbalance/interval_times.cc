#include "imbalance/interval_times.h"

#include <algorithm>

namespace farscale {
namespace {

constexpr std::size_t kSmallestStep = 128;

}  // namespace

void PathTimes::Clear() {
  for (const PathId path : used_) {
    ticks_[path] = 0;
    is_used_[path] = 0;
  }
  used_.clear();
}

IntervalTimes::IntervalTimes(const RankActivities& activities, const std::vector<WaitState>& waits)
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

void IntervalTimes::AddTo(PathTimes& times, std::size_t first, std::size_t end) const {
  if (end <= first + 2 * step_) return Walk(times, first, end, 1);
  AddUntil(times, end, 1);
  AddUntil(times, first, -1);
}

void IntervalTimes::AddUntil(PathTimes& times, std::size_t end, Tick sign) const {
  const std::size_t noted = end / step_;
  if (noted > 0) {
    const std::vector<Tick>& sums = sums_[noted - 1];
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] != 0) times.Add(order_[i], sign * sums[i]);
    }
  }
  Walk(times, noted * step_, end, sign);
}

void IntervalTimes::Walk(PathTimes& times, std::size_t first, std::size_t end, Tick sign) const {
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

}  // namespace farscale
