// OpenMetrics 1.0: families one after the other, each with type and help, every set of labels once, then "# EOF".
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "gate/outputs.h"
#include "gate/commit_series.h"

namespace farscale {
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

std::string VerdictsOf(const GateReport& report) {
  const std::string name = "farscale_gate_verdict";
  std::string text;
  std::set<std::string> seen;
  for (const Judgement& judgement : report.judgements) {
    std::string cores;
    for (const double count : judgement.cores) cores += fmt::format("{}{:.0f}", cores.empty() ? "" : ",", count);
    std::vector<std::pair<std::string, std::string>> labels = {
        {"rule", report.RuleOf(judgement).text},
        {"where", report.RuleOf(judgement).where},
        {"series", judgement.series},
        {"phase", judgement.phase.name},
        {"factor", IdOf(judgement.quantity)},
        {"cores", cores},
        {"check", judgement.check == Judgement::Check::kLevel ? "level" : "change"}};
    if (judgement.phase.IsGroup()) labels.emplace_back("group", judgement.phase.group);
    if (!seen.insert(Labels(labels)).second) continue;
    for (const Verdict verdict : {Verdict::kPass, Verdict::kWarn, Verdict::kFail, Verdict::kUndecided}) {
      labels.emplace_back(name, IdOf(verdict));
      text += fmt::format("{}{} {}\n", name, Labels(labels), judgement.verdict == verdict ? 1 : 0);
      labels.pop_back();
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
  text += Family("farscale_gate_verdict", "stateset", "What the rules of the gate say.") + VerdictsOf(report);
  text += Family("farscale_gate_judgements", "gauge", "Judgements of the gate by verdict.");
  for (const Verdict verdict : {Verdict::kPass, Verdict::kWarn, Verdict::kFail, Verdict::kUndecided}) {
    text += fmt::format("farscale_gate_judgements{} {}\n", Labels({{"verdict", IdOf(verdict)}}), report.Count(verdict));
  }
  return text + "# EOF\n";
}

}  // namespace farscale
