#include "cli/table_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/diagnostics.h"
#include "base/files.h"
#include "cli/command.h"
#include "factors/scaling.h"
#include "models/scaling_model.h"
#include "report/allocation/pages.h"
#include "results/factor_table_files.h"
#include "results/results.h"
#include "results/results_json.h"
#include "study/input_files.h"
#include "study/study.h"

namespace farscale {
namespace {

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
  for (const std::string& text : options.choices) {  // "loadBalance=amdahl:3"
    const std::size_t equals = text.find('=');
    const Factor factor = FactorNamed(text.substr(0, equals), "--model " + text);
    if (equals == std::string::npos) {
      throw Error(ErrorKind::kUsage, "--model " + text, "no model after the factor",
                  "write FACTOR=MODEL or FACTOR=MODEL:DIMENSION");
    }
    result.models.by_factor[factor] = ParseModelChoice(text.substr(equals + 1), "--model " + text);
  }
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
  return AddChoiceOption(command, "--scaling", scaling, {"strong", "weak"}, what);
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

void RefuseScaling(const std::string& results, const std::string& scaling) {
  if (scaling.empty()) return;
  throw Error(ErrorKind::kUsage, "--scaling", results + " says how its runs scale",
              "set it in the study; --scaling is for factor tables");
}

Results ReadResults(const std::string& path, const std::string& preset, const std::string& scaling,
                    bool is_one_of_several) {
  const std::string text = ReadInput(path);
  if (IsResultsJson(text)) {
    Results results = ReadResultsJson(text, path);
    if (!is_one_of_several) RefuseScaling(path, scaling);
    return results;
  }
  TableOptions table_options;
  table_options.table = path;
  table_options.preset = preset;
  table_options.scaling = scaling;
  const FactorTable table = ReadTable(table_options);
  const ProjectionOptions projection = ProjectionOptionsOf(table_options);
  const ModelLibrary library = LoadModels();
  Results results = ResultsOfTable(table, Project(table, library, projection),
                                   path == "-" ? "table" : std::filesystem::path(path).stem().string());
  results.models = Describe(projection.models, library);
  return results;
}

void AddAllocationOptions(CLI::App* command, AllocationFormOptions& options) {
  options.command = command;
  AllocationOptions& plan = options.plan;
  const auto add = [&](const char* name, auto& value, const char* text) {
    return command->add_option(name, value, text)->group(kAllocationGroup);
  };
  add("--phase", plan.phase, "Phase to plan (default: the one that takes most time)");
  add("--group", plan.group, "Group of its ranks to plan (default: all ranks)");
  add("--series", plan.series, "Series to plan (default: the first)");
  add("--efficiency", plan.efficiency, "Efficiency that the recommended job keeps (default: 0.75)")->check(Share());
  add("--iterations", plan.iterations,
      "Iterations to plan for wall times and core hours (default: as in the study, else as in the baseline)")
      ->check(Positive());
  add("--baseline", plan.baseline, "Cores of the run to compare with (default: the reference)")->check(CoreCount());
  add("--title", options.title, "Title of the pack (default: that of the study, else the name of the table)");
  add("--code", options.code, "Code, version, input and machine, in words (default: description of the study)");
  add("--size", options.size, "Size of the problem, with weak scaling of a process (default: as in the study)")
      ->check(Positive());
  add("--unit", options.unit, "Unit of the size, such as cells (default: as in the study)");
  add("--up-to", plan.up_to, "Largest target to show (default: four times the reliable range)")
      ->type_name("INT")
      ->check(CoreCount());
}

void RefuseAllocationOptions(const AllocationFormOptions& options) {
  for (const CLI::Option* option : options.command->get_options()) {
    if (option->get_group() != kAllocationGroup || option->count() == 0) continue;
    throw Error(ErrorKind::kUsage, option->get_name(), "belongs to an allocation pack, which was not asked for",
                "add --form allocation, or leave it out");
  }
}

void WriteAllocationForm(const Results& given, const AllocationFormOptions& options, const ReportTemplates& templates,
                         const std::filesystem::path& folder, const Common& common) {
  Results results = given;
  // Descriptions that a bare table lacks.
  if (!options.title.empty()) results.title = options.title;
  if (!options.code.empty()) results.description = options.code;
  if (!options.unit.empty()) results.problem.unit = options.unit;
  if (options.size) {
    const bool is_weak = results.table.scaling == Scaling::kWeak;
    results.problem.size = is_weak ? std::nullopt : options.size;
    results.problem.size_per_process = is_weak ? options.size : std::nullopt;
  }
  const AllocationPack pack = MakeAllocationPack(results, options.plan);
  const auto files = WriteAllocation(results, pack, templates, folder);
  const ReportData text = DescribeAllocation(results, pack, templates.partials);
  if (!common.quiet) PrintSentences(text["recommendation"]);
  for (const char* list : {"contradictions", "missing"}) {
    for (const ReportData& sentence : text[list]) Messages(common).Warning(sentence);
  }
  PrintWritten(files, common);
}

}  // namespace farscale
