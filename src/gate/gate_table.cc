#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "gate/judging.h"
#include "gate/outputs.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

// "-5.1 %".
std::string SignedPercent(double change) {
  const std::string text = fmt::format("{:+.1f} %", 100 * change);
  return text == "-0.0 %" ? "+0.0 %" : text;
}

std::string Counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string BoundInWords(const Judgement& judgement) {
  if (!judgement.bound) return "";
  const bool is_time = judgement.quantity.IsTime();
  if (judgement.check == Judgement::Check::kChange) {
    return fmt::format("{}{:.4g} %", is_time ? "+" : "-", 100 * *judgement.bound);
  }
  return (is_time ? "<= " : ">= ") + FormatQuantity(judgement.quantity, *judgement.bound);
}

}  // namespace

JudgementCells CellsOf(const Judgement& judgement) {
  JudgementCells cells;
  const std::string phase = judgement.phase.Text();
  cells.phase = judgement.series + (judgement.series.empty() || phase.empty() ? "" : ": ") + phase;
  if (cells.phase.empty()) cells.phase = "-";
  cells.factor = IdOf(judgement.quantity);
  std::vector<std::string> counts;
  for (const double cores : judgement.cores) counts.push_back(FormatCores(cores));
  cells.cores = counts.empty() ? "-" : counts.size() > 4 ? counts.front() + " to " + counts.back() : Join(counts, ", ");
  cells.baseline = judgement.before ? FormatQuantity(judgement.quantity, *judgement.before) : "-";
  cells.value = judgement.value ? FormatQuantity(judgement.quantity, *judgement.value) : "-";
  if (judgement.value && judgement.is_projected) cells.value += " projected";
  cells.change = judgement.change ? SignedPercent(*judgement.change) : "-";
  cells.bound = judgement.bound ? BoundInWords(judgement) : "-";
  return cells;
}

std::string SummaryOf(const GateReport& report) {
  std::vector<std::string> counts;
  const std::size_t failed = report.Count(Verdict::kFail), warned = report.Count(Verdict::kWarn),
                    unknown = report.Count(Verdict::kNoEvidence), passed = report.Count(Verdict::kPass);
  if (failed > 0) counts.push_back(fmt::format("{} failed", failed));
  if (warned > 0) counts.push_back(Counted(warned, "warning", "warnings"));
  if (unknown > 0) counts.push_back(fmt::format("{} without enough evidence", unknown));
  if (report.AllRulesOff()) {
    counts.emplace_back("nothing judged, every rule is off");
  } else {
    counts.push_back(fmt::format("{} passed", passed));
  }
  const std::size_t off = report.rule_set.rules_off;
  if (off > 0 && !report.AllRulesOff()) counts.push_back(Counted(off, "rule off", "rules off"));
  const char* head = "";
  switch (report.Overall()) {
    case Verdict::kFail: head = "Gate failed"; break;
    case Verdict::kNoEvidence: head = "Gate undecided, not enough evidence"; break;
    case Verdict::kWarn: head = "Gate passed with warnings"; break;
    case Verdict::kPass: head = "Gate passed"; break;
  }
  return fmt::format("{}: {}.", head, Join(counts, ", "));
}

std::string WriteGateTable(const GateReport& report) {
  std::string text = fmt::format("Results   {}\nRules     {}\n", report.results, report.rules);
  text += fmt::format("Baseline  {}\n\n", report.baseline.empty() ? "none" : report.baseline);
  for (const std::string& doubt : DoubtsOf(report.findings)) text += "Warning: " + doubt + "\n\n";
  std::vector<std::vector<std::string>> rows = {{"verdict", "", "", "cores", "baseline", "value", "change", "allowed"}};
  for (const Judgement& judgement : report.judgements) {
    const JudgementCells cells = CellsOf(judgement);
    rows.push_back({judgement.verdict == Verdict::kNoEvidence ? "evidence?" : InWords(judgement.verdict), cells.phase,
                    cells.factor, cells.cores, cells.baseline, cells.value, cells.change, cells.bound});
  }
  if (rows.size() > 1) text += FormatTable(rows) + "\n";
  for (const Verdict verdict : {Verdict::kFail, Verdict::kNoEvidence, Verdict::kWarn}) {
    for (const Judgement& judgement : report.judgements) {
      if (judgement.verdict == verdict) text += fmt::format("{}: {}\n", InWords(verdict), judgement.sentence);
    }
  }
  for (const Judgement& judgement : report.judgements) {
    const bool is_said = judgement.verdict != Verdict::kPass || judgement.superlinear.empty();
    if (!is_said) text += fmt::format("{}: {}\n", InWords(judgement.verdict), judgement.sentence);
  }
  return text + SummaryOf(report) + "\n";
}

}  // namespace farscale
