// Factors of runs that are balanced, as those of any other machine: a table that models and projections take.
#pragma once

#include <string>

#include "balance/sweep.h"
#include "factors/factor_table.h"
#include "study/balance_run.h"

namespace farscale {

// The row of one configuration: its processors are the cores, T is its makespan, T_ideal that of the same balancing on
// the ideal network at no cost. `measured`: of the run whose ranks are the tasks; counts come from there.
FactorRow BalancedRow(const BalanceRunData& run, const BalanceConfiguration& configuration, const SweepOptions& options,
                      const FactorRow& measured, const ReplayRules& rules);

}  // namespace farscale
