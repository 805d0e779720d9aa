// Verdicts as text: a table for the terminal, Markdown for a pull request, and a badge.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/diagnostics.h"
#include "base/terminal.h"
#include "factors/scaling.h"
#include "gate/rules.h"
#include "gate/verdicts.h"
#include "pages/text_table.h"
#include "plot/canvas.h"

namespace farscale {
namespace {

// About the width of a letter of Verdana, at 11 pixels; chosen: text in badges is stretched to it.
constexpr double kBadgeLetter = 6.7;
constexpr int kBadgeHeight = 20;
constexpr std::size_t kOthersNamed = 3;  // in a comment, beside the worst; chosen: all of it fits 15 lines
constexpr double kLeastRange = 0.03;     // relative range of a sparkline; chosen: noise must not fill it

struct VerdictStyle {
  Verdict verdict;
  const char* mark;     // in Markdown
  const char* summary;  // for the whole gate
  const char* badge;
  const char* color;
};

const VerdictStyle& FindStyle(Verdict verdict) {
  static constexpr VerdictStyle kStyles[] = {
      {Verdict::kPass, "✅ pass", "Gate passed", "passed", "#2e7d32"},
      {Verdict::kWarn, "⚠️ warn", "Gate passed with warnings", "passed with warnings", "#8a5a00"},
      {Verdict::kFail, "❌ fail", "Gate failed", "failed", "#b3261e"},
      {Verdict::kUndecided, "❔ not enough data", "Gate undecided, not enough data", "not enough data", "#5f6368"}};
  return *std::ranges::find(kStyles, verdict, &VerdictStyle::verdict);
}

std::string Counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
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

// Eighths of a block, from the smallest to the largest; what changes by less than a bound allows stays below it.
std::string Sparkline(const Judgement& judgement) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [low, high] = std::minmax_element(judgement.course.begin(), judgement.course.end());
  const bool is_change = judgement.is_change;
  const double range = std::max(*high - *low, *high * (is_change && judgement.bound ? *judgement.bound : kLeastRange));
  std::string line;
  for (const double value : judgement.course) {
    line += kBlocks[static_cast<std::size_t>(std::round(7 * (range > 0 ? (value - *low) / range : 0)))];
  }
  return line;
}

// Judgements that did not pass, the worst first.
std::vector<const Judgement*> WorstFirst(const GateReport& report) {
  std::vector<const Judgement*> open;
  for (const Judgement& judgement : report.judgements) {
    if (judgement.verdict != Verdict::kPass) open.push_back(&judgement);
  }
  const auto rank = [](const Judgement* judgement) {
    return judgement->verdict == Verdict::kFail ? 0 : judgement->verdict == Verdict::kUndecided ? 1 : 2;
  };
  // Among those of the same verdict: how far the value is from where it should be.
  const auto distance = [](const Judgement* judgement) {
    const std::optional<double>& from = judgement->before ? judgement->before : judgement->bound;
    const bool is_known = judgement->value && from && *judgement->value > 0 && *from > 0;
    return is_known ? std::fabs(std::log(*judgement->value / *from)) : 0;
  };
  std::ranges::stable_sort(open, [&](const Judgement* a, const Judgement* b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : distance(a) > distance(b);
  });
  return open;
}

// "2 more did not pass: ❌ solve timePerIteration +5.2 %, …".
std::string OthersInMarkdown(const std::vector<const Judgement*>& open) {
  if (open.size() < 2) return "";
  std::vector<std::string> names;
  for (std::size_t i = 1; i < std::min(open.size(), 1 + kOthersNamed); ++i) {
    const JudgementCells cells = CellsOf(*open[i]);
    const std::string change = cells.change == "-" ? "" : " " + cells.change;
    names.push_back(
        fmt::format("{}: {} {}{}", FindStyle(open[i]->verdict).mark, Cell(cells.phase), cells.factor, change));
  }
  if (open.size() > 1 + kOthersNamed) names.push_back(fmt::format("{} others", open.size() - 1 - kOthersNamed));
  return fmt::format("{} more did not pass: ", open.size() - 1) + Join(names, "; ") + "\n\n";
}

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
  cells.change = judgement.change ? fmt::format("{:+.1f} %", 100 * *judgement.change) : "-";
  if (cells.change == "-0.0 %") cells.change = "+0.0 %";
  const bool is_time = judgement.quantity.IsTime();
  cells.bound = !judgement.bound      ? "-"
                : judgement.is_change ? fmt::format("{}{:.4g} %", is_time ? "+" : "-", 100 * *judgement.bound)
                                      : (is_time ? "<= " : ">= ") + format(judgement.bound);
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
  return fmt::format("{}: {}.", FindStyle(report.Overall()).summary, Join(counts, ", "));
}

std::string WriteGateTable(const GateReport& report, std::size_t width) {
  std::string text;
  const auto add = [&](const std::string& sentence) {
    for (const std::string& line : WrapText(sentence, width, "  ")) text += line + "\n";
  };
  add(SummaryOf(report));
  for (const std::string& doubt : DoubtsOf(report.findings)) add("Warning: " + doubt);
  for (const Verdict verdict : {Verdict::kFail, Verdict::kUndecided, Verdict::kWarn, Verdict::kPass}) {
    for (const Judgement& judgement : report.judgements) {
      // A pass needs a sentence only where it needs an explanation.
      const bool has_sentence = verdict != Verdict::kPass || !judgement.superlinear.empty();
      if (judgement.verdict == verdict && has_sentence) add(ToText(verdict) + ": " + judgement.sentence);
    }
  }
  std::vector<std::vector<std::string>> rows = {{"verdict", "", "", "cores", "baseline", "value", "change", "allowed"}};
  for (const Judgement& judgement : report.judgements) {
    const JudgementCells cells = CellsOf(judgement);
    const bool is_undecided = judgement.verdict == Verdict::kUndecided || judgement.is_hidden_by_noise;
    rows.push_back({is_undecided ? "undecided" : ToText(judgement.verdict), cells.phase, cells.factor, cells.cores,
                    cells.baseline, cells.value, cells.change, cells.bound});
  }
  if (rows.size() > 1) text += "\n" + FormatTable(rows, width);
  return text + fmt::format("\nResults   {}\nRules     {}\nBaseline  {}\n", report.results, report.rules,
                            report.baseline.empty() ? "none" : report.baseline);
}

std::string WriteGateMarkdown(const GateReport& report, const std::string& link) {
  // The comment lets a bot find and replace its earlier text.
  std::string text = "<!-- farscale gate -->\n## " + SummaryOf(report) + "\n\n";
  std::vector<std::string> doubts = DoubtsOf(report.findings);
  if (!doubts.empty()) text += "**⚠️ " + Cell(Join(doubts, "; ")) + "**\n\n";
  const std::vector<const Judgement*> open = WorstFirst(report);
  if (!open.empty()) {  // the one to blame, and the course of its values
    const Judgement& worst = *open.front();
    const JudgementCells cells = CellsOf(worst);
    text += "**" + (cells.phase == "-" ? std::string("Whole run") : Cell(cells.phase));
    if (worst.blame) text += ", " + NameOf(*worst.blame);
    text += ":** " + Cell(worst.sentence) + "\n\n";
    if (worst.course.size() > 1) {
      text += fmt::format("`{}` {} of the last {} commits, the newest on the right\n\n", Sparkline(worst), cells.factor,
                          worst.course.size());
    }
    text += OthersInMarkdown(open);
  }
  const auto superlinear = std::ranges::find_if(report.judgements, [&](const Judgement& judgement) {
    return !judgement.superlinear.empty() && (open.empty() || &judgement != open.front());
  });
  if (superlinear != report.judgements.end()) text += Cell(superlinear->superlinear) + "\n\n";
  text += fmt::format("Results: {}. Rules: {}. Baseline: {}.", Cell(report.results), Cell(report.rules),
                      report.baseline.empty() ? "none" : Cell(report.baseline));
  std::string target;  // characters that end a link in Markdown are escaped as in URLs
  for (const char c : link) {
    const bool ends =
        static_cast<unsigned char>(c) <= ' ' || std::string_view("<>\\").find(c) != std::string_view::npos;
    target += ends ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  if (!link.empty()) text += " [All verdicts and the history](<" + target + ">).";
  return text + "\n";
}

std::string WriteGateBadge(const GateReport& report) {
  const VerdictStyle& style = FindStyle(report.Overall());
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

// Rules in one sentence:
//   FACTOR [of phase NAME] [of group NAME] [of series NAME] [at COUNT, … | measured | targets] BOUND [since NAME]
// where a bound is ">= 0.75", "<= 1.5", "drops at most 3 %" or "rises at most 5 %". Names end where the next part
// begins, or stand in single quotes.

namespace {

constexpr const char* kExample = "write it like 'parallelEfficiency of phase solve at 1024 >= 0.75'";

class Words {
 public:
  Words(const std::string& text, const std::string& where) : text_(text), where_(where) {
    bool quoted = false, in_word = false;
    std::string gap;
    for (const char c : text) {
      if (c == '\'') quoted = !quoted;
      if (!quoted && (c == ' ' || c == '\t' || c == ',')) {
        gap += c;
        in_word = false;
        continue;
      }
      if (!in_word) {
        words_.emplace_back();
        gaps_.push_back(std::exchange(gap, ""));
        in_word = true;
      }
      words_.back() += c;
    }
  }

  bool AtEnd() const { return next_ >= words_.size(); }
  bool Take(const std::vector<std::string>& wanted) {
    if (words_.size() - next_ < wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (words_[next_ + i] != wanted[i]) return false;
    }
    next_ += wanted.size();
    return true;
  }
  bool AtNumber() const {
    double number = 0;
    return !AtEnd() && ParseNumber(words_[next_], number);
  }
  std::string Next(const char* expected) {
    if (AtEnd()) Fail(fmt::format("{} is missing at its end", expected));
    return words_[next_++];
  }
  // Commas between the last word taken and the next.
  std::ptrdiff_t CommasAhead() const { return AtEnd() ? 0 : std::count(gaps_[next_].begin(), gaps_[next_].end(), ','); }
  // The last word taken when the next follows behind a comma alone, as in "1,024".
  std::string GluedBefore() const { return !AtEnd() && next_ > 0 && gaps_[next_] == "," ? words_[next_ - 1] : ""; }
  // Everything up to where another part of a rule begins.
  std::string Name() {
    if (!AtEnd() && words_[next_].front() == '\'') {
      const std::string& word = words_[next_++];
      const std::string name = word.substr(1, word.size() - (word.size() > 1 && word.back() == '\'' ? 2 : 1));
      if (Trim(name).empty()) Fail("a name is empty");
      return name;
    }
    std::vector<std::string> parts;
    while (!AtEnd() && !BeginsPart(next_)) parts.push_back(words_[next_++]);
    if (parts.empty()) Fail("a name is missing");
    return Join(parts, " ");
  }
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorKind::kUsage, where_, fmt::format("the rule \"{}\" cannot be read: {}", text_, what), kExample);
  }

 private:
  bool BeginsPart(std::size_t index) const {
    const std::string& word = words_[index];
    if (word == "at" || word == ">=" || word == "<=" || word == "drops" || word == "rises" || word == "since") {
      return true;
    }
    if (word != "of" || index + 1 == words_.size()) return false;
    return words_[index + 1] == "phase" || words_[index + 1] == "group" || words_[index + 1] == "series";
  }

  std::string text_, where_;
  std::vector<std::string> words_;
  std::vector<std::string> gaps_;  // separators before each word
  std::size_t next_ = 0;
};

// "0.75", "75%" or "75 %".
double ReadNumber(Words& words) {
  std::string word = words.Next("a number");
  bool percent = word.back() == '%';
  if (percent) word.pop_back();
  double value = 0;
  if (!ParseNumber(word, value)) words.Fail(fmt::format("'{}' is no number", word));
  percent = words.Take({"%"}) || percent;
  return percent ? value / 100 : value;
}

void ReadCounts(Words& words, Rule& rule) {
  if (words.Take({"measured"})) {
    rule.counts = Rule::Counts::kMeasured;
    return;
  }
  if (words.Take({"targets"})) {
    rule.counts = Rule::Counts::kTargets;
    return;
  }
  rule.counts = Rule::Counts::kListed;
  if (words.CommasAhead() > 0) words.Fail(kEmptyCoreCount);
  do {
    std::int64_t cores = 0;
    const std::string before = words.GluedBefore();
    const std::string why = WhyNoCoreCount(words.Next("a number of cores"), cores, before);
    if (!why.empty()) words.Fail(why);
    rule.cores.push_back(static_cast<double>(cores));
    if (words.CommasAhead() > 1) words.Fail(kEmptyCoreCount);
    words.Take({"and"});
  } while (words.AtNumber());
  words.Take({"cores"});
}

void ReadPart(Words& words, Rule& rule) {
  const auto set = [&](std::optional<double>& bound, const char* name) {
    if (bound) words.Fail(fmt::format("it says {} twice", name));
    bound = ReadNumber(words);
  };
  if (words.Take({"of", "phase"})) {
    rule.phases.push_back(words.Name());
  } else if (words.Take({"of", "group"})) {
    rule.groups.push_back(words.Name());
  } else if (words.Take({"of", "series"})) {
    rule.series.push_back(words.Name());
  } else if (words.Take({"at"})) {
    ReadCounts(words, rule);
  } else if (words.Take({">="})) {
    set(rule.min, ">=");
  } else if (words.Take({"<="})) {
    set(rule.max, "<=");
  } else if (words.Take({"drops", "at", "most"})) {
    set(rule.max_drop, "how much it drops");
  } else if (words.Take({"rises", "at", "most"})) {
    set(rule.max_rise, "how much it rises");
  } else if (words.Take({"since"})) {
    if (!rule.since.empty()) words.Fail("it says since when twice");
    rule.since = words.Name();
  } else {
    words.Fail(fmt::format("'{}' is not expected there", words.Next("")));
  }
}

}  // namespace

Rule ParseRuleText(const std::string& text, const std::string& where) {
  Words words(text, where);
  Rule rule;
  rule.where = where;
  rule.text = text;
  const std::string id = words.Next("a factor");
  const auto quantity = QuantityById(id);
  if (!quantity) {
    const std::string advice = DidYouMean(id, QuantityIds());
    words.Fail(fmt::format("unknown factor '{}'{}", id, advice.empty() ? "" : ", " + advice));
  }
  rule.quantity = *quantity;
  while (!words.AtEnd()) ReadPart(words, rule);
  for (const std::optional<double>& change : {rule.max_drop, rule.max_rise}) {
    if (change && !(*change >= 0 && *change < 1)) {
      words.Fail("a drop or rise is a share of the baseline, such as 0.03 or 3 %");
    }
  }
  if (const std::string why = rule.min ? WhyNoBound(rule.quantity, *rule.min) : ""; !why.empty()) {
    words.Fail(fmt::format("{}; {}", why, PercentageAdvice(*rule.min)));
  }
  for (const std::optional<double>& bound : {rule.min, rule.max}) {
    if (bound && !(*bound > 0)) words.Fail("a bound must be above 0");
  }
  return rule;
}

}  // namespace farscale
