#include "gate/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "factors/table_check.h"
#include "gate/judging.h"
#include "projection/model_settings.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

constexpr std::ptrdiff_t kCourse = 20;  // commits; chosen: fits a line of a comment

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

bool Knows(const FactorTable& table, const PhaseKey& key, const Quantity& quantity) {
  const std::vector<FactorRow> rows = table.Rows(key);
  return std::any_of(rows.begin(), rows.end(),
                     [&](const FactorRow& row) { return ValueOf(row, quantity).has_value(); });
}

class GateJudge {
 public:
  GateJudge(const GateRules& rules, const GateInput& input) : data_(rules, input) {
    for (const PhaseKey& key : data_.phases()) known_.push_back(key.phase);
    for (const PhaseKey& key : data_.LostPhases()) known_.push_back(key.phase);
  }

  std::vector<Judgement> All() {
    for (std::size_t i = 0; i < data_.rules().rules.size(); ++i) JudgeRule(i);
    std::size_t at_once = 0, lasting = 0;
    for (const PendingChange& pending : pending_)
      (IsLasting(pending) ? lasting : at_once) += pending.comparisons.size();
    std::vector<Judgement> judgements;
    for (PendingChange& pending : pending_) {
      const std::size_t comparisons = IsLasting(pending) ? lasting : at_once;
      judgements.push_back(Finish(DecideChange(data_, std::move(pending), comparisons)));
    }
    return judgements;
  }

  const std::vector<Finding>& terms() const { return data_.terms(); }

 private:
  bool IsLasting(const PendingChange& pending) const {
    return !data_.rules().rules[pending.judgement.rule].since.empty();
  }

  // A phase alone means all of its ranks; the text of a group means the group, unless a phase is called so.
  bool IsNamed(const Rule& rule, const PhaseId& phase) const {
    if (!rule.groups.empty())
      return phase.IsGroup() && Contains(rule.groups, phase.group) && Contains(rule.phases, phase.name);
    return rule.phases.empty() || std::any_of(rule.phases.begin(), rule.phases.end(), [&](const std::string& text) {
             return PhaseByText(known_, text) == phase;
           });
  }

  bool IsAbout(const Rule& rule, const PhaseKey& key) const {
    return Contains(rule.series, key.series) && IsNamed(rule, key.phase);
  }

  void JudgeRule(std::size_t index) {
    const Rule& rule = data_.rules().rules[index];
    for (const std::string& name : MissingNames(rule)) AddMissing(index, name);
    for (const PhaseKey& key : data_.phases()) {
      if (!IsAbout(rule, key) || (rule.if_known && !IsKnown(key, rule.quantity))) continue;
      if (rule.HasLevel()) {
        for (Judgement& judgement : JudgeLevels(data_, index, key)) pending_.push_back({std::move(judgement), {}, {}});
      }
      if (rule.HasChange()) {
        for (PendingChange& change : FindChanges(data_, index, key)) pending_.push_back(std::move(change));
      }
    }
    if (!rule.HasChange() || !rule.phases.empty() || !rule.since.empty()) return;
    for (const PhaseKey& key : data_.LostPhases()) {
      if (!IsAbout(rule, key) || (rule.if_known && !IsKnown(key, rule.quantity))) continue;
      AddOpen(Undecided(data_, index, key, Judgement::Check::kChange),
              PlaceOf(data_, key) + " is in the baseline and not in the results");
    }
  }

  bool IsKnown(const PhaseKey& key, const Quantity& quantity) const {
    if (Knows(data_.table(), key, quantity)) return true;
    const History& history = data_.history();
    return !history.empty() && Knows(history.back().table, key, quantity);
  }

  // Groups that a rule names, of the phases that it names, and the results lack.
  std::vector<std::string> MissingGroups(const Rule& rule) const {
    std::vector<std::string> missing;
    for (const std::string& group : rule.groups) {
      std::vector<std::string> phases = rule.phases;
      if (phases.empty()) phases.emplace_back();
      for (const std::string& phase : phases) {
        std::vector<std::string> known;
        for (const PhaseKey& key : data_.phases()) {
          if (key.phase.IsGroup() && (phase.empty() || key.phase.name == phase)) known.push_back(key.phase.group);
        }
        if (std::ranges::find(known, group) != known.end()) continue;
        missing.push_back(fmt::format("group {}{} is not in the results; {}", group,
                                      phase.empty() ? "" : " of phase " + phase, AdviceOn(group, known, "group")));
      }
    }
    return missing;
  }

  // Phases, groups and series that a rule names and the results lack.
  std::vector<std::string> MissingNames(const Rule& rule) const {
    std::vector<std::string> missing = MissingGroups(rule), phases, series;
    std::vector<PhaseId> ids;
    for (const PhaseKey& key : data_.phases()) {
      ids.push_back(key.phase);
      series.push_back(key.series);
    }
    // Factors by every text that means one of them.
    for (const std::string& text : rule.phases) {
      if (PhaseByText(ids, text)) phases.push_back(text);
    }
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

  // A name close to the given one, else all names.
  static std::string AdviceOn(const std::string& name, const std::vector<std::string>& known, const char* what) {
    const std::string nearest = DidYouMean(name, known);
    if (!nearest.empty()) return nearest;
    std::vector<std::string> named;
    for (const std::string& one : known) {
      const bool is_new = std::find(named.begin(), named.end(), one) == named.end();
      if (!one.empty() && is_new) named.push_back(one);
    }
    return named.empty() ? fmt::format("they name no {}", what) : "there are " + Join(named, ", ");
  }

  void AddMissing(std::size_t index, const std::string& why) {
    const Rule& rule = data_.rules().rules[index];
    const auto only = [](const std::vector<std::string>& names) { return names.size() == 1 ? names.front() : ""; };
    const auto check = rule.HasChange() ? Judgement::Check::kChange : Judgement::Check::kLevel;
    AddOpen(Undecided(data_, index, {only(rule.series), PhaseId(only(rule.phases), only(rule.groups))}, check), why);
  }

  void AddOpen(const Judgement& judgement, const std::string& why) {
    pending_.push_back({Undecidable(judgement, why), {}, {}});
  }

  // A rule of severity warn does not fail; its cause is added at the end.
  Judgement Finish(Judgement judgement) const {
    const Rule& rule = data_.rules().rules[judgement.rule];
    if (rule.severity == RuleSeverity::kWarn && judgement.verdict == Verdict::kFail) judgement.verdict = Verdict::kWarn;
    if (judgement.blame) {
      const std::string what = judgement.check == Judgement::Check::kChange ? "of what got worse" : "of the loss";
      judgement.sentence +=
          fmt::format(" {} explains {:.0f} % {}.", NameOf(*judgement.blame), 100 * judgement.blame->share, what);
    }
    if (judgement.verdict != Verdict::kPass && judgement.value) judgement.course = CourseOf(judgement);
    judgement.superlinear = WhySuperlinearHere(judgement);
    if (!judgement.superlinear.empty()) judgement.sentence += " " + judgement.superlinear;
    const bool may_pass = judgement.verdict == Verdict::kPass || judgement.verdict == Verdict::kWarn;
    if (may_pass && IsOfMainThreads(judgement)) {
      judgement.verdict = Verdict::kUndecided;
      judgement.sentence +=
          " The processes have more threads, and what those do is not known: this is an efficiency "
          "of the main threads alone.";
    }
    return judgement;
  }

  // True if the value leaves threads out that the runs have.
  bool IsOfMainThreads(const Judgement& judgement) const {
    const Quantity& quantity = judgement.quantity;
    if (quantity.IsTime() || !Describe(quantity.factor).IsEfficiency()) return false;
    const FactorTable& table = data_.table();
    const bool is_found = std::ranges::any_of(
        table.findings, [](const Finding& finding) { return finding.id == anomaly::kThreadsAtProcessLevel.id; });
    const std::vector<FactorRow> rows = table.Rows(judgement.Key());
    return is_found && std::ranges::any_of(rows, [](const FactorRow& row) { return !row.IsHybrid(); });
  }

  // The newest commit by itself, also where the judgement is about several.
  std::vector<double> CourseOf(const Judgement& judgement) const {
    std::vector<double> course;
    const CommitSeries series = CommitSeriesOf(data_.history(), judgement.Key(), judgement.quantity);
    const SamplesByCores newest = SamplesOf(data_.compared(), judgement.Key(), judgement.quantity);
    for (const SamplesByCores& commit : series.commits) {
      if (const auto mean = MeanOverCounts(commit, judgement.cores)) course.push_back(std::exp(*mean));
    }
    if (const auto mean = MeanOverCounts(newest, judgement.cores)) course.push_back(std::exp(*mean));
    if (std::ssize(course) > kCourse) course.erase(course.begin(), course.end() - kCourse);
    return course;
  }

  std::string WhySuperlinearHere(const Judgement& judgement) const {
    const Quantity& quantity = judgement.quantity;
    if (quantity.IsTime() || quantity.factor == Factor::kSpeedup) return "";
    const double largest = std::max(judgement.value.value_or(0), judgement.before.value_or(0));
    return WhySuperlinear(data_.table().Rows(judgement.Key()), largest);
  }

  GateData data_;
  std::vector<PhaseId> known_;  // of results and baseline
  std::vector<PendingChange> pending_;
};

std::string BaselineText(const GateInput& input) {
  if (!input.baseline) return "";
  const History& history = *input.baseline;
  if (history.empty()) return input.baseline_name + ", which holds no results yet";
  if (history.size() == 1) return input.baseline_name;
  return fmt::format("{}, {} commits up to {} of {}", input.baseline_name, history.size(), history.back().commit,
                     history.back().date);
}

}  // namespace

std::size_t GateReport::Count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(judgements.begin(), judgements.end(),
                                                [&](const Judgement& one) { return one.verdict == verdict; }));
}

Verdict GateReport::Overall() const {
  if (AllRulesOff()) return Verdict::kWarn;
  if (Count(Verdict::kFail) > 0) return Verdict::kFail;
  const bool undecided = std::any_of(judgements.begin(), judgements.end(), [&](const Judgement& one) {
    return one.verdict == Verdict::kUndecided && RuleOf(one).severity == RuleSeverity::kError;
  });
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
  report.baseline = BaselineText(input);
  report.rule_set = rules;
  GateJudge judge(rules, input);
  report.judgements = judge.All();
  report.baseline_findings = input.baseline_findings;
  const std::vector<Finding>& terms = judge.terms();
  report.baseline_findings.insert(report.baseline_findings.end(), terms.begin(), terms.end());
  const std::vector<Finding> of_commits = input.baseline ? FindingsOf(*input.baseline) : std::vector<Finding>();
  report.baseline_findings.insert(report.baseline_findings.end(), of_commits.begin(), of_commits.end());
  report.findings = input.results.table.findings;
  report.findings.insert(report.findings.end(), report.baseline_findings.begin(), report.baseline_findings.end());
  return report;
}

namespace {

using ReadValue = std::function<std::optional<double>(const FactorRow&)>;

std::optional<double> ComputationOf(const FactorRow& row, Factor factor) {
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
std::optional<double> MeanLog(const std::map<double, std::vector<FactorRow>>& rows, const ReadValue& read) {
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

std::vector<Factor> KeysOf(const std::map<Factor, double>& logs) {
  std::vector<Factor> keys;
  for (const auto& [factor, log] : logs) keys.push_back(factor);
  return keys;
}

// The factor that a quantity is made of: efficiency for times and speedup, else itself.
Factor TreeOf(const Quantity& quantity, const std::map<Factor, double>& known) {
  if (!quantity.IsTime() && quantity.factor != Factor::kSpeedup) return quantity.factor;
  return known.count(Factor::kGlobalEfficiency) > 0 ? Factor::kGlobalEfficiency : Factor::kParallelEfficiency;
}

std::optional<Blame> Largest(const std::map<Factor, double>& effects) {
  double lost = 0;
  const auto worst = std::min_element(effects.begin(), effects.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [factor, effect] : effects) lost += std::min(0.0, effect);
  if (worst == effects.end() || !(worst->second < 0)) return std::nullopt;
  return Blame{worst->first, worst->second, worst->second / lost};
}

std::map<Factor, double> Difference(const std::vector<Factor>& factors, const std::map<Factor, double>& before,
                                    const std::map<Factor, double>& after) {
  std::map<Factor, double> effects;
  for (const Factor factor : factors) effects[factor] = after.at(factor) - before.at(factor);
  return effects;
}

std::vector<Factor> KnownInBoth(const std::map<Factor, double>& before, const std::map<Factor, double>& after) {
  std::vector<Factor> both;
  for (const auto& [factor, log] : before) {
    if (after.count(factor) > 0) both.push_back(factor);
  }
  return both;
}

// Computation as a whole, or in its three parts.
void AddComputation(const FactorLogs& before, const FactorLogs& after, std::map<Factor, double>& effects) {
  std::vector<Factor> known = KnownInBoth(before.computation, after.computation);
  if (known.size() > 1) known.erase(std::find(known.begin(), known.end(), Factor::kComputationScalability));
  effects.merge(Difference(known, before.computation, after.computation));
}

struct ComputationNames {
  const char* name;
  const char* id;
};

ComputationNames NamesOfComputation(Factor factor) {
  switch (factor) {
    case Factor::kInstructionScaling: return {"Instructions", "instructions"};
    case Factor::kIpcScaling: return {"IPC", "ipc"};
    case Factor::kFrequencyScaling: return {"Frequency", "frequency"};
    default: return {"Useful time", "usefulTime"};
  }
}

}  // namespace

std::string NameOf(const Blame& blame) {
  return blame.is_computation ? NamesOfComputation(blame.factor).name : std::string(Describe(blame.factor).name);
}

std::string IdOf(const Blame& blame) {
  return blame.is_computation ? NamesOfComputation(blame.factor).id : std::string(Describe(blame.factor).id);
}

FactorLogs LogsOf(const std::vector<const FactorTable*>& tables, const PhaseKey& key,
                  const std::vector<double>& cores) {
  std::map<double, std::vector<FactorRow>> rows;
  for (const FactorTable* table : tables) {
    for (const FactorRow& row : table->Rows(key)) {
      const auto count = static_cast<double>(row.cores);
      if (std::find(cores.begin(), cores.end(), count) != cores.end()) rows[count].push_back(row);
    }
  }
  FactorLogs logs;
  for (const FactorType& type : AllFactors()) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return row.values[type.factor]; });
    if (log) logs.factors[type.factor] = *log;
  }
  for (const Factor factor :
       {Factor::kComputationScalability, Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling}) {
    const auto log = MeanLog(rows, [&](const FactorRow& row) { return ComputationOf(row, factor); });
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
  std::map<Factor, double> losses;
  for (const Factor part : PartsOf(TreeOf(quantity, logs.factors), KeysOf(logs.factors))) {
    losses[part] = logs.factors.at(part);
  }
  return Largest(losses);
}

std::optional<Blame> BlameForChange(const Quantity& quantity, const FactorLogs& before, const FactorLogs& after) {
  const std::vector<Factor> known = KnownInBoth(before.factors, after.factors);
  if (!quantity.IsTime()) {
    const Factor tree = TreeOf(quantity, before.factors);
    return Largest(Difference(PartsOf(tree, known), before.factors, after.factors));
  }
  std::map<Factor, double> effects =
      Difference(PartsOf(Factor::kParallelEfficiency, known), before.factors, after.factors);
  AddComputation(before, after, effects);
  std::optional<Blame> blame = Largest(effects);
  if (blame) blame->is_computation = before.computation.count(blame->factor) > 0;
  return blame;
}

}  // namespace farscale
