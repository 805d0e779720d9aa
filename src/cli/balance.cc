#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "planning/balance_json.h"
#include "report/balance/pages.h"
#include "study/resources.h"
#include "study/run_balance.h"

namespace farscale {
namespace {

struct BalanceOptions {
  int application = 0;
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
  double step_time = 50;  // ns
  bool free = false;
  std::size_t per_node = 0;
  std::size_t replicas = 20;
  std::uint64_t seed = 1;
  std::vector<double> targets;
  std::int64_t top = 10;
  std::string output;
  std::string templates;
};

constexpr double kLargestState = 1e15;  // bytes

// A number from `low` to `high`; CLI::Range takes nan for one.
CLI::Validator Between(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        double number = 0;
        const bool is_one = ParseNumber(text, number) && number >= low && number <= high;
        return is_one ? std::string() : fmt::format("'{}' is no number from {:g} to {:g}", text, low, high);
      },
      "NUMBER");
}

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
  sweep.replicas = options.replicas;
  sweep.seed = options.seed;
  if (!options.network.empty()) balance.network = options.network;
  balance.clean_computation = !options.computation.empty() && options.computation != "measured";
  if (options.computation != "clean") balance.source = ParseComputationSource(options.computation);
  balance.phase_is_given = !options.phase.empty() && options.phase != "auto";
  if (options.per_node > 0) balance.per_node = options.per_node;
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

void Write(const WhatIf& what_if, const std::vector<BalancedProjection>& projections, PageForm form,
           const BalanceOptions& options, const ReportTemplates& templates) {
  if (form == PageForm::kJson) return WriteOutput(options.output, WriteWhatIfJson(what_if, projections));
  const ReportModel model =
      BuildBalanceModel(what_if, templates.partials, projections, static_cast<std::size_t>(options.top));
  if (form == PageForm::kHtml) return WriteOutput(options.output, RenderHtml(model, templates));
  const std::filesystem::path output(options.output);
  const bool is_folder = form == PageForm::kFolder;
  const std::filesystem::path markdown = is_folder ? "balance.md" : output.filename();
  std::vector<std::pair<std::filesystem::path, std::string>> files = {{markdown, RenderMarkdown(model, templates)}};
  if (is_folder) {
    files.emplace_back("balance.html", RenderHtml(model, templates));
    files.emplace_back("balance.json", WriteWhatIfJson(what_if, projections));
  }
  for (const auto& [name, svg] : model.figures) files.emplace_back(std::filesystem::path("figures") / name, svg);
  WriteFiles(is_folder ? output : output.parent_path(), files);
}

int Balance(const BalanceOptions& options, const Common& common) {
  const PageForm form = PageFormOf(options.output);
  const ReportTemplates templates = LoadFormTemplates("balance", options.templates);
  const Messages messages(common);
  Study study = StudyOfInputs(options.inputs, "", options.application);
  if (study.runs.front().trace == options.inputs.front()) study.title.clear();  // no study: the name of its program
  if (!options.phase.empty()) study.phases = {PhaseSpec::Region(options.phase)};
  if (options.phase == "auto") study.phases = {PhaseSpec::WholeRun()};  // nothing that the study has chosen
  if (!options.targets.empty()) study.projection.targets = options.targets;
  BalanceResults results = RunBalance(study, BalanceOf(options), messages.Progress());
  const std::vector<BalancedProjection> projections = ProjectTables(std::move(results.tables), study);
  if (form == PageForm::kText) {
    const auto top = static_cast<std::size_t>(options.top);
    const ReportModel model = BuildBalanceModel(results.what_if, templates.partials, projections, top);
    fmt::print("{}", WriteBalanceText(model, templates.partials));
  } else {
    messages.Findings("", results.what_if.findings);
    Write(results.what_if, projections, form, options, templates);
  }
  return 0;
}

void AddSweepOptions(CLI::App* command, BalanceOptions& options) {
  const auto count = CLI::Range(1, 10000000);
  command->add_option("--processors", options.processors, "Processors to place the ranks on (default: by levels)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--levels", options.levels,
                   "Ranks a processor (default: 2, 4 and 8, or all that the processors leave)")
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
  command->add_option("--placements", options.placements, "How ranks lie on processors at first: block, round-robin")
      ->delimiter(',')
      ->check(CLI::IsMember({"block", "round-robin"}));
  command
      ->add_option("--predictor", options.predictor,
                   "Loads that strategies use: those of the last interval, their mean, their trend, or exact "
                   "ones, which no run knows")
      ->check(CLI::IsMember({"last", "mean", "trend", "exact"}))
      ->capture_default_str();
  command->add_option("--tolerance", options.tolerance, "Load above the average that RefineLB and others tolerate")
      ->check(Between(1, 100))
      ->capture_default_str();
  command->add_flag("--always-migrate", options.always_migrate,
                    "Also migrate when that does not lower the largest load, as Charm++ does");
}

void AddMachineOptions(CLI::App* command, BalanceOptions& options) {
  command->add_option("--network", options.network,
                      "Network by name or file, or calibrated (default: calibrated to the runs where they tell enough, "
                      "else ideal)");
  command->add_option("--per-node", options.per_node, "Processors of a node (default: as in the runs)")
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option("--computation", options.computation,
                   "Lengths of computation: measured, clean (without noise, from the best source there is), cycles, "
                   "cpu-time, iterations or instructions (default: measured)")
      ->check(CLI::IsMember({"measured", "clean", "cycles", "cpu-time", "iterations", "instructions"}));
  command->add_option("--task-bytes", options.task_bytes,
                      "State of a rank, which is sent when it moves: a size (64MB, 1.5GiB), or a file with a line "
                      "rank,bytes and one for every rank (default: estimated from the largest messages)");
  command->add_option("--step-time", options.step_time, "Nanoseconds that a step of a strategy takes")
      ->check(Between(0, 1e9))
      ->capture_default_str();
  command->add_flag("--free", options.free, "Barriers, strategies and migrations take no time");
  command->add_option("--replicas", options.replicas, "Repetitions of the best with the noise in another order")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Of the replicas")->capture_default_str();
}

}  // namespace

void AddBalanceCommand(CommandLine& line) {
  auto [command, options] = AddCommand<BalanceOptions>(
      line, "balance", "Predict the gain from dynamic load balancing of an over-decomposed run", Balance);
  command->footer(
      "Replays runs with their ranks as tasks that share processors and move between them, as a run time such as AMPI\n"
      "does. Runs of one problem at several counts (strong scaling) are levels of over-decomposition of each other: "
      "the\n"
      "run with as many ranks as there are processors is the baseline of all gains.");
  AddInputOptions(command, options.inputs, options.application);
  command->add_option(
      "--phase", options.phase,
      "Region of an iteration, by name or as /regular expression/; found: the iterations that the MPI "
      "calls show; auto: a region that marks the iterations of all runs, else found, else another region "
      "that repeats (default: the first phase of the study that is a loop, or auto)");
  AddSweepOptions(command, options);
  AddMachineOptions(command, options);
  command->add_option("--targets", options.targets, "Processors to predict balanced factors at (default: as the study)")
      ->delimiter(',')
      ->check(Positive());
  command->add_option("--top", options.top, "Configurations to list in tables")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("-o,--output", options.output,
                      "File to write: .html, .md (with its figures beside it), .json (everything; - prints it); or a "
                      "folder for all three");
  AddTemplatesOption(command, options.templates);
}

}  // namespace farscale
