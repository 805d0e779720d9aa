#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/table_options.h"
#include "factors/factor_table_csv.h"
#include "factors/factor_table_json.h"
#include "report/text_table.h"
#include "study/resources.h"
#include "study/run_study.h"

namespace farscale {
namespace {

struct FactorsOptions {
  int application = 0;
  std::vector<std::string> inputs;
  std::vector<std::string> phases;
  std::string span;
  std::string rules;
  std::string scaling;
  std::string series;
  std::string groups;
  std::string output;
  std::string preset;
  CounterNames counters;
  std::int64_t eager_limit = -1;
  std::int64_t reference = 0;
  std::int64_t skip = 0;
  std::int64_t keep = 0;
  std::string clean;
};

void RequireRegions(const std::vector<PhaseSpec>& phases) {
  for (const PhaseSpec& phase : phases) {
    if (phase.Repeats()) continue;
    throw Error(ErrorKind::kUsage, "phase '" + phase.name + "'",
                "--span, --skip, --keep and --clean are for regions that repeat", "name one with --phase");
  }
}

void ApplyPhases(const FactorsOptions& options, Study& study) {
  if (!options.phases.empty()) {
    study.phases.clear();
    for (const std::string& text : options.phases) {
      if (std::count(options.phases.begin(), options.phases.end(), text) > 1) {
        throw Error(ErrorKind::kUsage, "--phase", "'" + text + "' is given twice");
      }
      study.phases.push_back(PhaseSpec::Region(text));
    }
  }
  const bool chooses = options.skip > 0 || options.keep > 0 || !options.clean.empty();
  if (!options.span.empty() || chooses) RequireRegions(study.phases);
  for (PhaseSpec& phase : study.phases) {
    if (options.span == "whole") phase.span = Span::kWhole;
    if (options.span == "each") phase.span = Span::kEach;
    if (options.skip > 0) phase.skip = static_cast<std::size_t>(options.skip);
    if (options.keep > 0) phase.keep = static_cast<std::size_t>(options.keep);
    if (!options.clean.empty()) phase.clean = ParseClean(options.clean, "--clean");
  }
}

void Apply(const FactorsOptions& options, Study& study) {
  ApplyPhases(options, study);
  ReplayRules& rules = study.factors.rules;
  if (!options.rules.empty()) rules.set = options.rules == "bsc" ? RuleSet::kBsc : RuleSet::kCausal;
  if (options.eager_limit >= 0) {
    if (rules.set == RuleSet::kBsc) {
      throw Error(ErrorKind::kUsage, "--eager-limit", "the rules bsc fix the eager limit at 32768 bytes",
                  "add --rules causal");
    }
    rules.eager_limit = static_cast<std::uint64_t>(options.eager_limit);
  }
  if (!options.scaling.empty()) study.scaling = ScalingByName(options.scaling);
  if (options.reference > 0) study.reference = options.reference;
  if (!options.series.empty()) study.series = options.series;
  if (!options.groups.empty()) {
    study.finds_groups = options.groups == "auto";
    study.groups.clear();
  }
  if (!options.counters.instructions.empty()) study.factors.counters.instructions = options.counters.instructions;
  if (!options.counters.cycles.empty()) study.factors.counters.cycles = options.counters.cycles;
}

int Factors(const FactorsOptions& options, const Common& common) {
  const Messages messages(common);
  const bool to_file = !options.output.empty() && options.output != "-";
  const TableFormat format = to_file ? TableFormatOf(options.output) : TableFormat::kCsv;
  Study study = StudyOfInputs(options.inputs, options.preset, options.application);
  Apply(options, study);
  const MeasuredRuns measured = MeasureRuns(study, messages.Progress());
  Results results;
  results.runs = measured.runs;
  results.table = measured.table;
  messages.FindingsOf(results);
  if (options.output.empty()) {
    fmt::print("{}", FormatFactorTable(measured.table));
  } else {
    WriteOutput(options.output,
                format == TableFormat::kJson ? WriteFactorJson(measured.table) : WriteFactorCsv(measured.table));
  }
  for (const RunRecord& run : measured.runs) {
    if (!run.error.empty()) PrintError(Error(ErrorKind::kInput, "run failed", run.error));
  }
  return measured.failure ? measured.failure->exit_code() : 0;
}

}  // namespace

void AddFactorsCommand(CLI::App& app, const Common& common, CommandResult& action) {
  auto options = std::make_shared<FactorsOptions>();
  CLI::App* command = app.add_subcommand("factors", "Measure the efficiency factors of a study or of some traces");
  command->footer("Without -o the table is printed. The table is small; keep it, and predict from it later.");
  command->add_option("input", options->inputs, "A study file, or traces of one program (.otf2, .prv, .prv.gz)")
      ->required();
  command
      ->add_option(
          "--phase", options->phases,
          "Region to analyse, by name or as /regular expression/, or auto for the iterations that the MPI calls show, "
          "auto:NAME for a part of them; "
          "repeat for several (default: the "
          "study's phases, or the whole run)")
      ->allow_extra_args(false);
  command->add_option("--span", options->span, "Count one window a rank, or each occurrence (default: by the gaps)")
      ->check(CLI::IsMember({"whole", "each"}));
  command->add_option("--skip", options->skip, "Leave out this many iterations at the beginning")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--keep", options->keep, "Keep this many iterations")->check(Positive());
  command->add_option("--clean", options->clean,
                      "Keep the longest run of undisturbed iterations (longest), or so many of the cleanest");
  command->add_option("--rules", options->rules, "Rules of the ideal replay (default: bsc)")
      ->check(CLI::IsMember({"bsc", "causal"}));
  command->add_option("--eager-limit", options->eager_limit, "With causal: bytes from which messages rendezvous")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--scaling", options->scaling, "How the runs scale (default: from how the work grows)")
      ->check(CLI::IsMember({"strong", "weak"}));
  command->add_option("--reference", options->reference, "Cores of the reference run (default: the smallest)")
      ->check(CoreCount());
  command
      ->add_option("--groups", options->groups,
                   "Factors for groups of ranks that do different work, as they are found, too (default: as the study "
                   "says, else auto)")
      ->check(CLI::IsMember({"auto", "none"}));
  AddApplicationOption(command, options->application);
  command->add_option("--instructions", options->counters.instructions, "Counter that holds instructions");
  command->add_option("--cycles", options->counters.cycles, "Counter that holds cycles");
  command->add_option("--series", options->series, "Name of the program in the table");
  command->add_option("--preset", options->preset, "Preset whose settings fill what the study leaves out");
  command->add_option("-o,--output", options->output, "File to write, .json or .csv; - prints CSV");
  command->callback([options, &common, &action] { action = [options, &common] { return Factors(*options, common); }; });
}

}  // namespace farscale
