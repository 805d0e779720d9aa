#include "cli/table_options.h"

#include <filesystem>

#include "base/core_count.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "results/factor_table_files.h"
#include "factors/scaling.h"
#include "gate/result_files.h"
#include "results/results_json.h"
#include "study/resources.h"
#include "study/study.h"

namespace farscale {
namespace {

// "loadBalance=amdahl:3"
void AddChoice(const std::string& text, ModelSettings& settings) {
  const std::size_t equals = text.find('=');
  const Factor factor = FactorNamed(text.substr(0, equals), "--model " + text);
  if (equals == std::string::npos) {
    throw Error(ErrorKind::kUsage, "--model " + text, "no model after the factor",
                "write FACTOR=MODEL or FACTOR=MODEL:DIMENSION");
  }
  settings.by_factor[factor] = ParseModelChoice(text.substr(equals + 1), "--model " + text);
}

FactorTable ParseTable(const std::string& path, const std::vector<std::string>& more_runs) {
  if (!more_runs.empty()) {
    std::vector<std::string> runs = {path};
    runs.insert(runs.end(), more_runs.begin(), more_runs.end());
    return ReadTableOfRuns(runs);
  }
  const std::string text = ReadInput(path), name = path == "-" ? "standard input" : path;
  return FormatOfResults(text, name).empty() ? ReadFactorCsv(text, name) : ReadTableFromJson(text, name);
}

}  // namespace

Factor FactorNamed(const std::string& id, const std::string& where) {
  const auto factor = FactorById(id);
  if (!factor) throw Error(ErrorKind::kUsage, where, "unknown factor '" + id + "'", DidYouMean(id, FactorIds()));
  return *factor;
}

FactorTable ReadTable(const TableOptions& options) {
  FactorTable table = ParseTable(options.table, options.more_runs);
  PutInTerms(table, ScalingByName(options.scaling),
             options.reference > 0 ? std::optional(options.reference) : std::nullopt);
  return table;
}

ProjectionOptions ProjectionOptionsOf(const TableOptions& options) {
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
  if (options.seed > 0) result.seed = static_cast<std::uint64_t>(options.seed);
  return result;
}

void AddModelOptions(CLI::App* command, TableOptions& options) {
  command->add_option("--candidates", options.candidates,
                      "Models to choose from for every factor, separated by blanks; MODEL:1,3 gives dimensions");
  command
      ->add_option("--model", options.choices,
                   "Model of one factor: FACTOR=MODEL or FACTOR=MODEL:DIMENSION; "
                   "repeat for several")
      ->allow_extra_args(false);
  const CLI::Validator whole(
      [](std::string& text) {
        long long seed = 0;
        return ParseInteger(text, seed) && seed > 0 ? std::string()
                                                    : "'" + text + "' is no whole number from 1 to 9223372036854775807";
      },
      "WHOLE");
  command->add_option("--seed", options.seed, "Seed of the draws that make the intervals (default: 1)")->check(whole);
  command
      ->add_option("--fits", options.model_files, "Model file of your own, or a folder with such; repeat for several")
      ->allow_extra_args(false);
  command->add_option("--preset", options.preset, "Preset with the models to use, such as rosas14");
}

CLI::Option* AddScalingOption(CLI::App* command, std::string& scaling, const std::string& what) {
  return command->add_option("--scaling", scaling, what)->check(CLI::IsMember({"strong", "weak"}));
}

// CLI11 would leave out what is empty between commas and read zeros in front as octal.
CLI::Option* AddCoreCountsOption(CLI::App* command, const std::string& name, std::vector<std::int64_t>& cores,
                                 const std::string& what) {
  const auto read = [name, &cores](const std::vector<std::string>& texts) {
    cores.clear();
    for (const std::string& text : texts) {
      const std::string why = WhyNoCoreCounts(text, cores);
      if (!why.empty()) throw CLI::ValidationError(name, why);
    }
  };
  return command->add_option_function<std::vector<std::string>>(name, read, what)
      ->type_name("CORES,...")
      ->allow_extra_args(false);
}

CLI::Validator CoreCount() {
  return {[](std::string& text) {
            // As a list, so that the advice on "1,024" is the number meant.
            std::vector<std::int64_t> cores;
            const std::string why = WhyNoCoreCounts(text, cores);
            return why.empty() && cores.size() > 1 ? "'" + text + "' is more than one number of cores" : why;
          },
          "CORES"};
}

void AddTargetsOption(CLI::App* command, std::vector<std::int64_t>& targets, const std::string& what) {
  AddCoreCountsOption(command, "--targets", targets, what);
}

void AddTableOptions(CLI::App* command, TableOptions& options) {
  command
      ->add_option("table", options.table,
                   "The factor table (.json or .csv; - reads standard input), or a run measured by farscale or TALP")
      ->required();
  command->add_option("runs", options.more_runs, "More measured runs, which make one table with the first");
  AddModelOptions(command, options);
  AddScalingOption(command, options.scaling, "How the runs scale (default: as the table says)");
  command->add_option("--reference", options.reference, "Cores of the reference run (default: as in the table)")
      ->check(CoreCount());
}

Results ReadResults(const std::string& path, const ResultsOptions& options) {
  const std::string text = ReadInput(path);
  if (IsResultsJson(text)) {
    Results results = ReadResultsJson(text, path);
    if (options.scaling.empty() || options.is_one_of_several) return results;
    throw Error(ErrorKind::kUsage, "--scaling", path + " says how its runs scale",
                "set it in the study; --scaling is for factor tables");
  }
  TableOptions table_options;
  table_options.table = path;
  table_options.preset = options.preset;
  table_options.scaling = options.scaling;
  const FactorTable table = ReadTable(table_options);
  const ProjectionOptions projection = ProjectionOptionsOf(table_options);
  Results results = ResultsOfTable(table, Project(table, LoadModels(), projection),
                                   path == "-" ? "table" : std::filesystem::path(path).stem().string());
  results.models = Describe(projection.models);
  return results;
}

}  // namespace farscale
