#include "planning/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "planning/allocation.h"
#include "planning/compare_sides.h"
#include "projection/curve.h"
#include "projection/model_settings.h"

namespace farscale {
namespace {

constexpr double kErrorOfAll = 0.05;  // chance that any change of a phase is called more than noise, and is none

// Rows err independently of their reference; what is compared with it has the error of both.
Measurement WithReference(Measurement measured, const ComparedSide& side, Factor factor, std::int64_t cores,
                          const Noise& noise) {
  const RowReading value = [&](const FactorRow& row) { return row.values[factor]; };
  const RowReading error = [&](const FactorRow& row) { return row.standard_errors[factor]; };
  if (!ComparesWithReference(factor) || cores == side.reference) return measured;
  const RunValues at = side.ValuesAt(side.reference, value, error);
  if (const auto reference = Measure(at.values, at.errors, noise)) {
    measured.error = std::hypot(measured.error, reference->error);
  }
  return measured;
}

std::optional<Noise> NoiseBetweenRepeats(const ComparedSides& sides, const RowReading& value) {
  std::vector<std::vector<double>> repeats;
  const RowReading none = [](const FactorRow&) { return std::optional<double>(); };
  for (const ComparedSide* side : {&sides.before, &sides.after}) {
    for (const std::int64_t cores : side->Counts()) {
      repeats.push_back(side->ValuesAt(cores, value, none).values);
    }
  }
  return NoiseOfRepeats(repeats);
}

class CountComparer {
 public:
  explicit CountComparer(const ComparedSides& sides) : sides_(sides) {}

  ComparedCount CompareAt(std::int64_t cores) const {
    ComparedCount count;
    count.cores = static_cast<double>(cores);
    count.is_common = sides_.before.Counts().count(cores) > 0 && sides_.after.Counts().count(cores) > 0;
    FactorValues before, after;
    for (const FactorType& type : AllFactors()) {
      const ComparedNumber number = NumberOf(cores, type.factor);
      if (!number.before && !number.after) continue;
      count.factors.push_back({type.factor, number});
      if (!number.change) continue;
      before[type.factor] = number.before;
      after[type.factor] = number.after;
    }
    count.seconds = NumberOf(cores, std::nullopt);
    count.efficiency = ExplainWhole(before, after, count.whole);
    const bool has_time = count.efficiency && count.whole == Factor::kGlobalEfficiency && count.seconds.change;
    if (has_time && sides_.before.scaling) {
      count.time = ExplainTime(*count.seconds.before, *count.seconds.after, *count.efficiency);
      SplitBase(*count.time);
    }
    return count;
  }

 private:
  ComparedNumber NumberOf(std::int64_t cores, std::optional<Factor> factor) const {
    const RowReading value = [&](const FactorRow& row) { return factor ? row.values[*factor] : SecondsOfRow(row); };
    const RowReading error = [&](const FactorRow& row) {
      if (factor) return row.standard_errors[*factor];
      return row.runtime_error ? std::optional(*row.runtime_error / row.iterations) : std::nullopt;
    };
    // Repeats that agree by luck, or because a table is rounded, do not make the noise 0.
    const std::optional<Noise> repeats = NoiseBetweenRepeats(sides_, value);
    const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
    ComparedNumber number;
    std::optional<Measurement> measured[2];
    for (const ComparedSide* side : {&sides_.before, &sides_.after}) {
      const RunValues at = side->ValuesAt(cores, value, error);
      std::optional<Measurement>& one = measured[side == &sides_.after ? 1 : 0];
      one = Measure(at.values, at.errors, noise);
      if (one && factor) one = WithReference(*one, *side, *factor, cores, noise);
    }
    if (measured[0]) number.before = measured[0]->value;
    if (measured[1]) number.after = measured[1]->value;
    const bool means_the_same = !factor || sides_.Compares(*factor);
    if (measured[0] && measured[1] && means_the_same) number.change = ChangeBetween(*measured[0], *measured[1]);
    return number;
  }

  std::optional<double> LogarithmAtReference(const RowReading& value) const {
    const std::optional<double> before = sides_.before.AtReference(value), after = sides_.after.AtReference(value);
    return before && after ? std::optional(std::log(*after / *before)) : std::nullopt;
  }

  // The computation of the reference run takes instructions over their rate; the rate is IPC times frequency.
  void SplitBase(Decomposition& time) const {
    const auto instructions = LogarithmAtReference([](const FactorRow& row) -> std::optional<double> {
      return row.totals && row.totals->instructions ? std::optional(*row.totals->instructions / row.iterations)
                                                    : std::nullopt;
    });
    const auto ipc = LogarithmAtReference([](const FactorRow& row) -> std::optional<double> {
      if (!row.totals || !row.totals->instructions || !row.totals->cycles) return std::nullopt;
      return *row.totals->instructions / *row.totals->cycles;
    });
    const auto base = std::find_if(time.parts.begin(), time.parts.end(),
                                   [](const Contribution& part) { return part.kind == Contribution::Kind::kBase; });
    if (!instructions || base == time.parts.end()) return;
    std::vector<Contribution> parts = {{Contribution::Kind::kBaseInstructions, {}, *instructions}};
    const double rate = base->logarithm - *instructions;
    if (ipc) {
      parts.push_back({Contribution::Kind::kBaseIpc, {}, -*ipc});
      parts.push_back({Contribution::Kind::kBaseFrequency, {}, rate + *ipc});
    } else {
      parts.push_back({Contribution::Kind::kBaseRate, {}, rate});
    }
    time.parts.insert(time.parts.erase(base), parts.begin(), parts.end());
  }

  const ComparedSides& sides_;
};

std::vector<ComparedCount> CompareCounts(const ComparedSides& sides) {
  std::set<std::int64_t> counts = sides.before.Counts();
  const std::set<std::int64_t> others = sides.after.Counts();
  counts.insert(others.begin(), others.end());
  std::vector<ComparedCount> compared;
  for (const std::int64_t cores : counts) compared.push_back(CountComparer(sides).CompareAt(cores));
  return compared;
}

class TargetComparer {
 public:
  TargetComparer(const ComparedSides& sides, const std::vector<double>& targets) : sides_(sides), targets_(targets) {}

  std::vector<ComparedTarget> Compare() const {
    std::vector<ComparedTarget> compared;
    for (const double cores : CommonTargets()) {
      ComparedTarget target;
      target.cores = cores;
      FactorValues before, after;
      for (const FactorType& type : AllFactors()) {
        const ProjectedPair pair = PairOf(type.factor, cores);
        const bool means_the_same = sides_.Compares(type.factor);
        if (!pair.before || !pair.after || !means_the_same) continue;
        if (pair.before->value > 0 && pair.after->value > 0) {
          before[type.factor] = pair.before->value;
          after[type.factor] = pair.after->value;
        }
        target.factors.emplace_back(type.factor, pair);
      }
      target.explained = ExplainWhole(before, after, target.whole);
      target.efficiency = PairOf(target.whole, cores);
      if (!target.efficiency.before || !target.efficiency.after) continue;
      if (sides_.compares && target.whole == Factor::kGlobalEfficiency) {
        target.seconds = {Seconds(sides_.before, target.efficiency.before),
                          Seconds(sides_.after, target.efficiency.after), target.efficiency.reliability, false};
        Judge(target.seconds);
      }
      compared.push_back(std::move(target));
    }
    return compared;
  }

 private:
  std::optional<ProjectedValue> Projected(const ComparedSide& side, Factor factor, double cores) const {
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

  static void Judge(ProjectedPair& pair) {
    if (!pair.before || !pair.after || !pair.before->interval80 || !pair.after->interval80) return;
    pair.is_apart = pair.before->interval80->high < pair.after->interval80->low ||
                    pair.after->interval80->high < pair.before->interval80->low;
  }

  ProjectedPair PairOf(Factor factor, double cores) const {
    ProjectedPair pair{Projected(sides_.before, factor, cores), Projected(sides_.after, factor, cores),
                       Reliability::kUnknown, false};
    if (!sides_.Compares(factor)) return pair;
    pair.reliability = std::max(ReliabilityOf(*sides_.before.projection, factor, cores),
                                ReliabilityOf(*sides_.after.projection, factor, cores));
    Judge(pair);
    return pair;
  }

  // Seconds an iteration from global efficiency: T = T_ref GE_ref / GE, with strong scaling times P_ref / P.
  std::optional<ProjectedValue> Seconds(const ComparedSide& side,
                                        const std::optional<ProjectedValue>& efficiency) const {
    const auto time = side.AtReference(SecondsOfRow);
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

  std::vector<double> CommonTargets() const {
    std::set<double> targets(targets_.begin(), targets_.end());
    double shown = std::numeric_limits<double>::infinity();
    if (targets.empty()) {
      double reliable = 0;
      for (const ComparedSide* side : {&sides_.before, &sides_.after}) {
        for (const FactorProjection& projection : side->projection->factors) {
          for (const ProjectedValue& value : projection.targets) targets.insert(value.cores);
        }
        reliable = std::max({reliable, side->projection->fitted_cores.back(),
                             side->projection->reliable_range ? side->projection->reliable_range->cores : 0.0});
      }
      shown = kShownBeyondReliable * reliable;
    }
    std::vector<double> common;
    for (const double cores : targets) {
      if (cores <= shown) common.push_back(cores);
    }
    return common;
  }

  const ComparedSides& sides_;
  const std::vector<double>& targets_;
};

std::vector<ComparedTarget> CompareTargets(const ComparedSides& sides, const std::vector<double>& targets) {
  if (sides.before.projection == nullptr || sides.after.projection == nullptr) return {};
  return TargetComparer(sides, targets).Compare();
}

// As reports call a phase of both sides.
std::string CommonName(const SeriesAndPhase& before, const SeriesAndPhase& after) {
  const std::string text = before.second.Text();
  const std::string name = before.second == after.second ? text : text + " and " + after.second.Text();
  if (before.first != after.first || before.first.empty()) return name;
  return before.first + (name.empty() ? "" : ", " + name);
}

// One change of many would be beyond noise by chance, so all of a phase share the chance of an error [Dunn61].
void JudgeChanges(ComparedPhase& phase) {
  const std::size_t changes = phase.CountChanges();
  const double confidence = 1 - kErrorOfAll / static_cast<double>(std::max<std::size_t>(1, changes));
  const auto judge = [&](ComparedNumber& number) {
    number.is_beyond_noise = number.change && number.change->IsBeyondNoise(confidence);
  };
  for (ComparedCount& count : phase.counts) {
    for (ComparedFactor& one : count.factors) judge(one.number);
    judge(count.seconds);
  }
}

ComparedPhase ComparePhase(const SideOfResults& before, const SideOfResults& after,
                           const std::vector<double>& targets) {
  const ComparedSides sides = AgreeOnTerms(before, after);
  ComparedPhase phase;
  phase.name = CommonName(before.key, after.key);
  phase.before = before.key.second;
  phase.after = after.key.second;
  phase.terms = sides.terms;
  phase.projection_before = sides.before.projection;
  phase.projection_after = sides.after.projection;
  phase.noise = NoiseBetweenRepeats(sides, SecondsOfRow);
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

std::vector<SeriesAndPhase> KeysOf(const FactorTable& table) {
  std::vector<SeriesAndPhase> keys;
  for (const std::string& series : table.Series()) {
    for (const PhaseId& phase : table.Phases(series)) keys.emplace_back(series, phase);
  }
  return keys;
}

std::string NameOf(const SeriesAndPhase& key, bool with_series) {
  if (!with_series || key.first.empty()) return key.second.IsUnnamed() ? "all runs" : key.second.Text();
  return key.first + (key.second.IsUnnamed() ? "" : ", " + key.second.Text());
}

// Keys that mean the same on both sides, in the order of the first.
std::vector<std::pair<SeriesAndPhase, SeriesAndPhase>> Match(const Results& before, const Results& after) {
  const std::vector<SeriesAndPhase> all_before = KeysOf(before.table), all_after = KeysOf(after.table);
  const bool one_series = before.table.Series().size() == 1 && after.table.Series().size() == 1;
  std::vector<std::pair<SeriesAndPhase, SeriesAndPhase>> matches;
  for (const SeriesAndPhase& a : all_before) {
    for (const SeriesAndPhase& b : all_after) {
      if (a.second == b.second && (one_series || a.first == b.first)) matches.emplace_back(a, b);
    }
  }
  if (!matches.empty() || all_before.empty() || all_after.empty() || !one_series) return matches;
  const std::string series_before = before.table.Series().front(), series_after = after.table.Series().front();
  return {{{series_before, MostImportantPhase(before.table, series_before)},
           {series_after, MostImportantPhase(after.table, series_after)}}};
}

// Those of one side that the other lacks.
std::vector<std::string> Unmatched(const FactorTable& table,
                                   const std::vector<std::pair<SeriesAndPhase, SeriesAndPhase>>& matches,
                                   bool is_after) {
  std::vector<std::string> names;
  for (const SeriesAndPhase& key : KeysOf(table)) {
    const bool is_matched =
        std::any_of(matches.begin(), matches.end(), [&](const std::pair<SeriesAndPhase, SeriesAndPhase>& match) {
          return (is_after ? match.second : match.first) == key;
        });
    if (!is_matched) names.push_back(NameOf(key, table.Series().size() > 1));
  }
  return names;
}

}  // namespace

const ComparedNumber* ComparedCount::Find(Factor factor) const {
  for (const ComparedFactor& one : factors) {
    if (one.factor == factor) return &one.number;
  }
  return nullptr;
}

std::size_t ComparedPhase::CountChanges() const {
  std::size_t changes = 0;
  for (const ComparedCount& count : counts) {
    for (const ComparedFactor& one : count.factors) changes += one.number.change ? 1 : 0;
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
    compared.phases.push_back(ComparePhase({before, a, name_before}, {after, b, name_after}, targets));
  }
  compared.only_before = Unmatched(before.table, matches, false);
  compared.only_after = Unmatched(after.table, matches, true);
  return compared;
}

namespace {

constexpr double kNothing = 1e-9;  // of logarithms

using Kind = Contribution::Kind;

}  // namespace

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

std::optional<Decomposition> ExplainWhole(const FactorValues& before, const FactorValues& after, Factor& whole) {
  for (const Factor one : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (const auto explained = Explain(one, before, after)) {
      whole = one;
      return explained;
    }
  }
  return std::nullopt;
}

}  // namespace farscale
