#include "report/allocation/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "plot/canvas.h"
#include "report/figures.h"
#include "report/sections.h"
#include "results/results.h"

namespace farscale {
namespace {

// A share of the ideal speedup over all cores of the pack.
ChartSeries Proportional(const AllocationPack& pack, double share, const std::string& name) {
  ChartSeries series;
  series.name = name;
  series.width = 1.4;
  series.color = kPaletteBlack;
  const auto [first, last] =
      std::minmax_element(pack.rows.begin(), pack.rows.end(),
                          [](const AllocationRow& a, const AllocationRow& b) { return a.cores < b.cores; });
  for (const double cores : {first->cores, last->cores}) {
    series.line.push_back({cores, share * cores / pack.baseline, ""});
  }
  return series;
}

ChartBand IntervalBand(double cores, const OpenBounds& interval) {
  return {cores, interval.low, interval.high.value_or(INFINITY)};
}

// The chart in words, for those who cannot see it.
std::string DescribeSpeedup(const AllocationPack& pack) {
  std::string text = fmt::format("Speedup over the run on {} against the number of cores, with the ideal line",
                                 FormatCoreCount(pack.baseline));
  const AllocationRow* largest = nullptr;
  for (const AllocationRow& row : pack.rows) {
    if (row.is_measured && row.speedup.value) largest = &row;
  }
  if (largest != nullptr) {
    text += fmt::format(": {} was measured on {}, where {} would be ideal", FormatSpeedup(*largest->speedup.value),
                        FormatCoreCount(largest->cores), FormatIdealSpeedup(largest->ideal));
  }
  return text + ". The table has every value.";
}

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

// A cell has its 80 % interval beside it; where there is no number, the interval is the text.
Data TableCell(const std::string& text, const std::string& interval = "") {
  return Data{{"text", text}, {"interval", interval}};
}

Data TableCell(const Estimate& estimate, const Format& format) {
  const std::string interval = estimate.interval80 ? IntervalText(*estimate.interval80, format) : "";
  if (estimate.value) return TableCell(format(*estimate.value), interval);
  if (!interval.empty()) return TableCell(interval);
  return TableCell(estimate.interval80 ? format(estimate.interval80->low) : kDash);
}

Data TableCell(const std::optional<double>& value, const Format& format) {
  return TableCell(value ? format(*value) : kDash);
}

std::string Hours(double seconds) { return FormatSignificant(seconds / kHour, 3) + " h"; }
std::string Percents(double share) { return FormatPercent(share); }
std::string Size(double size) { return FormatProblemSize(size); }

using CellFormat = std::function<Data(const AllocationRow&)>;

// Headings, and the cells of a row.
std::vector<std::pair<std::string, CellFormat>> ShownColumns(const AllocationPack& pack, const ProblemCase& problem,
                                                             AllocationColumns part) {
  std::vector<std::pair<std::string, CellFormat>> columns;
  const auto add = [&](AllocationColumns of, const std::string& heading, CellFormat cell) {
    if (part == AllocationColumns::kAll || part == of) columns.emplace_back(heading, std::move(cell));
  };
  const auto scaling = AllocationColumns::kScaling, costs = AllocationColumns::kCosts;
  const auto runs = HasSizes(pack) ? AllocationColumns::kProblem : scaling;
  const std::string unit = problem.unit.empty() ? "" : ", " + problem.unit;
  add(part, "Cores", [](const AllocationRow& row) { return TableCell(FormatCores(row.cores)); });
  if (Any(pack, [](const AllocationRow& row) { return row.nodes.has_value(); })) {
    add(runs, "Nodes", [](const AllocationRow& row) { return TableCell(row.nodes, FormatCores); });
  }
  if (Any(pack, [](const AllocationRow& row) { return row.processes != row.cores; })) {
    add(runs, "Processes", [](const AllocationRow& row) { return TableCell(FormatCores(row.processes)); });
  }
  if (HasSizes(pack)) {
    add(runs, "Problem size" + unit, [](const AllocationRow& row) { return TableCell(row.size, Size); });
    add(runs, "Size per process" + unit, [](const AllocationRow& row) { return TableCell(row.portion, Size); });
  }
  const bool has_times = HasTimes(pack);
  const std::string iterations =
      fmt::format("{} iteration{}", FormatCores(pack.iterations), pack.iterations == 1 ? "" : "s");
  const std::string work = pack.is_of_runs ? " of a run" : ", " + iterations;
  if (has_times && pack.iterations != 1) {
    add(costs, "Wall time, 1 iteration",
        [](const AllocationRow& row) { return TableCell(row.iteration, FormatSeconds); });
  }
  // One unit for the whole column.
  const bool in_hours = Any(pack, [](const AllocationRow& row) { return row.work.value.value_or(0) >= kManySeconds; });
  const Format time = in_hours ? Format(Hours) : Format(FormatSeconds);
  if (has_times) add(costs, "Wall time" + work, [time](const AllocationRow& row) { return TableCell(row.work, time); });
  add(scaling, "Speedup", [](const AllocationRow& row) { return TableCell(row.speedup, FormatSpeedup); });
  add(scaling, "Ideal speedup", [](const AllocationRow& row) { return TableCell(FormatIdealSpeedup(row.ideal)); });
  add(scaling, "Efficiency", [](const AllocationRow& row) { return TableCell(row.efficiency, Percents); });
  if (has_times) {
    add(costs, "Core hours" + work,
        [](const AllocationRow& row) { return TableCell(row.core_hours, FormatCoreHours); });
  }
  return columns;
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

std::string Required(const AllocationPack& pack) { return fmt::format("{:g} %", 100 * pack.required); }

std::string Number(const std::optional<double>& value) { return value ? FormatExact(*value) : ""; }

}  // namespace

Chart SpeedupChart(const AllocationPack& pack) {
  Chart chart;
  chart.title = "Speedup against cores";
  chart.description = DescribeSpeedup(pack);
  chart.x_label = "cores";
  chart.y_label = "speedup over " + FormatCoreCount(pack.baseline);
  chart.log_y = true;
  chart.height = 460;
  chart.legend = LegendPlace::kInside;
  chart.has_script = false;
  ChartSeries ideal = Proportional(pack, 1, "ideal");
  ChartSeries required = Proportional(pack, pack.required, fmt::format("{:g} % efficiency", 100 * pack.required));
  required.color = kPaletteGrey;
  required.dashed = true;
  ChartSeries measured, predicted, uncertain;
  predicted.name = "predicted, with 80 % interval";
  predicted.color = kPaletteBlue;
  predicted.dashed = true;
  for (const auto& [cores, speedup] : pack.curve) {
    if (speedup.value) predicted.line.push_back({cores, *speedup.value, ""});
    if (speedup.interval80) predicted.inner_band.push_back(IntervalBand(cores, *speedup.interval80));
  }
  if (predicted.inner_band.size() < pack.curve.size()) predicted.inner_band.clear();
  measured.name = "measured";
  measured.color = kPaletteBlack;
  measured.has_filled_points = true;
  uncertain.name = "uncertain: interval only";
  uncertain.color = kPaletteGrey;
  for (const AllocationRow& row : pack.rows) {
    const bool is_reliable = row.reliability == Reliability::kReliable;
    ChartSeries& series = row.is_measured ? measured : is_reliable ? predicted : uncertain;
    if (row.speedup.interval80) series.error_bars.push_back(IntervalBand(row.cores, *row.speedup.interval80));
    if (!row.speedup.value) continue;
    series.points.push_back(
        {row.cores, *row.speedup.value,
         fmt::format("{}: speedup {} ({})", FormatCoreCount(row.cores), FormatSpeedup(*row.speedup.value),
                     row.is_measured ? "measured" : "predicted")});
  }
  const double last = ideal.line.back().x;
  if (pack.reliable > 0 && pack.reliable * 1.0001 < last) {
    chart.reliable_to_x = pack.reliable;
    chart.reliable_label = "reliable up to " + FormatCoreCount(pack.reliable);
  }
  chart.series = {std::move(ideal), std::move(required), std::move(measured)};
  if (!pack.curve.empty()) chart.series.push_back(std::move(predicted));
  if (!uncertain.error_bars.empty()) chart.series.push_back(std::move(uncertain));
  return chart;
}

std::string SpeedupTikz(const AllocationPack& pack) {
  return "% The figure by itself: pdflatex makes allocation-figure.pdf of it, for \\includegraphics.\n" +
         RenderTikz(SpeedupChart(pack));
}

ReportData TabulateAllocation(const AllocationPack& pack, const ProblemCase& problem, AllocationColumns part) {
  const auto columns = ShownColumns(pack, problem, part);
  Data header = Data::array(), rows = Data::array();
  for (const auto& column : columns) header.push_back(column.first);
  for (const AllocationRow& row : pack.rows) {
    const bool is_reliable = row.reliability == Reliability::kReliable;
    const std::string baseline = part != AllocationColumns::kAll ? "baseline" : "measured, baseline";
    Data cells = Data::array();
    for (const auto& column : columns) cells.push_back(column.second(row));
    rows.push_back({{"source", row.is_baseline   ? baseline
                               : row.is_measured ? "measured"
                               : is_reliable     ? "predicted"
                                                 : ToString(row.reliability)},
                    {"kind", row.is_measured ? "measured"
                             : is_reliable   ? "predicted"
                                             : "beyond"},
                    {"cells", std::move(cells)}});
  }
  return {{"header", std::move(header)}, {"rows", std::move(rows)}};
}

ReportModel BuildAllocationModel(const Results& results, const AllocationPack& pack, const Partials& templates) {
  ReportModel model;
  Data& data = model.data = DescribeAllocation(results, pack, templates);
  data.update({{"title", results.title},
               {"generator", Generator()},
               {"required", Required(pack)},
               {"table", TabulateAllocation(pack, results.problem)},
               {"method", {data["measurement"], data["prediction"]}}});
  data["figure"] = AddChart(SpeedupChart(pack), "allocation.svg", model);
  return model;
}

std::string WriteAllocationTable(const Results& results, const AllocationPack& pack, const Partials& templates) {
  Data tables = Data::array();
  std::vector<AllocationColumns> parts = {AllocationColumns::kScaling};
  if (HasSizes(pack)) parts.insert(parts.begin(), AllocationColumns::kProblem);
  if (HasTimes(pack)) parts.push_back(AllocationColumns::kCosts);
  for (const AllocationColumns part : parts) {
    Data table = TabulateAllocation(pack, results.problem, part);
    table["isFirst"] = tables.empty();
    tables.push_back(std::move(table));
  }
  const Data data = {{"title", OneLine(ToUtf8(results.title))},
                     {"required", Required(pack)},
                     {"tables", std::move(tables)},
                     {"superlinear", pack.superlinear}};
  const std::string text = RenderTemplate(templates.at("allocation.tex"), data, OutputForm::kLatex, templates);
  std::string kept;  // a blank line ends a paragraph, and within a tabular it is an error before a rule
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) kept += line + "\n";
  }
  return kept;
}

std::string WriteAllocationText(const ReportData& text, const Partials& templates) {
  const std::string words = text["measurement"].get<std::string>();
  const std::string_view measurement = words;
  std::string escaped;  // with the formulas of the words in mathematics
  for (std::size_t at = 0; at < measurement.size();) {
    std::size_t begin = measurement.size();
    const std::pair<std::string_view, std::string_view>* next = nullptr;
    for (const auto& formula : kFormulas) {  // the longest first where two begin at the same place
      const std::size_t found = measurement.find(formula.first, at);
      if (found < begin) begin = found, next = &formula;
    }
    escaped += EscapeLatex(measurement.substr(at, begin - at));
    if (next == nullptr) break;
    escaped += next->second;
    at = begin + next->first.size();
  }
  Data data = text;
  data["method"] = {escaped, EscapeLatex(text["prediction"].get<std::string>())};
  return RenderTemplate(templates.at("allocation_text.tex"), data, OutputForm::kLatex, templates);
}

std::string WriteAllocationCsv(const Results& results, const AllocationPack& pack, const ReportData& sentences) {
  const PhaseId& phase = pack.phase;
  const std::string name =
      phase.IsGroup() ? fmt::format("group {} of phase {}", phase.group, phase.name) : "phase " + phase.name;
  std::string text = fmt::format("# {}{}; baseline {} cores; {} scaling\n", OneLine(results.title),
                                 phase.IsUnnamed() ? "" : ", " + OneLine(name), FormatExact(pack.baseline),
                                 pack.scaling ? ToString(*pack.scaling) : "unknown");
  for (const Data& sentence : sentences["contradictions"]) text += "# Contradiction: " + OneLine(sentence) + "\n";
  for (const Data& sentence : sentences["recommendation"]) text += "# " + OneLine(sentence) + "\n";
  text += "source,reliability,cores,processes,nodes,runs,size,size_per_process";
  for (const char* column : {"seconds_per_iteration", "seconds", "core_hours", "speedup", "efficiency"}) {
    text += fmt::format(",{0},{0}_low80,{0}_high80", column);
  }
  text += ",iterations,ideal_speedup\n";
  for (const AllocationRow& row : pack.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{}", row.is_measured ? "measured" : "predicted",
                        ToString(row.reliability), FormatExact(row.cores), FormatExact(row.processes),
                        Number(row.nodes), row.runs, Number(row.size), Number(row.portion));
    for (const Estimate* estimate : {&row.iteration, &row.work, &row.core_hours, &row.speedup, &row.efficiency}) {
      const std::optional<OpenBounds>& bounds = estimate->interval80;
      text += "," + Number(estimate->value) + "," + (bounds ? FormatExact(bounds->low) : "") + "," +
              (bounds ? Number(bounds->high) : "");
    }
    text += fmt::format(",{},{}\n", FormatExact(pack.iterations), FormatExact(row.ideal));
  }
  return text;
}

std::vector<std::filesystem::path> WriteAllocation(const Results& results, const AllocationPack& pack,
                                                   const ReportTemplates& templates,
                                                   const std::filesystem::path& folder) {
  const ReportModel model = BuildAllocationModel(results, pack, templates.partials);
  Chart chart = SpeedupChart(pack);  // for a document of one page that inputs text and table
  chart.width = 560;
  chart.height = HasSizes(pack) ? 220 : 330;  // there is a table more
  const Data page = {{"title", results.title}, {"figure", RenderTikzPicture(chart)}};
  NamedTexts files = {{"allocation.md", RenderMarkdown(model, templates)},
                      {"allocation.html", RenderHtml(model, templates)},
                      {"allocation.csv", WriteAllocationCsv(results, pack, model.data)},
                      {"allocation.tex", WriteAllocationTable(results, pack, templates.partials)},
                      {"allocation-text.tex", WriteAllocationText(model.data, templates.partials)},
                      {"allocation-figure.tex", SpeedupTikz(pack)},
                      {"allocation-page.tex", RenderTemplate(templates.partials.at("allocation_page.tex"), page,
                                                             OutputForm::kLatex, templates.partials)}};
  AddFigureFiles(model, files);
  return WriteFiles(folder, files);
}

}  // namespace farscale
