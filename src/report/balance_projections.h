// Factors with balancing beside those without, on the processors that were simulated and at targets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "projection/projection.h"
#include "report/report_model.h"

namespace farscale {

// One way to run: without balancing, or with a strategy.
struct BalancedProjection {
  std::string label;  // "without balancing", "RefineLB every 20 iterations"
  FactorTable table;  // its cores are processors
  std::vector<PhaseProjection> projected;
};

// Parallel efficiency and load balance of every phase, a table each: `caption`, `columns`, `rows`. The first of the
// list is what the others stand beside; with one alone there is nothing to compare, and no table.
ReportData TablesOfProjections(const std::vector<BalancedProjection>& list);

// A factor on so many processors: replayed where it was, else projected.
struct BalancedValue {
  double value = 0;
  std::optional<IntervalBounds> interval80;  // of projections, where it is known
  bool is_replayed = false;
  bool is_evidence = false;
};

struct BalancedTarget {
  std::string series, phase;
  double cores = 0;  // processors
  std::optional<BalancedValue> parallel_efficiency, load_balance;
};

// The rows of all tables, with what one of the list has to say there.
std::vector<BalancedTarget> ValuesOf(const std::vector<BalancedProjection>& list, const BalancedProjection& side);

// What balancing makes of parallel efficiency on the most processors that were replayed or are evidence, with and
// without it.
std::vector<std::string> SayProjections(const std::vector<BalancedProjection>& list);

// Both for a terminal; empty where there is nothing to compare.
std::string FormatBalancedProjections(const std::vector<BalancedProjection>& list);

}  // namespace farscale
