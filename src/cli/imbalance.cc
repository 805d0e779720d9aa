#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "report/loss_growth.h"
#include "report/losses_json.h"
#include "report/losses_text.h"
#include "study/resources.h"
#include "study/run_study.h"

namespace farscale {
namespace {

struct ImbalanceOptions {
  int application = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> phases;
  std::int64_t top = 10;
  std::string output;
};

int Imbalance(const ImbalanceOptions& options, const Common& common) {
  const std::string ending = std::filesystem::path(options.output).extension().string();
  if (!options.output.empty() && options.output != "-" && ending != ".json") {
    throw Error(ErrorKind::kUsage, options.output, "the name of the output must end in .json");
  }
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.application);
  if (!options.phases.empty()) {
    study.phases.clear();
    for (const std::string& text : options.phases) study.phases.push_back(PhaseSpec::Region(text));
  }
  const MeasuredRuns measured = MeasureRuns(study, messages.Progress(), {}, Detail::kLosses);
  Results results;
  results.runs = measured.runs;
  results.table = measured.table;
  messages.FindingsOf(results);
  for (const LossRecord& losses : measured.losses) messages.Findings(losses.trace, losses.findings);
  const ModelLibrary library = LoadModels(study.model_files);
  const std::vector<LossProjection> projected = ProjectLosses(measured.losses, library, study.projection);
  if (options.output.empty()) {
    bool is_first = true;
    for (const LossRecord& losses : measured.losses) {
      fmt::print("{}{}", is_first ? "" : "\n", FormatLosses(losses, static_cast<std::size_t>(options.top)));
      is_first = false;
    }
    if (measured.losses.size() > study.phases.size()) {
      fmt::print("\n{}", FormatGrowth(DescribeGrowth(projected, Project(measured.table, library, study.projection))));
    }
  } else {
    WriteOutput(options.output, WriteLossesJson(measured.losses, projected));
  }
  for (const RunRecord& run : measured.runs) {
    if (!run.error.empty()) PrintError(Error(ErrorKind::kInput, "run failed", run.error));
  }
  return measured.failure ? measured.failure->exit_code() : 0;
}

}  // namespace

void AddImbalanceCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<ImbalanceOptions>();
  CLI::App* command =
      app.add_subcommand("imbalance", "Say where time is lost: wait states, what caused them, the critical path");
  command->footer(
      "Waits are charged to the call paths that made the others wait, through chains of waits: short-term costs are of\n"
      "waits that a delay caused itself, long-term costs of those that these caused in turn.");
  command->add_option("input", options->inputs, "A study file, or traces of one program (.otf2, .prv, .prv.gz)")
      ->required();
  command
      ->add_option("--phase", options->phases,
                   "Region to analyse, by name or as /regular expression/, or auto for the iterations that the MPI "
                   "calls show; repeat for several (default: the study's phases, or the whole run)")
      ->allow_extra_args(false);
  command->add_option("--top", options->top, "Rows of each table")->check(CLI::PositiveNumber)->capture_default_str();
  AddApplicationOption(command, options->application);
  command->add_option("-o,--output", options->output, "File to write with everything, .json; - prints it");
  command->callback(
      [options, &common, &action] { action = [options, &common] { return Imbalance(*options, common); }; });
}

}  // namespace farscale
