// The subject of an allocation pack: the phase, its runs and the baseline, and what its efficiency is made from
// [docs/formulas.md, allocation].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/table_terms.h"
#include "planning/allocation.h"
#include "results/results.h"

namespace farscale {

// The runs at one core count.
struct RunsAt {
  std::int64_t cores = 0;
  std::vector<const FactorRow*> rows;

  // Seconds of an iteration of each run; empty where one does not know it.
  std::vector<double> Seconds() const;
  std::vector<double> Values(Factor factor) const;
};

class AllocationTerms {
 public:
  // Both must outlive the terms. Throws as MakeAllocationPack does.
  AllocationTerms(const Results& results, const AllocationOptions& options);
  AllocationTerms(const AllocationTerms&) = delete;
  AllocationTerms& operator=(const AllocationTerms&) = delete;

  const Results& results() const { return results_; }
  const AllocationOptions& options() const { return options_; }
  const std::string& series() const { return series_; }
  const PhaseId& phase() const { return phase_; }
  const std::vector<FactorRow>& rows() const { return rows_; }
  const std::vector<RunsAt>& counts() const { return counts_; }
  const RunsAt& baseline() const { return *baseline_; }
  double baseline_cores() const { return static_cast<double>(baseline_->cores); }
  EfficiencyBasis basis() const { return basis_; }
  std::optional<Scaling> scaling() const { return scaling_; }
  // The spread between repeats of the value that efficiency is made from; nothing without any repeat.
  const std::optional<Noise>& noise() const { return noise_; }

  // The interval of a measured row is that of a quotient; the baseline is 1 by definition and has none.
  Estimate MeasuredEfficiency(const RunsAt& runs) const;
  Estimate MeasuredSeconds(const RunsAt& runs) const;

  // The projected factor that efficiency is read off; null where nothing is projected.
  const FactorProjection* projection() const { return projection_; }
  const PhaseProjection* phase_projection() const { return phase_projection_; }
  // Cores up to which that is reliable; 0: there is no projection.
  double ReliableCores() const;
  Reliability ReliabilityAt(double cores) const;
  // The factor from the projected factor to efficiency.
  double ToEfficiency(double cores) const;
  Estimate ProjectedEfficiency(const ProjectedValue& value) const;
  // Seconds of an iteration at such an efficiency: T = T_b / E, with strong scaling times p_b / p.
  std::optional<double> SecondsAt(double efficiency, double cores) const;

 private:
  void ChooseSeries();
  void ChoosePhase();
  void ChooseGroup(const std::vector<PhaseId>& known);
  void ChooseBaseline();
  void ChooseBasis();
  void ChooseProjection();
  std::vector<double> BasisValues(const RunsAt& runs) const;
  std::optional<Measurement> MeasuredOf(const std::vector<double>& values) const;
  double EfficiencyAt(double value, double at_baseline, double cores) const;

  const Results& results_;
  const AllocationOptions& options_;
  std::string series_;
  PhaseId phase_;
  std::vector<FactorRow> rows_;
  std::vector<RunsAt> counts_;
  const RunsAt* baseline_ = nullptr;
  EfficiencyBasis basis_ = EfficiencyBasis::kNone;
  std::optional<Scaling> scaling_;
  std::optional<Noise> noise_;
  const PhaseProjection* phase_projection_ = nullptr;  // null where there is none
  const FactorProjection* projection_ = nullptr;
  double projected_baseline_ = 1;  // the projected factor as measured at the baseline
};

// `pack`: whose iterations and cores a node turn the time of an iteration into that of the whole work, and cores into
// nodes.
AllocationRow MeasuredRow(const AllocationTerms& terms, const AllocationPack& pack, const RunsAt& runs);

// `value` is one of the projection that efficiency is read off. Uncertain rows have intervals alone, unknown ones
// neither.
AllocationRow ProjectedRow(const AllocationTerms& terms, const AllocationPack& pack, const ProjectedValue& value);

}  // namespace farscale
