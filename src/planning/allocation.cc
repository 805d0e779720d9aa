#include "planning/allocation.h"

#include <algorithm>

#include "factors/superlinear.h"
#include "planning/allocation_terms.h"
#include "planning/contradictions.h"
#include "planning/job_size.h"

namespace farscale {
namespace {

constexpr double kBeyondRuns = 16;  // the same of the largest run, where evidence goes on

std::string DescriptionOf(const Results& results, const PhaseId& phase) {
  for (const PhaseRecord& record : results.phases) {
    if (record.id == phase) return record.description;
  }
  return "";
}

// Of the run with the fullest nodes.
std::optional<double> CoresPerNode(const std::vector<FactorRow>& rows) {
  std::optional<double> most;
  for (const FactorRow& row : rows) {
    if (!row.nodes || *row.nodes < 1) continue;
    most = std::max(most.value_or(0), static_cast<double>(row.cores) / static_cast<double>(*row.nodes));
  }
  return most;
}

void CountRuns(const AllocationTerms& terms, AllocationPack& pack) {
  pack.counts = terms.counts().size();
  for (const RunsAt& runs : terms.counts()) {
    pack.runs += runs.rows.size();
    pack.repeated_counts += runs.rows.size() > 1 ? 1 : 0;
  }
  pack.noise = terms.noise();
  pack.cores_per_node = CoresPerNode(terms.rows());
}

void ChooseIterations(const AllocationTerms& terms, AllocationPack& pack) {
  const std::optional<double> planned =
      terms.options().iterations ? terms.options().iterations : terms.results().problem.iterations;
  pack.are_planned = planned.has_value();
  pack.iterations = planned.value_or(terms.baseline().rows.front()->iterations);
}

// Beyond the reliable range, where there is no number, the low end of the interval.
double LargestEfficiency(const AllocationPack& pack) {
  double largest = 0;
  for (const AllocationRow& row : pack.rows) {
    largest = std::max(largest, row.efficiency.value.value_or(0));
    if (!row.efficiency.value && row.efficiency.interval80) largest = std::max(largest, row.efficiency.interval80->low);
  }
  return largest;
}

void AddProjected(const AllocationTerms& terms, const WorkPlan& plan, AllocationPack& pack) {
  const FactorProjection* projection = terms.projection();
  if (projection == nullptr) return;
  pack.reliable = terms.ReliableCores();
  const auto smallest = static_cast<double>(terms.counts().front().cores),
             largest = static_cast<double>(terms.counts().back().cores);
  const double shown = terms.options().up_to.value_or(
      std::min(kShownBeyondReliable * std::max(pack.reliable, largest), kBeyondRuns * largest));
  for (const ProjectedValue& value : projection->targets) {
    pack.largest_target = value.cores;
    const bool was_run = std::any_of(terms.counts().begin(), terms.counts().end(), [&](const RunsAt& runs) {
      return static_cast<double>(runs.cores) == value.cores;
    });
    if (value.cores <= shown && !was_run) pack.rows.push_back(ProjectedRow(terms, plan, value));
  }
  for (const ProjectedValue& value : projection->curve) {
    if (value.cores < smallest || value.cores > pack.rows.back().cores) continue;
    pack.curve.push_back({value.cores, ProjectedRow(terms, plan, value).speedup});
  }
}

constexpr std::size_t kCountsAskedFor = 3;  // chosen: what most computing centres ask for

// Why the phase is not projected; empty where the results do not say.
std::string ObstacleOf(const AllocationTerms& terms) {
  for (const PhaseProjection& projection : terms.results().projections) {
    if (projection.series == terms.series() && projection.phase == terms.phase()) return projection.obstacle;
  }
  return "";
}

// `pack` is complete but for this.
MissingInformation FindMissing(const AllocationTerms& terms, const AllocationPack& pack) {
  const auto any = [&](auto condition) { return std::ranges::any_of(pack.rows, condition); };
  const bool has_times = any([](const AllocationRow& row) { return row.is_measured && row.iteration.value; });
  const bool is_predicted = any([](const AllocationRow& row) { return !row.is_measured; });
  return {.description = terms.results().description.empty(),
          .size = !any([](const AllocationRow& row) { return row.size.has_value(); }),
          .scaling = !pack.scaling,
          .times = !has_times,
          .plan = has_times && !pack.are_planned,
          .computation = pack.basis == EfficiencyBasis::kParallelEfficiency,
          .counts = pack.counts < kCountsAskedFor,
          .repeats = pack.repeated_counts == 0,
          .nodes = !any([](const AllocationRow& row) { return row.nodes.has_value(); }),
          .prediction = !is_predicted,
          .obstacle = is_predicted ? "" : ObstacleOf(terms)};
}

}  // namespace

double EfficiencyOfTimes(Scaling scaling, double baseline_cores, double baseline_seconds, double cores,
                         double seconds) {
  const double ratio = baseline_seconds / seconds;
  return scaling == Scaling::kWeak ? ratio : baseline_cores / cores * ratio;
}

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const PhaseId& phase) {
  for (const PhaseProjection& projection : results.projections) {
    const bool is_it = projection.series == series && projection.phase == phase;
    if (is_it && projection.obstacle.empty()) return &projection;
  }
  return nullptr;
}

PhaseId MostImportantPhase(const FactorTable& table, const std::string& series) {
  std::int64_t largest = 0;
  for (const FactorRow& row : table.rows) {
    if (row.series == series) largest = std::max(largest, row.cores);
  }
  const FactorRow* chosen = nullptr;
  for (const FactorRow& row : table.rows) {
    if (row.series != series || row.cores != largest || row.phase.IsGroup()) continue;
    if (chosen == nullptr || row.runtime.value_or(0) > chosen->runtime.value_or(0)) chosen = &row;
  }
  if (chosen != nullptr) return chosen->phase;
  const std::vector<PhaseId> phases = table.Phases(series);
  return phases.empty() ? PhaseId() : phases.front();
}

AllocationPack MakeAllocationPack(const Results& results, const AllocationOptions& options) {
  const AllocationTerms terms(results, options);
  AllocationPack pack;
  pack.series = terms.series();
  pack.phase = terms.phase();
  pack.phase_description = DescriptionOf(results, pack.phase);
  pack.basis = terms.basis();
  pack.scaling = terms.scaling();
  pack.is_scaling_shown = pack.scaling && !results.table.scaling;
  pack.required = options.efficiency;
  pack.baseline = terms.baseline_cores();
  CountRuns(terms, pack);
  ChooseIterations(terms, pack);
  const WorkPlan plan{pack.iterations, pack.cores_per_node};
  for (const RunsAt& runs : terms.counts()) pack.rows.push_back(MeasuredRow(terms, plan, runs));
  AddProjected(terms, plan, pack);
  pack.recommendation = RecommendJobSize(terms, plan, pack.rows);
  pack.superlinear = WhySuperlinear(terms.rows(), LargestEfficiency(pack), terms.baseline().cores);
  pack.contradictions = FindContradictions(terms, pack.rows);
  pack.missing = FindMissing(terms, pack);
  return pack;
}

}  // namespace farscale
