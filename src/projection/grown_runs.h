// Factors of runs that were grown [docs/growth.md]: a second predictor beside the curves, with what is known of its
// errors.
#pragma once

#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "models/weights.h"

namespace farscale {

// Factors that a run is said to have by growth from the runs of up to `learned_up_to` cores.
struct GrownRun {
  double learned_up_to = 0;
  double cores = 0;
  FactorValues values;
};

// Of a phase, however many runs they were learned from: those of runs that were measured are its backtest.
struct GrownPhase {
  std::string series;
  std::string phase;
  std::vector<GrownRun> runs;
  bool is_statistical = false;  // by copies of the ranks of a run, as no rules explain them
};

// How far grown runs are from what is measured there, as a share of the loss -ln y: after one doubling of the cores
// beyond the runs that they were learned from, and how that rises with the doublings.
struct GrowthError {
  double of_doubling = 0;
  double power = 0;

  // Standard deviation of ln y of a grown value.
  double At(double value, double doublings) const;
};

// What the record of other programs says of a factor, multiplied by how much larger or smaller the errors are that the
// backtests of this phase show. `measured`: rows of the phase; no row of more than `largest` cores counts.
GrowthError ErrorOfGrowth(Factor factor, const GrownPhase& grown, const std::vector<FactorRow>& measured,
                          double largest);

// The grown values of a factor that were learned from runs of up to `largest` cores, by cores.
std::vector<DataPoint> GrownPoints(Factor factor, const std::vector<GrownRun>& grown, double largest);

}  // namespace farscale
