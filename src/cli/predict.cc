#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/anomalies.h"
#include "factors/factor_table.h"
#include "models/scaling_model.h"
#include "projection/backtest.h"
#include "projection/thread_split.h"
#include "report/sections.h"
#include "report/compare/pages.h"
#include "report/digest.h"
#include "report/factor_text.h"
#include "report/report.h"
#include "results/results_json.h"
#include "study/input_files.h"

namespace farscale {
namespace {

// Options of predict and backtest.
struct PredictOptions {
  TableOptions table;
  std::string output, report;
  std::int64_t train_max = 0;
  ReliabilityLimits limits;
  std::string horizon_width;
  std::vector<std::int64_t> targets;
  std::int64_t split = 0, cpus_of_node = 0;
  std::vector<double> levels;
  bool key_results = false;
  // Options that only backtest has.
  std::vector<std::int64_t> trained_up_to;
  std::vector<std::string> factors;
  std::string against;
  bool by_series = false;
};

ProjectionOptions ProjectionOptionsOf(const PredictOptions& options) {
  ProjectionOptions result = ProjectionOptionsOf(options.table);
  if (options.train_max > 0) result.train_max = static_cast<double>(options.train_max);
  if (!options.targets.empty()) result.targets.assign(options.targets.begin(), options.targets.end());
  result.reliability_limits = options.limits;
  if (!options.levels.empty()) result.levels = options.levels;
  return result;
}

// Warns of phases that could not be projected; an error unless some phases could be projected as a whole, or the splits
// of cores are known instead.
int ExitCode(const Results& results, const Messages& messages) {
  std::vector<Error> errors;
  for (const PhaseProjection& projection : results.projections) {
    const std::string missing = DescribeMissing(projection);
    if (missing.empty() || KnowsSplits(results.splits, {projection.series, projection.phase})) continue;
    std::string where = projection.series;
    if (!projection.phase.IsUnnamed()) where += (where.empty() ? "phase " : ", phase ") + projection.phase.Text();
    errors.emplace_back(ErrorKind::kNotEnoughData, where, missing);
  }
  if (!errors.empty() && errors.size() == results.projections.size()) {
    PrintError(errors.front());
    return errors.front().exit_code();
  }
  for (const Error& error : errors) messages.Warning(error.what());
  return 0;
}

// A digest, or all tables with --verbose; then what was asked for besides.
void Print(const Results& results, const PredictOptions& options, const std::vector<std::filesystem::path>& written,
           const Common& common) {
  const Partials texts = LoadTemplates().partials;
  const bool is_verbose = common.verbose && !common.quiet;
  if (is_verbose) fmt::print("{}", FormatProjections(results.projections, results.table, texts, WidthOfOutput()));
  if (!is_verbose) fmt::print("{}", FormatDigest(results, texts, StyleOf(common)));
  fmt::print("{}", FormatBestSplits(results, texts, StyleOf(common)));
  if (!is_verbose && !options.targets.empty()) {
    fmt::print("\n{}", FormatTargets(results.projections, texts, StyleOf(common)));
  }
  if (is_verbose || options.key_results)
    fmt::print("\n{}", FormatKeyResults(results.projections, true, texts, WidthOfOutput()));
  PrintSentences(RenderSentences(texts, "predict.txt", {{"isWithoutReport", written.empty() && !common.quiet}}));
  PrintWritten(written, common);
}

// Prints the best divisions of some number of cores into processes and threads.
int PrintSplits(const PredictOptions& options, const Common& common) {
  const Messages messages(common);
  if (!options.report.empty()) {
    throw Error(ErrorKind::kUsage, "--report", "splits of cores have no report",
                "use -o FILE.json, or leave out --split");
  }
  if (IsFile(options.output) && !IsJsonTable(options.output)) {
    throw Error(ErrorKind::kUsage, options.output, "splits of cores are written as JSON", "choose a name in .json");
  }
  if (IsFile(options.output)) RefuseOverwriting(options.table.table, options.output);
  FactorTable table = ReadTable(options.table);
  // That is about curves over cores; splits have one over each of both.
  std::erase_if(table.findings, [](const Finding& finding) { return finding.id == anomaly::kSplitsDiffer.id; });
  messages.Findings("", table.findings);
  const std::vector<ThreadSplits> splits = SplitCores(
      table, LoadModels(options.table.model_files), ProjectionOptionsOf(options), options.split, options.cpus_of_node);
  if (!options.output.empty()) WriteOutput(options.output, WriteSplitsJson(options.split, splits, table.findings));
  if (options.output != "-") fmt::print("{}", FormatSplits(splits, options.split, WidthOfOutput()));
  const bool is_any = std::ranges::any_of(splits, [](const ThreadSplits& one) { return one.obstacle.empty(); });
  return is_any ? 0 : static_cast<int>(ErrorKind::kNotEnoughData);
}

int Predict(const PredictOptions& options, const Common& common) {
  if (options.split > 0) return PrintSplits(options, common);
  const Messages messages(common);
  const bool to_file = IsFile(options.output);
  const bool is_json = to_file && IsJsonTable(options.output);
  const std::filesystem::path input = options.table.table;
  if (to_file) RefuseOverwriting(input, options.output);
  if (options.key_results && options.output == "-") {
    throw Error(ErrorKind::kUsage, "--answers", "-o - prints the projection as CSV and nothing else",
                "leave out one of both");
  }
  if (!options.report.empty()) {
    RefuseOverwriting(input, std::filesystem::path(options.report) / "results.json");
    RefuseOverwriting(input, std::filesystem::path(options.report) / "factors.csv");
  }
  FactorTable table = ReadTable(options.table);
  const OnError warnings([&] { messages.Findings("", table.findings); });
  const ProjectionOptions projection_options = ProjectionOptionsOf(options);
  const ModelLibrary library = LoadModels(options.table.model_files);
  const std::vector<PhaseProjection> projections = Project(table, library, projection_options, messages.Progress());
  for (const Finding& finding : FindUnusedModels(projection_options.models, projections)) {
    table.findings.push_back(finding);
  }
  std::vector<std::filesystem::path> written;
  Results results = ResultsOfTable(table, projections, input == "-" ? "table" : input.stem().string());
  results.splits = SplitTargets(table, library, projection_options);
  if (!options.report.empty()) {
    results.models = Describe(projection_options.models, library);
    results.backtest = BacktestForReport(table, library, projection_options, messages.Progress());
    written = WriteReport(results, LoadTemplates(), options.report,
                          {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv});
  }
  if (!options.output.empty()) {
    WriteOutput(options.output,
                is_json ? WriteProjectionJson(projections, table.findings) : WriteProjectionCsv(projections));
    if (to_file) written.emplace_back(options.output);
  }
  if (options.output != "-" && (written.empty() || !common.quiet)) {
    Print(results, options, written, common);
  }
  messages.Findings("", table.findings);
  return ExitCode(results, messages);
}

void Print(const std::vector<BacktestRow>& rows, std::vector<Factor> factors,
           const std::optional<BacktestComparison>& comparison, bool by_series) {
  PrintSentences(SummarizeBacktest(rows, LoadTemplates().partials));
  fmt::print("\n{}", FormatErrors(ErrorsByRatio(rows), WidthOfOutput()));
  if (comparison) fmt::print("\n{}", FormatComparison(*comparison, WidthOfOutput()));
  if (!by_series) return;
  if (factors.empty()) {  // the widest efficiency of ranks that all have
    const bool has_widest = std::ranges::count(rows, Factor::kParallelEfficiency, &BacktestRow::factor) > 0;
    factors = {has_widest ? Factor::kParallelEfficiency : rows.front().factor};
  }
  for (const Factor factor : factors) {
    fmt::print("\n{}", FormatErrorsByPhase(rows, factor, WidthOfOutput()));
  }
}

[[noreturn]] void FailWithoutRows(const PredictOptions& command, const FactorTable& table,
                                  const BacktestResult& result) {
  std::string advice =
      command.trained_up_to.empty()
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

int RunBacktest(const PredictOptions& command, const Common& common) {
  const Messages messages(common);
  const bool to_file = IsFile(command.output);
  const bool is_json = to_file && IsJsonTable(command.output);
  if (to_file) RefuseOverwriting(command.table.table, command.output);
  std::vector<Factor> factors;
  for (const std::string& id : command.factors) factors.push_back(FactorNamed(id, "--factor"));
  ProjectionOptions options = ProjectionOptionsOf(command.table);
  const std::vector<double> train_max(command.trained_up_to.begin(), command.trained_up_to.end());
  const FactorTable table = ReadTable(command.table);
  const ModelLibrary library = LoadModels(command.table.model_files);
  const BacktestResult result = Backtest(table, library, options, train_max, 0, messages.Progress());
  messages.Findings("", table.findings);
  messages.Findings("", result.findings);
  if (result.rows.empty()) FailWithoutRows(command, table, result);
  for (const std::string& gap : DescribeGaps(result)) messages.Warning(gap);
  std::vector<BacktestRow> others;
  if (!command.against.empty()) {
    options.models = {ParseModelChoice(command.against, "--against"), {}, {}};
    others = Backtest(table, library, options, train_max, 0, messages.Progress()).rows;
  }
  const auto comparison_of = [&](const std::vector<BacktestRow>& rows) -> std::optional<BacktestComparison> {
    if (command.against.empty()) return std::nullopt;
    return CompareBacktests(rows, others, command.against);
  };
  if (!command.output.empty()) {
    WriteOutput(command.output,
                is_json ? WriteBacktestJson(result.rows, comparison_of(result.rows)) : WriteBacktestCsv(result.rows));
  }
  if (command.output == "-" || (to_file && common.quiet)) return 0;
  std::vector<BacktestRow> chosen;  // rows of what is asked for; all when nothing is
  std::ranges::copy_if(result.rows, std::back_inserter(chosen), [&](const BacktestRow& row) {
    return factors.empty() || std::ranges::count(factors, row.factor) > 0;
  });
  if (chosen.empty()) {
    throw Error(ErrorKind::kNotEnoughData, "--factor",
                "no prediction of " + command.factors.front() + " can be backtested");
  }
  Print(chosen, factors, comparison_of(chosen), command.by_series);
  return 0;
}

struct CompareOptions {
  std::vector<std::string> results, names;
  std::vector<std::int64_t> targets;
  std::string output, templates, preset, scaling;
};

// As asked for, else stems of the files; folders where stems do not tell them apart, as results.json does not.
std::vector<std::string> NamesOf(const CompareOptions& options) {
  if (!options.names.empty()) {
    if (options.names.size() == options.results.size()) return options.names;
    throw Error(ErrorKind::kUsage, "--names",
                fmt::format("there are {} names for {} results", options.names.size(), options.results.size()));
  }
  std::vector<std::string> stems, folders;
  std::set<std::string> distinct;
  for (const std::string& path : options.results) {
    const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
    stems.push_back(file.stem().string());
    folders.push_back(file.parent_path().empty() ? stems.back() : file.parent_path().filename().string());
    distinct.insert(stems.back());
  }
  if (distinct.size() == stems.size()) return stems;
  if (std::set<std::string>(folders.begin(), folders.end()).size() == folders.size()) return folders;
  return options.results;
}

int Compare(const CompareOptions& options, const Common& common) {
  if (options.results.size() < 2) {
    throw Error(ErrorKind::kUsage, "", "a comparison needs two results at least");
  }
  const std::vector<std::string> names = NamesOf(options);
  const ReportTemplates templates = LoadFormTemplates("compare", options.templates);
  std::vector<Results> results;
  for (const std::string& path : options.results)
    results.push_back(ReadResults(path, options.preset, options.scaling, true));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Messages(common).Findings(options.results[i], results[i].table.findings);
  }
  const std::vector<double> targets(options.targets.begin(), options.targets.end());
  std::vector<ComparedResults> comparisons;
  for (std::size_t i = 1; i < results.size(); ++i) {
    comparisons.push_back(CompareResults(results[0], results[i], names[0], names[i], targets));
  }
  std::vector<std::filesystem::path> files;
  if (!options.output.empty()) files = WriteCompared(comparisons, templates, options.output);
  if (common.quiet && !files.empty()) return 0;
  const std::vector<std::string> texts =
      WriteCompareTexts(BuildCompareModel(comparisons, templates.partials), templates.partials, WidthOfOutput());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    fmt::print("{}{}", i > 0 ? "\n" : "", texts[i]);
  }
  PrintWritten(files, common);
  return 0;
}

}  // namespace

void AddPredictCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<PredictOptions>(line, "predict", "Fit and extrapolate a factor table, measured or published", Predict);
  command->footer(
      "The table is factors.json, results.json, or a CSV file with the column cores and factors by their ids\n"
      "(loadBalance, serializationEfficiency, ...; docs/file-formats.md). -v prints the projections of all factors.");
  AddTableOptions(command, options.table);
  command->add_option("--train-max", options.train_max, "Fit only runs up to this many cores")->check(CoreCount());
  AddCoreCountsOption(
      command, "--targets", options.targets,
      "Core counts to project to, separated by commas (default: powers of two up to 64 times the largest run)");
  command
      ->add_option("--split", options.split,
                   "Print how so many cores are best divided into processes and threads, of runs with threads")
      ->check(CoreCount());
  command
      ->add_option("--per-node", options.cpus_of_node,
                   "CPUs of a node, for --split: no process has more threads (default: unknown)")
      ->check(CoreCount())
      ->needs("--split");
  const CLI::Validator share = Share();
  command
      ->add_option("--reliable-width", options.limits.share,
                   "Predictions are reliable while half their 80 % interval is at most this share of the value "
                   "(default: 0.15)")
      ->check(share);
  command
      ->add_option("--reliable-width-absolute", options.limits.absolute,
                   "and at most this, for efficiencies (default: 0.1)")
      ->check(share);
  command->add_option("--horizon-width", options.horizon_width)
      ->group("")  // for command lines of earlier versions
      ->check([](const std::string&) -> std::string {
        return "is not used any more; set --reliable-width, a share of the value, and --reliable-width-absolute, both "
               "half the width";
      });
  command->add_flag("--answers", options.key_results,
                    "Print key results: core counts for efficiencies, peak of speedup, times, costs, potential gains");
  command
      ->add_option("--levels", options.levels,
                   "Efficiency levels of the key results, separated by commas (default: 0.8,0.75,0.5)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(share);
  command->add_option("--report", options.report, "Folder for a full report of the table and its projection");
  command->add_option("-o,--output", options.output, "File to write, .json or .csv; - prints CSV, splits as JSON");
}

void AddBacktestCommand(CommandLine& line) {
  auto [command, options] = AddCommand<PredictOptions>(
      line, "backtest", "Predict the larger runs of a factor table from the smaller ones, and compare", RunBacktest);
  command->footer(
      "The table is factors.json, results.json, or a CSV file as for predict. The output lists errors, coverage of\n"
      "the intervals and their scores (smaller is better), by factor and by the ratio of the predicted run to the\n"
      "largest run trained on.");
  AddTableOptions(command, options.table);
  AddCoreCountsOption(command, "--train-max", options.trained_up_to,
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

void AddCompareCommand(CommandLine& line) {
  auto [command, options] = AddCommand<CompareOptions>(
      line, "compare",
      "Compare results of two codes, machines or versions, and find the factor that explains the change", Compare);
  command->footer(
      "Takes results.json, factors.json and factors.csv, also mixed. Each is compared with the first.\n"
      "farscale factors FILES -o TABLE joins several runs measured by farscale or TALP.\n"
      "Without -o the comparison is printed.");
  command->add_option("results", options.results, "Results or factor tables, the one to compare with first")
      ->required();
  command->add_option("-o,--output", options.output, "Folder for compare.html, compare.md and compare.json");
  command
      ->add_option("--names", options.names,
                   "Names of the results, separated by commas or blanks (default: their files)")
      ->delimiter(',');
  AddCoreCountsOption(command, "--targets", options.targets,
                      "Core counts to compare projections at, separated by commas (default: the targets of both)");
  command->add_option("--preset", options.preset, "Preset with the models for factor tables, such as rosas14");
  AddScalingOption(command, options.scaling, "How the runs of factor tables scale (default: as they say)");
  AddTemplatesOption(command, options.templates);
}

}  // namespace farscale
