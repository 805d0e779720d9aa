#include "report/allocation/latex.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "plot/latex.h"
#include "report/allocation/figure.h"
#include "report/allocation/pages.h"
#include "report/allocation/text.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr std::size_t kHeadingLines = 3, kShortHeading = 13;

// As allocation_measurement.txt.mustache writes them, and in LaTeX.
constexpr std::pair<std::string_view, std::string_view> kFormulas[] = {
    {"E = p₀ T₀ / (p T)", "$E = p_0 T_0 / (p\\,T)$"},
    {"E = T₀ / T", "$E = T_0 / T$"},
    {"S = T₀ / T", "$S = T_0 / T$"},
    {"p₀ T₀ / (p T)", "$p_0 T_0 / (p\\,T)$"},
    {"T₀ / T", "$T_0 / T$"},
    {"with p cores", "with $p$ cores"},
    {"the time T has", "the time $T$ has"},
    {"speedup is E times", "speedup is $E$ times"},
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

Data HeadingsOf(const AllocationTable& table) {
  Data headings = Data::array();
  for (std::size_t i = 0; i < kHeadingLines; ++i) {
    Data cells = Data::array();
    bool any = false;
    for (const std::string& heading : table.header) {
      const std::vector<std::string> lines = LinesOf(heading);
      cells.push_back(i < lines.size() ? EscapeLatex(lines[i]) : "");
      any = any || i < lines.size();
    }
    if (any) headings.push_back({{"cells", std::move(cells)}});
  }
  return headings;
}

Data RowsOf(const AllocationTable& table) {
  Data rows = Data::array();
  bool was_measured = true;
  for (const AllocationLine& line : table.lines) {
    Data cells = Data::array();
    for (const AllocationCell& cell : line.cells) {
      cells.push_back({{"text", EscapeLatex(cell.text)}, {"interval", EscapeLatex(cell.interval)}});
    }
    rows.push_back(
        {{"source", EscapeLatex(line.source)},
         {"isMeasured", line.is_measured},
         {"isPredicted", !line.is_measured && line.reliability == Reliability::kReliable},
         {"isUncertain", !line.is_measured && line.reliability != Reliability::kReliable},
         {"isFirstPredicted", was_measured && !line.is_measured},
         {"hasIntervals", std::ranges::any_of(line.cells, [](const auto& cell) { return !cell.interval.empty(); })},
         {"cells", std::move(cells)}});
    was_measured = line.is_measured;
  }
  return rows;
}

Data Escaped(const std::vector<std::string>& sentences) {
  Data list = Data::array();
  for (const std::string& sentence : sentences) list.push_back(EscapeLatex(sentence));
  return list;
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

// A blank line ends a paragraph, and within a tabular it is an error before a rule.
std::string WithoutBlankLines(const std::string& text) {
  std::string kept;
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates) {
  Data tables = Data::array();
  std::vector<AllocationColumns> parts = {AllocationColumns::kScaling};
  if (HasSizes(pack)) parts.insert(parts.begin(), AllocationColumns::kProblem);
  if (HasTimes(pack)) parts.push_back(AllocationColumns::kCosts);
  for (const AllocationColumns part : parts) {
    const AllocationTable table = TabulateAllocation(pack, results.problem, part);
    tables.push_back({{"isFirst", tables.empty()},
                      {"header", table.header},
                      {"headings", HeadingsOf(table)},
                      {"rows", RowsOf(table)}});
  }
  const Data data = {{"title", OneLine(ToUtf8(results.title))},
                     {"tables", std::move(tables)},
                     {"superlinear", EscapeLatex(pack.superlinear)}};
  return WithoutBlankLines(RenderTemplate(templates.at("allocation.tex"), data, Escape::kNone, templates));
}

std::string WriteAllocationText(const AllocationText& text, const Partials& templates) {
  Data data = {{"facts", Data::array()},
               {"contradictions", Escaped(text.contradictions)},
               {"hasContradictions", !text.contradictions.empty()},
               {"recommendation", Escaped(text.recommendation)},
               {"method", {EscapeWithFormulas(text.measurement), EscapeLatex(text.prediction)}},
               {"missing", text.missing},
               {"hasMissing", !text.missing.empty()}};
  for (const auto& [name, value] : text.facts) {
    data["facts"].push_back({{"name", EscapeLatex(name)}, {"value", EscapeLatex(value)}});
  }
  return RenderTemplate(templates.at("allocation_text.tex"), data, Escape::kNone, templates);
}

std::string WriteAllocationPage(const Results& results, const AllocationPack& pack, const Partials& templates) {
  Chart chart = SpeedupChart(pack);
  chart.width = 560;
  chart.height = HasSizes(pack) ? 220 : 330;  // there is a table more
  const Data data = {{"title", EscapeLatex(results.title)}, {"figure", RenderTikzPicture(chart)}};
  return RenderTemplate(templates.at("allocation_page.tex"), data, Escape::kNone, templates);
}

}  // namespace farscale
