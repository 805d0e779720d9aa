#include "imbalance/path_visits.h"

#include <algorithm>

namespace farscale {

PathVisits::PathVisits(const RankActivities& activities, std::size_t paths)
    : activities_(activities.size()), first_(paths + 1) {
  for (const PathId path : activities.path) ++first_[path + 1];
  for (std::size_t path = 0; path < paths; ++path) first_[path + 1] += first_[path];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t a = 0; a < activities.size(); ++a) activities_[next[activities.path[a]]++] = a;
}

std::size_t PathVisits::LastBefore(std::size_t activity, PathId path) const {
  const auto first = activities_.begin() + first_[path], end = activities_.begin() + first_[path + 1];
  const auto behind = std::lower_bound(first, end, activity);
  return behind == first ? activity : *std::prev(behind);
}

}  // namespace farscale
