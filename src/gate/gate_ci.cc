// Verdicts for CI servers: annotations of GitHub and GitLab, and JUnit.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "gate/judging.h"
#include "gate/outputs.h"

namespace farscale {
namespace {

// A test of a CI server. An undecided rule is an error, like a test that did not finish, unless it only warns.
enum class Outcome { kPassed, kFailed, kError, kSkipped };

Outcome OutcomeOf(const GateReport& report, const Judgement& judgement) {
  if (judgement.verdict == Verdict::kFail) return Outcome::kFailed;
  if (judgement.verdict != Verdict::kUndecided) return Outcome::kPassed;
  return report.RuleOf(judgement).severity == RuleSeverity::kError ? Outcome::kError : Outcome::kSkipped;
}

struct Place {
  std::string file;
  long long line = 1;
};

// "gate.toml:12" apart. Built-in rules stand in no file of the repository; there the results have to do.
Place PlaceOf(const GateReport& report, const Rule& rule) {
  if (report.rule_set.is_built_in) return {report.results_file, 1};
  const std::size_t colon = rule.where.rfind(':');
  Place place{rule.where, 1};
  if (colon != std::string::npos && ParseInteger(rule.where.substr(colon + 1), place.line)) {
    place.file = rule.where.substr(0, colon);
  }
  return place;
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

std::string CaseOf(const GateReport& report, const Judgement& judgement) {
  const std::string sentence = EscapeXml(judgement.sentence);
  std::string outcome;
  switch (OutcomeOf(report, judgement)) {
    case Outcome::kFailed: outcome = fmt::format("      <failure message=\"{}\" type=\"fail\"/>\n", sentence); break;
    case Outcome::kError:
      outcome = fmt::format("      <error message=\"{}\" type=\"notEnoughEvidence\"/>\n", sentence);
      break;
    case Outcome::kSkipped: outcome = fmt::format("      <skipped message=\"{}\"/>\n", sentence); break;
    case Outcome::kPassed: break;
  }
  const JudgementCells cells = CellsOf(judgement);
  const std::string name = fmt::format("{} at {}", report.RuleOf(judgement).text, CoresInWords(judgement.cores));
  return fmt::format(
      "    <testcase name=\"{}\" classname=\"farscale.{}.{}\">\n{}      <system-out>{}{}</system-out>\n"
      "    </testcase>\n",
      EscapeXml(name), EscapeXml(cells.phase), cells.factor, outcome,
      judgement.verdict == Verdict::kWarn ? "warning: " : "", sentence);
}

}  // namespace

std::string WriteGateJunit(const GateReport& report) {
  std::map<std::size_t, std::vector<const Judgement*>> by_rule;
  std::map<Outcome, std::size_t> all;
  for (const Judgement& judgement : report.judgements) {
    by_rule[judgement.rule].push_back(&judgement);
    ++all[OutcomeOf(report, judgement)];
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"farscale gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
      report.judgements.size(), all[Outcome::kFailed], all[Outcome::kError]);
  for (const auto& [rule, judgements] : by_rule) {
    std::map<Outcome, std::size_t> counts;
    std::string cases;
    for (const Judgement* judgement : judgements) {
      cases += CaseOf(report, *judgement);
      ++counts[OutcomeOf(report, *judgement)];
    }
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n",
        EscapeXml(report.rule_set.rules[rule].text), judgements.size(), counts[Outcome::kFailed],
        counts[Outcome::kError], counts[Outcome::kSkipped], cases);
  }
  return text + "</testsuites>\n";
}

std::string WriteGithubAnnotations(const GateReport& report) {
  std::string text;
  for (const Judgement& judgement : report.judgements) {
    if (judgement.verdict == Verdict::kPass) continue;
    const Outcome outcome = OutcomeOf(report, judgement);
    const bool is_error = outcome == Outcome::kFailed || outcome == Outcome::kError;
    // GitHub marks a line of the repository, or none; results are seldom part of it.
    const Place place = PlaceOf(report, report.RuleOf(judgement));
    const std::string mark =
        report.rule_set.is_built_in ? "" : fmt::format("file={},line={},", EscapeCommand(place.file, true), place.line);
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
    const Place place = PlaceOf(report, rule);
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
                    {"location", {{"path", place.file}, {"lines", {{"begin", place.line}}}}}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
