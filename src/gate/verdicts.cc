#include "gate/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "factors/factor_table.h"
#include "gate/commit_series.h"
#include "gate/judging.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

constexpr std::ptrdiff_t kCourse = 20;  // commits; chosen: fits a line of a comment

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

// A phase alone means all of its ranks; the text of a group means the group, unless a phase is called so.
bool IsNamed(const GateData& data, const Rule& rule, const PhaseId& phase) {
  if (!rule.groups.empty()) {
    return phase.IsGroup() && Contains(rule.groups, phase.group) && Contains(rule.phases, phase.name);
  }
  if (rule.phases.empty()) return true;
  std::vector<PhaseId> known;  // in results and baseline
  for (const PhaseKey& key : data.phases) known.push_back(key.phase);
  for (const PhaseKey& key : data.LostPhases()) known.push_back(key.phase);
  return std::ranges::any_of(rule.phases, [&](const std::string& text) { return PhaseByText(known, text) == phase; });
}

std::vector<PhaseKey> JudgedPhases(const GateData& data, const Rule& rule, std::vector<PhaseKey> phases) {
  std::erase_if(phases, [&](const PhaseKey& key) {
    const auto knows = [&](const FactorTable& table) {
      return std::ranges::any_of(table.Rows(key),
                                 [&](const FactorRow& row) { return ValueOf(row, rule.quantity).has_value(); });
    };
    if (!Contains(rule.series, key.series) || !IsNamed(data, rule, key.phase)) return true;
    return rule.if_known && !knows(data.table) && (data.history.empty() || !knows(data.history.back().table));
  });
  return phases;
}

// A name close to the given one, else all names.
std::string AdviceOn(const std::string& name, const std::vector<std::string>& known, const char* what) {
  const std::string nearest = DidYouMean(name, known);
  if (!nearest.empty()) return nearest;
  std::vector<std::string> named;
  for (const std::string& one : known) {
    if (!one.empty() && std::ranges::find(named, one) == named.end()) named.push_back(one);
  }
  return named.empty() ? fmt::format("they name no {}", what) : "there are " + Join(named, ", ");
}

// Phases, groups and series in the rule that the results lack.
std::vector<std::string> MissingNames(const GateData& data, const Rule& rule) {
  std::vector<std::string> missing, phases, series;
  for (const std::string& group : rule.groups) {
    for (const std::string& phase : rule.phases.empty() ? std::vector<std::string>(1) : rule.phases) {
      std::vector<std::string> known;
      for (const PhaseKey& key : data.phases) {
        if (key.phase.IsGroup() && (phase.empty() || key.phase.name == phase)) known.push_back(key.phase.group);
      }
      if (std::ranges::find(known, group) != known.end()) continue;
      missing.push_back(fmt::format("group {}{} is not in the results; {}", group,
                                    phase.empty() ? "" : " of phase " + phase, AdviceOn(group, known, "group")));
    }
  }
  std::vector<PhaseId> ids;
  for (const PhaseKey& key : data.phases) {
    ids.push_back(key.phase);
    series.push_back(key.series);
  }
  // Factors by every text that means one of them.
  std::ranges::copy_if(rule.phases, std::back_inserter(phases),
                       [&](const std::string& text) { return PhaseByText(ids, text).has_value(); });
  for (const std::string& text : TextsOf(ids)) phases.push_back(text);
  const auto look = [&](const std::vector<std::string>& names, const std::vector<std::string>& known,
                        const char* what) {
    for (const std::string& name : names) {
      if (std::ranges::find(known, name) != known.end()) continue;
      missing.push_back(fmt::format("{} {} is not in the results; {}", what, name, AdviceOn(name, known, what)));
    }
  };
  if (rule.groups.empty()) look(rule.phases, phases, "phase");
  look(rule.series, series, "series");
  return missing;
}

void JudgeRule(GateData& data, std::size_t index, std::vector<PendingChange>& pending) {
  const Rule& rule = data.rules.rules[index];
  const bool is_change = rule.HasChange();
  const auto only = [](const std::vector<std::string>& names) { return names.size() == 1 ? names.front() : ""; };
  const PhaseKey named = {only(rule.series), PhaseId(only(rule.phases), only(rule.groups))};
  for (const std::string& why : MissingNames(data, rule)) {
    pending.push_back({Undecidable(Undecided(data, index, named, is_change), why), {}});
  }
  for (const PhaseKey& key : JudgedPhases(data, rule, data.phases)) {
    if (rule.HasLevel()) {
      for (Judgement& judgement : JudgeLevels(data, index, key)) pending.push_back({std::move(judgement), {}});
    }
    if (rule.HasChange()) std::ranges::move(FindChanges(data, index, key), std::back_inserter(pending));
  }
  if (!rule.HasChange() || !rule.phases.empty() || !rule.since.empty()) return;
  for (const PhaseKey& key : JudgedPhases(data, rule, data.LostPhases())) {
    const std::string why = PlaceOf(data, key) + " is in the baseline and not in the results";
    pending.push_back({Undecidable(Undecided(data, index, key, is_change), why), {}});
  }
}

// A rule of severity warn does not fail; the cause of a verdict is added at its end.
Judgement Finish(const GateData& data, Judgement judgement) {
  const Rule& rule = data.rules.rules[judgement.rule];
  if (rule.only_warns && judgement.verdict == Verdict::kFail) judgement.verdict = Verdict::kWarn;
  if (judgement.blame) {
    const std::string what = judgement.is_change ? "of what got worse" : "of the loss";
    judgement.sentence +=
        fmt::format(" {} explains {:.0f} % {}.", NameOf(*judgement.blame), 100 * judgement.blame->share, what);
  }
  if (judgement.verdict != Verdict::kPass && judgement.value) {
    // The newest commit by itself, also where the judgement is about several.
    std::vector<double>& course = judgement.course;
    CommitSeries series = CommitSeriesOf(data.history, judgement.Key(), judgement.quantity);
    series.commits.push_back(SamplesOf(data.compared, judgement.Key(), judgement.quantity));
    for (const SamplesByCores& commit : series.commits) {
      if (const auto mean = MeanOverCounts(commit, judgement.cores)) course.push_back(std::exp(*mean));
    }
    if (std::ssize(course) > kCourse) course.erase(course.begin(), course.end() - kCourse);
  }
  if (!judgement.quantity.IsTime() && judgement.quantity.factor != Factor::kSpeedup) {
    const double largest = std::max(judgement.value.value_or(0), judgement.before.value_or(0));
    judgement.superlinear = WhySuperlinear(data.table.Rows(judgement.Key()), largest);
  }
  if (!judgement.superlinear.empty()) judgement.sentence += " " + judgement.superlinear;
  const bool may_pass = judgement.verdict == Verdict::kPass || judgement.verdict == Verdict::kWarn;
  const bool is_efficiency = !judgement.quantity.IsTime() && Describe(judgement.quantity.factor).IsEfficiency();
  const std::vector<Finding>& found = data.table.findings;
  if (may_pass && is_efficiency &&
      std::ranges::find(found, anomaly::kThreadsAtProcessLevel.id, &Finding::id) != found.end() &&
      std::ranges::any_of(data.table.Rows(judgement.Key()), [](const FactorRow& row) { return !row.IsHybrid(); })) {
    judgement.verdict = Verdict::kUndecided;
    judgement.sentence +=
        " The processes have more threads, and what those do is not known: this is an efficiency "
        "of the main threads alone.";
  }
  return judgement;
}

std::optional<double> ComputationValue(const FactorRow& row, Factor factor) {
  if (factor == Factor::kComputationScalability) {
    const std::optional<double> useful = row.UsefulTime();
    return useful ? std::optional(1 / *useful) : std::nullopt;
  }
  if (!row.totals || !row.totals->instructions || !row.totals->cycles) return std::nullopt;
  if (factor == Factor::kInstructionScaling) return row.iterations / *row.totals->instructions;
  if (factor == Factor::kIpcScaling) return *row.totals->instructions / *row.totals->cycles;
  return *row.totals->cycles / row.totals->UsefulOfAll();
}

// The mean over core counts of their mean logarithm; nothing if a run lacks the value.
std::optional<double> MeanLog(const std::map<double, std::vector<FactorRow>>& rows,
                              const std::function<std::optional<double>(const FactorRow&)>& read) {
  double sum = 0;
  for (const auto& [cores, runs] : rows) {
    for (const FactorRow& row : runs) {
      const std::optional<double> value = read(row);
      if (!value || !(*value > 0)) return std::nullopt;
      sum += std::log(*value) / static_cast<double>(runs.size());
    }
  }
  return rows.empty() ? std::nullopt : std::optional(sum / static_cast<double>(rows.size()));
}

// The factor that a quantity is made of: efficiency for times and speedup, else itself.
Factor RootFactor(const Quantity& quantity, const std::map<Factor, double>& known) {
  if (!quantity.IsTime() && quantity.factor != Factor::kSpeedup) return quantity.factor;
  return known.count(Factor::kGlobalEfficiency) > 0 ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
}

std::optional<Blame> Largest(const std::map<Factor, double>& effects) {
  double lost = 0;
  const auto worst = std::ranges::min_element(effects, {}, &std::pair<const Factor, double>::second);
  for (const auto& [factor, effect] : effects) lost += std::min(0.0, effect);
  if (worst == effects.end() || !(worst->second < 0)) return std::nullopt;
  return Blame{worst->first, worst->second, worst->second / lost};
}

// Nothing before: what they are.
std::map<Factor, double> Difference(const std::vector<Factor>& factors, const std::map<Factor, double>& before,
                                    const std::map<Factor, double>& after) {
  std::map<Factor, double> effects;
  for (const Factor factor : factors) effects[factor] = after.at(factor) - (before.empty() ? 0 : before.at(factor));
  return effects;
}

std::vector<Factor> KnownInBoth(const std::map<Factor, double>& before, const std::map<Factor, double>& after) {
  std::vector<Factor> both;
  for (const auto& [factor, log] : before) {
    if (after.count(factor) > 0) both.push_back(factor);
  }
  return both;
}

// Name and id.
std::pair<const char*, const char*> ComputationNames(Factor factor) {
  switch (factor) {
    case Factor::kInstructionScaling: return {"Instructions", "instructions"};
    case Factor::kIpcScaling: return {"IPC", "ipc"};
    case Factor::kFrequencyScaling: return {"Frequency", "frequency"};
    default: return {"Useful time", "usefulTime"};
  }
}

}  // namespace

std::size_t GateReport::Count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(judgements, verdict, &Judgement::verdict));
}

Verdict GateReport::Overall() const {
  if (AllRulesOff()) return Verdict::kWarn;
  if (Count(Verdict::kFail) > 0) return Verdict::kFail;
  const bool undecided = std::ranges::any_of(
      judgements, [&](const Judgement& one) { return one.verdict == Verdict::kUndecided && !RuleOf(one).only_warns; });
  if (undecided || judgements.empty()) return Verdict::kUndecided;
  return Count(Verdict::kWarn) + Count(Verdict::kUndecided) > 0 ? Verdict::kWarn : Verdict::kPass;
}

int GateReport::ExitCode() const {
  switch (Overall()) {
    case Verdict::kFail: return 1;
    case Verdict::kUndecided: return 4;
    default: return 0;
  }
}

GateReport Judge(const GateRules& rules, const GateInput& input) {
  GateReport report;
  report.results = input.results.name;
  report.results_file = input.results.files.empty() ? input.results.name : input.results.files.front();
  report.rules = rules.file;
  report.rule_set = rules;
  GateData data(rules, input);
  std::vector<PendingChange> all;
  for (std::size_t i = 0; i < rules.rules.size(); ++i) JudgeRule(data, i, all);
  const auto is_lasting = [&](const PendingChange& one) { return !rules.rules[one.judgement.rule].since.empty(); };
  std::size_t at_once = 0, lasting = 0;
  for (const PendingChange& one : all) (is_lasting(one) ? lasting : at_once) += one.comparisons.size();
  for (const PendingChange& one : all) {
    report.judgements.push_back(Finish(data, DecideChange(data, one, is_lasting(one) ? lasting : at_once)));
  }
  report.baseline_findings = input.baseline_findings;
  std::ranges::copy(data.terms, std::back_inserter(report.baseline_findings));
  if (input.baseline) {
    const History& history = *input.baseline;
    report.baseline = input.baseline_name;
    if (history.empty()) report.baseline += ", which holds no results yet";
    if (history.size() > 1) {
      report.baseline +=
          fmt::format(", {} commits up to {} of {}", history.size(), history.back().commit, history.back().date);
    }
    std::ranges::copy(FindingsOf(history), std::back_inserter(report.baseline_findings));
  }
  report.findings = input.results.table.findings;
  std::ranges::copy(report.baseline_findings, std::back_inserter(report.findings));
  return report;
}

std::string NameOf(const Blame& blame) {
  return blame.is_computation ? ComputationNames(blame.factor).first : std::string(Describe(blame.factor).name);
}

std::string IdOf(const Blame& blame) {
  return blame.is_computation ? ComputationNames(blame.factor).second : std::string(Describe(blame.factor).id);
}

FactorLogs LogsOf(const std::vector<const FactorTable*>& tables, const PhaseKey& key,
                  const std::vector<double>& cores) {
  std::map<double, std::vector<FactorRow>> rows;
  for (const FactorTable* table : tables) {
    for (const FactorRow& row : table->Rows(key)) {
      const auto count = static_cast<double>(row.cores);
      if (std::ranges::find(cores, count) != cores.end()) rows[count].push_back(row);
    }
  }
  FactorLogs logs;
  for (const FactorType& type : AllFactors()) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return row.values[type.factor]; });
    if (log) logs.factors[type.factor] = *log;
  }
  for (const Factor factor :
       {Factor::kComputationScalability, Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling}) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return ComputationValue(row, factor); });
    if (log) logs.computation[factor] = *log;
  }
  return logs;
}

FactorLogs LogsOf(const PhaseProjection& projection, double cores) {
  FactorLogs logs;
  for (const FactorProjection& factor : projection.factors) {
    for (const ProjectedValue& value : factor.targets) {
      if (value.cores == cores && value.value > 0) logs.factors[factor.factor] = std::log(value.value);
    }
  }
  return logs;
}

std::optional<Blame> BlameForLoss(const Quantity& quantity, const FactorLogs& logs) {
  const std::vector<Factor> known = KnownInBoth(logs.factors, logs.factors);
  return Largest(Difference(PartsOf(RootFactor(quantity, logs.factors), known), {}, logs.factors));
}

std::optional<Blame> BlameForChange(const Quantity& quantity, const FactorLogs& before, const FactorLogs& after) {
  const std::vector<Factor> known = KnownInBoth(before.factors, after.factors);
  if (!quantity.IsTime()) {
    const Factor tree = RootFactor(quantity, before.factors);
    return Largest(Difference(PartsOf(tree, known), before.factors, after.factors));
  }
  std::map<Factor, double> effects =
      Difference(PartsOf(Factor::kParallelEfficiency, known), before.factors, after.factors);
  std::vector<Factor> computation = KnownInBoth(before.computation, after.computation);
  if (computation.size() > 1) std::erase(computation, Factor::kComputationScalability);  // its parts say more
  effects.merge(Difference(computation, before.computation, after.computation));
  std::optional<Blame> blame = Largest(effects);
  if (blame) blame->is_computation = before.computation.count(blame->factor) > 0;
  return blame;
}

}  // namespace farscale
