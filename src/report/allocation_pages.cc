#include "report/allocation_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "base/version.h"
#include "report/allocation_words.h"
#include "report/answers_section.h"
#include "report/latex.h"
#include "report/render.h"
#include "report/speedup_figure.h"

namespace farscale {
namespace {

using Data = ReportData;
using Format = std::function<std::string(double)>;

constexpr const char* kUnknown = "–";
constexpr std::size_t kHeadingLines = 3, kShortHeading = 13;
constexpr double kHour = 3600, kManySeconds = 2 * kHour;

bool Any(const AllocationPack& pack, const std::function<bool(const AllocationRow&)>& has) {
  return std::any_of(pack.rows.begin(), pack.rows.end(), has);
}

// "2.64 – 3.06 ms": a unit that both share is said once.
std::string IntervalText(const OpenBounds& bounds, const Format& format) {
  if (!bounds.high) return "from " + format(bounds.low);
  std::string low = format(bounds.low);
  const std::string high = format(*bounds.high);
  if (low == high) return "";
  const std::size_t unit_low = low.rfind(' '), unit_high = high.rfind(' ');
  const bool has_units = unit_low != std::string::npos && unit_high != std::string::npos;
  if (has_units && low.substr(unit_low) == high.substr(unit_high)) low.resize(unit_low);
  return low + " – " + high;
}

AllocationCell Cell(const Estimate& estimate, const Format& format) {
  const std::string interval = estimate.interval80 ? IntervalText(*estimate.interval80, format) : "";
  if (estimate.value) return {format(*estimate.value), interval};
  if (!interval.empty()) return {interval, ""};
  return {estimate.interval80 ? format(estimate.interval80->low) : kUnknown, ""};
}

AllocationCell Cell(const std::optional<double>& value, const Format& format) {
  return {value ? format(*value) : kUnknown, ""};
}

std::string Hours(double seconds) { return FormatSignificant(seconds / kHour, 3) + " h"; }
std::string Percents(double share) { return FormatPercent(share); }
std::string Size(double size) { return size < 1e15 ? FormatCores(size) : FormatSignificant(size, 4); }

std::string WithUnit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : text + " " + unit;
}

// Columns of the table: what stands above, and the cell of a row.
struct Column {
  std::string heading;
  std::function<AllocationCell(const AllocationRow&)> cell;
};

std::vector<Column> ColumnsOf(const AllocationPack& pack, const ProblemCase& problem, bool is_narrow) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& heading, std::function<AllocationCell(const AllocationRow&)> cell) {
    columns.push_back({heading, std::move(cell)});
  };
  const std::string unit = problem.unit.empty() ? "" : ", " + problem.unit;
  add("Cores", [](const AllocationRow& row) { return AllocationCell{FormatCores(row.cores), ""}; });
  if (Any(pack, [](const AllocationRow& row) { return row.nodes.has_value(); })) {
    add("Nodes", [](const AllocationRow& row) { return Cell(row.nodes, FormatCores); });
  }
  if (Any(pack, [](const AllocationRow& row) { return row.processes != row.cores; })) {
    add("Processes", [](const AllocationRow& row) { return AllocationCell{FormatCores(row.processes), ""}; });
  }
  if (Any(pack, [](const AllocationRow& row) { return row.size.has_value(); })) {
    add("Problem size" + unit, [](const AllocationRow& row) { return Cell(row.size, Size); });
    add("Size per process" + unit, [](const AllocationRow& row) { return Cell(row.portion, Size); });
  }
  const bool has_times = Any(pack, [](const AllocationRow& row) { return row.iteration.value.has_value(); });
  const std::string work = fmt::format("{} iteration{}", FormatCores(pack.iterations), pack.iterations == 1 ? "" : "s");
  if (has_times && pack.iterations != 1 && !(is_narrow && pack.are_planned)) {
    add("Wall time, 1 iteration", [](const AllocationRow& row) { return Cell(row.iteration, FormatSeconds); });
  }
  // One unit for the whole column.
  const bool in_hours = Any(pack, [](const AllocationRow& row) { return row.work.value.value_or(0) >= kManySeconds; });
  const Format time = in_hours ? Format(Hours) : Format(FormatSeconds);
  if (has_times) add("Wall time, " + work, [time](const AllocationRow& row) { return Cell(row.work, time); });
  add("Speedup", [](const AllocationRow& row) { return Cell(row.speedup, FormatSpeedup); });
  add("Ideal speedup", [](const AllocationRow& row) { return AllocationCell{FormatSpeedup(row.ideal), ""}; });
  add("Efficiency", [](const AllocationRow& row) { return Cell(row.efficiency, Percents); });
  if (has_times) {
    add("Core hours, " + work, [](const AllocationRow& row) { return Cell(row.core_hours, FormatCoreHours); });
  }
  return columns;
}

std::string ScalingInWords(const AllocationPack& pack, const ProblemCase& problem) {
  if (!pack.scaling) return "not known whether strong or weak";
  const AllocationRow* first = nullptr;
  const AllocationRow* last = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (!row.is_measured || !row.size) continue;
    if (first == nullptr) first = &row;
    last = &row;
  }
  const auto with_unit = [&](double size) { return WithUnit(Size(size), problem.unit); };
  if (*pack.scaling == Scaling::kStrong) {
    std::string text = "strong: the problem is the same on every core count";
    if (first == nullptr) return text;
    text += ", " + with_unit(*first->size) + " in total";
    if (first == last) return text + fmt::format(", {} per process", with_unit(*first->portion));
    return text + fmt::format("; per process {} on {} and {} on {} cores", with_unit(*first->portion),
                              FormatCores(first->cores), with_unit(*last->portion), FormatCores(last->cores));
  }
  std::string text = "weak: the problem grows with the cores";
  if (first == nullptr) return text;
  text += fmt::format(", {} per process; in total {} on {}", with_unit(*first->portion), with_unit(*first->size),
                      FormatCores(first->cores));
  return first == last ? text + " cores"
                       : text + fmt::format(" and {} on {} cores", with_unit(*last->size), FormatCores(last->cores));
}

std::string TracedRuns(const AllocationPack& pack) {
  std::string text = fmt::format("{} {} on {} core {}", pack.runs, pack.runs == 1 ? "run" : "runs", pack.counts,
                                 pack.counts == 1 ? "count" : "counts");
  if (pack.noise) text += fmt::format("; from run to run {} of noise", FormatPercent(pack.noise->deviation));
  return text;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts FactsOf(const Results& results, const AllocationPack& pack) {
  Facts facts;
  facts.emplace_back("Code and case",
                     results.description.empty() ? results.title : results.title + ". " + results.description);
  if (!pack.phase.empty()) {
    facts.emplace_back("Phase", pack.phase + (pack.phase_description.empty() ? "" : ": " + pack.phase_description));
  }
  facts.emplace_back("Scaling", ScalingInWords(pack, results.problem));
  facts.emplace_back("Baseline", FormatCores(pack.baseline) + " cores");
  facts.emplace_back("Measured", TracedRuns(pack));
  if (pack.are_planned) facts.emplace_back("Planned work", FormatCores(pack.iterations) + " iterations");
  return facts;
}

std::string TableNote(const AllocationPack& pack) {
  std::string note;
  if (Any(pack, [](const AllocationRow& row) { return row.efficiency.interval80 || row.iteration.interval80; })) {
    note = "Below a number stands its 80 % interval.";
  }
  const bool any_beyond = Any(pack, [](const AllocationRow& row) { return !row.is_evidence; });
  if (any_beyond) {
    note += fmt::format(" Beyond {} cores there is no evidence, so rows give the interval only.",
                        FormatCores(pack.evidence));
  }
  const bool reckoned = pack.cores_per_node && Any(pack, [](const AllocationRow& row) { return !row.is_measured; });
  if (reckoned) note += " Nodes of predicted rows are as full as the fullest of a run.";
  const bool has_times = Any(pack, [](const AllocationRow& row) { return row.iteration.value.has_value(); });
  if (has_times && !pack.are_planned)
    note += fmt::format(" The baseline ran {} iterations.", FormatCores(pack.iterations));
  if (pack.largest_target > pack.rows.back().cores) {
    note +=
        fmt::format(" The projection goes on to {} cores; --up-to shows more of it.", FormatCores(pack.largest_target));
  }
  return std::string(Trim(note));
}

Data TableData(const AllocationTable& table) {
  Data header = Data::array(), rows = Data::array();
  for (const std::string& heading : table.header) header.push_back({{"text", heading}});
  for (const AllocationLine& line : table.lines) {
    Data cells = Data::array();
    for (const AllocationCell& cell : line.cells) {
      cells.push_back({{"text", cell.text}, {"interval", cell.interval}, {"hasInterval", !cell.interval.empty()}});
    }
    rows.push_back({{"source", line.source},
                    {"isMeasured", line.is_measured},
                    {"isPredicted", !line.is_measured && line.is_evidence},
                    {"isEvidence", line.is_evidence},
                    {"isBaseline", line.is_baseline},
                    {"cells", cells}});
  }
  return {{"header", header}, {"rows", rows}};
}

Data TextList(const std::vector<std::string>& texts) {
  Data list = Data::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

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

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string Number(const std::optional<double>& value) { return value ? FormatExact(*value) : ""; }

std::string Numbers(const Estimate& estimate) {
  const std::optional<OpenBounds>& bounds = estimate.interval80;
  return Number(estimate.value) + "," + (bounds ? FormatExact(bounds->low) : "") + "," +
         (bounds ? Number(bounds->high) : "");
}

}  // namespace

AllocationTable TabulateAllocation(const AllocationPack& pack, const ProblemCase& problem, bool is_narrow) {
  AllocationTable table;
  const std::vector<Column> columns = ColumnsOf(pack, problem, is_narrow);
  for (const Column& column : columns) table.header.push_back(column.heading);
  for (const AllocationRow& row : pack.rows) {
    AllocationLine line{row.is_measured   ? "measured"
                        : row.is_evidence ? "predicted"
                                          : "not evidence",
                        row.is_measured,
                        row.is_evidence,
                        row.is_baseline,
                        {}};
    if (row.is_baseline) line.source = is_narrow ? "baseline" : "measured, baseline";
    for (const Column& column : columns) line.cells.push_back(column.cell(row));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ReportModel BuildAllocationModel(const Results& results, const AllocationPack& pack) {
  ReportModel model;
  Data& data = model.data;
  data = {{"title", results.title}, {"generator", Generator()}};
  data["facts"] = Data::array();
  for (const auto& [name, value] : FactsOf(results, pack)) data["facts"].push_back({{"name", name}, {"value", value}});
  data["required"] = fmt::format("{:g} %", 100 * pack.required);
  data["recommendation"] = TextList(DescribeRecommendation(pack));
  data["table"] = TableData(TabulateAllocation(pack, results.problem));
  data["tableNote"] = TableNote(pack);
  data["figure"] =
      AddFigure(model, "allocation.svg", SpeedupSvg(pack, false), SpeedupSvg(pack, true), DescribeSpeedup(pack));
  data["method"] = TextList({DescribeMeasurement(results, pack), DescribePrediction(results, pack)});
  data["missing"] = TextList(pack.missing);
  data["hasMissing"] = !pack.missing.empty();
  return model;
}

std::string WriteAllocationCsv(const Results& results, const AllocationPack& pack) {
  std::string text =
      fmt::format("# {}, phase {}; baseline {} cores; {} scaling\n", OneLine(results.title), OneLine(pack.phase),
                  FormatExact(pack.baseline), pack.scaling ? ToString(*pack.scaling) : "unknown");
  for (const std::string& sentence : DescribeRecommendation(pack)) text += "# " + OneLine(sentence) + "\n";
  text += "source,evidence,cores,processes,nodes,runs,size,size_per_process";
  for (const char* name : {"seconds_per_iteration", "seconds", "core_hours", "speedup", "efficiency"}) {
    text += fmt::format(",{0},{0}_low80,{0}_high80", name);
  }
  text += ",iterations,ideal_speedup\n";
  for (const AllocationRow& row : pack.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{}", row.is_measured ? "measured" : "predicted", row.is_evidence,
                        FormatExact(row.cores), FormatExact(row.processes), Number(row.nodes), row.runs,
                        Number(row.size), Number(row.portion));
    for (const Estimate* estimate : {&row.iteration, &row.work, &row.core_hours, &row.speedup, &row.efficiency}) {
      text += "," + Numbers(*estimate);
    }
    text += fmt::format(",{},{}\n", FormatExact(pack.iterations), FormatExact(row.ideal));
  }
  return text;
}

std::string WriteAllocationTable(const Results& results, const AllocationPack& pack) {
  const AllocationTable table = TabulateAllocation(pack, results.problem, true);
  std::string text = "% " + OneLine(ToUtf8(results.title)) +
                     "\n% For \\input into a table; needs no package. Below numbers: 80 % intervals.\n";
  text += "{\\setlength{\\tabcolsep}{3pt}\n\\begin{tabular}{l" + std::string(table.header.size(), 'r') + "}\n\\hline\n";
  std::vector<std::string> headings(kHeadingLines);
  for (const std::string& heading : table.header) {
    const std::vector<std::string> lines = LinesOf(heading);
    for (std::size_t i = 0; i < kHeadingLines; ++i)
      headings[i] += " & " + (i < lines.size() ? EscapeLatex(lines[i]) : "");
  }
  for (const std::string& line : headings) text += line + " \\\\\n";
  text += "\\hline\n";
  bool was_measured = true;
  for (const AllocationLine& line : table.lines) {
    if (was_measured && !line.is_measured) text += "\\hline\n";
    was_measured = line.is_measured;
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
    text += values + " \\\\\n" + (has_intervals ? intervals + " \\\\\n" : "");
  }
  return text + "\\hline\n\\end{tabular}}\n";
}

std::string WriteAllocationText(const Results& results, const AllocationPack& pack) {
  std::string text =
      "% The text of an application for computing time; for \\input. Needs no package.\n\\begin{description}\n";
  for (const auto& [name, value] : FactsOf(results, pack)) {
    text += "\\item[" + EscapeLatex(name) + "] " + EscapeLatex(value) + "\n";
  }
  text += "\\end{description}\n\n\\paragraph{Recommended job size.}\n";
  for (const std::string& sentence : DescribeRecommendation(pack)) text += EscapeLatex(sentence) + "\n";
  text += "\n\\paragraph{Method.}\n" + EscapeLatex(DescribeMeasurement(results, pack)) + "\n\n" +
          EscapeLatex(DescribePrediction(results, pack)) + "\n";
  if (!pack.missing.empty()) text += "\n% What is missing:\n";
  for (const std::string& sentence : pack.missing) text += "% - " + OneLine(sentence) + "\n";
  return text;
}

std::vector<std::filesystem::path> WriteAllocation(const Results& results, const AllocationPack& pack,
                                                   const ReportTemplates& templates,
                                                   const std::filesystem::path& folder) {
  ReportModel model = BuildAllocationModel(results, pack);
  NamedTexts files = {
      {"allocation.md", RenderTemplate(templates.markdown, model.data, Escape::kMarkdown, templates.partials)},
      {"allocation.html", RenderHtml(model, templates)},
      {"allocation.csv", WriteAllocationCsv(results, pack)},
      {"allocation.tex", WriteAllocationTable(results, pack)},
      {"allocation-text.tex", WriteAllocationText(results, pack)},
      {"allocation-figure.tex", SpeedupTikz(pack)}};
  for (const auto& [name, svg] : model.figures) {
    files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
  }
  return WriteFiles(folder, files);
}

}  // namespace farscale
