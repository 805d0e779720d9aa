// How far factors of tables from elsewhere may lie above 1.
#pragma once

#include "factors/factor.h"

namespace farscale {

// Transfer compares with a replay and exceeds 1 where clocks of ranks differ or ranks wait for what came before the
// phase; so may what it is part of. Other shares do not. Chosen: 2 is beyond any such transfer, far below a percentage.
constexpr double LargestGiven(Factor factor) {
  const bool has_transfer = factor == Factor::kTransfer || factor == Factor::kCommunicationEfficiency ||
                            factor == Factor::kParallelEfficiency;
  return has_transfer ? 2.0 : kLargestShare;
}

}  // namespace farscale
