#include "report/allocation/latex.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "pages/latex.h"
#include "report/allocation/pages.h"
#include "report/allocation/text.h"

namespace farscale {
namespace {

constexpr std::size_t kHeadingLines = 3, kShortHeading = 13;

// As DescribeMeasurement writes them, and in LaTeX.
constexpr std::pair<std::string_view, std::string_view> kFormulas[] = {
    {"E = p₀ T₀ / (p T)", "$E = p_0 T_0 / (p\\,T)$"},
    {"E = T₀ / T", "$E = T_0 / T$"},
    {"S = T₀ / T", "$S = T_0 / T$"},
    {"p₀ T₀ / (p T)", "$p_0 T_0 / (p\\,T)$"},
    {"T₀ / T", "$T_0 / T$"},
    {"p and T elsewhere", "$p$ and $T$ elsewhere"},
    {"and T elsewhere", "and $T$ elsewhere"},
    {"p₀", "$p_0$"},
    {"T₀", "$T_0$"},
};

// A heading in lines, so that columns of LaTeX stay narrow: what stands before a comma, then the words behind it.
std::vector<std::string> LinesOf(const std::string& heading) {
  const std::size_t comma = heading.find(", ");
  std::vector<std::string> lines =
      comma == std::string::npos ? Split(heading, ' ') : std::vector{heading.substr(0, comma)};
  if (comma == std::string::npos) return lines;
  const std::string rest = heading.substr(comma + 2);
  if (rest.size() < kShortHeading) {
    lines.push_back(rest);
    return lines;
  }
  for (const std::string& word : Split(rest, ' ')) {
    if (lines.size() < kHeadingLines) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
  }
  return lines;
}

std::string HeaderOf(const AllocationTable& table) {
  std::vector<std::string> headings(kHeadingLines);
  for (const std::string& heading : table.header) {
    const std::vector<std::string> lines = LinesOf(heading);
    for (std::size_t i = 0; i < kHeadingLines; ++i)
      headings[i] += " & " + (i < lines.size() ? EscapeLatex(lines[i]) : "");
  }
  std::string text;
  for (const std::string& line : headings) {
    if (line.find_first_not_of(" &") != std::string::npos) text += line + " \\\\\n";
  }
  return text;
}

// A row, and its intervals in one below where it has any. What was not measured is in italics.
std::string RowOf(const AllocationLine& line) {
  std::string values = line.is_measured ? EscapeLatex(line.source) : "\\textit{" + EscapeLatex(line.source) + "}",
              intervals;
  bool has_intervals = false;
  for (const AllocationCell& cell : line.cells) {
    const std::string value = EscapeLatex(cell.text);
    values += " & " + (line.is_measured   ? value
                       : line.is_evidence ? "\\textit{" + value + "}"
                                          : "{\\scriptsize\\itshape " + value + "}");
    intervals += " & " + (cell.interval.empty() ? "" : "{\\scriptsize " + EscapeLatex(cell.interval) + "}");
    has_intervals = has_intervals || !cell.interval.empty();
  }
  return values + " \\\\\n" + (has_intervals ? intervals + " \\\\\n" : "");
}

std::string TabularOf(const AllocationTable& table) {
  std::string text =
      "\\begin{tabular}{l" + std::string(table.header.size(), 'r') + "}\n\\hline\n" + HeaderOf(table) + "\\hline\n";
  bool was_measured = true;
  for (const AllocationLine& line : table.lines) {
    if (was_measured && !line.is_measured) text += "\\hline\n";
    was_measured = line.is_measured;
    text += RowOf(line);
  }
  return text + "\\hline\n\\end{tabular}";
}

// Escaped, with the formulas of the words in mathematics.
std::string EscapeWithFormulas(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = text.size();
    const std::pair<std::string_view, std::string_view>* next = nullptr;
    for (const auto& formula : kFormulas) {  // the longest first where two begin at the same place
      const std::size_t found = text.find(formula.first, at);
      if (found < begin) begin = found, next = &formula;
    }
    escaped += EscapeLatex(text.substr(at, begin - at));
    if (next == nullptr) break;
    escaped += next->second;
    at = begin + next->first.size();
  }
  return escaped;
}

}  // namespace

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string WriteAllocationTable(const Results& results, const AllocationPack& pack) {
  std::string text = "% " + OneLine(ToUtf8(results.title)) +
                     "\n% For \\input into a table; needs no package. Below numbers: 80 % intervals.\n"
                     "{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n";
  std::vector<AllocationColumns> parts;
  if (HasSizes(pack)) parts.push_back(AllocationColumns::kProblem);
  parts.push_back(AllocationColumns::kScaling);
  if (HasTimes(pack)) parts.push_back(AllocationColumns::kCosts);
  for (const AllocationColumns part : parts) {
    text +=
        (part == parts.front() ? "" : "\n\n\\medskip\n") + TabularOf(TabulateAllocation(pack, results.problem, part));
  }
  if (!pack.superlinear.empty()) text += "\n\n\\smallskip\n" + EscapeLatex(pack.superlinear) + "\n";
  return text + "\\par}\n";
}

std::string WriteAllocationText(const Results& results, const AllocationPack& pack) {
  std::string text =
      "% The text of an application for computing time; for \\input. Needs no package.\n\\begin{description}\n";
  for (const auto& [name, value] : FactsOf(results, pack)) {
    text += "\\item[" + EscapeLatex(name) + "] " + EscapeLatex(value) + "\n";
  }
  text += "\\end{description}\n\n";
  if (!pack.contradictions.empty()) text += "\\paragraph{Contradictions.}\n";
  for (const std::string& sentence : pack.contradictions) text += "\\textbf{" + EscapeLatex(sentence) + "}\n\n";
  text += "\\paragraph{Recommended job size.}\n";
  for (const std::string& sentence : DescribeRecommendation(pack)) text += EscapeLatex(sentence) + "\n";
  text += "\n\\paragraph{Method.}\n" + EscapeWithFormulas(DescribeMeasurement(results, pack)) + "\n\n" +
          EscapeLatex(DescribePrediction(results, pack)) + "\n";
  if (!pack.missing.empty()) text += "\n% What is missing:\n";
  for (const std::string& sentence : pack.missing) text += "% - " + OneLine(sentence) + "\n";
  return text;
}

}  // namespace farscale
