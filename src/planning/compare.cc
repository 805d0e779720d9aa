#include "planning/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "planning/allocation.h"
#include "projection/model_settings.h"
#include "results/results.h"

namespace farscale {
namespace {

// Reads one quantity off a row.
using RowReading = std::function<std::optional<double>(const FactorRow&)>;

// A quantity of the runs at one core count, with its errors where known.
using RunValues = std::pair<std::vector<double>, std::vector<std::optional<double>>>;

// One side of a phase: its rows in the terms that are compared, and what the projection must be multiplied by to be in
// them too.
struct ComparedSide {
  PhaseKey key;
  std::vector<FactorRow> rows{};
  std::optional<Scaling> scaling{};  // as the results say, else as times and speedups show
  bool is_scaling_shown = false;     // the latter
  std::int64_t reference = 0;        // cores; the smallest count of a phase that was not run at the reference
  const PhaseProjection* projection = nullptr;
  FactorValues scale{};

  std::set<std::int64_t> Counts() const;
  bool Knows(const RowReading& value) const;
  // Empty where one of the runs does not know it.
  RunValues ValuesAt(std::int64_t cores, const RowReading& value, const RowReading& error) const;
  // Geometric mean of the reference runs.
  std::optional<double> AtReference(const RowReading& value) const;
};

struct ComparedSides {
  ComparedSide before, after;
  bool compares = false;  // both compare with the same reference, in the same way
  ComparedTerms terms{};

  // False for factors that compare with the reference run where both sides have different ones.
  bool Compares(Factor factor) const { return compares || !Describe(factor).ComparesWithReference(); }
};

std::set<std::int64_t> ComparedSide::Counts() const {
  std::set<std::int64_t> counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

bool ComparedSide::Knows(const RowReading& value) const {
  return std::any_of(rows.begin(), rows.end(), [&](const FactorRow& row) { return value(row).has_value(); });
}

RunValues ComparedSide::ValuesAt(std::int64_t cores, const RowReading& value, const RowReading& error) const {
  RunValues found;
  for (const FactorRow& row : rows) {
    if (row.cores != cores) continue;
    const std::optional<double> one = value(row);
    if (!one) return {};
    found.first.push_back(*one);
    found.second.push_back(error(row));
  }
  return found;
}

std::optional<double> ComparedSide::AtReference(const RowReading& value) const {
  const RowReading none = [](const FactorRow&) { return std::optional<double>(); };
  const auto measured = Measure(ValuesAt(reference, value, none).first, {});
  return measured ? std::optional(measured->value) : std::nullopt;
}

ComparedSide SideOf(const Results& results, const PhaseKey& key) {
  ComparedSide side{key};
  side.rows = results.table.Rows(key);
  side.scaling = ScalingOf(results.table, side.rows);
  side.is_scaling_shown = side.scaling && (!results.table.scaling || results.table.scaling_source == kShownByTimes);
  const std::set<std::int64_t> counts = side.Counts();
  const std::optional<std::int64_t> reference = results.table.reference;
  side.reference = reference && counts.count(*reference) > 0 ? *reference : *counts.begin();
  side.projection = ProjectionOf(results, key.series, key.phase);
  for (const FactorType& type : AllFactors()) side.scale[type.factor] = 1;
  return side;
}

// Puts a side in terms of another run; false where the rows do not know enough.
bool Refer(std::int64_t cores, FactorTable table, ComparedSide& side) {
  std::erase_if(table.rows, [&](const FactorRow& row) { return row.Key() != side.key; });
  try {
    ChangeTerms(table, std::nullopt, cores);
  } catch (const Error&) {
    return false;
  }
  const std::vector<FactorRow> rows = table.Rows(side.key);
  for (const FactorType& type : AllFactors()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::optional<double>&is = rows[i].values[type.factor], &was = side.rows[i].values[type.factor];
      if (is && was && *was > 0) side.scale[type.factor] = *is / *was;
    }
  }
  side.rows = rows;
  side.reference = cores;
  return true;
}

void AgreeOnReference(const FactorTable& before, const FactorTable& after, ComparedSides& sides) {
  const std::int64_t was_before = sides.before.reference, was_after = sides.after.reference;
  sides.compares = was_before == was_after;
  if (sides.compares) {
    sides.terms.reference = static_cast<double>(was_before);
    return;
  }
  sides.terms.first_reference = static_cast<double>(was_before);
  sides.terms.second_reference = static_cast<double>(was_after);
  const std::set<std::int64_t> others = sides.after.Counts();
  for (const std::int64_t cores : sides.before.Counts()) {
    if (!others.contains(cores)) continue;
    if (!Refer(cores, before, sides.before) || !Refer(cores, after, sides.after)) break;
    sides.compares = true;
    sides.terms.reference = static_cast<double>(cores);
    return;
  }
}

void AgreeOnScaling(ComparedSides& sides) {
  const auto know_both = [&](const RowReading& value) { return sides.before.Knows(value) && sides.after.Knows(value); };
  const ComparedSide &before = sides.before, &after = sides.after;
  sides.terms.first_scaling = before.scaling;
  sides.terms.second_scaling = after.scaling;
  sides.terms.is_first_shown = before.is_scaling_shown;
  sides.terms.is_second_shown = after.is_scaling_shown;
  sides.terms.have_times = know_both(&FactorRow::TimePerIteration);
  sides.terms.have_global = know_both([](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
  if (before.scaling != after.scaling) sides.compares = false;
}

// Factors that the other side does not know at any core count.
std::vector<Factor> OnlyOf(const ComparedSide& side, const ComparedSide& other) {
  std::vector<Factor> only;
  for (const FactorType& type : AllFactors()) {
    const RowReading value = [&](const FactorRow& row) { return row.values[type.factor]; };
    if (side.Knows(value) && !other.Knows(value)) only.push_back(type.factor);
  }
  return only;
}

// Where the references differ, both sides are put in terms of the smallest common core count, if they know enough.
ComparedSides AgreeOnTerms(const Results& before, const PhaseKey& key_before, const Results& after,
                           const PhaseKey& key_after) {
  ComparedSides sides{SideOf(before, key_before), SideOf(after, key_after)};
  AgreeOnReference(before.table, after.table, sides);
  AgreeOnScaling(sides);
  sides.terms.first_only = OnlyOf(sides.before, sides.after);
  sides.terms.second_only = OnlyOf(sides.after, sides.before);
  sides.terms.is_first_timed =
      sides.before.Knows(&FactorRow::TimePerIteration) && !sides.after.Knows(&FactorRow::TimePerIteration);
  sides.terms.is_second_timed =
      sides.after.Knows(&FactorRow::TimePerIteration) && !sides.before.Knows(&FactorRow::TimePerIteration);
  return sides;
}

using Kind = Contribution::Kind;

constexpr double kNothing = 1e-9;     // logarithms below are 0
constexpr double kErrorOfAll = 0.05;  // chance that any change of a phase is called more than noise, and is none

// Parts of global efficiency, where its parts are known on both sides, else of parallel efficiency; sets which.
std::optional<Decomposition> ExplainWhole(const FactorValues& before, const FactorValues& after, Factor& whole) {
  for (const Factor one : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (const auto explained = Explain(one, before, after)) {
      whole = one;
      return explained;
    }
  }
  return std::nullopt;
}

// Rows err independently of their reference; what is compared with it has the error of both.
Measurement WithReference(Measurement measured, const ComparedSide& side, Factor factor, std::int64_t cores,
                          const Noise& noise) {
  const RowReading value = [&](const FactorRow& row) { return row.values[factor]; };
  const RowReading error = [&](const FactorRow& row) { return row.standard_errors[factor]; };
  if (!Describe(factor).ComparesWithReference() || cores == side.reference) return measured;
  const auto [values, errors] = side.ValuesAt(side.reference, value, error);
  if (const auto reference = Measure(values, errors, noise)) {
    measured.error = std::hypot(measured.error, reference->error);
  }
  return measured;
}

std::optional<Noise> NoiseBetweenRepeats(const ComparedSides& sides, const RowReading& value) {
  std::vector<std::vector<double>> repeats;
  const RowReading none = [](const FactorRow&) { return std::optional<double>(); };
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    for (const std::int64_t cores : side->Counts()) {
      repeats.push_back(side->ValuesAt(cores, value, none).first);
    }
  }
  return NoiseOfRepeats(repeats);
}

// A factor at a core count on both sides; nothing: the time of an iteration.
ComparedNumber CompareNumber(const ComparedSides& sides, std::int64_t cores, std::optional<Factor> factor) {
  const RowReading value = [&](const FactorRow& row) { return factor ? row.values[*factor] : row.TimePerIteration(); };
  const RowReading error = [&](const FactorRow& row) {
    if (factor) return row.standard_errors[*factor];
    return row.runtime_error ? std::optional(*row.runtime_error / row.iterations) : std::nullopt;
  };
  // Repeats that agree by luck, or because a table is rounded, do not make the noise 0.
  const std::optional<Noise> repeats = NoiseBetweenRepeats(sides, value);
  const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
  const auto measure = [&](const ComparedSide& side) {
    const auto [values, errors] = side.ValuesAt(cores, value, error);
    std::optional<Measurement> one = Measure(values, errors, noise);
    if (one && factor) one = WithReference(*one, side, *factor, cores, noise);
    return one;
  };
  const std::optional<Measurement> before = measure(sides.before), after = measure(sides.after);
  ComparedNumber number;
  if (before) number.before = before->value;
  if (after) number.after = after->value;
  const bool means_the_same = !factor || sides.Compares(*factor);
  if (before && after && means_the_same) number.change = ChangeBetween(*before, *after);
  return number;
}

// The computation of the reference run takes instructions over their rate; the rate is IPC times frequency.
void SplitBase(const ComparedSides& sides, Decomposition& time) {
  const auto logarithm = [&](const RowReading& value) {
    const std::optional<double> before = sides.before.AtReference(value), after = sides.after.AtReference(value);
    return before && after ? std::optional(std::log(*after / *before)) : std::nullopt;
  };
  const auto instructions = logarithm([](const FactorRow& row) -> std::optional<double> {
    return row.totals && row.totals->instructions ? std::optional(*row.totals->instructions / row.iterations)
                                                  : std::nullopt;
  });
  const auto ipc = logarithm([](const FactorRow& row) -> std::optional<double> {
    if (!row.totals || !row.totals->instructions || !row.totals->cycles) return std::nullopt;
    return *row.totals->instructions / *row.totals->cycles;
  });
  const auto base = std::ranges::find(time.parts, Kind::kBase, &Contribution::kind);
  if (!instructions || base == time.parts.end()) return;
  std::vector<Contribution> parts = {{Kind::kBaseInstructions, {}, *instructions}};
  const double rate = base->logarithm - *instructions;
  if (ipc) {
    parts.push_back({Kind::kBaseIpc, {}, -*ipc});
    parts.push_back({Kind::kBaseFrequency, {}, rate + *ipc});
  } else {
    parts.push_back({Kind::kBaseRate, {}, rate});
  }
  time.parts.insert(time.parts.erase(base), parts.begin(), parts.end());
}

ComparedCount CompareAt(const ComparedSides& sides, std::int64_t cores) {
  ComparedCount count;
  count.cores = static_cast<double>(cores);
  count.is_common = sides.before.Counts().contains(cores) && sides.after.Counts().contains(cores);
  FactorValues before, after;
  for (const FactorType& type : AllFactors()) {
    const ComparedNumber number = CompareNumber(sides, cores, type.factor);
    if (!number.before && !number.after) continue;
    count.factors.emplace_back(type.factor, number);
    if (!number.change) continue;
    before[type.factor] = number.before;
    after[type.factor] = number.after;
  }
  count.seconds = CompareNumber(sides, cores, std::nullopt);
  count.efficiency = ExplainWhole(before, after, count.whole);
  const bool has_time = count.efficiency && count.whole == Factor::kGlobalEfficiency && count.seconds.change;
  if (has_time && sides.before.scaling) {
    count.time = ExplainTime(*count.seconds.before, *count.seconds.after, *count.efficiency);
    SplitBase(sides, *count.time);
  }
  return count;
}

std::vector<ComparedCount> CompareCounts(const ComparedSides& sides) {
  std::set<std::int64_t> counts = sides.before.Counts();
  const std::set<std::int64_t> others = sides.after.Counts();
  counts.insert(others.begin(), others.end());
  std::vector<ComparedCount> compared;
  for (const std::int64_t cores : counts) compared.push_back(CompareAt(sides, cores));
  return compared;
}

std::optional<ProjectedValue> Projected(const ComparedSide& side, Factor factor, double cores) {
  const FactorProjection* projection = side.projection->Find(factor);
  if (projection == nullptr) return std::nullopt;
  std::optional<ProjectedValue> value = ReadCurve(*projection, cores);
  if (!value) return std::nullopt;
  const double scale = *side.scale[factor];
  value->value *= scale;
  for (std::optional<IntervalBounds>* bounds : {&value->interval80, &value->interval95}) {
    if (*bounds) *bounds = IntervalBounds{(*bounds)->low * scale, (*bounds)->high * scale};
  }
  return value;
}

void FindWhetherApart(ProjectedPair& pair) {
  if (!pair.before || !pair.after || !pair.before->interval80 || !pair.after->interval80) return;
  pair.is_apart = pair.before->interval80->high < pair.after->interval80->low ||
                  pair.after->interval80->high < pair.before->interval80->low;
}

ProjectedPair ProjectedOnBoth(const ComparedSides& sides, Factor factor, double cores) {
  ProjectedPair pair{Projected(sides.before, factor, cores), Projected(sides.after, factor, cores),
                     Reliability::kUnknown, false};
  if (!sides.Compares(factor)) return pair;
  pair.reliability = std::max(ReliabilityOf(*sides.before.projection, factor, cores),
                              ReliabilityOf(*sides.after.projection, factor, cores));
  FindWhetherApart(pair);
  return pair;
}

// Seconds an iteration from global efficiency: T = T_ref GE_ref / GE, with strong scaling times P_ref / P.
std::optional<ProjectedValue> ProjectedSeconds(const ComparedSide& side,
                                               const std::optional<ProjectedValue>& efficiency) {
  const auto time = side.AtReference(&FactorRow::TimePerIteration);
  const auto at_reference =
      side.AtReference([](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
  if (!time || !at_reference || !side.scaling || !efficiency || !(efficiency->value > 0)) return std::nullopt;
  double reach = *time * *at_reference;
  if (*side.scaling == Scaling::kStrong) reach *= static_cast<double>(side.reference) / efficiency->cores;
  ProjectedValue seconds = *efficiency;
  seconds.value = reach / efficiency->value;
  for (std::optional<IntervalBounds>* bounds : {&seconds.interval80, &seconds.interval95}) {
    if (!*bounds) continue;
    const bool is_open = !((*bounds)->low > 0) || !std::isfinite(reach / (*bounds)->low);
    *bounds = is_open ? std::nullopt : std::optional(IntervalBounds{reach / (*bounds)->high, reach / (*bounds)->low});
  }
  return seconds;
}

// `asked`: core counts; empty: the targets of both sides that are not too far beyond the reliable ranges.
std::set<double> CommonTargets(const ComparedSides& sides, const std::vector<double>& asked) {
  if (!asked.empty()) return {asked.begin(), asked.end()};
  std::set<double> targets;
  double reliable = 0;
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    for (const FactorProjection& projection : side->projection->factors) {
      for (const ProjectedValue& value : projection.targets) targets.insert(value.cores);
    }
    reliable = std::max({reliable, side->projection->fitted_cores.back(),
                         side->projection->reliable_range ? side->projection->reliable_range->cores : 0.0});
  }
  std::erase_if(targets, [&](double cores) { return cores > kShownBeyondReliable * reliable; });
  return targets;
}

std::vector<ComparedTarget> CompareTargets(const ComparedSides& sides, const std::vector<double>& targets) {
  std::vector<ComparedTarget> compared;
  if (sides.before.projection == nullptr || sides.after.projection == nullptr) return compared;
  for (const double cores : CommonTargets(sides, targets)) {
    ComparedTarget target;
    target.cores = cores;
    FactorValues before, after;
    for (const FactorType& type : AllFactors()) {
      const ProjectedPair pair = ProjectedOnBoth(sides, type.factor, cores);
      if (!pair.before || !pair.after || !sides.Compares(type.factor)) continue;
      if (pair.before->value > 0 && pair.after->value > 0) {
        before[type.factor] = pair.before->value;
        after[type.factor] = pair.after->value;
      }
      target.factors.emplace_back(type.factor, pair);
    }
    target.explained = ExplainWhole(before, after, target.whole);
    target.efficiency = ProjectedOnBoth(sides, target.whole, cores);
    if (!target.efficiency.before || !target.efficiency.after) continue;
    if (sides.compares && target.whole == Factor::kGlobalEfficiency) {
      target.seconds = {ProjectedSeconds(sides.before, target.efficiency.before),
                        ProjectedSeconds(sides.after, target.efficiency.after), target.efficiency.reliability, false};
      FindWhetherApart(target.seconds);
    }
    compared.push_back(std::move(target));
  }
  return compared;
}

// As reports call a phase of both sides.
std::string CommonName(const PhaseKey& before, const PhaseKey& after) {
  const std::string text = before.phase.Text();
  const std::string name = before.phase == after.phase ? text : text + " and " + after.phase.Text();
  if (before.series != after.series || before.series.empty()) return name;
  return before.series + (name.empty() ? "" : ", " + name);
}

// One change of many would be beyond noise by chance, so all of a phase share the chance of an error [Dunn61].
void JudgeChanges(ComparedPhase& phase) {
  const std::size_t changes = phase.CountChanges();
  const double confidence = 1 - kErrorOfAll / static_cast<double>(std::max<std::size_t>(1, changes));
  const auto judge = [&](ComparedNumber& number) {
    number.is_beyond_noise = number.change && number.change->IsBeyondNoise(confidence);
  };
  for (ComparedCount& count : phase.counts) {
    for (auto& [factor, number] : count.factors) judge(number);
    judge(count.seconds);
  }
}

ComparedPhase ComparePhase(const ComparedSides& sides, const std::vector<double>& targets) {
  ComparedPhase phase;
  phase.name = CommonName(sides.before.key, sides.after.key);
  phase.before = sides.before.key.phase;
  phase.after = sides.after.key.phase;
  phase.terms = sides.terms;
  phase.projection_before = sides.before.projection;
  phase.projection_after = sides.after.projection;
  phase.noise = NoiseBetweenRepeats(sides, &FactorRow::TimePerIteration);
  if (!phase.noise) {
    phase.noise =
        NoiseBetweenRepeats(sides, [](const FactorRow& row) { return row.values[Factor::kParallelEfficiency]; });
  }
  phase.counts = CompareCounts(sides);
  JudgeChanges(phase);
  phase.targets = CompareTargets(sides, targets);
  phase.superlinear_before = WhySuperlinear(sides.before.rows, sides.before.projection);
  phase.superlinear_after = WhySuperlinear(sides.after.rows, sides.after.projection);
  return phase;
}

std::string NameOf(const PhaseKey& key, bool with_series) {
  if (!with_series || key.series.empty()) return key.phase.IsUnnamed() ? "all runs" : key.phase.Text();
  return key.series + (key.phase.IsUnnamed() ? "" : ", " + key.phase.Text());
}

// Keys that mean the same on both sides, in the order of the first.
std::vector<std::pair<PhaseKey, PhaseKey>> Match(const Results& before, const Results& after) {
  const std::vector<PhaseKey> all_before = before.table.Keys(), all_after = after.table.Keys();
  const bool one_series = before.table.Series().size() == 1 && after.table.Series().size() == 1;
  std::vector<std::pair<PhaseKey, PhaseKey>> matches;
  for (const PhaseKey& a : all_before) {
    for (const PhaseKey& b : all_after) {
      if (a.phase == b.phase && (one_series || a.series == b.series)) matches.emplace_back(a, b);
    }
  }
  if (!matches.empty() || all_before.empty() || all_after.empty() || !one_series) return matches;
  const std::string series_before = before.table.Series().front(), series_after = after.table.Series().front();
  return {{{series_before, MostImportantPhase(before.table, series_before)},
           {series_after, MostImportantPhase(after.table, series_after)}}};
}

// Names of the keys of one side that the other lacks.
std::vector<std::string> Unmatched(const FactorTable& table, const std::vector<std::pair<PhaseKey, PhaseKey>>& matches,
                                   bool is_after) {
  std::vector<std::string> names;
  for (const PhaseKey& key : table.Keys()) {
    const bool is_matched = std::any_of(
        matches.begin(), matches.end(),
        [&](const std::pair<PhaseKey, PhaseKey>& match) { return (is_after ? match.second : match.first) == key; });
    if (!is_matched) names.push_back(NameOf(key, table.Series().size() > 1));
  }
  return names;
}

}  // namespace

const ComparedNumber* ComparedCount::Find(Factor factor) const {
  const auto found = std::ranges::find(factors, factor, &std::pair<Factor, ComparedNumber>::first);
  return found == factors.end() ? nullptr : &found->second;
}

std::size_t ComparedPhase::CountChanges() const {
  std::size_t changes = 0;
  for (const ComparedCount& count : counts) {
    for (const auto& [factor, number] : count.factors) changes += number.change ? 1 : 0;
    changes += count.seconds.change ? 1 : 0;
  }
  return changes;
}

const ComparedCount* ComparedPhase::LargestCommon() const {
  const ComparedCount* largest = nullptr;
  for (const ComparedCount& count : counts) {
    if (count.is_common) largest = &count;
  }
  return largest;
}

ComparedResults CompareResults(const Results& before, const Results& after, const std::string& name_before,
                               const std::string& name_after, const std::vector<double>& targets) {
  ComparedResults compared{name_before, name_after, {}, {}, {}, before.table.findings, after.table.findings};
  const auto matches = Match(before, after);
  for (const auto& [a, b] : matches) {
    compared.phases.push_back(ComparePhase(AgreeOnTerms(before, a, after, b), targets));
  }
  compared.only_before = Unmatched(before.table, matches, false);
  compared.only_after = Unmatched(after.table, matches, true);
  return compared;
}

const Contribution* Decomposition::Largest() const {
  const Contribution* largest = nullptr;
  if (std::fabs(logarithm) < kNothing) return largest;
  for (const Contribution& part : parts) {
    if (part.logarithm / logarithm <= 0) continue;
    if (largest == nullptr || part.logarithm / logarithm > largest->logarithm / logarithm) largest = &part;
  }
  return largest;
}

std::optional<Decomposition> Explain(Factor whole, const FactorValues& before, const FactorValues& after) {
  std::vector<Factor> available;
  for (const FactorType& type : AllFactors()) {
    if (before[type.factor] && after[type.factor]) available.push_back(type.factor);
  }
  const std::vector<Factor> parts = PartsOf(whole, available);
  if (parts.empty()) return std::nullopt;
  Decomposition result;
  for (const Factor part : parts) {
    result.parts.push_back({Kind::kFactor, part, std::log(*after[part] / *before[part])});
    result.logarithm += result.parts.back().logarithm;
  }
  if (!before[whole] || !after[whole]) return result;
  const double all = std::log(*after[whole] / *before[whole]), rest = all - result.logarithm;
  if (std::fabs(rest) > kNothing) result.parts.push_back({Kind::kRest, {}, rest});
  result.logarithm = all;
  return result;
}

Decomposition ExplainTime(double before, double after, const Decomposition& efficiency) {
  Decomposition time{std::log(after / before), {}};
  time.parts.push_back({Kind::kBase, {}, time.logarithm + efficiency.logarithm});
  for (Contribution part : efficiency.parts) {
    part.logarithm = -part.logarithm;
    time.parts.push_back(part);
  }
  return time;
}

}  // namespace farscale
