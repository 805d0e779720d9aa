#include <cmath>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "results/factor_table_json.h"
#include "gate/outputs.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const GateReport& report, const Judgement& judgement) {
  const Rule& rule = report.RuleOf(judgement);
  Json json = {{"verdict", IdOf(judgement.verdict)},
               {"rule", rule.text},
               {"where", rule.where},
               {"severity", rule.severity == RuleSeverity::kError ? "error" : "warn"},
               {"series", judgement.series}};
  AddPhase(judgement.phase, json);
  json.update({{"factor", IdOf(judgement.quantity)},
               {"check", judgement.check == Judgement::Check::kLevel ? "level" : "change"},
               {"cores", judgement.cores},
               {"isProjected", judgement.is_projected},
               {"runs", judgement.runs},
               {"sentence", judgement.sentence}});
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) json[key] = *value;
  };
  add("value", judgement.value);
  add("bound", judgement.bound);
  add("baseline", judgement.before);
  add("change", judgement.change);
  if (judgement.interval && std::isfinite(judgement.interval->low) && std::isfinite(judgement.interval->high)) {
    json["interval"] = {judgement.interval->low, judgement.interval->high};
    json["confidence"] = judgement.confidence;
  }
  if (judgement.blame) {
    json["blame"] = {{"factor", IdOf(*judgement.blame)},
                     {"effect", std::exp(judgement.blame->effect) - 1},
                     {"share", judgement.blame->share}};
  }
  return json;
}

}  // namespace

std::string WriteGateJson(const GateReport& report) {
  Json json = {{"format", "farscale-gate"},
               {"version", kGateVersion},
               {"generator", Generator()},
               {"results", report.results},
               {"rules", report.rules},
               {"baseline", report.baseline},
               {"verdict", IdOf(report.Overall())},
               {"exitCode", report.ExitCode()},
               {"summary", SummaryOf(report)},
               {"rulesOff", report.rule_set.rules_off},
               {"judgements", Json::array()}};
  for (const Judgement& judgement : report.judgements) json["judgements"].push_back(ToJson(report, judgement));
  json["diagnostics"] = FindingsToJson(report.findings);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
