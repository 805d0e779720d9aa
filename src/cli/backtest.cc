#include "projection/backtest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/phase_rows.h"
#include "results/projection_files.h"
#include "projection/backtest_errors.h"
#include "projection/observed_projection.h"
#include "report/backtest.h"
#include "study/resources.h"
#include "study/study.h"

namespace farscale {
namespace {

struct BacktestCommand {
  TableOptions table;
  std::vector<std::int64_t> train_max;
  std::vector<std::string> factors;
  std::string against;
  std::string output;
  bool by_series = false;
};

// Rows of what is asked for; all when nothing is.
std::vector<BacktestRow> Chosen(const std::vector<BacktestRow>& rows, const std::vector<Factor>& factors) {
  std::vector<BacktestRow> chosen;
  for (const BacktestRow& row : rows) {
    const bool is_asked = std::find(factors.begin(), factors.end(), row.factor) != factors.end();
    if (factors.empty() || is_asked) chosen.push_back(row);
  }
  return chosen;
}

// What series are compared by when nothing is asked for: the widest efficiency of ranks that all have.
std::vector<Factor> FactorsBySeries(const std::vector<BacktestRow>& rows, const std::vector<Factor>& asked) {
  if (!asked.empty()) return asked;
  for (const BacktestRow& row : rows) {
    if (row.factor == Factor::kParallelEfficiency) return {row.factor};
  }
  return {rows.front().factor};
}

void Print(const std::vector<BacktestRow>& rows, const std::vector<Factor>& factors,
           const std::optional<BacktestComparison>& comparison, bool by_series) {
  PrintSentences(SummarizeBacktest(rows, LoadTemplates().partials));
  fmt::print("\n{}", FormatErrors(ErrorsByRatio(rows), WidthOfOutput()));
  if (comparison) fmt::print("\n{}", FormatComparison(*comparison, WidthOfOutput()));
  if (!by_series) return;
  for (const Factor factor : FactorsBySeries(rows, factors)) {
    fmt::print("\n{}", FormatErrorsByPhase(rows, factor, WidthOfOutput()));
  }
}

[[noreturn]] void FailWithoutRows(const BacktestCommand& command, const FactorTable& table,
                                  const BacktestResult& result) {
  std::string advice =
      command.train_max.empty()
          ? "by default a backtest needs runs at four core counts, three to train on and one to predict"
          : "--train-max must leave two core counts to train on and larger runs to predict";
  if (result.not_predicted > 0) advice.clear();
  std::vector<std::string> reasons = DescribeGaps(result);
  for (const RowsOfPhase& phase : RowsByPhase(table)) {
    if (!reasons.empty() || !CoresOfSeveralSplits(phase.rows)) continue;
    reasons.emplace_back(
        "runs divide the same cores differently into processes and threads, so no curve predicts them");
    advice = "backtest runs with one number of threads a process";
  }
  throw Error(ErrorKind::kNotEnoughData, command.table.table, "nothing can be backtested: " + Join(reasons, "; "),
              advice);
}

int RunBacktest(const BacktestCommand& command, const Common& common) {
  const Messages messages(common);
  const bool to_file = IsFile(command.output);
  const TableFormat format = to_file ? TableFormatOf(command.output) : TableFormat::kCsv;
  if (to_file) RefuseOverwriting(command.table.table, command.output);
  std::vector<Factor> factors;
  for (const std::string& id : command.factors) factors.push_back(FactorNamed(id, "--factor"));
  BacktestOptions options{ProjectionOptionsOf(command.table), {command.train_max.begin(), command.train_max.end()}, 0};
  const FactorTable table = ReadTable(command.table);
  const ModelLibrary library = LoadModels(command.table.model_files);
  const BacktestResult result = Backtest(table, library, options, messages.Progress());
  messages.Findings("", table.findings);
  messages.Findings("", result.findings);
  if (result.rows.empty()) FailWithoutRows(command, table, result);
  for (const std::string& gap : DescribeGaps(result)) messages.Warning(gap);
  std::vector<BacktestRow> others;
  if (!command.against.empty()) {
    options.projection.models = {ParseModelChoice(command.against, "--against"), {}, {}};
    others = Backtest(table, library, options, messages.Progress()).rows;
  }
  const auto comparison_of = [&](const std::vector<BacktestRow>& rows) -> std::optional<BacktestComparison> {
    if (command.against.empty()) return std::nullopt;
    return CompareBacktests(rows, others, command.against);
  };
  if (!command.output.empty()) {
    WriteOutput(command.output, format == TableFormat::kJson
                                    ? WriteBacktestJson(result.rows, comparison_of(result.rows))
                                    : WriteBacktestCsv(result.rows));
  }
  if (command.output == "-" || (to_file && common.quiet)) return 0;
  const std::vector<BacktestRow> chosen = Chosen(result.rows, factors);
  if (chosen.empty()) {
    throw Error(ErrorKind::kNotEnoughData, "--factor",
                "no prediction of " + command.factors.front() + " can be backtested");
  }
  Print(chosen, factors, comparison_of(chosen), command.by_series);
  return 0;
}

}  // namespace

void AddBacktestCommand(CommandLine& line) {
  auto [command, options] = AddCommand<BacktestCommand>(
      line, "backtest", "Predict the larger runs of a factor table from the smaller ones, and compare", RunBacktest);
  command->footer(
      "The table is factors.json, results.json, or a CSV file as for predict. The output lists errors, coverage of\n"
      "the intervals and their scores (smaller is better), by factor and by the ratio of the predicted run to the\n"
      "largest run trained on.");
  AddTableOptions(command, options.table);
  AddCoreCountsOption(command, "--train-max", options.train_max,
                      "Largest core counts to train on, separated by commas, each a backtest (default: all that leave "
                      "three core counts to train on and one to predict)");
  command->add_option("--factor", options.factors, "Factors to print, by id, separated by commas (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--by-series", options.by_series,
                    "Also print each series and phase: parallel efficiency, or the factors given");
  command->add_option("--against", options.against,
                      "Compare with this one model for every factor: MODEL or MODEL:DIMENSION");
  command->add_option("-o,--output", options.output, "File for every prediction, .json or .csv; - prints CSV");
}

}  // namespace farscale
