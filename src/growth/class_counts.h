// How many ranks of a grid are of which class, however many ranks it has.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/call_rules.h"
#include "growth/rank_grid.h"

namespace farscale {

struct ClassCount {
  RankClass of_class{};
  std::int64_t first = 0;  // the lowest rank of the class
  std::int64_t ranks = 0;
};

// By the lowest rank.
std::vector<ClassCount> CountClasses(const ClassScheme& scheme, const RankGrid& grid);

}  // namespace farscale
