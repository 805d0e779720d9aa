#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "planning/balance_json.h"
#include "planning/rank_files.h"
#include "report/balance/pages.h"
#include "study/resources.h"
#include "study/run_balance.h"

namespace farscale {
namespace {

struct BalanceOptions {
  TraceChoice choice;
  std::vector<std::string> inputs;
  std::string phase;
  std::vector<std::size_t> processors, levels, intervals;
  std::vector<std::string> strategies, placements;
  std::string predictor = "last";
  double tolerance = 1.05;
  bool always_migrate = false;
  std::string network;
  std::string computation;
  std::string task_bytes;
  double step_time = 50;     // ns
  double switch_time = 0;    // ns
  double lost_locality = 0;  // %
  bool time_sliced = false;
  std::size_t iterations = 0;
  std::string drift = "constant";
  bool free = false;
  std::size_t per_node = 0;
  std::size_t replicas = 20;
  std::uint64_t seed = 1;
  std::vector<double> targets;
  std::vector<std::int64_t> grow_to;
  std::int64_t top = 10;
  std::string rank_files;
  std::string output;
  std::string templates;
};

// A number with or without a unit (64MB, 1.5GiB), else a file that says it rank by rank.
void ReadTaskBytes(const std::string& text, BalanceStudy& balance) {
  if (text.empty()) return;
  const std::map<std::string, double> units = {
      {"", 1},     {"B", 1},        {"kB", 1e3},     {"KB", 1e3},        {"MB", 1e6},
      {"GB", 1e9}, {"KiB", 1024.0}, {"kiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  const std::size_t end = text.find_first_not_of("0123456789.eE+");
  double number = 0;
  if (ParseNumber(text.substr(0, end), number)) {
    const auto unit = units.find(end == std::string::npos ? "" : text.substr(end));
    if (unit != units.end() && number >= 0 && number * unit->second <= kLargestState) {
      balance.task_bytes = number * unit->second;
      return;
    }
  }
  if (!std::filesystem::exists(text)) {
    throw Error(ErrorKind::kUsage, "--task-bytes", "'" + text + "' is neither a size nor a file",
                "give bytes, with a unit if you like (64MB, 1.5GiB), or a file with rank,bytes");
  }
  balance.task_bytes_file = text;
}

BalanceStudy BalanceOf(const BalanceOptions& options) {
  BalanceStudy balance;
  SweepOptions& sweep = balance.sweep;
  sweep.processors = options.processors;
  sweep.levels = options.levels;
  sweep.intervals = options.intervals;
  for (const std::string& id : options.strategies) sweep.strategies.push_back(StrategyById(id).id);
  if (!options.placements.empty()) sweep.placements.clear();
  for (const std::string& name : options.placements) sweep.placements.push_back(*ParsePlacement(name));
  sweep.predictor = *ParseLoadPredictor(options.predictor);
  sweep.strategy_options.tolerance = options.tolerance;
  sweep.always_migrates = options.always_migrate;
  sweep.costs.step_seconds = options.step_time * 1e-9;
  sweep.costs.are_free = options.free;
  sweep.costs.switch_seconds = options.switch_time * 1e-9;
  sweep.costs.cold_share = options.lost_locality / 100;
  sweep.shares_time = options.time_sliced;
  sweep.iterations = options.iterations;
  sweep.continues_drift = options.drift == "trace";
  sweep.replicas = options.replicas;
  sweep.seed = options.seed;
  if (!options.network.empty()) balance.network = options.network;
  balance.clean_computation = !options.computation.empty() && options.computation != "measured";
  if (options.computation != "clean") balance.source = ParseComputationSource(options.computation);
  balance.phase_is_given = !options.phase.empty() && options.phase != "auto";
  if (options.per_node > 0) balance.per_node = options.per_node;
  balance.grow_to = options.grow_to;
  ReadTaskBytes(options.task_bytes, balance);
  return balance;
}

std::vector<BalancedProjection> ProjectTables(std::vector<BalancedTable> tables, const Study& study) {
  const ModelLibrary library = LoadModels(study.model_files);
  std::vector<BalancedProjection> projections;
  for (BalancedTable& table : tables) {
    std::vector<PhaseProjection> projected = Project(table.table, library, study.projection);
    projections.push_back({std::move(table.label), std::move(table.table), std::move(projected)});
  }
  return projections;
}

// No folder where no mapping gains enough: one without files would look as if something had failed.
void WriteRankFiles(const WhatIf& what_if, const BalanceOptions& options, const Common& common) {
  if (options.rank_files.empty()) return;
  const NodeMapping* mapping = MappingWorthHaving(what_if);
  if (mapping == nullptr) {
    Messages(common).Warning(
        fmt::format("no rank files: no other mapping of ranks to nodes gains {:.0f} % or more", 100 * kWorthMapping));
    return;
  }
  const std::vector<std::filesystem::path> written = WriteFiles(options.rank_files, RankFiles(*mapping));
  if (options.output != "-") PrintWritten(written, common);
}

int Balance(const BalanceOptions& options, const Common& common) {
  const PageForm form = PageFormOf(options.output);
  const ReportTemplates templates = LoadFormTemplates("balance", options.templates);
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.choice);
  if (study.runs.front().trace == options.inputs.front()) study.title.clear();  // no study: the name of its program
  if (!options.phase.empty()) study.phases = {PhaseSpec::Region(options.phase)};
  if (options.phase == "auto") study.phases = {PhaseSpec::WholeRun()};  // nothing that the study has chosen
  if (!options.targets.empty()) study.projection.targets = options.targets;
  BalanceResults results = RunBalance(study, BalanceOf(options), messages.Progress());
  const std::vector<BalancedProjection> projections = ProjectTables(std::move(results.tables), study);
  const ReportModel model =
      BuildBalanceModel(results.what_if, templates.partials, projections, static_cast<std::size_t>(options.top));
  if (form == PageForm::kText) {
    fmt::print("{}", WriteBalanceText(model, templates.partials, WidthOfOutput()));
    messages.Findings("", results.what_if.findings);
    WriteRankFiles(results.what_if, options, common);
    return 0;
  }
  messages.Findings("", results.what_if.findings);
  WritePages(form, options.output,
             {"balance",
              [&] { return RenderHtml(model, templates); },
              [&] { return RenderMarkdown(model, templates); },
              [&] { return WriteWhatIfJson(results.what_if, projections); },
              {model.figures.begin(), model.figures.end()}});
  WriteRankFiles(results.what_if, options, common);
  return 0;
}

void AddSweepOptions(CLI::App* command, BalanceOptions& options) {
  const auto count = CLI::Range(1, 10000000);
  command->add_option("--processors", options.processors, "Processors to place the ranks on (default: by levels)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--levels", options.levels,
                   "Ranks per processor (default: 2, 4 and 8, or as --processors gives them)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--intervals", options.intervals,
                   "Iterations between balancing points (default: 5, 10, 20 and 40, as far as there are iterations)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--strategies", options.strategies,
                   "Strategies: greedy, refine, greedy-refine, bisection, diffusion, hierarchical (default: all but "
                   "hierarchical)")
      ->delimiter(',');
  command
      ->add_option("--placements", options.placements, "Initial placement of ranks on processors: block, round-robin")
      ->delimiter(',')
      ->check(CLI::IsMember({"block", "round-robin"}));
  command
      ->add_option("--predictor", options.predictor,
                   "Loads that strategies use: of the last interval, their mean, their trend, or exact future ones")
      ->check(CLI::IsMember({"last", "mean", "trend", "exact"}))
      ->capture_default_str();
  command->add_option("--tolerance", options.tolerance, "Largest load over the average that RefineLB and others accept")
      ->check(NumberThat([](double load) { return load >= 1 && load <= 100; }, "is no number from 1 to 100", "NUMBER"))
      ->capture_default_str();
  command->add_flag("--always-migrate", options.always_migrate,
                    "Migrate even when that does not lower the largest load, as Charm++ does");
}

void AddMachineOptions(CLI::App* command, BalanceOptions& options) {
  command->add_option(
      "--network", options.network,
      "Network by name or file, or calibrated (default: calibrated where possible, else a slow named one)");
  command->add_option("--per-node", options.per_node, "Processors of a node (default: as in the runs)")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--computation", options.computation,
                   "Lengths of computation: measured, clean (without noise), or from cycles, cpu-time, iterations or "
                   "instructions (default: measured)")
      ->check(CLI::IsMember({"measured", "clean", "cycles", "cpu-time", "iterations", "instructions"}));
  command->add_option("--task-bytes", options.task_bytes,
                      "Bytes sent when a rank moves: a size (64MB, 1.5GiB), or a CSV file with the columns rank,bytes "
                      "(default: estimated from the largest messages)");
  command->add_option("--step-time", options.step_time, "Nanoseconds that a step of a strategy takes")
      ->check(
          NumberThat([](double time) { return time >= 0 && time <= 1e9; }, "is no number from 0 to 1e+09", "NUMBER"))
      ->capture_default_str();
  const auto cost = [](double value) { return value >= 0 && value <= 1e9; };
  CLI::Option* switching =
      command
          ->add_option("--switch-time", options.switch_time,
                       "Nanoseconds that a processor needs to take up another task, with refilling its caches")
          ->check(NumberThat(cost, "is no number from 0 to 1e+09", "NUMBER"))
          ->capture_default_str();
  command
      ->add_option("--lost-locality", options.lost_locality,
                   "By how many percent computation is longer in the first iteration after a move")
      ->check(NumberThat(cost, "is no number from 0 to 1e+09", "NUMBER"))
      ->capture_default_str();
  command
      ->add_flag("--time-sliced", options.time_sliced,
                 "Processors serve all ready tasks in equal shares, as an operating system does, not one at a time")
      ->excludes(switching);
  command
      ->add_option("--iterations", options.iterations,
                   "Also replay the best configuration over so many iterations: the phase again and again")
      ->check(CLI::Range(1, 100000000));
  command
      ->add_option("--drift", options.drift,
                   "Loads in these iterations: constant (those of the trace again), or trace (they go on to change as "
                   "the line through those of the trace)")
      ->check(CLI::IsMember({"constant", "trace"}))
      ->capture_default_str();
  command->add_flag("--free", options.free, "Assume that barriers, strategies and migrations take no time");
  command->add_option("--replicas", options.replicas, "Repetitions of the best configurations with the noise reordered")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Seed of the replicas")->capture_default_str();
}

}  // namespace

void AddBalanceCommand(CommandLine& line) {
  auto [command, options] = AddCommand<BalanceOptions>(
      line, "balance", "Predict the gain from dynamic load balancing of an over-decomposed run", Balance);
  command->footer(
      "Replays runs with their ranks as tasks that share processors and move between them, as under AMPI. With strong\n"
      "scaling, the run with as many ranks as there are processors is the baseline of all gains.");
  AddInputOptions(command, options.inputs, options.choice);
  command->add_option(
      "--phase", options.phase,
      "Region of an iteration, by name or as /regular expression/, or auto for the loop of the runs (default: the "
      "first loop among the study's phases, or auto)");
  AddSweepOptions(command, options);
  AddMachineOptions(command, options);
  command->add_option("--targets", options.targets, "Processors to predict balanced factors at (default: as the study)")
      ->delimiter(',')
      ->check(Positive());
  AddGrowOption(command, options.grow_to);
  command->add_option(
      "--rank-files", options.rank_files,
      "Folder for files that place ranks on nodes as the best mapping does, if it gains 2 % or more: for "
      "Open MPI, Slurm and MPICH");
  AddPageOptions(command, options.output, options.top, options.templates);
}

}  // namespace farscale
