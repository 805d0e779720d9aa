#include "report/factor_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/terminal.h"
#include "factors/anomalies.h"
#include "factors/table_check.h"
#include "pages/text_table.h"
#include "projection/curve.h"
#include "report/key_results.h"
#include "report/reliability.h"
#include "report/figures.h"

namespace farscale {
namespace {

std::string Heading(const std::string& series, const PhaseId& phase) {
  if (series.empty()) return phase.IsUnnamed() ? "" : "Phase " + phase.Text() + "\n";
  return series + (phase.IsUnnamed() ? "" : ", phase " + phase.Text()) + "\n";
}

using Cells = std::vector<std::vector<std::string>>;

std::string Lines(const std::vector<std::string>& sentences, std::size_t width) {
  std::string text;
  for (const std::string& sentence : sentences) {
    for (const std::string& line : WrapText(sentence, width, "  ")) text += line + "\n";
  }
  return text;
}

std::string Joined(const ResultCell& cell) {
  return cell.detail.empty() ? cell.text : cell.text + " (" + cell.detail + ")";
}

// "8", "8 #2" of its repeat, or "8 (2 × 4)" where runs divide the same cores differently.
std::string NameOfRun(const FactorRow& row, bool has_several_splits) {
  const std::string cores = std::to_string(row.cores);
  if (has_several_splits) return fmt::format("{} ({} × {})", cores, row.Processes(), row.threads);
  return cores + (row.repeat > 0 ? fmt::format(" #{}", row.repeat + 1) : "");
}

// The values of one run, and behind them the standard errors that show; no column where none does.
void AddRun(const FactorRow& row, bool has_several_splits, const std::vector<Factor>& factors, Cells& cells) {
  std::vector<std::string> values, errors;
  for (const Factor factor : factors) {
    const std::optional<double>& value = row.values[factor];
    values.push_back(value ? FormatValue(factor, *value) : "-");
    errors.push_back(value ? FormatError(factor, *value, row.standard_errors[factor]) : "");
  }
  values.push_back(row.runtime ? FormatSeconds(*row.runtime) : "-");
  errors.push_back(row.runtime ? FormatSecondsError(*row.runtime, row.runtime_error) : "");
  const bool any = std::any_of(errors.begin(), errors.end(), [](const std::string& error) { return !error.empty(); });
  cells[0].push_back(NameOfRun(row, has_several_splits));
  if (any) cells[0].push_back("±");
  for (std::size_t i = 0; i < values.size(); ++i) {
    cells[i + 1].push_back(values[i]);
    if (any) cells[i + 1].push_back(errors[i]);
  }
}

}  // namespace

std::string FormatFactorTable(const FactorTable& table, std::size_t width) {
  std::string text;
  for (const std::string& series : table.Series()) {
    for (const PhaseId& phase : table.Phases(series)) {
      const std::vector<FactorRow> rows = table.Rows(series, phase);
      Cells cells = {{"cores"}};
      std::vector<Factor> factors;
      for (const FactorType& type : AllFactors()) {
        if (!IsShown(type.factor, rows)) continue;
        factors.push_back(type.factor);
        const std::string indent(2 * static_cast<std::size_t>(DepthOf(type.factor, TreeOf(rows))), ' ');
        cells.push_back({indent + std::string(type.name)});
      }
      cells.push_back({"Run time"});
      const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
      for (const FactorRow& row : rows) AddRun(row, has_several_splits, factors, cells);
      if (!text.empty()) text += "\n";
      text += Heading(series, phase) + FormatTable(cells, width);
      if (const std::string why = WhySuperlinear(rows); !why.empty()) text += Lines({why}, width);
    }
  }
  return text;
}

std::string FormatAdditiveLosses(const FactorTable& table, std::size_t width) {
  std::string text;
  for (const PhaseKey& key : table.Keys()) {
    Cells cells = {{"cores"},
                   {"Parallel efficiency"},
                   {"  lost in MPI: load balance"},
                   {"  lost in MPI: serialization"},
                   {"  lost in MPI: transfer"},
                   {"  lost by threads in parallel regions"},
                   {"  lost by threads outside of them"},
                   {"  lost in the device runtime"}};
    const std::vector<FactorRow> rows = table.Rows(key);
    const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
    for (const FactorRow& row : rows) {
      const auto losses = row.totals ? AdditiveLossesOf(*row.totals) : std::nullopt;
      if (!losses) continue;
      const bool knows_ideal = row.totals->ideal_elapsed > 0;
      const double lost[] = {losses->mpi_load_balance, losses->mpi_serialization, losses->mpi_transfer,
                             losses->parallel_regions, losses->serial_regions,    losses->device_runtime};
      cells[0].push_back(NameOfRun(row, has_several_splits));
      cells[1].push_back(FormatFactor(*row.values[Factor::kParallelEfficiency]));
      for (std::size_t i = 0; i < std::size(lost); ++i) {
        const bool is_split = i == 1 || i == 2;
        cells[i + 2].push_back(is_split && !knows_ideal ? "-" : FormatFactor(lost[i]));
      }
    }
    if (cells[0].size() == 1) continue;
    if (!text.empty()) text += "\n";
    text += Heading(key.series, key.phase) + FormatTable(cells, width);
  }
  if (!text.empty()) return text;
  throw Error(ErrorKind::kUsage, "--hybrid additive", "no run says what its threads do",
              "trace with threads, or measure with a tool for OpenMP");
}

std::string FormatKeyResults(const std::vector<PhaseProjection>& projections, bool with_tables, const Partials& texts,
                             std::size_t width) {
  std::string text;
  for (const PhaseProjection& phase : projections) {
    if (!text.empty()) text += "\n";
    text += Heading(phase.series, phase.phase);
    if (!phase.obstacle.empty()) text += Lines({"no projection: " + phase.obstacle}, width);
    // Without tables nothing else says how far predictions are reliable.
    if (!with_tables) text += Lines(DescribeReliableRange(phase, texts), width);
    text += Lines(SummarizeKeyResults(phase, texts), width);
    if (!with_tables) continue;
    for (const ResultTable& table : TabulateKeyResults(phase)) {
      Cells cells = {{}};
      for (const ResultCell& cell : table.header) cells.front().push_back(Joined(cell));
      for (const ResultRow& row : table.rows) {
        cells.push_back({Joined(row.heading)});
        for (const ResultCell& cell : row.cells) cells.back().push_back(Joined(cell));
      }
      text += "\n" + Lines({table.caption}, width) + FormatTable(cells, width);
    }
  }
  return text;
}

std::string FormatProjections(const std::vector<PhaseProjection>& projections, const FactorTable& table,
                              const Partials& texts, std::size_t width) {
  std::string text;
  for (const PhaseProjection& phase : projections) {
    if (!text.empty()) text += "\n";
    text += Heading(phase.series, phase.phase);
    if (!phase.obstacle.empty()) {
      text += Lines({"no projection: " + phase.obstacle}, width);
      continue;
    }
    std::vector<std::vector<std::string>> cells = {{"cores", "beyond"}};
    const std::vector<ProjectedValue>* targets = nullptr;
    for (const FactorProjection& factor : phase.factors) {
      if (factor.targets.empty() || !IsShown(factor)) continue;
      targets = &factor.targets;
      cells[0].emplace_back(Describe(factor.factor).name);
      const bool headline = factor.factor == Factor::kParallelEfficiency || factor.factor == Factor::kGlobalEfficiency;
      if (headline) cells[0].emplace_back("80 % interval");
    }
    for (std::size_t i = 0; targets != nullptr && i < targets->size(); ++i) {
      cells.push_back({FormatCores((*targets)[i].cores), FormatRatio((*targets)[i].ratio)});
      for (const FactorProjection& factor : phase.factors) {
        if (factor.targets.empty() || !IsShown(factor)) continue;
        const ProjectedValue& target = factor.targets[i];
        const bool headline =
            factor.factor == Factor::kParallelEfficiency || factor.factor == Factor::kGlobalEfficiency;
        const Reliability level = ReliabilityOf(phase, factor.factor, target.cores);
        const bool is_reliable = level == Reliability::kReliable, is_unknown = level == Reliability::kUnknown;
        const std::string bounds = FormatBounds(factor.factor, target.interval80, "–");
        const std::string runs = MeasuredAt(factor, target.cores);
        const std::string measured = runs.empty() ? "" : " (measured " + runs + ")";
        if (headline) {
          cells.back().push_back((is_reliable ? FormatFactor(target.value) : ToString(level)) + measured);
          cells.back().push_back(is_unknown ? "–" : bounds);
        } else {
          const std::string beyond = is_unknown ? UnknownText(phase, target.cores) : bounds;
          cells.back().push_back((is_reliable ? FormatValue(factor.factor, target.value) : beyond) + measured);
        }
      }
    }
    text += FormatTable(cells, width);
    const double largest = LargestProjected(phase);
    const std::string why = WhySuperlinear(table.Rows(phase.series, phase.phase), largest);
    if (!why.empty()) text += Lines({why}, width);
    text += Lines(DescribeReliableRange(phase, texts), width);
  }
  for (const Finding& finding : table.findings) {
    if (finding.id == anomaly::kTimesOnly.id) text += Lines({"Note: " + finding.sentence + "."}, width);
  }
  return text;
}

}  // namespace farscale
