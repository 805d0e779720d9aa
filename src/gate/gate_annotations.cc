#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "gate/outputs.h"

namespace farscale {
namespace {

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

std::string TitleOf(const Judgement& judgement) {
  const JudgementCells cells = CellsOf(judgement);
  return fmt::format("{} of {}: {}", cells.factor, cells.phase, InWords(judgement.verdict));
}

bool IsError(const GateReport& report, const Judgement& judgement) {
  return judgement.verdict == Verdict::kFail ||
         (judgement.verdict == Verdict::kNoEvidence && report.RuleOf(judgement).severity == RuleSeverity::kError);
}

}  // namespace

std::string WriteGithubAnnotations(const GateReport& report) {
  std::string text;
  for (const Judgement& judgement : report.judgements) {
    if (judgement.verdict == Verdict::kPass) continue;
    // GitHub marks a line of the repository, or none; results are seldom part of it.
    const Place place = PlaceOf(report, report.RuleOf(judgement));
    const std::string mark =
        report.rule_set.is_built_in ? "" : fmt::format("file={},line={},", EscapeCommand(place.file, true), place.line);
    text += fmt::format("::{} {}title={}::{}\n", IsError(report, judgement) ? "error" : "warning", mark,
                        EscapeCommand(TitleOf(judgement), true), EscapeCommand(judgement.sentence, false));
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
    // Of what is judged, not of its value: the same finding in the next commit is the same to GitLab.
    std::string what = rule.text + '\n' + judgement.series + '\n' + judgement.phase.name;
    if (judgement.phase.IsGroup()) what += '\n' + judgement.phase.group;
    for (const double cores : judgement.cores) what += fmt::format("\n{}", cores);
    list.push_back({{"description", judgement.sentence},
                    {"check_name", "farscale." + IdOf(judgement.quantity)},
                    {"fingerprint", fmt::format("{:016x}{:016x}", SeedFor(0, what), SeedFor(1, what))},
                    {"severity", judgement.verdict == Verdict::kFail         ? "critical"
                                 : judgement.verdict == Verdict::kNoEvidence ? "minor"
                                                                             : "major"},
                    {"location", {{"path", place.file}, {"lines", {{"begin", place.line}}}}}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
