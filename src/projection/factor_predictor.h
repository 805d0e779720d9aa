// What a factor will be at any core count: by the curves fitted to its runs, by the loads of the ranks where it is load
// balance [docs/formulas.md, load balance from loads] and, where there are any, by grown runs [docs/formulas.md, grown
// runs].
#pragma once

#include <optional>
#include <vector>

#include "models/ensemble.h"
#include "projection/factor_draws.h"
#include "projection/grown_factors.h"
#include "projection/load_balance_by_loads.h"

namespace farscale {

class FactorPredictor {
 public:
  // All must outlive the predictor. `grown`, which may come to know the factor later, counts once it is weighed.
  // `loads` is null where they do not predict the factor.
  FactorPredictor(Factor factor, const Ensemble& curves, const FactorDraws& draws, const LoadBalanceByLoads* loads,
                  const GrownFactors& grown)
      : factor_(factor), curves_(curves), draws_(draws), loads_(loads), grown_(grown) {}

  double ValueAt(double cores) const;
  std::vector<double> DrawsAt(double cores) const;

  // By all but grown runs.
  double ByCurvesAt(double cores) const;
  std::optional<double> ByGrowthAt(double cores) const;
  // Of the grown runs, in [0, 1].
  double GrownWeightAt(double cores) const { return grown_.Contains(factor_) ? grown_.WeightAt(cores) : 0; }

 private:
  Factor factor_;
  const Ensemble& curves_;
  const FactorDraws& draws_;
  const LoadBalanceByLoads* loads_;
  const GrownFactors& grown_;
};

}  // namespace farscale
