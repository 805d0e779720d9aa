#include "report/allocation/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "pages/render.h"
#include "plot/latex.h"
#include "report/allocation/figure.h"
#include "report/figures.h"
#include "report/key_results.h"

namespace farscale {
namespace {

using Data = ReportData;
using Format = std::function<std::string(double)>;

constexpr const char* kDash = "–";
constexpr double kHour = 3600, kManySeconds = 2 * kHour;

// "2.64 – 3.06 ms".
std::string IntervalText(const OpenBounds& bounds, const Format& format) {
  if (!bounds.high) return "from " + format(bounds.low);
  const std::string low = format(bounds.low), high = format(*bounds.high);
  return low == high ? "" : FormatRange(low, high, " – ");
}

AllocationCell Cell(const Estimate& estimate, const Format& format) {
  const std::string interval = estimate.interval80 ? IntervalText(*estimate.interval80, format) : "";
  if (estimate.value) return {format(*estimate.value), interval};
  if (!interval.empty()) return {interval, ""};
  return {estimate.interval80 ? format(estimate.interval80->low) : kDash, ""};
}

AllocationCell Cell(const std::optional<double>& value, const Format& format) {
  return {value ? format(*value) : kDash, ""};
}

std::string Hours(double seconds) { return FormatSignificant(seconds / kHour, 3) + " h"; }
std::string Percents(double share) { return FormatPercent(share); }
std::string Size(double size) { return FormatProblemSize(size); }

// Columns of the table: what stands above, and the cell of a row.
struct Column {
  std::string heading;
  std::function<AllocationCell(const AllocationRow&)> cell;
};

std::vector<Column> ColumnsOf(const AllocationPack& pack, const ProblemCase& problem, AllocationColumns part) {
  std::vector<Column> columns;
  const auto add = [&](AllocationColumns of, const std::string& heading,
                       std::function<AllocationCell(const AllocationRow&)> cell) {
    if (part == AllocationColumns::kAll || part == of) columns.push_back({heading, std::move(cell)});
  };
  const auto scaling = AllocationColumns::kScaling, costs = AllocationColumns::kCosts;
  const auto runs = HasSizes(pack) ? AllocationColumns::kProblem : scaling;
  const std::string unit = problem.unit.empty() ? "" : ", " + problem.unit;
  add(part, "Cores", [](const AllocationRow& row) { return AllocationCell{FormatCores(row.cores), ""}; });
  if (Any(pack, [](const AllocationRow& row) { return row.nodes.has_value(); })) {
    add(runs, "Nodes", [](const AllocationRow& row) { return Cell(row.nodes, FormatCores); });
  }
  if (Any(pack, [](const AllocationRow& row) { return row.processes != row.cores; })) {
    add(runs, "Processes", [](const AllocationRow& row) { return AllocationCell{FormatCores(row.processes), ""}; });
  }
  if (HasSizes(pack)) {
    add(runs, "Problem size" + unit, [](const AllocationRow& row) { return Cell(row.size, Size); });
    add(runs, "Size per process" + unit, [](const AllocationRow& row) { return Cell(row.portion, Size); });
  }
  const bool has_times = HasTimes(pack);
  const std::string iterations =
      fmt::format("{} iteration{}", FormatCores(pack.iterations), pack.iterations == 1 ? "" : "s");
  const std::string work = pack.is_of_runs ? " of a run" : ", " + iterations;
  if (has_times && pack.iterations != 1) {
    add(costs, "Wall time, 1 iteration", [](const AllocationRow& row) { return Cell(row.iteration, FormatSeconds); });
  }
  // One unit for the whole column.
  const bool in_hours = Any(pack, [](const AllocationRow& row) { return row.work.value.value_or(0) >= kManySeconds; });
  const Format time = in_hours ? Format(Hours) : Format(FormatSeconds);
  if (has_times) add(costs, "Wall time" + work, [time](const AllocationRow& row) { return Cell(row.work, time); });
  add(scaling, "Speedup", [](const AllocationRow& row) { return Cell(row.speedup, FormatSpeedup); });
  add(scaling, "Ideal speedup", [](const AllocationRow& row) {
    return AllocationCell{FormatIdealSpeedup(row.ideal), ""};
  });
  add(scaling, "Efficiency", [](const AllocationRow& row) { return Cell(row.efficiency, Percents); });
  if (has_times) {
    add(costs, "Core hours" + work, [](const AllocationRow& row) { return Cell(row.core_hours, FormatCoreHours); });
  }
  return columns;
}

Data TableData(const AllocationTable& table) {
  Data rows = Data::array();
  for (const AllocationLine& line : table.lines) {
    Data cells = Data::array();
    for (const AllocationCell& cell : line.cells) cells.push_back({{"text", cell.text}, {"interval", cell.interval}});
    const bool is_reliable = line.reliability == Reliability::kReliable;
    rows.push_back({{"source", line.source},
                    {"kind", line.is_measured ? "measured"
                             : is_reliable    ? "predicted"
                                              : "beyond"},
                    {"cells", std::move(cells)}});
  }
  return {{"header", table.header}, {"rows", std::move(rows)}};
}

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

std::string Required(const AllocationPack& pack) { return fmt::format("{:g} %", 100 * pack.required); }

std::string Number(const std::optional<double>& value) { return value ? FormatExact(*value) : ""; }

std::string Numbers(const Estimate& estimate) {
  const std::optional<OpenBounds>& bounds = estimate.interval80;
  return Number(estimate.value) + "," + (bounds ? FormatExact(bounds->low) : "") + "," +
         (bounds ? Number(bounds->high) : "");
}

}  // namespace

AllocationTable TabulateAllocation(const AllocationPack& pack, const ProblemCase& problem, AllocationColumns part) {
  AllocationTable table;
  const std::vector<Column> columns = ColumnsOf(pack, problem, part);
  for (const Column& column : columns) table.header.push_back(column.heading);
  for (const AllocationRow& row : pack.rows) {
    const bool is_predicted = !row.is_measured && row.reliability == Reliability::kReliable;
    AllocationLine line{
        is_predicted ? "predicted" : ToString(row.reliability), row.is_measured, row.reliability, row.is_baseline, {}};
    if (row.is_measured) line.source = "measured";
    if (row.is_baseline) line.source = part != AllocationColumns::kAll ? "baseline" : "measured, baseline";
    for (const Column& column : columns) line.cells.push_back(column.cell(row));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ReportModel BuildAllocationModel(const Results& results, const AllocationPack& pack, const Partials& templates) {
  ReportModel model;
  const AllocationText text = DescribeAllocation(results, pack, templates);
  Data& data = model.data;
  data = {{"title", results.title}, {"generator", Generator()}, {"facts", Data::array()}};
  for (const auto& [name, value] : text.facts) data["facts"].push_back({{"name", name}, {"value", value}});
  data["required"] = Required(pack);
  data["recommendation"] = text.recommendation;
  data["table"] = TableData(TabulateAllocation(pack, results.problem));
  data["tableNote"] = text.note;
  data["figure"] = AddChart(SpeedupChart(pack), "allocation.svg", model);
  data["method"] = {text.measurement, text.prediction};
  data["contradictions"] = text.contradictions;
  data["hasContradictions"] = !text.contradictions.empty();
  data["missing"] = text.missing;
  data["hasMissing"] = !text.missing.empty();
  return model;
}

std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates) {
  Data tables = Data::array();
  std::vector<AllocationColumns> parts = {AllocationColumns::kScaling};
  if (HasSizes(pack)) parts.insert(parts.begin(), AllocationColumns::kProblem);
  if (HasTimes(pack)) parts.push_back(AllocationColumns::kCosts);
  for (const AllocationColumns part : parts) {
    Data table = TableData(TabulateAllocation(pack, results.problem, part));
    table["isFirst"] = tables.empty();
    tables.push_back(std::move(table));
  }
  const Data data = {{"title", OneLine(ToUtf8(results.title))},
                     {"required", Required(pack)},
                     {"tables", std::move(tables)},
                     {"superlinear", pack.superlinear}};
  return WithoutBlankLines(RenderTemplate(templates.at("allocation.tex"), data, OutputForm::kLatex, templates));
}

std::string WriteAllocationText(const AllocationText& text, const Partials& templates) {
  Data data = {{"facts", Data::array()},
               {"contradictions", text.contradictions},
               {"hasContradictions", !text.contradictions.empty()},
               {"recommendation", text.recommendation},
               {"method", {EscapeWithFormulas(text.measurement), EscapeLatex(text.prediction)}},
               {"missing", text.missing},
               {"hasMissing", !text.missing.empty()}};
  for (const auto& [name, value] : text.facts) data["facts"].push_back({{"name", name}, {"value", value}});
  return RenderTemplate(templates.at("allocation_text.tex"), data, OutputForm::kLatex, templates);
}

std::string WriteAllocationPage(const Results& results, const AllocationPack& pack, const Partials& templates) {
  Chart chart = SpeedupChart(pack);
  chart.width = 560;
  chart.height = HasSizes(pack) ? 220 : 330;  // there is a table more
  const Data data = {{"title", results.title}, {"figure", RenderTikzPicture(chart)}};
  return RenderTemplate(templates.at("allocation_page.tex"), data, OutputForm::kLatex, templates);
}

namespace {

std::string PhaseInHead(const PhaseId& phase) {
  return phase.IsGroup() ? fmt::format("group {} of phase {}", phase.group, phase.name) : "phase " + phase.name;
}

}  // namespace

std::string WriteAllocationCsv(const Results& results, const AllocationPack& pack, const AllocationText& sentences) {
  std::string text = fmt::format("# {}{}; baseline {} cores; {} scaling\n", OneLine(results.title),
                                 pack.phase.IsUnnamed() ? "" : ", " + OneLine(PhaseInHead(pack.phase)),
                                 FormatExact(pack.baseline), pack.scaling ? ToString(*pack.scaling) : "unknown");
  for (const std::string& sentence : sentences.contradictions) text += "# Contradiction: " + OneLine(sentence) + "\n";
  for (const std::string& sentence : sentences.recommendation) text += "# " + OneLine(sentence) + "\n";
  text += "source,reliability,cores,processes,nodes,runs,size,size_per_process";
  for (const char* name : {"seconds_per_iteration", "seconds", "core_hours", "speedup", "efficiency"}) {
    text += fmt::format(",{0},{0}_low80,{0}_high80", name);
  }
  text += ",iterations,ideal_speedup\n";
  for (const AllocationRow& row : pack.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{}", row.is_measured ? "measured" : "predicted",
                        ToString(row.reliability), FormatExact(row.cores), FormatExact(row.processes),
                        Number(row.nodes), row.runs, Number(row.size), Number(row.portion));
    for (const Estimate* estimate : {&row.iteration, &row.work, &row.core_hours, &row.speedup, &row.efficiency}) {
      text += "," + Numbers(*estimate);
    }
    text += fmt::format(",{},{}\n", FormatExact(pack.iterations), FormatExact(row.ideal));
  }
  return text;
}

std::vector<std::filesystem::path> WriteAllocation(const Results& results, const AllocationPack& pack,
                                                   const ReportTemplates& templates,
                                                   const std::filesystem::path& folder) {
  ReportModel model = BuildAllocationModel(results, pack, templates.partials);
  const AllocationText text = DescribeAllocation(results, pack, templates.partials);
  NamedTexts files = {{"allocation.md", RenderMarkdown(model, templates)},
                      {"allocation.html", RenderHtml(model, templates)},
                      {"allocation.csv", WriteAllocationCsv(results, pack, text)},
                      {"allocation.tex", WriteAllocationTable(results, pack, templates.partials)},
                      {"allocation-text.tex", WriteAllocationText(text, templates.partials)},
                      {"allocation-figure.tex", SpeedupTikz(pack)},
                      {"allocation-page.tex", WriteAllocationPage(results, pack, templates.partials)}};
  for (const auto& [name, svg] : model.figures) {
    files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
  }
  return WriteFiles(folder, files);
}

}  // namespace farscale
