// Rows of an allocation pack: a core count as measured, or as projected [docs/formulas.md, allocation].
#pragma once

#include <optional>

#include "report/allocation.h"
#include "report/allocation_terms.h"

namespace farscale {

// What turns the time of an iteration into that of the whole work, and cores into nodes.
struct WorkPlan {
  double iterations = 1;
  std::optional<double> cores_per_node;
};

AllocationRow MeasuredRow(const AllocationTerms& terms, const WorkPlan& plan, const RunsAt& runs);

// `value` is one of the projection that efficiency is read off. Beyond the evidence the row has intervals alone.
AllocationRow ProjectedRow(const AllocationTerms& terms, const WorkPlan& plan, const ProjectedValue& value);

}  // namespace farscale
