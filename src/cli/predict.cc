#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/anomalies.h"
#include "projection/observed_projection.h"
#include "projection/thread_split.h"
#include "results/projection_files.h"
#include "report/digest.h"
#include "report/factor_text.h"
#include "report/report.h"
#include "report/split_text.h"
#include "report/splits_section.h"
#include "report/target_text.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct PredictOptions {
  TableOptions table;
  std::string output;
  std::string report;
  std::int64_t train_max = 0;
  ReliabilityLimits limits;
  std::string horizon_width;
  std::vector<std::int64_t> targets;
  std::int64_t split = 0, cpus_of_node = 0;
  std::vector<double> levels;
  bool key_results = false;
};

ProjectionOptions ProjectionOptionsOf(const PredictOptions& options) {
  ProjectionOptions result = ProjectionOptionsOf(options.table);
  if (options.train_max > 0) result.train_max = static_cast<double>(options.train_max);
  if (!options.targets.empty()) result.targets.assign(options.targets.begin(), options.targets.end());
  result.reliability_limits = options.limits;
  if (!options.levels.empty()) result.key_results.levels = options.levels;
  return result;
}

// Says what could not be projected; that is an error unless some phases could be projected as a whole, or the splits of
// cores are known instead.
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

// The tags of predict.txt.mustache.
struct PredictHint {
  bool is_without_report = false;
  FARSCALE_TAGS(is_without_report)
};

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
  PrintSentences(RenderSentences(texts, "predict.txt", ToData(PredictHint{written.empty() && !common.quiet})));
  PrintWritten(written, common);
}

// How so many cores are best divided into processes and threads.
int PrintSplits(const PredictOptions& options, const Common& common) {
  const Messages messages(common);
  if (!options.report.empty()) {
    throw Error(ErrorKind::kUsage, "--report", "splits of cores have no report",
                "use -o FILE.json, or leave out --split");
  }
  if (IsFile(options.output) && TableFormatOf(options.output) != TableFormat::kJson) {
    throw Error(ErrorKind::kUsage, options.output, "splits of cores are written as JSON", "choose a name in .json");
  }
  if (IsFile(options.output)) RefuseOverwriting(options.table.table, options.output);
  FactorTable table = ReadTable(options.table);
  // That is about curves over cores; splits have one over each of both.
  std::erase_if(table.findings, [](const Finding& finding) { return finding.id == anomaly::kSplitsDiffer.id; });
  messages.Findings("", table.findings);
  SplitQuestion question{options.split, std::nullopt};
  if (options.cpus_of_node > 0) question.cpus_of_node = options.cpus_of_node;
  const std::vector<ThreadSplits> splits =
      SplitCores(table, LoadModels(options.table.model_files), ProjectionOptionsOf(options), question);
  if (!options.output.empty()) WriteOutput(options.output, WriteSplitsJson(options.split, splits, table.findings));
  if (options.output != "-") fmt::print("{}", FormatSplits(splits, options.split, WidthOfOutput()));
  const bool is_any = std::ranges::any_of(splits, [](const ThreadSplits& one) { return one.obstacle.empty(); });
  return is_any ? 0 : static_cast<int>(ErrorKind::kNotEnoughData);
}

int Predict(const PredictOptions& options, const Common& common) {
  if (options.split > 0) return PrintSplits(options, common);
  const Messages messages(common);
  const bool to_file = IsFile(options.output);
  const TableFormat format = to_file ? TableFormatOf(options.output) : TableFormat::kCsv;
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
    results.models = Describe(projection_options.models);
    results.backtest = BacktestForReport(table, library, projection_options, messages.Progress());
    written = WriteReport(results, LoadTemplates(), options.report,
                          {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv});
  }
  if (!options.output.empty()) {
    WriteOutput(options.output, format == TableFormat::kJson ? WriteProjectionJson(projections, table.findings)
                                                             : WriteProjectionCsv(projections));
    if (to_file) written.emplace_back(options.output);
  }
  if (options.output != "-" && (written.empty() || !common.quiet)) {
    Print(results, options, written, common);
  }
  messages.Findings("", table.findings);
  return ExitCode(results, messages);
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
  AddTargetsOption(
      command, options.targets,
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
      ->group("")  // of earlier versions
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

}  // namespace farscale
