#include <fmt/format.h>

#include "base/text.h"
#include "factors/scaling.h"
#include "gate/outputs.h"

namespace farscale {
namespace {

// Text that stays text in a cell of a Markdown table, whatever a phase is called.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    switch (c) {
      case '&': cell += "&amp;"; break;
      case '<': cell += "&lt;"; break;
      case '>': cell += "&gt;"; break;
      case '\n':
      case '\r': cell += ' '; break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '@':
      case '#':
      case '\\': cell += fmt::format("&#{};", static_cast<int>(c)); break;
      default: cell += c;
    }
  }
  return cell;
}

const char* Mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "✅ pass";
    case Verdict::kWarn: return "⚠️ warn";
    case Verdict::kFail: return "❌ fail";
    default: return "❔ not enough evidence";
  }
}

std::string Row(const Judgement& judgement) {
  const JudgementCells cells = CellsOf(judgement);
  std::string blame = judgement.blame ? NameOf(*judgement.blame) : "";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", Mark(judgement.verdict), Cell(cells.phase),
                     cells.factor, cells.cores, cells.baseline, cells.value, cells.change, Cell(cells.bound), blame);
}

constexpr const char* kHead =
    "| Verdict | Phase | Factor | Cores | Baseline | Value | Change | Allowed | To blame |\n"
    "|---|---|---|---:|---:|---:|---:|---:|---|\n";

}  // namespace

std::string WriteGateMarkdown(const GateReport& report) {
  // The comment lets a bot find and renew what it wrote.
  std::string text = "<!-- farscale gate -->\n## " + SummaryOf(report) + "\n\n";
  for (const std::string& doubt : DoubtsOf(report.findings)) text += "**⚠️ " + Cell(doubt) + "**\n\n";
  std::string open, passed;
  for (const Judgement& judgement : report.judgements) {
    (judgement.verdict == Verdict::kPass ? passed : open) += Row(judgement);
  }
  if (!open.empty()) text += kHead + open + "\n";
  bool has_sentences = false;
  for (const Judgement& judgement : report.judgements) {
    const bool is_said = judgement.verdict != Verdict::kPass || !judgement.superlinear.empty();
    if (!is_said) continue;
    text += "- " + Cell(judgement.sentence) + "\n";
    has_sentences = true;
  }
  if (has_sentences) text += "\n";
  if (!passed.empty()) {
    text += fmt::format("<details><summary>{} passed</summary>\n\n{}{}\n</details>\n\n", report.Count(Verdict::kPass),
                        kHead, passed);
  }
  text += fmt::format("Results: {}. Rules: {}. Baseline: {}.\n", Cell(report.results), Cell(report.rules),
                      report.baseline.empty() ? "none" : Cell(report.baseline));
  return text;
}

}  // namespace farscale
