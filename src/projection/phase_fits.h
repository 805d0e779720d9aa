// The fits of one phase: the models of every factor, what they leave open, and the factor at any core count: by the
// curves fitted to its runs, by the loads of the ranks for load balance [docs/formulas.md, load balance from loads],
// and by grown runs where there are any [docs/formulas.md, grown runs].
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/ensemble.h"
#include "projection/load_balance_by_loads.h"
#include "projection/grown_runs.h"
#include "projection/projection.h"

namespace farscale {

struct FactorRow;
struct FactorTable;

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

  // Every fitted factor, also without a usable fit: fit, candidates and grown points; no values yet.
  std::vector<FactorProjection> TakeProjections() { return std::move(projections_); }

  // The factors with a usable fit; the others have neither draws nor values.
  const std::vector<Factor>& usable() const { return usable_; }
  const Ensemble& EnsembleOf(Factor factor) const { return ensembles_.at(factor); }
  const FactorDraws& DrawsOf(Factor factor) const { return draws_.at(factor); }
  double ValueAt(Factor factor, double cores) const;
  std::vector<double> DrawsAt(Factor factor, double cores) const;
  // Without grown runs.
  double ByCurvesAt(Factor factor, double cores) const;
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
  // Null where loads do not predict the factor.
  const LoadBalanceByLoads* Loads(Factor factor) const {
    return factor == Factor::kLoadBalance && loads_ ? &*loads_ : nullptr;
  }
  // Weight of the grown runs, in [0, 1].
  double GrownWeightAt(Factor factor, double cores) const {
    return grown_.Contains(factor) ? grown_.WeightAt(cores) : 0;
  }
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
  std::map<Factor, Ensemble> ensembles_;  // every fitted factor
  std::map<Factor, FactorDraws> draws_;   // every usable one
  std::optional<LoadBalanceByLoads> loads_;
  GrownFactors grown_;
};

}  // namespace farscale
