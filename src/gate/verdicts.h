// The verdicts of a gate on results [docs/gate.md, verdicts].
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"
#include "gate/history_json.h"
#include "gate/rules.h"
#include "gate/result_files.h"
#include "pages/text_table.h"
#include "projection/model_settings.h"
#include "projection/projection.h"

namespace farscale {

// The factor that causes most of a loss or of a change.

struct Blame {
  Factor factor = Factor::kLoadBalance;
  double effect = 0;  // logarithm of what it does to the quantity; below 0
  double share = 1;   // relative to everything that makes it worse
  // It is what the factor measures the scaling of, useful time, instructions, IPC or frequency, at every core count
  // alike or not: a slower program is not one that scales worse.
  bool is_computation = false;
};

// "Load balance"; of computation "Useful time", "Instructions", "IPC", "Frequency".
std::string NameOf(const Blame& blame);
// "loadBalance"; of computation "usefulTime", "instructions", "ipc", "frequency".
std::string IdOf(const Blame& blame);

// Logarithms of factors, averaged over runs and core counts.
struct FactorLogs {
  std::map<Factor, double> factors;
  // Useful time, instructions, IPC and clock under the factor that measures their scaling. They do not depend on a
  // reference run, so commits can be compared; larger is always better.
  std::map<Factor, double> computation;
};

// Causes from the runs at these core counts; unknown factors are left out.
FactorLogs LogsOf(const std::vector<const FactorTable*>& tables, const PhaseKey& key, const std::vector<double>& cores);
// Causes from the values projected to one core count.
FactorLogs LogsOf(const PhaseProjection& projection, double cores);

// For a value that is too low (a time that is too long): the part with the largest loss.
std::optional<Blame> BlameForLoss(const Quantity& quantity, const FactorLogs& logs);
// For a change for the worse: the part that changed most. A time is computation time over parallel efficiency.
std::optional<Blame> BlameForChange(const Quantity& quantity, const FactorLogs& before, const FactorLogs& after);

// The confidence that nothing in unchanged code changes beyond noise, in either direction: over all comparisons of the
// newest commit, and again over all of changes that last. Half of what changes gets worse, so a gate fails one
// unchanged commit in 1000. Chosen: strict, since a gate judges every commit.
inline constexpr double kChangeConfidence = 0.999;
// The same of warnings: of one unchanged commit in twenty. Chosen: people stop reading more frequent ones.
inline constexpr double kWarningConfidence = 0.95;

struct GateInput {
  MeasuredResults results;
  std::optional<History> baseline;  // nothing: none was given
  std::string baseline_name;
  std::vector<Finding> baseline_findings;
  std::vector<double> targets;  // asked for; empty: those of results.json, or the usual ones
  bool project_anew = false;    // though results.json has projections
  // Projects a table to these core counts; to the usual ones when there are none.
  std::function<std::vector<PhaseProjection>(const FactorTable&, const std::vector<double>& targets)> project;
};

// One rule on one phase.
struct Judgement {
  std::size_t rule = 0;  // in the rule set
  std::string series;
  PhaseId phase;
  Quantity quantity;
  bool is_change = false;     // against the baseline; else of a value against a bound
  std::vector<double> cores;  // judged; several: over all of them together
  bool is_projected = false;
  Verdict verdict = Verdict::kUndecided;
  bool is_hidden_by_noise = false;  // a warning: noise hides changes far larger than the allowed one
  std::string sentence;             // the facts and the reason of the verdict
  std::string superlinear;          // also at the end of the sentence: why a value above 110 % is there; else empty

  // Unset where unknown.
  std::optional<double> value;
  std::optional<IntervalBounds> interval;  // for the value or the change
  double confidence = 0;                   // level of the interval
  std::optional<double> bound;             // for the value or the change
  std::optional<double> before;            // the baseline
  std::optional<double> change;            // relative: -0.05 is a drop of 5 %
  std::size_t runs = 0;                    // in the results at these counts
  std::size_t commits = 1;                 // whose mean the value is, the newest one included
  std::optional<Blame> blame;              // for what is not as it should be
  std::vector<double> course;              // unless it passed: the last commits at these counts, the newest last

  PhaseKey Key() const { return {series, phase}; }
};

struct GateReport {
  std::string results;       // names of the files
  std::string results_file;  // the first of them
  std::string rules;
  std::string baseline;  // in words
  GateRules rule_set;
  std::vector<Judgement> judgements;       // in the order of rules, then phases
  std::vector<Finding> findings;           // from results and baseline
  std::vector<Finding> baseline_findings;  // those of the baseline alone

  const Rule& RuleOf(const Judgement& judgement) const { return rule_set.rules[judgement.rule]; }
  std::size_t Count(Verdict verdict) const;
  // A gate whose rules are all off passes with a warning.
  bool AllRulesOff() const { return rule_set.rules.empty() && rule_set.rules_off > 0; }
  // Fail where a rule fails, not enough data where one of severity error is undecided, warn, or pass.
  Verdict Overall() const;
  // 0, 1 or 4 [docs/file-formats.md, exit codes].
  int ExitCode() const;
};

GateReport Judge(const GateRules& rules, const GateInput& input);

// The verdicts in the forms that terminals, pull requests and CI servers read [docs/gate.md, outputs].

inline constexpr int kGateVersion = 2;

// The subject of a judgement, for printing: "16, 32 and 64", "0.812", "-5.1 %", "at most 3 % down".
struct JudgementCells {
  std::string phase, factor, cores, baseline, value, change, bound;
};

JudgementCells CellsOf(const Judgement& judgement);
// "Gate failed: 1 failed, 2 warnings, 9 passed, 1 without enough data."
std::string SummaryOf(const GateReport& report);

std::string WriteGateTable(const GateReport& report, std::size_t width = kAnyWidth);  // for the terminal
std::string WriteGateJson(const GateReport& report);                                  // [docs/schema/gate.schema.json]
nlohmann::ordered_json GateSchema();
// For a pull request, at most 15 lines: the verdict, the worst of what did not pass with its cause and the course of
// its values, and a link to where the rest stands; empty: no link.
std::string WriteGateMarkdown(const GateReport& report, const std::string& link = "");
std::string WriteGateJunit(const GateReport& report);          // [docs/schema/junit.xsd]
std::string WriteGateBadge(const GateReport& report);          // an SVG of its own
std::string WriteGithubAnnotations(const GateReport& report);  // workflow commands, for the log of the job
std::string WriteGitlabAnnotations(const GateReport& report);  // code quality
// The newest values of all factors, and the verdicts [OpenMetrics 1.0].
std::string WriteOpenMetrics(const GateReport& report, const FactorTable& table);

}  // namespace farscale
