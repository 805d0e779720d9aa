// The fits of one phase: of every factor that is fitted its models, what they leave open, and what predicts it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "models/ensemble.h"
#include "projection/load_balance_by_loads.h"
#include "projection/grown_runs.h"
#include "projection/projection.h"

namespace farscale {

// What a factor will be at any core count: by the curves fitted to its runs, by the loads of the ranks where it is load
// balance [docs/formulas.md, load balance from loads] and, where there are any, by grown runs [docs/formulas.md, grown
// runs].

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

// The value of the factor in a row that knows it.
DataPoint PointOf(const FactorRow& row, Factor factor);

class PhaseFits {
 public:
  struct Places {
    double largest = 0;           // core count of the fitted rows
    std::vector<double> targets;  // ascending
    std::vector<double> reach;    // where curves must be possible, ascending; contains targets and fitted counts
  };

  // `rows`: of the phase, all of them; `fitted`: those to fit. All arguments but `series` and `phase` must outlive
  // this.
  PhaseFits(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
            const std::string& series, const PhaseId& phase, const std::vector<FactorRow>& rows,
            const std::vector<FactorRow>& fitted, const Places& places);
  PhaseFits(const PhaseFits&) = delete;
  PhaseFits& operator=(const PhaseFits&) = delete;

  // Of all factors fitted, whether of use or not: fit, candidates and grown points; no values yet.
  std::vector<FactorProjection> TakeProjections() { return std::move(projections_); }

  // The factors whose fits are of use; the others have neither draws nor predictors.
  const std::vector<Factor>& usable() const { return usable_; }
  const Ensemble& EnsembleOf(Factor factor) const { return ensembles_.at(factor); }
  const FactorDraws& DrawsOf(Factor factor) const { return draws_.at(factor); }
  const FactorPredictor& PredictorOf(Factor factor) const { return predictors_.at(factor); }
  const GrownFactors& grown() const { return grown_; }
  bool HasLoads() const { return loads_.has_value(); }

 private:
  PriorCase PriorOf(Factor factor) const;
  std::vector<DataPoint> Points(Factor factor) const;
  std::vector<Candidate> CandidatesFor(Factor factor) const;
  std::uint64_t SeedOf(Factor factor) const;
  void AddFitted(Factor factor, Ensemble fitted);
  const GrownPhase& Grown() const;
  void WeighGrown();
  void AddGrown(Factor factor, const std::vector<Candidate>& candidates, std::uint64_t seed,
                FactorProjection& projection);
  void AddLoads(std::uint64_t seed, FactorProjection& projection);
  std::vector<CandidateModel> CandidatesIn(const Ensemble& ensemble) const;

  const FactorTable& table_;
  const ModelLibrary& library_;
  const ProjectionOptions& options_;
  const std::string series_;
  const PhaseId phase_;
  const std::vector<FactorRow>& rows_;
  const std::vector<FactorRow>& fitted_;
  const Places& places_;
  std::vector<FactorProjection> projections_;
  std::vector<Factor> usable_;
  std::map<Factor, Ensemble> ensembles_;     // of every factor that is fitted
  std::map<Factor, FactorDraws> draws_;      // of every one of use
  std::optional<LoadBalanceByLoads> loads_;  // of load balance
  GrownFactors grown_;
  std::map<Factor, FactorPredictor> predictors_;  // of every one of use
};

}  // namespace farscale
