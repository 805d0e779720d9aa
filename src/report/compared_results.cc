#include "report/compared_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/format.h"
#include "base/text.h"
#include "projection/factor_parts.h"
#include "report/allocation.h"
#include "report/curve.h"

namespace farscale {
namespace {

constexpr double kNothing = 1e-9;      // of logarithms
constexpr double kBeyondEvidence = 4;  // how far beyond the evidence of both targets are compared

using Kind = Contribution::Kind;
using Rows = std::vector<FactorRow>;

// What compares with the reference run, so that both sides must have the same.
bool ComparesWithReference(Factor factor) {
  for (const Factor one : {Factor::kGlobalEfficiency, Factor::kComputationScalability, Factor::kInstructionScaling,
                           Factor::kIpcScaling, Factor::kFrequencyScaling, Factor::kSpeedup}) {
    if (factor == one) return true;
  }
  return false;
}

std::set<std::int64_t> CountsOf(const Rows& rows) {
  std::set<std::int64_t> counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

// Reads one quantity off a row.
using Reading = std::function<std::optional<double>(const FactorRow&)>;

struct Values {
  std::vector<double> values;
  std::vector<std::optional<double>> errors;
};

// Of the runs at a core count; empty where one does not know it.
Values ValuesAt(const Rows& rows, std::int64_t cores, const Reading& value, const Reading& error) {
  Values values;
  for (const FactorRow& row : rows) {
    if (row.cores != cores) continue;
    const std::optional<double> one = value(row);
    if (!one) return {};
    values.values.push_back(*one);
    values.errors.push_back(error(row));
  }
  return values;
}

std::optional<double> SecondsOf(const FactorRow& row) {
  return row.runtime ? std::optional(*row.runtime / row.iterations) : std::nullopt;
}

// One side of a phase: its rows in the terms that are compared, and what the projection must be multiplied by to be in
// them too.
struct Side {
  Rows rows;
  std::optional<Scaling> scaling;
  std::optional<std::int64_t> reference;
  const PhaseProjection* projection = nullptr;
  FactorValues scale;
};

const PhaseProjection* ProjectionOf(const Results& results, const std::string& series, const std::string& phase) {
  for (const PhaseProjection& projection : results.projections) {
    const bool is_it = projection.series == series && projection.phase == phase;
    if (is_it && projection.obstacle.empty()) return &projection;
  }
  return nullptr;
}

// The count that rows compare with: the reference, or the smallest count of a phase that was not run there.
std::int64_t ReferenceOf(const Rows& rows, std::optional<std::int64_t> reference) {
  const std::set<std::int64_t> counts = CountsOf(rows);
  return reference && counts.count(*reference) > 0 ? *reference : *counts.begin();
}

class PhaseComparer {
 public:
  PhaseComparer(const Results& before, const Results& after, const std::pair<std::string, std::string>& key_before,
                const std::pair<std::string, std::string>& key_after, const std::vector<double>& targets)
      : targets_(targets) {
    phase_.before = key_before.second;
    phase_.after = key_after.second;
    phase_.name = phase_.before == phase_.after ? phase_.before : phase_.before + " and " + phase_.after;
    if (key_before.first == key_after.first && !key_before.first.empty()) {
      phase_.name = key_before.first + (phase_.name.empty() ? "" : ", " + phase_.name);
    }
    before_ = SideOf(before, key_before);
    after_ = SideOf(after, key_after);
    phase_.projection_before = before_.projection;
    phase_.projection_after = after_.projection;
    AgreeOnReference(before, after, key_before, key_after);
    AgreeOnScaling();
  }

  ComparedPhase Compare() {
    phase_.noise = NoiseOf(before_, after_, SecondsOf);
    if (!phase_.noise) {
      phase_.noise =
          NoiseOf(before_, after_, [](const FactorRow& row) { return row.values[Factor::kParallelEfficiency]; });
    }
    std::set<std::int64_t> counts = CountsOf(before_.rows);
    const std::set<std::int64_t> others = CountsOf(after_.rows);
    counts.insert(others.begin(), others.end());
    for (const std::int64_t cores : counts) AddCount(cores);
    if (before_.projection != nullptr && after_.projection != nullptr) AddTargets();
    return std::move(phase_);
  }

 private:
  static Side SideOf(const Results& results, const std::pair<std::string, std::string>& key) {
    Side side;
    side.rows = results.table.Rows(key.first, key.second);
    side.scaling = results.table.scaling;
    side.reference = ReferenceOf(side.rows, results.table.reference);
    side.projection = ProjectionOf(results, key.first, key.second);
    for (const FactorType& type : AllFactors()) side.scale[type.factor] = 1;
    return side;
  }

  // Where the references differ, both sides are put in terms of the smallest common core count.
  void AgreeOnReference(const Results& before, const Results& after,
                        const std::pair<std::string, std::string>& key_before,
                        const std::pair<std::string, std::string>& key_after) {
    compares_ = before_.reference == after_.reference;
    if (compares_) {
      phase_.reference = static_cast<double>(*before_.reference);
      return;
    }
    const std::set<std::int64_t> others = CountsOf(after_.rows);
    for (const std::int64_t cores : CountsOf(before_.rows)) {
      if (others.count(cores) == 0) continue;
      const bool is_done = Refer(before, key_before, cores, before_) && Refer(after, key_after, cores, after_);
      if (!is_done) break;
      compares_ = true;
      phase_.reference = static_cast<double>(cores);
      return;
    }
    phase_.notes.push_back(fmt::format(
        "The reference runs differ ({} and {} cores), so what compares with them is shown but not compared.",
        FormatCores(static_cast<double>(*before_.reference)), FormatCores(static_cast<double>(*after_.reference))));
  }

  static bool Refer(const Results& results, const std::pair<std::string, std::string>& key, std::int64_t cores,
                    Side& side) {
    FactorTable table = results.table;
    std::erase_if(table.rows, [&](const FactorRow& row) { return row.series != key.first || row.phase != key.second; });
    try {
      ChangeTerms(table, std::nullopt, cores);
    } catch (const Error&) {
      return false;  // the rows do not know enough
    }
    const Rows rows = table.Rows(key.first, key.second);
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

  void AgreeOnScaling() {
    if (before_.scaling == after_.scaling) return;
    if (before_.scaling && after_.scaling) {
      phase_.notes.push_back(
          fmt::format("One side scales {}, the other {}: parallel efficiency and its parts compare, what compares with "
                      "the reference does not.",
                      ToString(*before_.scaling), ToString(*after_.scaling)));
    }
    compares_ = false;
  }

  static std::optional<Noise> NoiseOf(const Side& before, const Side& after, const Reading& value) {
    std::vector<std::vector<double>> repeats;
    const Reading none = [](const FactorRow&) { return std::optional<double>(); };
    for (const Side* side : {&before, &after}) {
      for (const std::int64_t cores : CountsOf(side->rows)) {
        repeats.push_back(ValuesAt(side->rows, cores, value, none).values);
      }
    }
    return NoiseOfRepeats(repeats);
  }

  // Rows err independently of their reference; what is compared with it has the error of both.
  static Measurement WithReference(Measurement measured, const Side& side, Factor factor, std::int64_t cores,
                                   const Noise& noise) {
    const Reading value = [&](const FactorRow& row) { return row.values[factor]; };
    const Reading error = [&](const FactorRow& row) { return row.standard_errors[factor]; };
    if (!ComparesWithReference(factor) || !side.reference || cores == *side.reference) return measured;
    const Values at = ValuesAt(side.rows, *side.reference, value, error);
    if (const auto reference = Measure(at.values, at.errors, noise)) {
      measured.error = std::hypot(measured.error, reference->error);
    }
    return measured;
  }

  ComparedNumber NumberOf(std::int64_t cores, std::optional<Factor> factor) const {
    const Reading value = [&](const FactorRow& row) { return factor ? row.values[*factor] : SecondsOf(row); };
    const Reading error = [&](const FactorRow& row) {
      if (factor) return row.standard_errors[*factor];
      return row.runtime_error ? std::optional(*row.runtime_error / row.iterations) : std::nullopt;
    };
    // Repeats that agree by luck, or because a table is rounded, do not make the noise 0.
    const std::optional<Noise> repeats = NoiseOf(before_, after_, value);
    const Noise noise = repeats ? Pool(*repeats, Noise{}) : Noise{};
    ComparedNumber number;
    std::optional<Measurement> measured[2];
    for (const Side* side : {&before_, &after_}) {
      const Values at = ValuesAt(side->rows, cores, value, error);
      std::optional<Measurement>& one = measured[side == &after_ ? 1 : 0];
      one = Measure(at.values, at.errors, noise);
      if (one && factor) one = WithReference(*one, *side, *factor, cores, noise);
    }
    if (measured[0]) number.before = measured[0]->value;
    if (measured[1]) number.after = measured[1]->value;
    const bool means_the_same = !factor || compares_ || !ComparesWithReference(*factor);
    if (measured[0] && measured[1] && means_the_same) number.change = ChangeBetween(*measured[0], *measured[1]);
    return number;
  }

  void AddCount(std::int64_t cores) {
    ComparedCount count;
    count.cores = static_cast<double>(cores);
    count.is_common = CountsOf(before_.rows).count(cores) > 0 && CountsOf(after_.rows).count(cores) > 0;
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
    if (has_time && before_.scaling) {
      count.time = ExplainTime(*count.seconds.before, *count.seconds.after, *count.efficiency);
      SplitBase(*count.time);
    }
    phase_.counts.push_back(std::move(count));
  }

  static std::optional<Decomposition> ExplainWhole(const FactorValues& before, const FactorValues& after,
                                                   Factor& whole) {
    for (const Factor one : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
      if (const auto explained = Explain(one, before, after)) {
        whole = one;
        return explained;
      }
    }
    return std::nullopt;
  }

  // A quantity of an iteration of the reference runs.
  static std::optional<double> AtReference(const Side& side, const Reading& value) {
    const Reading none = [](const FactorRow&) { return std::optional<double>(); };
    const auto measured = Measure(ValuesAt(side.rows, *side.reference, value, none).values, {});
    return measured ? std::optional(measured->value) : std::nullopt;
  }

  std::optional<double> LogarithmAtReference(const Reading& value) const {
    const std::optional<double> before = AtReference(before_, value), after = AtReference(after_, value);
    return before && after ? std::optional(std::log(*after / *before)) : std::nullopt;
  }

  // What the reference run computes takes instructions over their rate; the rate is IPC times frequency.
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
                                   [](const Contribution& part) { return part.kind == Kind::kBase; });
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

  std::optional<ProjectedValue> Projected(const Side& side, Factor factor, double cores) const {
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
    ProjectedPair pair{Projected(before_, factor, cores), Projected(after_, factor, cores), false, false};
    if (!compares_ && ComparesWithReference(factor)) return pair;
    pair.is_evidence = IsEvidence(*before_.projection, factor, cores) && IsEvidence(*after_.projection, factor, cores);
    Judge(pair);
    return pair;
  }

  // Seconds an iteration from global efficiency: T = T_ref GE_ref / GE, with strong scaling times P_ref / P.
  std::optional<ProjectedValue> Seconds(const Side& side, const std::optional<ProjectedValue>& efficiency) const {
    const auto time = AtReference(side, SecondsOf);
    const auto at_reference =
        AtReference(side, [](const FactorRow& row) { return row.values[Factor::kGlobalEfficiency]; });
    if (!time || !at_reference || !side.scaling || !efficiency || !(efficiency->value > 0)) return std::nullopt;
    double reach = *time * *at_reference;
    if (*side.scaling == Scaling::kStrong) reach *= static_cast<double>(*side.reference) / efficiency->cores;
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
      double evidence = 0;
      for (const Side* side : {&before_, &after_}) {
        for (const FactorProjection& projection : side->projection->factors) {
          for (const ProjectedValue& value : projection.targets) targets.insert(value.cores);
        }
        evidence = std::max({evidence, side->projection->fitted_cores.back(),
                             side->projection->horizon ? side->projection->horizon->cores : 0.0});
      }
      shown = kBeyondEvidence * evidence;
    }
    std::vector<double> common;
    for (const double cores : targets) {
      if (cores <= shown) common.push_back(cores);
    }
    return common;
  }

  void AddTargets() {
    for (const double cores : CommonTargets()) {
      ComparedTarget target;
      target.cores = cores;
      FactorValues before, after;
      for (const FactorType& type : AllFactors()) {
        const ProjectedPair pair = PairOf(type.factor, cores);
        const bool means_the_same = compares_ || !ComparesWithReference(type.factor);
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
      if (compares_ && target.whole == Factor::kGlobalEfficiency) {
        target.seconds = {Seconds(before_, target.efficiency.before), Seconds(after_, target.efficiency.after),
                          target.efficiency.is_evidence, false};
        Judge(target.seconds);
      }
      phase_.targets.push_back(std::move(target));
    }
  }

  ComparedPhase phase_;
  Side before_, after_;
  const std::vector<double>& targets_;
  bool compares_ = false;  // both sides compare with the same reference, in the same way
};

using Key = std::pair<std::string, std::string>;  // series and phase

std::vector<Key> KeysOf(const FactorTable& table) {
  std::vector<Key> keys;
  for (const std::string& series : table.Series()) {
    for (const std::string& phase : table.Phases(series)) keys.emplace_back(series, phase);
  }
  return keys;
}

std::string NameOf(const Key& key, bool with_series) {
  if (!with_series || key.first.empty()) return key.second.empty() ? "all runs" : key.second;
  return key.first + (key.second.empty() ? "" : ", " + key.second);
}

// Keys that mean the same on both sides, in the order of the first.
std::vector<std::pair<Key, Key>> Match(const Results& before, const Results& after) {
  const std::vector<Key> all_before = KeysOf(before.table), all_after = KeysOf(after.table);
  const bool one_series = before.table.Series().size() == 1 && after.table.Series().size() == 1;
  std::vector<std::pair<Key, Key>> matches;
  for (const Key& a : all_before) {
    for (const Key& b : all_after) {
      if (a.second == b.second && (one_series || a.first == b.first)) matches.emplace_back(a, b);
    }
  }
  if (!matches.empty() || all_before.empty() || all_after.empty() || !one_series) return matches;
  const std::string series_before = before.table.Series().front(), series_after = after.table.Series().front();
  return {{{series_before, MostImportantPhase(before.table, series_before)},
           {series_after, MostImportantPhase(after.table, series_after)}}};
}

// Those of one side that the other lacks.
std::vector<std::string> Unmatched(const FactorTable& table, const std::vector<std::pair<Key, Key>>& matches,
                                   bool is_after) {
  std::vector<std::string> names;
  for (const Key& key : KeysOf(table)) {
    const bool is_matched = std::any_of(matches.begin(), matches.end(), [&](const std::pair<Key, Key>& match) {
      return (is_after ? match.second : match.first) == key;
    });
    if (!is_matched) names.push_back(NameOf(key, table.Series().size() > 1));
  }
  return names;
}

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

const ComparedNumber* ComparedCount::Find(Factor factor) const {
  for (const ComparedFactor& one : factors) {
    if (one.factor == factor) return &one.number;
  }
  return nullptr;
}

const ComparedCount* ComparedPhase::LargestCommon() const {
  const ComparedCount* largest = nullptr;
  for (const ComparedCount& count : counts) {
    if (count.is_common) largest = &count;
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

ComparedResults CompareResults(const Results& before, const Results& after, const std::string& name_before,
                               const std::string& name_after, const std::vector<double>& targets) {
  ComparedResults compared{name_before, name_after, {}, {}, {}};
  const auto matches = Match(before, after);
  for (const auto& [a, b] : matches) {
    compared.phases.push_back(PhaseComparer(before, after, a, b, targets).Compare());
  }
  compared.only_before = Unmatched(before.table, matches, false);
  compared.only_after = Unmatched(after.table, matches, true);
  return compared;
}

}  // namespace farscale
