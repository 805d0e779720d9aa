#include "report/allocation_rows.h"

#include <cmath>

namespace farscale {
namespace {

Estimate Scaled(const Estimate& estimate, double by) {
  Estimate scaled;
  if (estimate.value) scaled.value = *estimate.value * by;
  if (!estimate.interval80) return scaled;
  const OpenBounds& bounds = *estimate.interval80;
  scaled.interval80 = OpenBounds{bounds.low * by, bounds.high ? std::optional(*bounds.high * by) : std::nullopt};
  return scaled;
}

AllocationRow RowAt(const AllocationTerms& terms, double cores, const FactorRow& like) {
  AllocationRow row;
  row.cores = cores;
  row.processes = cores / static_cast<double>(like.threads);
  row.is_baseline = cores == terms.baseline_cores();
  row.ideal = cores / terms.baseline_cores();
  const ProblemCase& problem = terms.results().problem;
  if (problem.size) row.size = problem.size;
  if (problem.size_per_process) row.size = *problem.size_per_process * row.processes;
  for (const RunRecord& run : terms.results().runs) {
    if (static_cast<double>(run.cores) == cores && run.size) row.size = run.size;
  }
  if (row.size) row.portion = *row.size / row.processes;
  return row;
}

void FillCosts(AllocationRow& row, const WorkPlan& plan) {
  row.work = Scaled(row.iteration, plan.iterations);
  row.core_hours = Scaled(row.work, CoreHours(row.cores, 1));
}

}  // namespace

AllocationRow MeasuredRow(const AllocationTerms& terms, const WorkPlan& plan, const RunsAt& runs) {
  AllocationRow row = RowAt(terms, static_cast<double>(runs.cores), *runs.rows.front());
  row.runs = runs.rows.size();
  if (runs.rows.front()->nodes) row.nodes = static_cast<double>(*runs.rows.front()->nodes);
  row.iteration = terms.MeasuredSeconds(runs);
  row.efficiency = terms.MeasuredEfficiency(runs);
  row.speedup = Scaled(row.efficiency, row.ideal);
  FillCosts(row, plan);
  return row;
}

AllocationRow ProjectedRow(const AllocationTerms& terms, const WorkPlan& plan, const ProjectedValue& value) {
  AllocationRow row = RowAt(terms, value.cores, *terms.counts().back().rows.front());
  row.is_measured = false;
  row.is_evidence = value.cores <= terms.Evidence();
  if (plan.cores_per_node) row.nodes = std::ceil(row.cores / *plan.cores_per_node - 1e-9);
  row.efficiency = terms.ProjectedEfficiency(value);
  if (!row.is_evidence) row.efficiency.value = std::nullopt;
  row.speedup = Scaled(row.efficiency, row.ideal);
  const std::optional<double> unit = terms.SecondsAt(1, row.cores);
  if (!unit) return row;
  if (row.efficiency.value && *row.efficiency.value > 0) row.iteration.value = *unit / *row.efficiency.value;
  if (row.efficiency.interval80) {
    const double longest = *unit / row.efficiency.interval80->low;
    row.iteration.interval80 = OpenBounds{*unit / *row.efficiency.interval80->high,
                                          std::isfinite(longest) ? std::optional(longest) : std::nullopt};
  }
  FillCosts(row, plan);
  return row;
}

}  // namespace farscale
