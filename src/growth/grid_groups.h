// Groups of the ranks of a grid, as communicators of grown runs: those that agree in all dimensions but the varying
// ones [GroupRule].
#pragma once

#include <cstdint>

#include "growth/rank_grid.h"

namespace farscale {

// `varying`: a bit for every dimension. Groups, and the places of ranks in them, count from 0 on.
std::int64_t CountGroups(const RankGrid& grid, std::uint8_t varying);
std::int64_t GroupOf(const RankGrid& grid, std::uint8_t varying, std::int64_t rank);
std::int64_t PlaceInGroup(const RankGrid& grid, std::uint8_t varying, std::int64_t rank);

// The rank in the group of `rank` at the place that `other` has in its own.
std::int64_t MemberAtPlaceOf(const RankGrid& grid, std::uint8_t varying, std::int64_t rank, std::int64_t other);

}  // namespace farscale
