// The subject of an allocation pack: the phase, its runs and the baseline, and what its efficiency is made from
// [docs/formulas.md, allocation].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
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

struct AllocationTerms {
  const Results& results;
  const AllocationOptions& options;
  AllocationPack& pack;  // in the making
  std::vector<FactorRow> rows;
  std::vector<RunsAt> counts;  // rows by count
  const RunsAt* baseline = nullptr;
  const PhaseProjection* phase_projection = nullptr;  // null where there is none
  // The projected factor that efficiency is read off; null where nothing is projected.
  const FactorProjection* projection = nullptr;
  double projected_baseline = 1;  // this factor as measured at the baseline

  // Cores up to which the projection is reliable; 0: there is no projection.
  double ReliableCores() const;
  // The factor from the projected factor to efficiency.
  double ToEfficiency(double cores) const;
  Estimate ProjectedEfficiency(const ProjectedValue& value) const;
  // Those that efficiency is made from.
  std::vector<double> BasisValues(const RunsAt& runs) const;
  std::optional<Measurement> MeasuredOf(const std::vector<double>& values) const;
};

// The terms, with what of the pack they decide: series, phase, basis, scaling, baseline and noise. Throws as
// MakeAllocationPack does.
AllocationTerms GatherTerms(const Results& results, const AllocationOptions& options, AllocationPack& pack);

// Work and core hours are for the iterations of the pack, nodes as full as it says.
AllocationRow MeasuredRow(const AllocationTerms& terms, const RunsAt& runs);
// `value` is one of the projection that efficiency is read off. Uncertain rows have intervals alone, unknown ones
// neither.
AllocationRow ProjectedRow(const AllocationTerms& terms, const ProjectedValue& value);

}  // namespace farscale
