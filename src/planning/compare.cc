#include "planning/compare.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "planning/allocation.h"
#include "projection/model_settings.h"
#include "results/results.h"

namespace farscale {
namespace {

// A quantity of the runs at one core count, with its errors where known.
using RunValues = std::pair<std::vector<double>, std::vector<std::optional<double>>>;

constexpr double kNothing = 1e-9;     // logarithms below are 0
constexpr double kErrorOfAll = 0.05;  // chance that any change of a phase is called more than noise, and is none

// Empty where one of the runs does not know it.
RunValues ValuesAt(const ComparedSide& side, std::int64_t cores, const RowReading& value,
                   const RowReading& error = {}) {
  RunValues found;
  for (const FactorRow& row : side.rows) {
    if (row.cores != cores) continue;
    const std::optional<double> one = value(row);
    if (!one) return {};
    found.first.push_back(*one);
    found.second.push_back(error ? error(row) : std::nullopt);
  }
  return found;
}

// Geometric mean of the reference runs.
std::optional<double> AtReference(const ComparedSide& side, const RowReading& value) {
  const auto measured = Measure(ValuesAt(side, side.reference, value).first, {});
  return measured ? std::optional(measured->value) : std::nullopt;
}

ComparedSide SideOf(const Results& results, const PhaseKey& key) {
  ComparedSide side;
  side.series = key.series;
  side.phase = key.phase;
  side.rows = results.table.Rows(key);
  side.scaling = ScalingOf(results.table, side.rows);
  side.is_scaling_shown = side.scaling && (!results.table.scaling || results.table.scaling_source == kShownByTimes);
  const std::set<std::int64_t> counts = side.Counts();
  const std::optional<std::int64_t> reference = results.table.reference;
  side.reference = side.own_reference = reference && counts.contains(*reference) ? *reference : *counts.begin();
  side.projection = ProjectionOf(results, key.series, key.phase);
  for (const FactorType& type : AllFactors()) side.scale[type.factor] = 1;
  return side;
}

// Puts a side in terms of another run; false where the rows do not know enough.
bool Refer(std::int64_t cores, FactorTable table, ComparedSide& side) {
  std::erase_if(table.rows, [&](const FactorRow& row) { return row.series != side.series || row.phase != side.phase; });
  try {
    ChangeTerms(table, std::nullopt, cores);
  } catch (const Error&) {
    return false;
  }
  const std::vector<FactorRow> rows = table.Rows(side.series, side.phase);
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

// Where the references differ, both sides are put in terms of the smallest common core count, if they know enough.
void AgreeOnReference(const FactorTable& before, const FactorTable& after, ComparedPhase& phase) {
  phase.compares = phase.before.reference == phase.after.reference;
  if (phase.compares) phase.reference = static_cast<double>(phase.before.reference);
  const std::set<std::int64_t> counts = phase.before.Counts(), others = phase.after.Counts();
  for (const std::int64_t cores : counts) {
    if (phase.compares) return;
    if (!others.contains(cores)) continue;
    if (!Refer(cores, before, phase.before) || !Refer(cores, after, phase.after)) return;
    phase.compares = true;
    phase.reference = static_cast<double>(cores);
  }
}

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

std::optional<Noise> NoiseBetweenRepeats(const ComparedPhase& phase, const RowReading& value) {
  std::vector<std::vector<double>> repeats;
  for (const ComparedSide* side : {&phase.before, &phase.after}) {
    for (const std::int64_t cores : side->Counts()) {
      repeats.push_back(ValuesAt(*side, cores, value).first);
    }
  }
  return NoiseOfRepeats(repeats);
}

// A factor at a core count on both sides; nothing: the time of an iteration.
ComparedNumber CompareNumber(const ComparedPhase& phase, std::int64_t cores, std::optional<Factor> factor) {
  const RowReading value = [&](const FactorRow& row) { return factor ? row.values[*factor] : row.TimePerIteration(); };
  const RowReading error = [&](const FactorRow& row) {
    if (factor) return row.standard_errors[*factor];
    return row.runtime_error ? std::optional(*row.runtime_error / row.iterations) : std::nullopt;
  };
  // Repeats that agree by luck, or because a table is rounded, do not make the noise 0.
  const std::optional<Noise> repeats = NoiseBetweenRepeats(phase, value);
  const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
  const auto measure = [&](const ComparedSide& side) {
    const auto [values, errors] = ValuesAt(side, cores, value, error);
    std::optional<Measurement> one = Measure(values, errors, noise);
    // Rows err independently of their reference; what is compared with it has the error of both.
    const bool has_reference = factor && Describe(*factor).ComparesWithReference() && cores != side.reference;
    if (!one || !has_reference) return one;
    const auto [values_there, errors_there] = ValuesAt(side, side.reference, value, error);
    if (const auto reference = Measure(values_there, errors_there, noise)) {
      one->error = std::hypot(one->error, reference->error);
    }
    return one;
  };
  const std::optional<Measurement> before = measure(phase.before), after = measure(phase.after);
  ComparedNumber number;
  if (before) number.before = before->value;
  if (after) number.after = after->value;
  const bool means_the_same = !factor || phase.Compares(*factor);
  if (before && after && means_the_same) number.change = ChangeBetween(*before, *after);
  return number;
}

// The computation of the reference run takes instructions over their rate; the rate is IPC times frequency.
void SplitBase(const ComparedPhase& phase, Decomposition& time) {
  const auto logarithm = [&](const RowReading& value) {
    const std::optional<double> before = AtReference(phase.before, value), after = AtReference(phase.after, value);
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
  const auto base = std::ranges::find(time.parts, "base", &Decomposition::Part::first);
  if (!instructions || base == time.parts.end()) return;
  std::vector<Decomposition::Part> parts = {{"baseInstructions", *instructions}};
  const double rate = base->second - *instructions;
  if (ipc) {
    parts.emplace_back("baseIpc", -*ipc);
    parts.emplace_back("baseFrequency", rate + *ipc);
  } else {
    parts.emplace_back("baseInstructionRate", rate);
  }
  time.parts.insert(time.parts.erase(base), parts.begin(), parts.end());
}

ComparedCount CompareAt(const ComparedPhase& phase, std::int64_t cores) {
  ComparedCount count;
  count.cores = static_cast<double>(cores);
  count.is_common = phase.before.Counts().contains(cores) && phase.after.Counts().contains(cores);
  FactorValues before, after;
  for (const FactorType& type : AllFactors()) {
    const ComparedNumber number = CompareNumber(phase, cores, type.factor);
    if (!number.before && !number.after) continue;
    count.factors.emplace_back(type.factor, number);
    if (!number.change) continue;
    before[type.factor] = number.before;
    after[type.factor] = number.after;
  }
  count.seconds = CompareNumber(phase, cores, std::nullopt);
  count.efficiency = ExplainWhole(before, after, count.whole);
  const bool has_time = count.efficiency && count.whole == Factor::kGlobalEfficiency && count.seconds.change;
  if (has_time && phase.before.scaling) {
    count.time = ExplainTime(*count.seconds.before, *count.seconds.after, *count.efficiency);
    SplitBase(phase, *count.time);
  }
  return count;
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

ProjectedPair ProjectedOnBoth(const ComparedPhase& phase, Factor factor, double cores) {
  ProjectedPair pair{Projected(phase.before, factor, cores), Projected(phase.after, factor, cores),
                     Reliability::kUnknown, false};
  if (!phase.Compares(factor)) return pair;
  pair.reliability = std::max(ReliabilityOf(*phase.before.projection, factor, cores),
                              ReliabilityOf(*phase.after.projection, factor, cores));
  FindWhetherApart(pair);
  return pair;
}

// Seconds an iteration from global efficiency: T = T_ref GE_ref / GE, with strong scaling times P_ref / P.
std::optional<ProjectedValue> ProjectedSeconds(const ComparedSide& side,
                                               const std::optional<ProjectedValue>& efficiency) {
  const auto time = AtReference(side, &FactorRow::TimePerIteration);
  const auto at_reference =
      AtReference(side, [](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
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

std::vector<ComparedTarget> CompareTargets(const ComparedPhase& phase, const std::vector<double>& targets) {
  std::vector<ComparedTarget> compared;
  if (phase.before.projection == nullptr || phase.after.projection == nullptr) return compared;
  // The core counts asked for, else the targets of both sides that are not too far beyond the reliable ranges.
  std::set<double> counts(targets.begin(), targets.end());
  if (targets.empty()) {
    double reliable = 0;
    for (const ComparedSide* side : {&phase.before, &phase.after}) {
      for (const FactorProjection& projection : side->projection->factors) {
        for (const ProjectedValue& value : projection.targets) counts.insert(value.cores);
      }
      reliable = std::max({reliable, side->projection->fitted_cores.back(),
                           side->projection->reliable_range ? side->projection->reliable_range->cores : 0.0});
    }
    std::erase_if(counts, [&](double cores) { return cores > kShownBeyondReliable * reliable; });
  }
  for (const double cores : counts) {
    ComparedTarget target;
    target.cores = cores;
    FactorValues before, after;
    for (const FactorType& type : AllFactors()) {
      const ProjectedPair pair = ProjectedOnBoth(phase, type.factor, cores);
      if (!pair.before || !pair.after || !phase.Compares(type.factor)) continue;
      if (pair.before->value > 0 && pair.after->value > 0) {
        before[type.factor] = pair.before->value;
        after[type.factor] = pair.after->value;
      }
      target.factors.emplace_back(type.factor, pair);
    }
    target.explained = ExplainWhole(before, after, target.whole);
    target.efficiency = ProjectedOnBoth(phase, target.whole, cores);
    if (!target.efficiency.before || !target.efficiency.after) continue;
    if (phase.compares && target.whole == Factor::kGlobalEfficiency) {
      target.seconds = {ProjectedSeconds(phase.before, target.efficiency.before),
                        ProjectedSeconds(phase.after, target.efficiency.after), target.efficiency.reliability, false};
      FindWhetherApart(target.seconds);
    }
    compared.push_back(std::move(target));
  }
  return compared;
}

ComparedPhase ComparePhase(const Results& before, const PhaseKey& key_before, const Results& after,
                           const PhaseKey& key_after, const std::vector<double>& targets) {
  ComparedPhase phase;
  const bool is_common = key_before.series == key_after.series && !key_before.series.empty();
  phase.name = key_before.phase.Text();
  if (key_before.phase != key_after.phase) phase.name += " and " + key_after.phase.Text();
  if (is_common) phase.name = key_before.series + (phase.name.empty() ? "" : ", " + phase.name);
  phase.before = SideOf(before, key_before);
  phase.after = SideOf(after, key_after);
  AgreeOnReference(before.table, after.table, phase);
  if (phase.before.scaling != phase.after.scaling) phase.compares = false;
  phase.noise = NoiseBetweenRepeats(phase, &FactorRow::TimePerIteration);
  if (!phase.noise) {
    phase.noise =
        NoiseBetweenRepeats(phase, [](const FactorRow& row) { return row.values[Factor::kParallelEfficiency]; });
  }
  std::set<std::int64_t> counts = phase.before.Counts();
  counts.merge(phase.after.Counts());
  for (const std::int64_t cores : counts) phase.counts.push_back(CompareAt(phase, cores));
  // One change of many would be beyond noise by chance, so all of a phase share the chance of an error [Dunn61].
  const double confidence = 1 - kErrorOfAll / static_cast<double>(std::max<std::size_t>(1, phase.CountChanges()));
  const auto judge = [&](ComparedNumber& number) {
    number.is_beyond_noise = number.change && number.change->IsBeyondNoise(confidence);
  };
  for (ComparedCount& count : phase.counts) {
    for (auto& [factor, number] : count.factors) judge(number);
    judge(count.seconds);
  }
  phase.targets = CompareTargets(phase, targets);
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

std::set<std::int64_t> ComparedSide::Counts() const {
  std::set<std::int64_t> counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

bool ComparedSide::Knows(const RowReading& value) const {
  return std::any_of(rows.begin(), rows.end(), [&](const FactorRow& row) { return value(row).has_value(); });
}

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
    compared.phases.push_back(ComparePhase(before, a, after, b, targets));
  }
  compared.only_before = Unmatched(before.table, matches, false);
  compared.only_after = Unmatched(after.table, matches, true);
  return compared;
}

const Decomposition::Part* Decomposition::Largest() const {
  const Part* largest = nullptr;
  for (const Part& part : parts) {
    if (std::fabs(logarithm) < kNothing || part.second / logarithm <= 0) continue;
    if (largest == nullptr || part.second / logarithm > largest->second / logarithm) largest = &part;
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
    result.parts.emplace_back(Describe(part).id, std::log(*after[part] / *before[part]));
    result.logarithm += result.parts.back().second;
  }
  if (!before[whole] || !after[whole]) return result;
  const double all = std::log(*after[whole] / *before[whole]), rest = all - result.logarithm;
  if (std::fabs(rest) > kNothing) result.parts.emplace_back("rest", rest);
  result.logarithm = all;
  return result;
}

Decomposition ExplainTime(double before, double after, const Decomposition& efficiency) {
  Decomposition time{std::log(after / before), {}};
  time.parts.emplace_back("base", time.logarithm + efficiency.logarithm);
  for (const auto& [id, logarithm] : efficiency.parts) time.parts.emplace_back(id, -logarithm);
  return time;
}

}  // namespace farscale
