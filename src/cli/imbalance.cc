#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "balance/strategy.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "factors/phase_factors.h"
#include "imbalance/diagnosis.h"
#include "models/scaling_model.h"
#include "phases/phase_cut.h"
#include "planning/balance_json.h"
#include "planning/balance_cases.h"
#include "replay/clock_repair.h"
#include "replay/matching.h"
#include "replay/unknown_waits.h"
#include "report/balance/pages.h"
#include "report/imbalance/losses.h"
#include "results/results_json.h"
#include "results/trace_events.h"
#include "study/grown_study.h"
#include "study/input_files.h"
#include "study/run_balance.h"
#include "study/run_study.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// The largest run of every phase, or all runs.
void Print(const Results& results, const ReportData& growth, std::size_t top, bool shows_all, const Partials& texts) {
  bool is_first = true;
  std::size_t left_out = 0;
  for (const std::vector<LossRecord>* records : {&results.losses, &results.grown_losses}) {
    for (const LossRecord& record : *records) {
      const auto is_larger = [&](const LossRecord& other) {
        return other.phase == record.phase && other.cores > record.cores;
      };
      if (!shows_all && records == &results.losses && std::ranges::any_of(*records, is_larger)) {
        ++left_out;
        continue;
      }
      fmt::print("{}{}", is_first ? "" : "\n", FormatLosses(record, top, texts, WidthOfOutput()));
      is_first = false;
    }
  }
  if (!growth.empty()) fmt::print("\n{}", FormatGrowth(growth, texts, WidthOfOutput()));
  if (left_out > 0) PrintSentences({"Largest run of every phase; -v shows the smaller runs, too."});
}

void Write(const Results& results, const ReportData& growth, const std::vector<Finding>& warnings, PageForm form,
           const TraceOptions& options, const ReportTemplates& templates) {
  std::vector<LossRecord> all = results.losses;
  all.insert(all.end(), results.grown_losses.begin(), results.grown_losses.end());
  const ReportModel model =
      BuildLossesModel(all, growth, results.title, templates.partials, static_cast<std::size_t>(options.top), warnings);
  WritePages(form, options.output, "imbalance", model, templates,
             [&] { return WriteLossesJson(all, results.loss_projections, warnings); });
}

constexpr std::string_view kCubeEnding = ".cubex";

// For readers of Cube: of ranks, not of threads.
int WriteProfile(const TraceOptions& options, const Common& common) {
  const Messages messages(common);
  Study study = StudyOfInputs(options);
  if (study.runs.size() != 1 || study.phases.size() != 1 || !options.grow_to.empty()) {
    throw Error(ErrorKind::kUsage, options.output, "a Cube profile is of one phase of one run",
                "give one trace and at most one --phase");
  }
  Trace trace = ReadTrace(study.runs.front().trace, options.Reading());
  const Matching matching = MatchSynchronised(trace);
  RequireClocks(trace, matching);
  const PhaseCut cut = CutClean(trace, matching, CutPhase(trace, study.phases.front()), study.factors);
  RequireKnownWaits(trace, cut, kWaitsAsMeasured);
  DiagnosisOptions diagnosis;
  diagnosis.rules = *ParseDelayRules(options.rules);
  diagnosis.slack = false;
  Diagnostics diagnostics = trace.diagnostics;
  diagnostics.Merge(matching.diagnostics);
  messages.Findings(trace.path, diagnostics.findings());
  WriteFile(options.output, WriteCube(trace, Diagnose(trace, matching, cut, diagnosis)));
  return 0;
}

int Imbalance(const TraceOptions& options, const Common& common) {
  if (options.output.ends_with(kCubeEnding)) return WriteProfile(options, common);
  const PageForm form = PageFormOf(options.output);
  const ReportTemplates templates = LoadFormTemplates("imbalance", options.templates);
  const Messages messages(common);
  Study study = StudyOfInputs(options);
  study.delays = *ParseDelayRules(options.rules);
  study.finds_causes = !options.without_causes;
  StudyResults results = MeasureRuns(study, messages.Progress(), {}, Detail::kLosses);
  const auto warn = [&] {
    messages.FindingsOf(results.table, results.runs);
    for (const LossRecord& of_run : results.losses) messages.Findings(of_run.trace, of_run.findings);
  };
  const OnError on_error(warn);
  const ModelLibrary library = LoadModels(study.model_files);
  std::vector<Finding> warnings;
  MergeFindings(results.table.findings, warnings);
  for (const RunRecord& run : results.runs) MergeFindings(run.findings, warnings, run.path);
  for (const LossRecord& losses : results.losses) MergeFindings(losses.findings, warnings, losses.trace);
  std::erase_if(warnings, [](const Finding& finding) { return finding.severity != Severity::kWarning; });
  ReportData growth = ReportData::array();
  results.title = study.title;
  if (study.title.empty()) {
    const RunRecord& first = results.runs.front();
    results.title = first.program.empty() ? first.path : std::filesystem::path(first.program).filename().string();
  }
  results.projections = Project(results.table, library, study.projection, messages.Progress());
  results.loss_projections = ProjectLosses(results.losses, results.projections, library, study.projection);
  if (results.losses.size() > study.phases.size()) {
    growth = DescribeGrowth(results.loss_projections, results.projections, templates.partials);
  }
  if (!options.grow_to.empty()) {
    std::vector<Finding> findings;
    for (const Study& phase :
         GrowStudies(study, results.table, options.grow_to, std::nullopt, messages.Progress(), findings)) {
      std::ranges::move(MeasureRuns(phase, messages.Progress(), {}, Detail::kLosses).losses,
                        std::back_inserter(results.grown_losses));
    }
    messages.Findings("", findings);
    warnings.insert(warnings.end(), findings.begin(), findings.end());
  }
  if (form == PageForm::kText) {
    Print(results, growth, static_cast<std::size_t>(options.top), common.verbose, templates.partials);
  } else {
    Write(results, growth, warnings, form, options, templates);
  }
  warn();
  const int failure = ReportFailures(results.runs, results.failure);
  const bool lacks_grown = !options.grow_to.empty() && results.grown_losses.empty();
  return failure == 0 && lacks_grown ? static_cast<int>(ErrorKind::kNotEnoughData) : failure;
}

struct BalanceOptions : TraceOptions {
  BalanceStudy balance;
  std::vector<std::string> strategies, placements;
  std::string predictor = "last";
  std::string task_bytes;
  double step_time = 50;     // ns
  double switch_time = 0;    // ns
  double lost_locality = 0;  // %
  std::string drift = "constant";
  std::size_t per_node = 0;
  std::vector<double> targets;
  std::string rank_files;
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

int Balance(const BalanceOptions& options, const Common& common) {
  const PageForm form = PageFormOf(options.output);
  const ReportTemplates templates = LoadFormTemplates("balance", options.templates);
  const Messages messages(common);
  Study study = StudyOfInputs(options);
  if (study.runs.front().trace == options.inputs.front()) study.title.clear();  // no study: the name of its program
  if (!options.phase.empty()) study.phases = {PhaseSpec::Region(options.phase)};
  if (options.phase == "auto") study.phases = {PhaseSpec::WholeRun()};  // nothing that the study has chosen
  if (!options.targets.empty()) study.projection.targets = options.targets;
  const ModelLibrary library = LoadModels(study.model_files);
  BalanceStudy balance = options.balance;
  balance.grow_to = options.grow_to;
  SweepOptions& sweep = balance.sweep;
  for (const std::string& id : options.strategies) sweep.strategies.push_back(StrategyById(id).id);
  if (!options.placements.empty()) sweep.placements.clear();
  for (const std::string& name : options.placements) sweep.placements.push_back(*ParsePlacement(name));
  sweep.predictor = *ParseLoadPredictor(options.predictor);
  sweep.costs.step_seconds = options.step_time * 1e-9;
  sweep.costs.switch_seconds = options.switch_time * 1e-9;
  sweep.costs.cold_share = options.lost_locality / 100;
  sweep.continues_drift = options.drift == "trace";
  if (!options.network.empty()) balance.network = options.network;
  balance.clean_computation = !options.computation.empty() && options.computation != "measured";
  if (options.computation != "clean") balance.source = ParseComputationSource(options.computation);
  balance.phase_is_given = !options.phase.empty() && options.phase != "auto";
  if (options.per_node > 0) balance.per_node = options.per_node;
  ReadTaskBytes(options.task_bytes, balance);
  const auto results = RunBalance(study, balance, library, messages.Progress());
  const WhatIf& what_if = results.first;
  const ReportModel model =
      BuildBalanceModel(what_if, templates.partials, results.second, static_cast<std::size_t>(options.top));
  if (form == PageForm::kText) fmt::print("{}", WriteBalanceText(model, templates.partials, WidthOfOutput()));
  messages.Findings("", what_if.findings);
  if (form != PageForm::kText) {
    WritePages(form, options.output, "balance", model, templates,
               [&] { return WriteWhatIfJson(what_if, results.second); });
  }
  if (options.rank_files.empty()) return 0;
  const NodeMapping* mapping = MappingWorthHaving(what_if);
  if (mapping == nullptr) {  // a folder without files would look as if something had failed
    messages.Warning(
        fmt::format("no rank files: no other mapping of ranks to nodes gains {:.0f} % or more", 100 * kWorthMapping));
    return 0;
  }
  const std::vector<std::filesystem::path> written = WriteFiles(options.rank_files, RankFiles(*mapping));
  if (options.output != "-") PrintWritten(written, common);
  return 0;
}

void AddSweepOptions(CLI::App* command, BalanceOptions& options) {
  SweepOptions& sweep = options.balance.sweep;
  const auto count = CLI::Range(1, 10000000);
  command->add_option("--processors", sweep.processors, "Processors to place the ranks on (default: by levels)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--levels", sweep.levels, "Ranks per processor (default: 2, 4 and 8, or as --processors gives them)")
      ->delimiter(',')
      ->check(count);
  command
      ->add_option("--intervals", sweep.intervals,
                   "Iterations between balancing points (default: 5, 10, 20 and 40, as far as there are iterations)")
      ->delimiter(',')
      ->check(count);
  std::vector<std::string> ids, left_out;
  for (const Strategy& strategy : Strategies()) {
    if (strategy.moves) ids.push_back(strategy.id);
    if (!strategy.is_default) left_out.push_back(strategy.id);
  }
  command
      ->add_option("--strategies", options.strategies,
                   fmt::format("Strategies: {} (default: all but {})", Join(ids, ", "), Join(left_out, " and ")))
      ->delimiter(',');
  command
      ->add_option("--placements", options.placements, "Initial placement of ranks on processors: block, round-robin")
      ->delimiter(',')
      ->check(CLI::IsMember({"block", "round-robin"}));
  AddChoiceOption(command, "--predictor", options.predictor, {"last", "mean", "trend", "exact"},
                  "Loads that strategies use: of the last interval, their mean, their trend, or exact future ones")
      ->capture_default_str();
  command->add_option("--tolerance", sweep.tolerance, "Largest load over the average that RefineLB and others accept")
      ->check(NumberThat([](double load) { return load >= 1 && load <= 100; }, "is no number from 1 to 100", "NUMBER"))
      ->capture_default_str();
  command->add_flag("--always-migrate", sweep.always_migrates,
                    "Migrate even when that does not lower the largest load, as Charm++ does");
}

void AddMachineOptions(CLI::App* command, BalanceOptions& options) {
  SweepOptions& sweep = options.balance.sweep;
  command->add_option(
      "--network", options.network,
      "Network by name or file, or calibrated (default: calibrated where possible, else a slow named one)");
  command->add_option("--per-node", options.per_node, "Processors of a node (default: as in the runs)")
      ->check(CLI::Range(1, 1000000));
  AddChoiceOption(command, "--computation", options.computation,
                  {"measured", "clean", "cycles", "cpu-time", "iterations", "instructions"},
                  "Lengths of computation: measured, clean (without noise), or from cycles, cpu-time, iterations or "
                  "instructions (default: measured)");
  command->add_option("--task-bytes", options.task_bytes,
                      "Bytes sent when a rank moves: a size (64MB, 1.5GiB), or a CSV file with the columns rank,bytes "
                      "(default: estimated from the largest messages)");
  const CLI::Validator cost =
      NumberThat([](double value) { return value >= 0 && value <= 1e9; }, "is no number from 0 to 1e+09", "NUMBER");
  command->add_option("--step-time", options.step_time, "Nanoseconds that a step of a strategy takes")
      ->check(cost)
      ->capture_default_str();
  CLI::Option* switching =
      command
          ->add_option("--switch-time", options.switch_time,
                       "Nanoseconds that a processor needs to take up another task, with refilling its caches")
          ->check(cost)
          ->capture_default_str();
  command
      ->add_option("--lost-locality", options.lost_locality,
                   "By how many percent computation is longer in the first iteration after a move")
      ->check(cost)
      ->capture_default_str();
  command
      ->add_flag("--time-sliced", sweep.shares_time,
                 "Processors serve all ready tasks in equal shares, as an operating system does, not one at a time")
      ->excludes(switching);
  command
      ->add_option("--iterations", sweep.iterations,
                   "Also replay the best configuration over so many iterations: the phase again and again")
      ->check(CLI::Range(1, 100000000));
  AddChoiceOption(command, "--drift", options.drift, {"constant", "trace"},
                  "Loads in these iterations: constant (those of the trace again), or trace (they go on to change as "
                  "the line through those of the trace)")
      ->capture_default_str();
  command->add_flag("--free", sweep.costs.are_free, "Assume that barriers, strategies and migrations take no time");
  command->add_option("--replicas", sweep.replicas, "Repetitions of the best configurations with the noise reordered")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  command->add_option("--seed", sweep.seed, "Seed of the replicas")->capture_default_str();
}

}  // namespace

void AddImbalanceCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand(line, "imbalance", "Find where time is lost: wait states, their causes, the critical path", Imbalance);
  options.rules = "bounded";
  command->footer(
      "Waits are charged to the call paths that made other ranks wait. Short-term costs are waits that a delay caused\n"
      "itself, long-term costs those that these waits caused in turn. docs/formulas.md describes both rules.\n"
      "With -o NAME.cubex, the profile of one phase of one run is written for Cube.");
  AddInputOptions(command, options);
  AddPhaseOption(command, options);
  AddChoiceOption(command, "--rules", options.rules, {"bounded", "conserving", "scalasca"},
                  "How waits are charged to delays: bounded (by how much longer the late rank was), conserving "
                  "(Böhme) or scalasca")
      ->capture_default_str();
  AddGrowOption(command, options);
  command->add_flag("--without-causes", options.without_causes,
                    "Leave out causes with their remedies and gains, and the gain without latency: replays of the run");
  AddPageOptions(command, options);
}

void AddBalanceCommand(CommandLine& line) {
  auto [command, options] = AddCommand<BalanceOptions>(
      line, "balance", "Predict the gain from dynamic load balancing of an over-decomposed run", Balance);
  command->footer(
      "Replays runs with their ranks as tasks that share processors and move between them, as under AMPI. With strong\n"
      "scaling, the run with as many ranks as there are processors is the baseline of all gains.");
  AddInputOptions(command, options);
  command->add_option(
      "--phase", options.phase,
      "Region of an iteration, by name or as /regular expression/, or auto for the loop of the runs (default: the "
      "first loop among the study's phases, or auto)");
  AddSweepOptions(command, options);
  AddMachineOptions(command, options);
  command->add_option("--targets", options.targets, "Processors to predict balanced factors at (default: as the study)")
      ->delimiter(',')
      ->check(Positive());
  AddGrowOption(command, options);
  command->add_option(
      "--rank-files", options.rank_files,
      "Folder for files that place ranks on nodes as the best mapping does, if it gains 2 % or more: for "
      "Open MPI, Slurm and MPICH");
  AddPageOptions(command, options);
}

}  // namespace farscale
