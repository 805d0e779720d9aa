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
  const std::optional<std::int64_t>& reference = results.table.reference;
  std::vector<std::string> known_counts;
  bool has_reference = false;
  for (const RunsAt& runs : terms.counts) {
    known_counts.push_back(std::to_string(runs.cores));
    has_reference = has_reference || runs.cores == reference;
    if (runs.cores == options.baseline) terms.baseline = &runs;
  }
  if (options.baseline && terms.baseline == nullptr) {
    throw Error(ErrorKind::kUsage, "--baseline", fmt::format("there is no run on {} cores", *options.baseline),
                "runs are on " + Join(known_counts, ", ") + " cores");
  }
  for (const RunsAt& runs : terms.counts) {
    if (terms.baseline == nullptr && (!has_reference || runs.cores == reference)) terms.baseline = &runs;
  }
  pack.baseline = static_cast<double>(terms.baseline->cores);
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

double AllocationTerms::ReliableCores() const {
  if (projection == nullptr) return 0;
  return std::min(ReliableUpTo(*phase_projection, projection->factor), projection->curve.back().cores);
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
  const AllocationPack& pack = terms.pack;
  if (const auto seconds = terms.MeasuredOf(runs.Seconds())) {
    row.iteration.value = seconds->value;
    if (pack.noise) {
      const double reach = std::exp(StudentQuantile(0.8, seconds->freedom) * seconds->error);
      row.iteration.interval80 = OpenBounds{seconds->value / reach, seconds->value * reach};
    }
  }
  const auto measured = terms.MeasuredOf(terms.BasisValues(runs)),
             at_baseline = terms.MeasuredOf(terms.BasisValues(*terms.baseline));
  if (measured) {
    double efficiency = measured->value / at_baseline->value;
    if (pack.basis == Factor::kSpeedup) efficiency = efficiency * pack.baseline / row.cores;
    if (!pack.basis) {  // times fall where efficiency rises
      efficiency = EfficiencyOfTimes(*pack.scaling, pack.baseline, at_baseline->value, row.cores, measured->value);
    }
    row.efficiency.value = efficiency;
    // The interval is that of a quotient; the baseline is 1 by definition and has none.
    if (pack.noise && &runs != terms.baseline) {
      const Change change = ChangeBetween(*at_baseline, *measured);
      const double reach = change.High(0.8) / change.ratio;
      row.efficiency.interval80 = OpenBounds{efficiency / reach, efficiency * reach};
    }
  }
  row.speedup = Scaled(row.efficiency, row.ideal);
  FillCosts(row, pack);
  return row;
}

AllocationRow ProjectedRow(const AllocationTerms& terms, const ProjectedValue& value) {
  AllocationRow row = RowAt(terms, value.cores, *terms.counts.back().rows.front());
  row.is_measured = false;
  const bool is_known = terms.projection != nullptr && value.cores <= terms.projection->curve.back().cores;
  row.reliability =
      is_known ? ReliabilityOf(*terms.phase_projection, terms.projection->factor, value.cores) : Reliability::kUnknown;
  const std::optional<double>& of_node = terms.pack.cores_per_node;
  if (of_node) row.nodes = std::ceil(row.cores / *of_node - 1e-9);
  if (row.reliability == Reliability::kUnknown) return row;
  row.efficiency = terms.ProjectedEfficiency(value);
  if (row.reliability == Reliability::kUncertain) row.efficiency.value = std::nullopt;
  row.speedup = Scaled(row.efficiency, row.ideal);
  // Seconds of an iteration: T = T_b / E, with strong scaling times p_b / p.
  const auto at_baseline = terms.MeasuredOf(terms.baseline->Seconds());
  const std::optional<Scaling>& scaling = terms.pack.scaling;
  if (!at_baseline || !scaling) return row;
  const double unit = at_baseline->value * (*scaling == Scaling::kStrong ? terms.pack.baseline / row.cores : 1);
  if (row.efficiency.value && *row.efficiency.value > 0) row.iteration.value = unit / *row.efficiency.value;
  if (row.efficiency.interval80) {
    const double longest = unit / row.efficiency.interval80->low;
    row.iteration.interval80 = OpenBounds{unit / *row.efficiency.interval80->high,
                                          std::isfinite(longest) ? std::optional(longest) : std::nullopt};
  }
  FillCosts(row, terms.pack);
  return row;
}

}  // namespace farscale
