#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "factors/factor_table_csv.h"
#include "factors/factor_table_json.h"
#include "projection/projection_csv.h"
#include "projection/projection_json.h"
#include "report/results_json.h"
#include "report/text_table.h"
#include "report/write_report.h"
#include "study/resources.h"

namespace farscale {
namespace {

constexpr std::int64_t kMostCores = 1000000000;

struct PredictOptions {
  std::string table;
  std::string output;
  std::string report;
  std::string preset;
  std::string scaling;
  std::int64_t reference = 0;
  std::int64_t train_max = 0;
  std::vector<std::int64_t> targets;
  std::vector<std::string> candidates;
  std::vector<std::string> choices;
  std::vector<std::string> model_files;
};

FactorTable ReadTable(const std::string& path) {
  const std::string text = ReadFile(path);
  const std::string_view trimmed = Trim(text);
  if (!trimmed.empty() && trimmed.front() == '{') return ReadTableFromJson(text, path);
  return ReadFactorCsv(text, path);
}

// "loadBalance=amdahl:3"
void AddChoice(const std::string& text, ModelSettings& settings) {
  const std::size_t equals = text.find('=');
  const std::string id = text.substr(0, equals);
  const auto factor = FactorById(id);
  if (equals == std::string::npos || !factor) {
    throw Error(ErrorKind::kUsage, "--model " + text,
                factor ? "no model after the factor" : "unknown factor '" + id + "'",
                factor ? "write FACTOR=MODEL or FACTOR=MODEL:DIMENSION" : DidYouMean(id, FactorIds()));
  }
  settings.by_factor[*factor] = ParseModelChoice(text.substr(equals + 1), "--model " + text);
}

ProjectionOptions ProjectionOptionsOf(const PredictOptions& options) {
  ProjectionOptions result;
  result.models = DefaultModelSettings();
  if (!options.preset.empty()) {
    const auto preset = LoadPreset(options.preset);
    if (!preset) {
      throw Error(ErrorKind::kUsage, "--preset", "no preset '" + options.preset + "'",
                  "there are " + Join(PresetNames(), ", "));
    }
    result = ParseProjectionPreset(*preset);
  }
  if (!options.candidates.empty()) {
    result.models.standard = ModelChoice{{}, "--candidates"};
    for (const std::string& text : options.candidates) {
      result.models.standard.options.push_back(ParseModelChoice(text, "--candidates").options.front());
    }
  }
  for (const std::string& choice : options.choices) AddChoice(choice, result.models);
  if (options.train_max > 0) result.train_max = static_cast<double>(options.train_max);
  if (!options.targets.empty()) result.targets.assign(options.targets.begin(), options.targets.end());
  return result;
}

// Says what could not be projected; that is an error unless some phases could be projected as a whole.
int ExitCode(const std::vector<PhaseProjection>& projections, const Messages& messages) {
  std::vector<Error> errors;
  for (const PhaseProjection& projection : projections) {
    const std::string missing = DescribeMissing(projection);
    if (missing.empty()) continue;
    std::string where = projection.series;
    if (!projection.phase.empty()) where += (where.empty() ? "phase " : ", phase ") + projection.phase;
    errors.emplace_back(ErrorKind::kEvidence, where, missing);
  }
  if (!errors.empty() && errors.size() == projections.size()) {
    PrintError(errors.front());
    return errors.front().exit_code();
  }
  for (const Error& error : errors) messages.Warning(error.what());
  return 0;
}

int Predict(const PredictOptions& options, const Common& common) {
  const Messages messages(common);
  const bool to_file = !options.output.empty() && options.output != "-";
  const TableFormat format = to_file ? TableFormatOf(options.output) : TableFormat::kCsv;
  if (to_file) RefuseOverwriting(options.table, options.output);
  if (!options.report.empty()) {
    RefuseOverwriting(options.table, std::filesystem::path(options.report) / "results.json");
    RefuseOverwriting(options.table, std::filesystem::path(options.report) / "factors.csv");
  }
  FactorTable table = ReadTable(options.table);
  if (!table.scaling && !options.scaling.empty()) table.scaling = ScalingByName(options.scaling);
  CompleteTable(table);
  ChangeTerms(table, ScalingByName(options.scaling),
              options.reference > 0 ? std::optional(options.reference) : std::nullopt);
  const ProjectionOptions projection_options = ProjectionOptionsOf(options);
  const ModelLibrary library = LoadModels(options.model_files);
  const std::vector<PhaseProjection> projections = Project(table, library, projection_options);
  for (const Finding& finding : FindUnusedModels(projection_options.models, projections)) {
    table.findings.push_back(finding);
  }
  messages.Findings("", table.findings);
  if (!options.report.empty()) {
    Results results = ResultsOfTable(table, projections, std::filesystem::path(options.table).stem().string());
    results.models = ModelsInWords(projection_options.models);
    WriteReport(results, LoadTemplates(), options.report,
                {ReportFormat::kHtml, ReportFormat::kMarkdown, ReportFormat::kJson, ReportFormat::kCsv});
  }
  if (!options.output.empty()) {
    WriteOutput(options.output,
                format == TableFormat::kJson ? WriteProjectionJson(projections) : WriteProjectionCsv(projections));
  } else if (options.report.empty()) {
    fmt::print("{}", FormatProjections(projections));
  }
  return ExitCode(projections, messages);
}

}  // namespace

void AddPredictCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "Fit and extrapolate a factor table: of farscale, or published numbers");
  command->footer(
      "The table is factors.json, results.json, or a CSV file with the column cores and factors by their ids\n"
      "(loadBalance, serializationEfficiency, ...; docs/file-formats.md). Without -o the projection is printed.");
  command->add_option("table", options->table, "The factor table (.json or .csv)")->required();
  command->add_option("--train-max", options->train_max, "Fit only runs up to this many cores")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--targets", options->targets,
                   "Core counts to project to, separated by commas (default: powers "
                   "of two up to a million)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(std::int64_t{1}, kMostCores));
  command->add_option("--candidates", options->candidates,
                      "Models to choose from for every factor, separated by blanks; MODEL:1,3 gives dimensions");
  command
      ->add_option("--model", options->choices,
                   "Model of one factor: FACTOR=MODEL or FACTOR=MODEL:DIMENSION; "
                   "repeat for several")
      ->allow_extra_args(false);
  command
      ->add_option("--fits", options->model_files, "Model file of your own, or a folder with such; repeat for several")
      ->allow_extra_args(false);
  command->add_option("--preset", options->preset, "Preset with the models to use, such as rosas14");
  command->add_option("--scaling", options->scaling, "How the runs scale (default: as the table says)")
      ->check(CLI::IsMember({"strong", "weak"}));
  command->add_option("--reference", options->reference, "Cores of the reference run (default: as in the table)")
      ->check(CLI::PositiveNumber);
  command->add_option("--report", options->report, "Folder for a full report of the table and its projection");
  command->add_option("-o,--output", options->output, "File to write, .json or .csv; - prints CSV");
  command->callback([options, &common, &action] { action = [options, &common] { return Predict(*options, common); }; });
}

}  // namespace farscale
