// The rules of one rank alone, from which those of its class start.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/part_rules.h"

namespace farscale {

// Calls of an iteration; with stages, those that repeat as often as the grid says are blocks of their own.
std::vector<CallBlock> ReadRank(const RunView& view, std::int64_t rank, std::size_t iteration, bool has_stages);

}  // namespace farscale
