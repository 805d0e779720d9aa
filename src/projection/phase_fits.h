// The fits of one phase: the models of every factor, what they leave open, and the factor at any core count: by the
// curves fitted to its runs, by the loads of the ranks for load balance [docs/formulas.md, load balance from loads],
// and by grown runs where there are any [docs/formulas.md, grown runs].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/ensemble.h"
#include "projection/load_balance_by_loads.h"
#include "projection/projection.h"

namespace farscale {

struct FactorRow;
struct FactorTable;

// Factors of runs that were grown [docs/growth.md]: a second predictor beside the curves, with what is known of its
// errors.

// Distance of grown runs from measured ones, as a share of the loss -ln y: after one doubling of the cores
// beyond the runs that they were learned from, and how that rises with the doublings.
struct GrowthError {
  double of_doubling = 0;
  double power = 0;

  // Standard deviation of ln y of a grown value.
  double At(double value, double doublings) const;
};

// The record of other programs for a factor, multiplied by how much larger or smaller the errors are that the
// backtests of this phase show. `measured`: rows of the phase; no row of more than `largest` cores counts.
GrowthError ErrorOfGrowth(Factor factor, const GrownPhase& grown, const std::vector<FactorRow>& measured,
                          double largest);

// The grown values of a factor that were learned from runs of up to `largest` cores, by cores.
std::vector<DataPoint> GrownPoints(Factor factor, const std::vector<GrownRun>& grown, double largest);

// Predictions of grown runs for all factors of a phase together [docs/formulas.md, grown runs].

// One factor: through the measured values and those of grown runs, with curves fitted to both in between and beyond.
struct GrownCurve {
  // `fitted`: to both kinds of points, and of use.
  GrownCurve(Ensemble fitted, const IntervalConstants& intervals, GrowthError of_growth, std::uint64_t seed);
  GrownCurve(const GrownCurve&) = delete;
  GrownCurve& operator=(const GrownCurve&) = delete;

  double ValueAt(double cores) const;

  Ensemble ensemble;
  FactorDraws draws;  // possible values of a run if growth made no errors, less the corrections
  GrowthError error;
  std::vector<double> standard_errors;  // errors of growth in standard deviations, one a draw
  std::vector<std::pair<double, double>>
      corrections;  // ln cores, and what is added to ln y of the curves, at the points
};

// The factors of a phase whose runs were grown. All come from the same replays, where time that one factor is too good
// by is mostly what another is too bad by: their product is better known than they are. So they have one weight, by
// how well the product is known, and errors that are correlated as that says.
class GrownFactors {
 public:
  // `largest`: cores of the largest run that was measured.
  GrownFactors(double largest, const IntervalConstants& intervals) : largest_(largest), intervals_(intervals) {}

  void Add(Factor factor, Ensemble ensemble, GrowthError error, std::uint64_t seed);
  bool IsEmpty() const { return factors_.empty(); }
  bool Contains(Factor factor) const { return factors_.contains(factor); }

  // Once all factors are there: weighs the grown runs against the curves, which have these draws, at these core counts,
  // which rise. `of_product`: errors of the product of all factors; without it those of the factors are independent.
  void Weigh(const std::map<Factor, FactorDraws>& curves, const std::vector<double>& grid,
             std::optional<GrowthError> of_product);

  // In [0, 1]: by the inverse squares of the deviations of the draws of both. None up to the largest run that was
  // measured, and all of it one doubling further.
  double WeightAt(double cores) const;
  double ValueAt(Factor factor, double cores) const { return factors_.at(factor).ValueAt(cores); }
  // Possible values of a run, one a draw; draw by draw with those of the other factors.
  std::vector<double> DrawsAt(Factor factor, double cores) const;

 private:
  double ErrorAt(Factor factor, double cores) const;  // standard deviation of ln y
  double CorrelationAt(double cores) const;           // between the errors of any two factors

  double largest_;
  IntervalConstants intervals_;
  std::optional<GrowthError> of_product_;
  std::map<Factor, GrownCurve> factors_;
  std::vector<double> common_errors_;               // means of the errors of all factors
  std::vector<std::pair<double, double>> weights_;  // ln cores and weight
};

// The value of the factor in a row that knows it.
DataPoint PointOf(const FactorRow& row, Factor factor);

struct FitPlaces {
  double largest = 0;           // core count of the fitted rows
  std::vector<double> targets;  // ascending
  std::vector<double> reach;    // where curves must be possible, ascending; contains targets and fitted counts
};

struct PhaseFits {
  // Every fitted factor, also without a usable fit: fit, candidates and grown points; no values yet.
  std::vector<FactorProjection> projections;
  std::vector<Factor> usable;            // the factors with a usable fit; the others have neither draws nor values
  std::map<Factor, Ensemble> ensembles;  // every fitted factor
  std::map<Factor, FactorDraws> draws;   // every usable one
  std::optional<LoadBalanceByLoads> loads;
  GrownFactors grown;

  double ValueAt(Factor factor, double cores) const;
  std::vector<double> DrawsAt(Factor factor, double cores) const;
  // Without grown runs.
  double ByCurvesAt(Factor factor, double cores) const;
  // Weight of the grown runs, in [0, 1].
  double GrownWeightAt(Factor factor, double cores) const { return grown.Contains(factor) ? grown.WeightAt(cores) : 0; }
  // Null where loads do not predict the factor.
  const LoadBalanceByLoads* Loads(Factor factor) const {
    return factor == Factor::kLoadBalance && loads ? &*loads : nullptr;
  }
};

// `fitted`: the rows of the phase to fit.
PhaseFits FitPhase(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                   const PhaseKey& key, const std::vector<FactorRow>& fitted, const FitPlaces& places);

}  // namespace farscale
