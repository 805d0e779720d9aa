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

namespace {

void ChoosePhase(AllocationTerms& terms) {
  const std::vector<PhaseId> known = terms.results.table.Phases(terms.pack.series);
  if (terms.options.group) {
    std::vector<PhaseId> groups, named;
    for (const PhaseId& id : known) {
      if (id.IsGroup()) groups.push_back(id);
      if (id.group == *terms.options.group && (!terms.options.phase || id.name == *terms.options.phase))
        named.push_back(id);
    }
    if (named.size() > 1) {
      throw Error(ErrorKind::kUsage, "--group",
                  fmt::format("there is a group '{}' of {} phases", *terms.options.group, named.size()),
                  "say which with --phase: " + Join(TextsOf(named), ", "));
    }
    if (named.empty()) {
      throw Error(ErrorKind::kUsage, "--group",
                  fmt::format("no group '{}'{} in the results", *terms.options.group,
                              terms.options.phase ? " of phase '" + *terms.options.phase + "'" : ""),
                  groups.empty() ? "they have no groups of ranks" : "there are " + Join(TextsOf(groups), ", "));
    }
    terms.pack.phase = named.front();  // a group alone is enough where one phase has it
    return;
  }
  const std::optional<PhaseId> found = terms.options.phase ? PhaseByText(known, *terms.options.phase)
                                                           : MostImportantPhase(terms.results.table, terms.pack.series);
  if (!found) {
    throw Error(ErrorKind::kUsage, "--phase", "no phase '" + *terms.options.phase + "' in the results",
                "there are " + Join(TextsOf(known), ", "));
  }
  terms.pack.phase = *found;
}

void ChooseBaseline(AllocationTerms& terms) {
  const std::optional<std::int64_t>& reference = terms.results.table.reference;
  std::vector<std::string> known;
  bool has_reference = false;
  for (const RunsAt& runs : terms.counts) {
    known.push_back(std::to_string(runs.cores));
    has_reference = has_reference || runs.cores == reference;
    if (runs.cores == terms.options.baseline) terms.baseline = &runs;
  }
  if (terms.options.baseline && terms.baseline == nullptr) {
    throw Error(ErrorKind::kUsage, "--baseline", fmt::format("there is no run on {} cores", *terms.options.baseline),
                "runs are on " + Join(known, ", ") + " cores");
  }
  for (const RunsAt& runs : terms.counts) {
    if (terms.baseline == nullptr && (!has_reference || runs.cores == reference)) terms.baseline = &runs;
  }
  terms.pack.baseline = static_cast<double>(terms.baseline->cores);
}

void ChooseBasis(AllocationTerms& terms) {
  if (!terms.baseline->Seconds().empty() && terms.pack.scaling) return;
  for (const Factor factor : {Factor::kGlobalEfficiency, Factor::kSpeedup, Factor::kParallelEfficiency}) {
    terms.pack.basis = factor;
    if (!terms.BasisValues(*terms.baseline).empty()) return;
  }
  throw Error(ErrorKind::kNotEnoughData, terms.pack.phase.IsUnnamed() ? "" : "phase '" + terms.pack.phase.Text() + "'",
              fmt::format("neither times nor an efficiency are known on {} cores", terms.baseline->cores),
              "a scaling table needs the column runtime, globalEfficiency, speedup or parallelEfficiency");
}

}  // namespace

AllocationTerms GatherTerms(const Results& results, const AllocationOptions& options, AllocationPack& pack) {
  AllocationTerms terms{results, options, pack, {}, {}};
  const std::vector<std::string> known = results.table.Series();
  if (known.empty()) throw Error(ErrorKind::kNotEnoughData, "", "the results have no runs");
  pack.series = options.series.value_or(known.front());
  if (std::ranges::find(known, pack.series) == known.end()) {
    throw Error(ErrorKind::kUsage, "--series", "no series '" + pack.series + "' in the results",
                "there are " + Join(known, ", "));
  }
  ChoosePhase(terms);
  terms.rows = results.table.Rows(pack.series, pack.phase);
  terms.counts = CountsOf(terms.rows);
  pack.scaling = ScalingOf(results.table, terms.rows);
  ChooseBaseline(terms);
  ChooseBasis(terms);
  std::vector<std::vector<double>> repeats;
  for (const RunsAt& runs : terms.counts) repeats.push_back(terms.BasisValues(runs));
  pack.noise = NoiseOfRepeats(repeats);
  terms.phase_projection = ProjectionOf(results, pack.series, pack.phase);
  if (terms.phase_projection == nullptr) return terms;
  const Factor factor = pack.basis.value_or(Factor::kSpeedup);
  const FactorProjection* found = terms.phase_projection->Find(factor);
  const auto at_baseline = terms.MeasuredOf(terms.baseline->Values(factor));
  if (found == nullptr || found->curve.empty() || !at_baseline) return terms;
  terms.projection = found;
  terms.projected_baseline = at_baseline->value;
  return terms;
}

// The value that repeats vary in, and that efficiency is made from.
std::vector<double> AllocationTerms::BasisValues(const RunsAt& runs) const {
  return pack.basis ? runs.Values(*pack.basis) : runs.Seconds();
}

// Mean of the repeats. Without any repeat nothing is known of how runs vary, so there is no interval.
std::optional<Measurement> AllocationTerms::MeasuredOf(const std::vector<double>& values) const {
  return Measure(values, {}, pack.noise.value_or(Noise{}));
}

Estimate AllocationTerms::MeasuredEfficiency(const RunsAt& runs) const {
  const auto measured = MeasuredOf(BasisValues(runs)), at_baseline = MeasuredOf(BasisValues(*baseline));
  if (!measured) return {};
  const auto cores = static_cast<double>(runs.cores);
  Estimate estimate{measured->value / at_baseline->value, std::nullopt};
  if (pack.basis == Factor::kSpeedup) estimate.value = *estimate.value * pack.baseline / cores;
  if (!pack.basis) {  // times fall where efficiency rises
    estimate.value = EfficiencyOfTimes(*pack.scaling, pack.baseline, at_baseline->value, cores, measured->value);
  }
  if (!pack.noise || &runs == baseline) return estimate;
  const Change change = ChangeBetween(*at_baseline, *measured);
  const double reach = change.High(0.8) / change.ratio;
  estimate.interval80 = OpenBounds{*estimate.value / reach, *estimate.value * reach};
  return estimate;
}

Estimate AllocationTerms::MeasuredSeconds(const RunsAt& runs) const {
  const auto measured = MeasuredOf(runs.Seconds());
  if (!measured) return {};
  Estimate estimate{measured->value, std::nullopt};
  if (!pack.noise) return estimate;
  const double reach = std::exp(StudentQuantile(0.8, measured->freedom) * measured->error);
  estimate.interval80 = OpenBounds{measured->value / reach, measured->value * reach};
  return estimate;
}

double AllocationTerms::ReliableCores() const {
  if (projection == nullptr) return 0;
  return std::min(ReliableUpTo(*phase_projection, projection->factor), projection->curve.back().cores);
}

Reliability AllocationTerms::ReliabilityAt(double cores) const {
  if (projection == nullptr || cores > projection->curve.back().cores) return Reliability::kUnknown;
  return ReliabilityOf(*phase_projection, projection->factor, cores);
}

double AllocationTerms::ToEfficiency(double cores) const {
  return (pack.basis.value_or(Factor::kSpeedup) == Factor::kSpeedup ? pack.baseline / cores : 1) / projected_baseline;
}

Estimate AllocationTerms::ProjectedEfficiency(const ProjectedValue& value) const {
  const double scale = ToEfficiency(value.cores);
  Estimate estimate{value.value * scale, std::nullopt};
  if (value.interval80) estimate.interval80 = OpenBounds{value.interval80->low * scale, value.interval80->high * scale};
  return estimate;
}

std::optional<double> AllocationTerms::SecondsAt(double efficiency, double cores) const {
  const auto at_baseline = MeasuredOf(baseline->Seconds());
  if (!at_baseline || !pack.scaling) return std::nullopt;
  return at_baseline->value / efficiency * (*pack.scaling == Scaling::kStrong ? pack.baseline / cores : 1);
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
  row.is_baseline = cores == terms.pack.baseline;
  row.ideal = cores / terms.pack.baseline;
  const ProblemCase& problem = terms.results.problem;
  if (problem.size) row.size = problem.size;
  if (problem.size_per_process) row.size = *problem.size_per_process * row.processes;
  for (const RunRecord& run : terms.results.runs) {
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

AllocationRow MeasuredRow(const AllocationTerms& terms, const RunsAt& runs) {
  AllocationRow row = RowAt(terms, static_cast<double>(runs.cores), *runs.rows.front());
  row.runs = runs.rows.size();
  if (runs.rows.front()->nodes) row.nodes = static_cast<double>(*runs.rows.front()->nodes);
  row.iteration = terms.MeasuredSeconds(runs);
  row.efficiency = terms.MeasuredEfficiency(runs);
  row.speedup = Scaled(row.efficiency, row.ideal);
  FillCosts(row, terms.pack);
  return row;
}

AllocationRow ProjectedRow(const AllocationTerms& terms, const ProjectedValue& value) {
  AllocationRow row = RowAt(terms, value.cores, *terms.counts.back().rows.front());
  row.is_measured = false;
  row.reliability = terms.ReliabilityAt(value.cores);
  const std::optional<double>& of_node = terms.pack.cores_per_node;
  if (of_node) row.nodes = std::ceil(row.cores / *of_node - 1e-9);
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
  FillCosts(row, terms.pack);
  return row;
}

}  // namespace farscale
