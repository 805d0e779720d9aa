#include "report/job_size.h"

#include <cmath>

#include "report/curve.h"

namespace farscale {
namespace {

Recommendation RecommendMeasured(const AllocationTerms& terms, const std::vector<AllocationRow>& rows) {
  Recommendation result;
  result.is_measured = true;
  for (const AllocationRow& row : rows) {
    if (!row.is_measured || !row.efficiency.value) continue;
    const bool is_enough = *row.efficiency.value >= terms.options().efficiency;
    if (result.kind == Recommendation::Kind::kUnknown) {
      result.kind = is_enough ? Recommendation::Kind::kEvidenceEnds : Recommendation::Kind::kTooLow;
      result.cores = row.cores;
    }
    if (!is_enough) {
      if (result.kind == Recommendation::Kind::kEvidenceEnds) result.kind = Recommendation::Kind::kReached;
      continue;
    }
    result.kind = Recommendation::Kind::kEvidenceEnds;
    result.cores = row.cores;
    result.nodes = row.nodes;
    result.efficiency = row.efficiency;
    result.work = row.work;
    result.core_hours = row.core_hours;
  }
  return result;
}

}  // namespace

Recommendation RecommendJobSize(const AllocationTerms& terms, const WorkPlan& plan,
                                const std::vector<AllocationRow>& rows) {
  const FactorProjection* projection = terms.projection();
  if (projection == nullptr) return RecommendMeasured(terms, rows);
  const CountAnswer answer = LargestCountWith(*terms.phase_projection(), *projection, terms.options().efficiency,
                                              [&](double cores) { return terms.ToEfficiency(cores); });
  Recommendation result;
  result.low = answer.low;
  result.high = answer.high;
  if (answer.value.kind == CountBound::Kind::kBelow) {
    result.kind = Recommendation::Kind::kTooLow;
    result.cores = answer.value.cores;
    return result;
  }
  const double evidence = terms.Evidence();
  const bool ends = answer.value.kind == CountBound::Kind::kMoreThan || answer.value.cores > evidence;
  result.kind = ends ? Recommendation::Kind::kEvidenceEnds : Recommendation::Kind::kReached;
  result.cores = std::floor(ends ? evidence : answer.value.cores);
  if (plan.cores_per_node) result.nodes = std::floor(result.cores / *plan.cores_per_node + 1e-9);
  const AllocationRow row = ProjectedRow(terms, plan, *ReadCurve(*projection, result.cores));
  result.efficiency = row.efficiency;
  result.work = row.work;
  result.core_hours = row.core_hours;
  return result;
}

}  // namespace farscale
