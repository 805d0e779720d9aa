// Programs whose messages go other ways than those of a plain grid, each as one iteration of a rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/spmd_program.h"

namespace farscale::test {

struct ExchangePattern {
  std::string name;
  std::function<void(SpmdRank&)> step;
  std::vector<std::int32_t> runs;     // three, rising
  std::vector<std::int32_t> targets;  // four and eight times the last of them, or near
  bool is_grown = true;               // else refused
};

std::vector<ExchangePattern> ExchangePatterns();
// Two programs that run together, of which each computes and exchanges otherwise.
std::vector<ExchangePattern> CoupledPrograms();

}  // namespace farscale::test
