#include "gate/verdicts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "base/random.h"
#include "factors/scaling.h"
#include "gate/commit_series.h"
#include "gate/judging.h"
#include "results/json_fields.h"

namespace farscale {

// Verdicts for CI servers: annotations of GitHub and GitLab, and JUnit.

namespace {

// The element that says how a test of a CI server ended; empty where it passed. An undecided rule is an error, like a
// test that did not finish, unless it only warns.
std::string Outcome(const GateReport& report, const Judgement& judgement) {
  if (judgement.verdict == Verdict::kFail) return "failure";
  if (judgement.verdict != Verdict::kUndecided) return "";
  return report.RuleOf(judgement).only_warns ? "skipped" : "error";
}

// "gate.toml:12" apart, file and line. Built-in rules stand in no file of the repository; there the results have to do.
std::pair<std::string, long long> PlaceOf(const GateReport& report, const Rule& rule) {
  if (report.rule_set.is_built_in) return {report.results_file, 1};
  const std::size_t colon = rule.where.rfind(':');
  long long line = 1;
  if (colon == std::string::npos || !ParseInteger(rule.where.substr(colon + 1), line)) return {rule.where, 1};
  return {rule.where.substr(0, colon), line};
}

// As GitHub's runner reads workflow commands: data of a message, and of a property.
std::string EscapeCommand(const std::string& text, bool is_property) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return escaped;
}

}  // namespace

std::string WriteGateJunit(const GateReport& report) {
  std::map<std::size_t, std::vector<const Judgement*>> by_rule;
  std::map<std::string, std::size_t> all;
  for (const Judgement& judgement : report.judgements) {
    by_rule[judgement.rule].push_back(&judgement);
    ++all[Outcome(report, judgement)];
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"farscale gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
      report.judgements.size(), all["failure"], all["error"]);
  for (const auto& [rule, judgements] : by_rule) {
    std::map<std::string, std::size_t> counts;
    std::string cases;
    for (const Judgement* judgement : judgements) {
      const std::string outcome = Outcome(report, *judgement), sentence = EscapeXml(judgement->sentence);
      ++counts[outcome];
      const std::string type = outcome == "failure" ? " type=\"fail\""
                               : outcome == "error" ? " type=\"notEnoughEvidence\""
                                                    : "";
      const JudgementCells cells = CellsOf(*judgement);
      const std::string name = fmt::format("{} at {}", report.RuleOf(*judgement).text, CoresInWords(judgement->cores));
      cases += fmt::format(
          "    <testcase name=\"{}\" classname=\"farscale.{}.{}\">\n{}      <system-out>{}{}</system-out>\n"
          "    </testcase>\n",
          EscapeXml(name), EscapeXml(cells.phase), cells.factor,
          outcome.empty() ? "" : fmt::format("      <{} message=\"{}\"{}/>\n", outcome, sentence, type),
          judgement->verdict == Verdict::kWarn ? "warning: " : "", sentence);
    }
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n",
        EscapeXml(report.rule_set.rules[rule].text), judgements.size(), counts["failure"], counts["error"],
        counts["skipped"], cases);
  }
  return text + "</testsuites>\n";
}

std::string WriteGithubAnnotations(const GateReport& report) {
  std::string text;
  for (const Judgement& judgement : report.judgements) {
    if (judgement.verdict == Verdict::kPass) continue;
    const std::string outcome = Outcome(report, judgement);
    const bool is_error = outcome == "failure" || outcome == "error";
    // GitHub marks a line of the repository, or none; results are seldom part of it.
    const auto [file, line] = PlaceOf(report, report.RuleOf(judgement));
    const std::string mark =
        report.rule_set.is_built_in ? "" : fmt::format("file={},line={},", EscapeCommand(file, true), line);
    const JudgementCells cells = CellsOf(judgement);
    const std::string title = fmt::format("{} of {}: {}", cells.factor, cells.phase, ToText(judgement.verdict));
    text += fmt::format("::{} {}title={}::{}\n", is_error ? "error" : "warning", mark, EscapeCommand(title, true),
                        EscapeCommand(judgement.sentence, false));
  }
  for (const std::string& doubt : DoubtsOf(report.findings)) {
    text += fmt::format("::warning title=farscale gate::{}\n", EscapeCommand(doubt, false));
  }
  return text + fmt::format("::{} title=farscale gate::{}\n", report.AllRulesOff() ? "warning" : "notice",
                            EscapeCommand(SummaryOf(report), false));
}

std::string WriteGitlabAnnotations(const GateReport& report) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Judgement& judgement : report.judgements) {
    if (judgement.verdict == Verdict::kPass) continue;
    const Rule& rule = report.RuleOf(judgement);
    const auto [file, line] = PlaceOf(report, rule);
    // Depends on the subject, not on the value: GitLab then recognizes the finding in the next commit.
    std::string what = rule.text + '\n' + judgement.series + '\n' + judgement.phase.name;
    if (judgement.phase.IsGroup()) what += '\n' + judgement.phase.group;
    for (const double cores : judgement.cores) what += fmt::format("\n{}", cores);
    list.push_back({{"description", judgement.sentence},
                    {"check_name", "farscale." + IdOf(judgement.quantity)},
                    {"fingerprint", fmt::format("{:016x}{:016x}", SeedFor(0, what), SeedFor(1, what))},
                    {"severity", judgement.verdict == Verdict::kFail        ? "critical"
                                 : judgement.verdict == Verdict::kUndecided ? "minor"
                                                                            : "major"},
                    {"location", {{"path", file}, {"lines", {{"begin", line}}}}}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::pair<Verdict, std::string>> NamesOf(Described<Verdict>) {
  return FirstNames<Verdict>(4, [](Verdict verdict) { return IdOf(verdict); });
}

Fields<Blame> FieldsOf(Described<Blame>) {
  return {
      Computed<Blame>("factor", [](const Blame& blame) { return IdOf(blame); }),
      Computed<Blame>(
          "effect", [](const Blame& blame) { return std::exp(blame.effect) - 1; },
          "Its relative change: -0.05 makes it 5 % worse"),
      Property<&Blame::share>("Of everything that makes it worse").Above(0).AtMost(1.000001),
  };
}

Fields<Judgement> FieldsOf(Described<Judgement>) {
  using T = Judgement;
  const auto rule_of = [](const T& judgement, const JsonPlace& at) -> const Rule& {
    return at.Within<GateReport>().RuleOf(judgement);
  };
  const auto finite = [](std::optional<double> T::*member) {
    return [member](const T& judgement) {
      const std::optional<double>& value = judgement.*member;
      return value && std::isfinite(*value) ? value : std::nullopt;
    };
  };
  const auto has_interval = [](const T& judgement) {
    return judgement.interval && std::isfinite(judgement.interval->low) && std::isfinite(judgement.interval->high);
  };
  return Fields<T>{
      "gate/judgement",
      {
          Property<&T::verdict>(),
          Computed<T>(
              "rule", [rule_of](const T& judgement, const JsonPlace& at) { return rule_of(judgement, at).text; },
              "The rule in words"),
          Computed<T>(
              "where", [rule_of](const T& judgement, const JsonPlace& at) { return rule_of(judgement, at).where; },
              "File and line of the rule"),
          Computed<T>(
              "severity",
              [rule_of](const T& judgement, const JsonPlace& at) {
                return std::string(rule_of(judgement, at).only_warns ? "warn" : "error");
              },
              "", OneOf({"error", "warn"})),
          Property<&T::series>(),
          Embed(&T::phase),
          Computed<T>(
              "factor", [](const T& judgement) { return IdOf(judgement.quantity); },
              "Id of a factor, timePerIteration or runtime"),
          Computed<T>(
              "check", [](const T& judgement) { return std::string(judgement.is_change ? "change" : "level"); },
              "Against a bound, or against the baseline", OneOf({"level", "change"})),
          Property<&T::cores>("Judged; several: over all of them together").Above(0),
          Property<&T::is_projected>(),
          Property<&T::runs>("Of the results, at these core counts"),
          Property<&T::commits>("Whose mean the value is, the newest one included; 1 without since").Above(0),
          Property<&T::sentence>(),
          Computed<T>("value", finite(&T::value), "Geometric mean of the runs, or projected; times in seconds"),
          Computed<T>("bound", finite(&T::bound),
                      "Of the value; for changes the share of the baseline that is allowed"),
          Computed<T>("baseline", finite(&T::before), "Value of the baseline"),
          Computed<T>("change", finite(&T::change), "Relative to the baseline: -0.05 is a drop of 5 %"),
          Property<&T::interval>("Of the value, or of the change; it decided, unless the rule says to judge the value")
              .When(has_interval),
          Property<&T::confidence>(
              "Of the interval: 0.95 or 0.8 of values, of changes 1 - 0.001 / m, unless the rule says another")
              .Above(0)
              .Below(1)
              .When(has_interval),
          Property<&T::blame>(),
      }}
      .Schema(R"({"dependentRequired": {"interval": ["confidence"], "change": ["baseline", "value"]}})");
}

Fields<GateReport> FieldsOf(Described<GateReport>) {
  using T = GateReport;
  return Fields<T>{
      "gate",
      {
          Property<&T::results>("Names of the files judged"),
          Property<&T::rules>("File of the rules"),
          Property<&T::baseline>("In words; empty without one"),
          Computed<T>("verdict", [](const T& report) { return report.Overall(); }),
          Computed<T>("exitCode", [](const T& report) { return report.ExitCode(); }).Schema(R"({"enum": [0, 1, 4]})"),
          Computed<T>("summary", SummaryOf),
          Computed<T>(
              "rulesOff", [](const T& report) { return std::size_t{report.rule_set.rules_off}; },
              "Rules of severity off, which were not judged"),
          Property<&T::judgements>(),
          Field("diagnostics", &T::findings, "Anomalies of results and baseline"),
      }}
      .File("farscale-gate", kGateVersion, kGateVersion, "report of a gate");
}

std::string WriteGateJson(const GateReport& report) {
  return JsonOf(report).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson GateSchema() { return SchemaOf<GateReport>("Verdicts of farscale gate"); }

// OpenMetrics 1.0: families one after the other, each with type and help, every set of labels once, then "# EOF".

namespace {

std::string EscapeHelp(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\': escaped += "\\\\"; break;
      case '"': escaped += "\\\""; break;
      case '\n': escaped += "\\n"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string Labels(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, EscapeHelp(value));
  return "{" + text + "}";
}

std::string Family(const std::string& name, const std::string& type, const std::string& help,
                   const std::string& unit = "") {
  std::string text = fmt::format("# TYPE {} {}\n", name, type);
  if (!unit.empty()) text += fmt::format("# UNIT {} {}\n", name, unit);
  return text + fmt::format("# HELP {} {}\n", name, EscapeHelp(help));
}

// The geometric mean of the runs of every phase and core count.
std::string ValuesOf(const FactorTable& table, const Quantity& quantity, const std::string& name, bool with_factor) {
  std::string text;
  for (const PhaseKey& key : table.Keys()) {
    SamplesByCores all;
    for (const FactorRow& row : table.Rows(key)) {
      const auto value = ValueOf(row, quantity);
      if (value && *value > 0) all[static_cast<double>(row.cores)].values.push_back(*value);
    }
    for (const auto& [cores, samples] : all) {
      double logs = 0;
      for (const double value : samples.values) logs += std::log(value) / static_cast<double>(samples.values.size());
      std::vector<std::pair<std::string, std::string>> labels = {
          {"series", key.series}, {"phase", key.phase.name}, {"cores", fmt::format("{:.0f}", cores)}};
      if (key.phase.IsGroup()) labels.emplace_back("group", key.phase.group);
      if (with_factor) labels.emplace_back("factor", IdOf(quantity));
      text += fmt::format("{}{} {}\n", name, Labels(labels), FormatExact(std::exp(logs)));
    }
  }
  return text;
}

}  // namespace

std::string WriteOpenMetrics(const GateReport& report, const FactorTable& table) {
  std::string factors;
  for (const FactorType& type : AllFactors())
    factors += ValuesOf(table, Quantity::Of(type.factor), "farscale_factor", true);
  std::string text = Family("farscale_factor", "gauge", "Efficiency factors, mean of the runs.") + factors;
  const std::string time = "farscale_time_per_iteration_seconds";
  text += Family(time, "gauge", "Time of an iteration of the phase, mean of the runs.", "seconds");
  text += ValuesOf(table, Quantity::TimePerIteration(), time, false);
  const std::string state = "farscale_gate_verdict";
  text += Family(state, "stateset", "What the rules of the gate say.");
  constexpr Verdict kVerdicts[] = {Verdict::kPass, Verdict::kWarn, Verdict::kFail, Verdict::kUndecided};
  std::set<std::string> seen;
  for (const Judgement& judgement : report.judgements) {
    std::string cores;
    for (const double count : judgement.cores) cores += fmt::format("{}{:.0f}", cores.empty() ? "" : ",", count);
    std::vector<std::pair<std::string, std::string>> labels = {{"rule", report.RuleOf(judgement).text},
                                                               {"where", report.RuleOf(judgement).where},
                                                               {"series", judgement.series},
                                                               {"phase", judgement.phase.name},
                                                               {"factor", IdOf(judgement.quantity)},
                                                               {"cores", cores},
                                                               {"check", judgement.is_change ? "change" : "level"}};
    if (judgement.phase.IsGroup()) labels.emplace_back("group", judgement.phase.group);
    if (!seen.insert(Labels(labels)).second) continue;
    for (const Verdict verdict : kVerdicts) {
      labels.emplace_back(state, IdOf(verdict));
      text += fmt::format("{}{} {}\n", state, Labels(labels), judgement.verdict == verdict ? 1 : 0);
      labels.pop_back();
    }
  }
  text += Family("farscale_gate_judgements", "gauge", "Judgements of the gate by verdict.");
  for (const Verdict verdict : kVerdicts) {
    text += fmt::format("farscale_gate_judgements{} {}\n", Labels({{"verdict", IdOf(verdict)}}), report.Count(verdict));
  }
  return text + "# EOF\n";
}

}  // namespace farscale
