// When a rank was last in a call path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/activities.h"

namespace farscale {

class PathVisits {
 public:
  // `paths`: how many there are.
  PathVisits(const RankActivities& activities, std::size_t paths);

  // The last activity in the path before `activity`; that one itself when there is none.
  std::size_t LastBefore(std::size_t activity, PathId path) const;

 private:
  std::vector<std::uint32_t> activities_;  // path by path, rising
  std::vector<std::uint32_t> first_;       // of every path, and the end
};

}  // namespace farscale
