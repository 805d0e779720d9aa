// Verdicts as text: a table for the terminal, Markdown for a pull request, and a badge.
#include <fmt/format.h>

#include <cmath>

#include "base/format.h"
#include "base/text.h"
#include "factors/scaling.h"
#include "gate/judging.h"
#include "gate/outputs.h"
#include "pages/text_table.h"
#include "plot/svg.h"

namespace farscale {
namespace {

// About the width of a letter of Verdana, at 11 pixels; chosen: text in badges is stretched to it.
constexpr double kBadgeLetter = 6.7;
constexpr int kBadgeHeight = 20;

// How outputs show a verdict.
struct VerdictStyle {
  Verdict verdict;
  const char* mark;     // in Markdown
  const char* summary;  // of a whole gate
  const char* badge;
  const char* color;
};

const VerdictStyle& StyleOf(Verdict verdict) {
  static constexpr VerdictStyle kStyles[] = {
      {Verdict::kPass, "✅ pass", "Gate passed", "passed", "#2e7d32"},
      {Verdict::kWarn, "⚠️ warn", "Gate passed with warnings", "passed with warnings", "#8a5a00"},
      {Verdict::kFail, "❌ fail", "Gate failed", "failed", "#b3261e"},
      {Verdict::kUndecided, "❔ not enough data", "Gate undecided, not enough data", "not enough data", "#5f6368"}};
  return *std::ranges::find(kStyles, verdict, &VerdictStyle::verdict);
}

// "-5.1 %".
std::string SignedPercent(double change) {
  const std::string text = fmt::format("{:+.1f} %", 100 * change);
  return text == "-0.0 %" ? "+0.0 %" : text;
}

std::string Counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string BoundText(const Judgement& judgement) {
  const bool is_time = judgement.quantity.IsTime();
  if (judgement.check == Judgement::Check::kChange) {
    return fmt::format("{}{:.4g} %", is_time ? "+" : "-", 100 * *judgement.bound);
  }
  return (is_time ? "<= " : ">= ") + FormatQuantity(judgement.quantity, *judgement.bound);
}

// A sentence is printed for what did not pass, and for what needs an explanation although it passed.
bool HasSentence(const Judgement& judgement) {
  return judgement.verdict != Verdict::kPass || !judgement.superlinear.empty();
}

// Escaped for a cell of a Markdown table on GitHub and GitLab.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    const bool is_special = std::string_view("&<>|`*_[]@#\\").find(c) != std::string_view::npos;
    cell += is_special ? fmt::format("&#{};", static_cast<int>(c)) : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
  }
  return cell;
}

std::string Row(const Judgement& judgement) {
  const JudgementCells cells = CellsOf(judgement);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", StyleOf(judgement.verdict).mark,
                     Cell(cells.phase), cells.factor, cells.cores, cells.baseline, cells.value, cells.change,
                     Cell(cells.bound), judgement.blame ? NameOf(*judgement.blame) : "");
}

constexpr const char* kHead =
    "| Verdict | Phase | Factor | Cores | Baseline | Value | Change | Allowed | To blame |\n"
    "|---|---|---|---:|---:|---:|---:|---:|---|\n";

}  // namespace

JudgementCells CellsOf(const Judgement& judgement) {
  const std::string phase = judgement.phase.Text();
  const auto format = [&](const std::optional<double>& value) {
    return value ? FormatQuantity(judgement.quantity, *value) : "-";
  };
  JudgementCells cells;
  cells.phase = judgement.series + (judgement.series.empty() || phase.empty() ? "" : ": ") + phase;
  if (cells.phase.empty()) cells.phase = "-";
  cells.factor = IdOf(judgement.quantity);
  std::vector<std::string> counts;
  for (const double cores : judgement.cores) counts.push_back(FormatCores(cores));
  cells.cores = counts.empty() ? "-" : counts.size() > 4 ? counts.front() + " to " + counts.back() : Join(counts, ", ");
  cells.baseline = format(judgement.before);
  cells.value = format(judgement.value);
  if (judgement.value && judgement.is_projected) cells.value += " projected";
  cells.change = judgement.change ? SignedPercent(*judgement.change) : "-";
  cells.bound = judgement.bound ? BoundText(judgement) : "-";
  return cells;
}

std::string SummaryOf(const GateReport& report) {
  std::vector<std::string> counts;
  const std::size_t failed = report.Count(Verdict::kFail), warned = report.Count(Verdict::kWarn),
                    unknown = report.Count(Verdict::kUndecided), off = report.rule_set.rules_off;
  if (failed > 0) counts.push_back(fmt::format("{} failed", failed));
  if (warned > 0) counts.push_back(Counted(warned, "warning", "warnings"));
  if (unknown > 0) counts.push_back(fmt::format("{} without enough data", unknown));
  counts.push_back(report.AllRulesOff() ? "nothing judged, every rule is off"
                                        : fmt::format("{} passed", report.Count(Verdict::kPass)));
  if (off > 0 && !report.AllRulesOff()) counts.push_back(Counted(off, "rule off", "rules off"));
  return fmt::format("{}: {}.", StyleOf(report.Overall()).summary, Join(counts, ", "));
}

std::string WriteGateTable(const GateReport& report) {
  std::string text = fmt::format("Results   {}\nRules     {}\nBaseline  {}\n\n", report.results, report.rules,
                                 report.baseline.empty() ? "none" : report.baseline);
  for (const std::string& doubt : DoubtsOf(report.findings)) text += "Warning: " + doubt + "\n\n";
  std::vector<std::vector<std::string>> rows = {{"verdict", "", "", "cores", "baseline", "value", "change", "allowed"}};
  for (const Judgement& judgement : report.judgements) {
    const JudgementCells cells = CellsOf(judgement);
    rows.push_back({judgement.verdict == Verdict::kUndecided ? "undecided" : ToText(judgement.verdict), cells.phase,
                    cells.factor, cells.cores, cells.baseline, cells.value, cells.change, cells.bound});
  }
  if (rows.size() > 1) text += FormatTable(rows) + "\n";
  for (const Verdict verdict : {Verdict::kFail, Verdict::kUndecided, Verdict::kWarn, Verdict::kPass}) {
    for (const Judgement& judgement : report.judgements) {
      if (judgement.verdict != verdict || !HasSentence(judgement)) continue;
      text += fmt::format("{}: {}\n", ToText(verdict), judgement.sentence);
    }
  }
  return text + SummaryOf(report) + "\n";
}

std::string WriteGateMarkdown(const GateReport& report) {
  // The comment lets a bot find and replace its earlier text.
  std::string text = "<!-- farscale gate -->\n## " + SummaryOf(report) + "\n\n";
  for (const std::string& doubt : DoubtsOf(report.findings)) text += "**⚠️ " + Cell(doubt) + "**\n\n";
  std::string open, passed, sentences;
  for (const Judgement& judgement : report.judgements) {
    (judgement.verdict == Verdict::kPass ? passed : open) += Row(judgement);
    if (HasSentence(judgement)) sentences += "- " + Cell(judgement.sentence) + "\n";
  }
  if (!open.empty()) text += kHead + open + "\n";
  if (!sentences.empty()) text += sentences + "\n";
  if (!passed.empty()) {
    text += fmt::format("<details><summary>{} passed</summary>\n\n{}{}\n</details>\n\n", report.Count(Verdict::kPass),
                        kHead, passed);
  }
  return text + fmt::format("Results: {}. Rules: {}. Baseline: {}.\n", Cell(report.results), Cell(report.rules),
                            report.baseline.empty() ? "none" : Cell(report.baseline));
}

std::string WriteGateBadge(const GateReport& report) {
  const VerdictStyle& style = StyleOf(report.Overall());
  const std::string label = "scaling gate", message = report.AllRulesOff() ? "nothing judged" : style.badge;
  const auto width_of = [](const std::string& text) { return kBadgeLetter * static_cast<double>(text.size()); };
  const double left = 14 + width_of(label), right = 14 + width_of(message);
  const auto text = [&](double x, const std::string& words) {
    return fmt::format("<text x=\"{}\" y=\"14\" fill=\"#ffffff\" text-anchor=\"middle\" textLength=\"{}\">{}</text>",
                       Pixel(x), Pixel(width_of(words)), words);
  };
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}: {3}\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
      "<title>{2}: {3}</title><desc>{4}</desc>"
      "<clipPath id=\"r\"><rect width=\"{0}\" height=\"{1}\" rx=\"3\"/></clipPath><g clip-path=\"url(#r)\">"
      "<rect width=\"{5}\" height=\"{1}\" fill=\"#3c4043\"/>"
      "<rect x=\"{5}\" width=\"{6}\" height=\"{1}\" fill=\"{7}\"/></g>{8}{9}</svg>\n",
      Pixel(left + right), kBadgeHeight, label, message, EscapeXml(SummaryOf(report)), Pixel(left), Pixel(right),
      style.color, text(left / 2, label), text(left + right / 2, message));
}

}  // namespace farscale
