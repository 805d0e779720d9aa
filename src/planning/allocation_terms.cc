#include "planning/allocation_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

std::vector<RunsAt> CountsOf(const std::vector<FactorRow>& rows) {
  std::vector<RunsAt> counts;
  for (const FactorRow& row : rows) {
    if (counts.empty() || counts.back().cores != row.cores) counts.push_back({row.cores, {}});
    counts.back().rows.push_back(&row);
  }
  return counts;
}

std::optional<Factor> FactorOf(EfficiencyBasis basis) {
  switch (basis) {
    case EfficiencyBasis::kSpeedup: return Factor::kSpeedup;
    case EfficiencyBasis::kGlobalEfficiency: return Factor::kGlobalEfficiency;
    case EfficiencyBasis::kParallelEfficiency: return Factor::kParallelEfficiency;
    case EfficiencyBasis::kTimes:
    case EfficiencyBasis::kNone: break;
  }
  return std::nullopt;
}

// Values of all rows, or none where one lacks it.
template <typename Value>
std::vector<double> ValuesOf(const RunsAt& runs, Value value) {
  std::vector<double> values;
  for (const FactorRow* row : runs.rows) {
    const std::optional<double> one = value(*row);
    if (!one || !(*one > 0)) return {};
    values.push_back(*one);
  }
  return values;
}

}  // namespace

std::vector<double> RunsAt::Seconds() const {
  return ValuesOf(*this, [](const FactorRow& row) { return row.TimePerIteration(); });
}

std::vector<double> RunsAt::Values(Factor factor) const {
  return ValuesOf(*this, [&](const FactorRow& row) { return row.values[factor]; });
}

AllocationTerms::AllocationTerms(const Results& results, const AllocationOptions& options)
    : results_(results), options_(options) {
  ChooseSeries();
  ChoosePhase();
  rows_ = results.table.Rows(series_, phase_);
  counts_ = CountsOf(rows_);
  scaling_ = ScalingOf(results.table, rows_);
  ChooseBaseline();
  ChooseBasis();
  std::vector<std::vector<double>> repeats;
  for (const RunsAt& runs : counts_) repeats.push_back(BasisValues(runs));
  noise_ = NoiseOfRepeats(repeats);
  ChooseProjection();
}

void AllocationTerms::ChooseSeries() {
  const std::vector<std::string> known = results_.table.Series();
  if (known.empty()) throw Error(ErrorKind::kNotEnoughData, "", "the results have no runs");
  series_ = options_.series.value_or(known.front());
  if (std::find(known.begin(), known.end(), series_) != known.end()) return;
  throw Error(ErrorKind::kUsage, "--series", "no series '" + series_ + "' in the results",
              "there are " + Join(known, ", "));
}

void AllocationTerms::ChoosePhase() {
  const std::vector<PhaseId> known = results_.table.Phases(series_);
  if (options_.group) return ChooseGroup(known);
  const std::optional<PhaseId> found =
      options_.phase ? PhaseByText(known, *options_.phase) : MostImportantPhase(results_.table, series_);
  if (!found) {
    throw Error(ErrorKind::kUsage, "--phase", "no phase '" + *options_.phase + "' in the results",
                "there are " + Join(TextsOf(known), ", "));
  }
  phase_ = *found;
}

// A group alone is enough where one phase has it.
void AllocationTerms::ChooseGroup(const std::vector<PhaseId>& known) {
  std::vector<PhaseId> groups, named;
  for (const PhaseId& id : known) {
    if (id.IsGroup()) groups.push_back(id);
    if (id.group == *options_.group && (!options_.phase || id.name == *options_.phase)) named.push_back(id);
  }
  if (named.size() > 1) {
    throw Error(ErrorKind::kUsage, "--group",
                fmt::format("there is a group '{}' of {} phases", *options_.group, named.size()),
                "say which with --phase: " + Join(TextsOf(named), ", "));
  }
  if (named.empty()) {
    throw Error(ErrorKind::kUsage, "--group",
                fmt::format("no group '{}'{} in the results", *options_.group,
                            options_.phase ? " of phase '" + *options_.phase + "'" : ""),
                groups.empty() ? "they have no groups of ranks" : "there are " + Join(TextsOf(groups), ", "));
  }
  phase_ = named.front();
}

void AllocationTerms::ChooseBaseline() {
  std::vector<std::string> known;
  bool has_reference = false;
  for (const RunsAt& runs : counts_) {
    known.push_back(std::to_string(runs.cores));
    has_reference = has_reference || runs.cores == results_.table.reference;
    if (runs.cores == options_.baseline) baseline_ = &runs;
  }
  if (options_.baseline && baseline_ == nullptr) {
    throw Error(ErrorKind::kUsage, "--baseline", fmt::format("there is no run on {} cores", *options_.baseline),
                "runs are on " + Join(known, ", ") + " cores");
  }
  for (const RunsAt& runs : counts_) {
    if (baseline_ == nullptr && (!has_reference || runs.cores == results_.table.reference)) baseline_ = &runs;
  }
}

void AllocationTerms::ChooseBasis() {
  if (!baseline_->Seconds().empty() && scaling_) {
    basis_ = EfficiencyBasis::kTimes;
    return;
  }
  for (const EfficiencyBasis basis :
       {EfficiencyBasis::kGlobalEfficiency, EfficiencyBasis::kSpeedup, EfficiencyBasis::kParallelEfficiency}) {
    basis_ = basis;
    if (!BasisValues(*baseline_).empty()) return;
  }
  throw Error(ErrorKind::kNotEnoughData, phase_.IsUnnamed() ? "" : "phase '" + phase_.Text() + "'",
              fmt::format("neither times nor an efficiency are known on {} cores", baseline_->cores),
              "a scaling table needs the column runtime, globalEfficiency, speedup or parallelEfficiency");
}

void AllocationTerms::ChooseProjection() {
  phase_projection_ = ProjectionOf(results_, series_, phase_);
  if (phase_projection_ == nullptr) return;
  const Factor factor = basis_ == EfficiencyBasis::kTimes ? Factor::kSpeedup : *FactorOf(basis_);
  const FactorProjection* found = phase_projection_->Find(factor);
  const auto at_baseline = MeasuredOf(baseline_->Values(factor));
  if (found == nullptr || found->curve.empty() || !at_baseline) return;
  projection_ = found;
  projected_baseline_ = at_baseline->value;
}

// The value that repeats vary in, and that efficiency is made from.
std::vector<double> AllocationTerms::BasisValues(const RunsAt& runs) const {
  return basis_ == EfficiencyBasis::kTimes ? runs.Seconds() : runs.Values(*FactorOf(basis_));
}

// Mean of the repeats. Without any repeat nothing is known of how runs vary, so there is no interval.
std::optional<Measurement> AllocationTerms::MeasuredOf(const std::vector<double>& values) const {
  return Measure(values, {}, noise_.value_or(Noise{}));
}

// E from the times or factors at a count and at the baseline. Times fall where efficiency rises.
double AllocationTerms::EfficiencyAt(double value, double at_baseline, double cores) const {
  switch (basis_) {
    case EfficiencyBasis::kTimes: return EfficiencyOfTimes(*scaling_, baseline_cores(), at_baseline, cores, value);
    case EfficiencyBasis::kSpeedup: return value / at_baseline * baseline_cores() / cores;
    default: return value / at_baseline;
  }
}

Estimate AllocationTerms::MeasuredEfficiency(const RunsAt& runs) const {
  const auto measured = MeasuredOf(BasisValues(runs)), at_baseline = MeasuredOf(BasisValues(*baseline_));
  if (!measured) return {};
  Estimate estimate{EfficiencyAt(measured->value, at_baseline->value, static_cast<double>(runs.cores)), std::nullopt};
  if (!noise_ || &runs == baseline_) return estimate;
  const Change change = ChangeBetween(*at_baseline, *measured);
  const double reach = change.High(0.8) / change.ratio;
  estimate.interval80 = OpenBounds{*estimate.value / reach, *estimate.value * reach};
  return estimate;
}

Estimate AllocationTerms::MeasuredSeconds(const RunsAt& runs) const {
  const auto measured = MeasuredOf(runs.Seconds());
  if (!measured) return {};
  Estimate estimate{measured->value, std::nullopt};
  if (!noise_) return estimate;
  const double reach = std::exp(StudentQuantile(0.8, measured->freedom) * measured->error);
  estimate.interval80 = OpenBounds{measured->value / reach, measured->value * reach};
  return estimate;
}

double AllocationTerms::ReliableCores() const {
  if (projection_ == nullptr) return 0;
  return std::min(ReliableUpTo(*phase_projection_, projection_->factor), projection_->curve.back().cores);
}

Reliability AllocationTerms::ReliabilityAt(double cores) const {
  if (projection_ == nullptr || cores > projection_->curve.back().cores) return Reliability::kUnknown;
  return ReliabilityOf(*phase_projection_, projection_->factor, cores);
}

double AllocationTerms::ToEfficiency(double cores) const {
  const bool is_speedup = basis_ == EfficiencyBasis::kTimes || basis_ == EfficiencyBasis::kSpeedup;
  return (is_speedup ? baseline_cores() / cores : 1) / projected_baseline_;
}

Estimate AllocationTerms::ProjectedEfficiency(const ProjectedValue& value) const {
  const double scale = ToEfficiency(value.cores);
  Estimate estimate{value.value * scale, std::nullopt};
  if (value.interval80) estimate.interval80 = OpenBounds{value.interval80->low * scale, value.interval80->high * scale};
  return estimate;
}

std::optional<double> AllocationTerms::SecondsAt(double efficiency, double cores) const {
  const auto at_baseline = MeasuredOf(baseline_->Seconds());
  if (!at_baseline || !scaling_) return std::nullopt;
  return at_baseline->value / efficiency * (*scaling_ == Scaling::kStrong ? baseline_cores() / cores : 1);
}

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

void FillCosts(AllocationRow& row, const AllocationPack& pack) {
  row.work = Scaled(row.iteration, pack.iterations);
  row.core_hours = Scaled(row.work, CoreHours(row.cores, 1));
}

}  // namespace

AllocationRow MeasuredRow(const AllocationTerms& terms, const AllocationPack& pack, const RunsAt& runs) {
  AllocationRow row = RowAt(terms, static_cast<double>(runs.cores), *runs.rows.front());
  row.runs = runs.rows.size();
  if (runs.rows.front()->nodes) row.nodes = static_cast<double>(*runs.rows.front()->nodes);
  row.iteration = terms.MeasuredSeconds(runs);
  row.efficiency = terms.MeasuredEfficiency(runs);
  row.speedup = Scaled(row.efficiency, row.ideal);
  FillCosts(row, pack);
  return row;
}

AllocationRow ProjectedRow(const AllocationTerms& terms, const AllocationPack& pack, const ProjectedValue& value) {
  AllocationRow row = RowAt(terms, value.cores, *terms.counts().back().rows.front());
  row.is_measured = false;
  row.reliability = terms.ReliabilityAt(value.cores);
  if (pack.cores_per_node) row.nodes = std::ceil(row.cores / *pack.cores_per_node - 1e-9);
  if (row.reliability == Reliability::kUnknown) return row;
  row.efficiency = terms.ProjectedEfficiency(value);
  if (row.reliability == Reliability::kUncertain) row.efficiency.value = std::nullopt;
  row.speedup = Scaled(row.efficiency, row.ideal);
  const std::optional<double> unit = terms.SecondsAt(1, row.cores);
  if (!unit) return row;
  if (row.efficiency.value && *row.efficiency.value > 0) row.iteration.value = *unit / *row.efficiency.value;
  if (row.efficiency.interval80) {
    const double longest = *unit / row.efficiency.interval80->low;
    row.iteration.interval80 = OpenBounds{*unit / *row.efficiency.interval80->high,
                                          std::isfinite(longest) ? std::optional(longest) : std::nullopt};
  }
  FillCosts(row, pack);
  return row;
}

}  // namespace farscale
