// The gain of balancing as JSON with everything [docs/schema/balance.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balance/what_if.h"
#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

// Factors with balancing beside those without, on the processors that were simulated and at targets.

// One way to run: without balancing, or with a strategy.
struct BalancedProjection {
  std::string label;  // "without balancing", "RefineLB every 20 iterations"
  FactorTable table;  // its cores are processors
  std::vector<PhaseProjection> projected;
};

// A factor on so many processors: replayed where it was, else projected.
struct BalancedValue {
  double value = 0;
  std::optional<IntervalBounds> interval80;  // projections only, where it is known
  bool is_replayed = false;
  Reliability reliability = Reliability::kUnknown;  // reliable where it was replayed
};

// One factor of one phase, by processors.
struct BalancedFactor {
  std::string series;
  PhaseId phase;
  Factor factor = Factor::kParallelEfficiency;
  bool has_targets = false;  // one of the ways is projected
  // Processors, and values in the order of the list.
  std::vector<std::pair<double, std::vector<std::optional<BalancedValue>>>> rows;
};

// Parallel efficiency and load balance of every phase, in turn. The first of the list is what the others are compared
// with; one alone is compared with nothing, so there are no tables.
std::vector<BalancedFactor> TabulateBalanced(const std::vector<BalancedProjection>& list);

std::string WriteWhatIfJson(const WhatIf& what_if, const std::vector<BalancedProjection>& projections = {});
nlohmann::ordered_json BalanceSchema();

}  // namespace farscale
