// What a factor will be at any core count: by the curves fitted to its runs and, where there are any, by grown runs
// [docs/formulas.md, grown runs].
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/ensemble.h"
#include "projection/factor_draws.h"
#include "projection/grown_runs.h"

namespace farscale {

// Through the measured values and those of grown runs, with curves fitted to both in between and beyond.
class GrownCurve {
 public:
  // `ensemble` is fitted to both kinds of points and of use. `largest`: cores of the largest run that was measured.
  GrownCurve(Ensemble ensemble, GrowthError error, double largest, std::uint64_t seed);
  GrownCurve(const GrownCurve&) = delete;
  GrownCurve& operator=(const GrownCurve&) = delete;

  double ValueAt(double cores) const;
  // What a run could measure, one value a draw.
  std::vector<double> DrawsAt(double cores) const;
  double Largest() const { return largest_; }

 private:
  double Correction(double cores) const;  // of ln y of the curves
  // Standard deviation of ln y, as backtests and the record of other programs have it.
  double ErrorAt(double cores) const;

  Ensemble ensemble_;
  FactorDraws draws_;
  GrowthError error_;
  double largest_;
  std::vector<std::pair<double, double>> corrections_;  // ln cores, and of ln y, at the points
  std::vector<double> errors_;                          // standard normal, one a draw
};

class FactorPredictor {
 public:
  // Both must outlive the predictor.
  FactorPredictor(const Ensemble& curves, const FactorDraws& draws) : curves_(curves), draws_(draws) {}

  // Weighs the grown runs against the curves at these core counts, which rise.
  void AddGrown(const GrownCurve& grown, const std::vector<double>& grid);

  double ValueAt(double cores) const;
  std::vector<double> DrawsAt(double cores) const;

  double ByCurvesAt(double cores) const { return curves_.ValueAt(cores); }
  std::optional<double> ByGrowthAt(double cores) const;
  // Of the grown runs, in [0, 1]: by the inverse squares of the deviations of the draws of both. None up to the largest
  // run that was measured, and all of it one doubling further.
  double GrownWeightAt(double cores) const;

 private:
  const Ensemble& curves_;
  const FactorDraws& draws_;
  const GrownCurve* grown_ = nullptr;
  std::vector<std::pair<double, double>> weights_;  // ln cores and weight
};

}  // namespace farscale
