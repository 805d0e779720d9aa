#include "study/run_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>

#include "balance/outcome.h"
#include "factors/anomalies.h"
#include "factors/factor_table.h"
#include "phases/found_loop.h"
#include "planning/balance_cases.h"
#include "planning/balance_json.h"
#include "study/grown_study.h"
#include "study/input_files.h"
#include "study/phase_structure.h"
#include "study/run_study.h"
#include "study/scenario.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using LoadedRuns = std::vector<std::unique_ptr<BalanceRunData>>;

struct Measured {
  Results runs;
  PhaseSpec phase;
  bool is_loop = false;  // in all runs
};

bool IsLoop(const std::vector<FactorRow>& rows, bool without_gaps) {
  return !rows.empty() && std::ranges::all_of(rows, [&](const FactorRow& row) {
    return row.iterations > 1 && (!without_gaps || row.span == Span::kWhole);
  });
}

Measured MeasurePhases(const Study& study, const std::vector<PhaseSpec>& phases) {
  Study tried = study;
  tried.phases = phases;
  tried.finds_groups = false;
  tried.groups.clear();
  Measured measured{MeasureRuns(tried, {}), phases.front()};
  // The first phase that is a loop without gaps in all runs, else the first that is a loop.
  for (const bool without_gaps : {true, false}) {
    if (measured.is_loop) break;
    const auto loop = std::ranges::find_if(phases, [&](const PhaseSpec& phase) {
      return IsLoop(measured.runs.table.Rows(study.series, phase.name), without_gaps);
    });
    if (loop == phases.end()) continue;
    measured.phase = *loop;
    measured.is_loop = true;
  }
  return measured;
}

// A phase of the study, or the first loop that all runs show; when none is a loop, the first, which will say why.
Measured ChoosePhase(const Study& study, bool phase_is_given) {
  if (phase_is_given) return MeasurePhases(study, study.phases);
  std::optional<Measured> first;
  // Whole iterations among the phases of the study: regions that mark them first, then those found in the calls.
  std::vector<PhaseSpec> of_study = study.phases;
  std::erase_if(of_study, [](const PhaseSpec& phase) { return !phase.Repeats() || !phase.part.empty(); });
  std::ranges::stable_partition(of_study,
                                [](const PhaseSpec& phase) { return phase.kind != PhaseSpec::Kind::kFoundLoop; });
  if (!of_study.empty()) first = MeasurePhases(study, of_study);
  if (first && first->is_loop) return *std::move(first);
  for (const PhaseSpec& loop : LoopsOfRuns(study.runs)) {
    Measured measured = MeasurePhases(study, {loop});
    if (measured.is_loop) return measured;
    if (!first) first = std::move(measured);
  }
  return first ? *std::move(first) : MeasurePhases(study, {PhaseSpec::FoundLoop()});
}

// The shape of the loop in the largest run, by which it is found in the others.
void FindShape(const std::vector<RunSpec>& runs, PhaseSpec& phase) {
  if (!phase.NeedsShape()) return;
  for (const std::size_t i : LargestFirst(runs)) {
    const std::optional<IterationShape> shape =
        ShapeOfPhase(ReadRun(runs[i], {false, {}, runs[i].application, runs[i].accepted}), phase);
    if (!shape) continue;
    phase.shape = std::make_shared<const IterationShape>(*shape);
    return;
  }
}

void AddFinding(WhatIf& what_if, const std::string& id, const std::string& sentence, const std::string& example) {
  what_if.findings.push_back({id, Severity::kWarning, sentence, 1, 0, example});
}

// One run a count, smallest first: the first repeat that can be read, since others say nothing new of a simulation.
std::vector<RunSpec> UsableRuns(const Study& study, const Results& measured, WhatIf& what_if) {
  std::vector<RunSpec> runs;
  std::set<std::int64_t> counts;
  for (const RunRecord& record : measured.runs) {
    if (!record.error.empty()) AddFinding(what_if, "runNotSimulated", "runs could not be simulated", record.error);
    if (!record.error.empty() || !counts.insert(record.cores).second) continue;
    const auto spec = std::ranges::find(study.runs, record.path, &RunSpec::trace);
    if (spec != study.runs.end()) runs.push_back(*spec);
  }
  return runs;
}

// The network of the runs. Where it is unknown all named ones in which messages take time stand for it, the slowest
// first, and that one is simulated.
std::vector<Network> ReplayNetworks(const Study& study, const BalanceStudy& balance, WhatIf& what_if) {
  std::vector<Network> networks;
  if (balance.network && *balance.network != "calibrated") {
    networks = {LoadNetwork(*balance.network, "--network")};
  } else {
    try {
      networks = {CalibrateToRuns(study.runs, study.factors.rules)};
      if (!std::isfinite(networks.front().remote.bandwidth)) {  // then it is unknown how long states of tasks take
        throw Error(ErrorKind::kNotEnoughData, "", "the messages of the runs show no bandwidth");
      }
    } catch (const Error& error) {
      if (balance.network || error.kind() != ErrorKind::kNotEnoughData) throw;
      networks.clear();
      for (const std::string& name : NetworkNames()) networks.push_back(LoadNetwork(name));
      std::erase_if(networks, [](const Network& network) { return network.IsIdeal(); });
      std::ranges::stable_sort(networks, std::ranges::greater(), [](const Network& network) {
        // Seconds to move the state of a task; chosen: 1 MiB.
        return network.remote.latency + 0x1p20 / network.remote.bandwidth;
      });
      AddFinding(what_if, "networkUnknown",
                 fmt::format("these runs calibrate no network; {}, a slow one, is assumed. --network sets yours",
                             networks.front().name),
                 error.what());
    }
  }
  const Network& network = networks.front();
  what_if.network = network.name + (networks.size() > 1 ? " (assumed: the network of the runs is unknown)" : "");
  for (const auto& [link, where] : {std::pair{&Network::remote, "between nodes"}, {&Network::local, "within nodes"}}) {
    if ((network.*link).IsKnown()) continue;
    AddFinding(what_if, "networkNotKnown", "numbers of the network are assumed, as messages only bound them",
               fmt::format("{}: {}", where, DescribeUnknown(network.*link)));
  }
  return networks;
}

// Runs that nobody has made, behind those that were measured.
std::vector<RunSpec> GrownRuns(const Study& study, const BalanceStudy& balance, const Measured& measured,
                               const ProgressSink& progress, PhaseSpec& phase, WhatIf& what_if) {
  if (balance.grow_to.empty()) return {};
  Study of_phase = study;
  of_phase.phases = {measured.phase};
  std::optional<std::string> network = balance.network;
  if (network == "calibrated") network.reset();
  std::vector<Study> grown =
      GrowStudies(of_phase, measured.runs.table, balance.grow_to, network, progress, what_if.findings);
  if (grown.empty()) return {};
  Study& runs = grown.front();
  phase = runs.phases.front();
  const std::int64_t largest = measured.runs.table.rows.back().cores;
  std::erase_if(runs.runs, [&](const RunSpec& run) { return run.grown->grid.size() * run.grown->threads <= largest; });
  return runs.runs;
}

LoadedRuns LoadRuns(const Study& study, const std::vector<RunSpec>& specs, const BalanceStudy& balance,
                    const PhaseSpec& phase, const Network& network, WhatIf& what_if) {
  LoadedRuns loaded(specs.size());
  std::vector<std::optional<Error>> failures(specs.size());
  ParallelFor(specs.size(), [&](std::size_t i) {
    try {
      loaded[i] = LoadBalanceRun(study, specs[i], balance, phase, network);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUsage && dynamic_cast<const PhaseNotFound*>(&error) == nullptr) throw;
      failures[i] = error;
    }
  });
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (failures[i]) AddFinding(what_if, "runNotSimulated", "runs could not be simulated", failures[i]->what());
  }
  std::erase(loaded, nullptr);
  if (loaded.empty()) throw *failures.front();
  return loaded;
}

// Anomalies of the runs side by side, whichever phase is chosen, and those of traces for each trace, as everywhere.
void AddAnomalies(const FactorTable& table, const LoadedRuns& runs, WhatIf& what_if) {
  for (const Anomaly& anomaly : {anomaly::kScalingUnlikely, anomaly::kScalingGuessed,
                                 anomaly::kThreadsDifferBetweenRuns, anomaly::kWorkDiffersBetweenRepeats}) {
    for (const Finding& finding : table.findings) {
      if (finding.id == anomaly.id) what_if.findings.push_back(finding);
    }
  }
  for (const auto& run : runs) {
    for (Finding finding : run->diagnostics.findings()) {
      finding.example = run->record.path + (finding.example.empty() ? "" : ": " + finding.example);
      what_if.findings.push_back(finding);
    }
  }
}

// Runs of one problem are compared with each other, so all are simulated on one kind of node, the largest.
void ShareNodes(const LoadedRuns& runs, WhatIf& what_if) {
  std::vector<std::size_t> sizes;
  for (const auto& run : runs) sizes.push_back(run->sweep.per_node);
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  for (const auto& run : runs) run->sweep.per_node = largest;
  if (smallest == largest) return;
  AddFinding(what_if, "nodesDiffer",
             "the runs have different numbers of ranks on a node, and are all simulated with the largest",
             fmt::format("{} to {}; --per-node says otherwise", smallest, largest));
}

// Unknown costs of migrations are reported, not taken as 0.
void CheckMigrations(const LoadedRuns& runs, const Network& network, const BalanceStudy& balance, WhatIf& what_if) {
  if (balance.sweep.costs.are_free) return;
  const bool has_nodes = std::ranges::any_of(runs, [](const auto& run) { return run->record.nodes > 1; });
  if (std::isinf(network.remote.bandwidth) && (has_nodes || std::isinf(network.local.bandwidth))) {
    AddFinding(what_if, "bandwidthUnknown",
               "the bandwidth between nodes is not known, so moving tasks costs a latency; --network names a network "
               "that has one",
               network.name);
  }
  for (const auto& run : runs) {
    if (run->record.task_bytes > 0 || balance.task_bytes) continue;
    AddFinding(what_if, "stateUnknown",
               "tasks send no messages to estimate their state from, so moving them costs a latency; --task-bytes says "
               "it",
               run->record.path);
  }
}

void DescribeCosts(const BalanceStudy& balance, WhatIf& what_if) {
  what_if.predictor = Describe(balance.sweep.predictor);
  if (balance.sweep.costs.are_free) {
    what_if.cost_model = "balancing costs nothing but the wait for the last task";
    return;
  }
  what_if.cost_model = fmt::format(
      "a barrier, {:g} bytes a task to the strategy and back, {:g} ns for each of its steps, and the states of the "
      "tasks that move, one at a time from and to each processor",
      balance.sweep.costs.record_bytes, balance.sweep.costs.step_seconds * 1e9);
  if (const double time = balance.sweep.costs.switch_seconds; time > 0)
    what_if.cost_model += fmt::format("; {:g} ns where a processor takes up another task", time * 1e9);
  if (const double share = balance.sweep.costs.cold_share; share > 0)
    what_if.cost_model += fmt::format("; {:g} % more computation in the first iteration after a move", 100 * share);
}

void AddMappings(const LoadedRuns& runs, const Network& network, WhatIf& what_if) {
  std::vector<std::vector<NodeMapping>> mappings(runs.size());
  ParallelFor(runs.size(),
              [&](std::size_t i) { mappings[i] = TryMappings(*runs[i]->sweep.tasks, runs[i]->nodes, &network); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (NodeMapping& mapping : mappings[i]) {
      mapping.run = i;
      what_if.mappings.push_back(mapping);
    }
  }
}

// All runs under one way of balancing at one level, which is rounded, so that 27 tasks on 14 processors are 2 a
// processor. Runs that never pass its balancing points are left out, as they are in the sweep. `whole`: as measured.
BalancedProjection TableAtLevel(const LoadedRuns& runs, const Study& study, const SweepOptions& options,
                                const FactorTable& whole, BalanceConfiguration configuration) {
  const auto level = static_cast<std::size_t>(std::lround(configuration.level()));
  BalancedProjection balanced{
      fmt::format("{}, {} tasks a processor", NameOfBalancing(configuration), level), whole, {}};
  FactorTable& table = balanced.table;
  table.rows.clear();
  table.reference.reset();
  table.findings.clear();
  for (const auto& run : runs) {
    const auto row = std::ranges::find(whole.rows, static_cast<std::int64_t>(run->record.ranks), &FactorRow::ranks);
    configuration.tasks = run->record.ranks;
    configuration.processors = (configuration.tasks + level - 1) / level;
    const bool is_balanced = configuration.interval < run->record.iterations;
    if (row == whole.rows.end() || configuration.processors < 2 || !is_balanced) continue;
    try {
      table.rows.push_back(BalancedRow(*run, configuration, options, *row, study.factors.rules));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotEnoughData) throw;
    }
  }
  return balanced;
}

// A network that the user chose, or other lengths of computation, make a replay take another time than the run; so does
// the slow network that stands for an unknown one, but no shorter time. Grown runs go by the run they are grown from.
void FindUnexplained(const BalanceStudy& balance, bool is_network_assumed, const LoadedRuns& runs) {
  constexpr double kExplained = 0.25;  // share of the measured time: a replay that is further off is no guide; chosen
  const bool is_as_run = (!balance.network || *balance.network == "calibrated") && !balance.clean_computation;
  if (!is_as_run) return;
  std::set<std::int64_t> unexplained;
  for (const auto& run : runs) {
    BalanceRun& record = run->record;
    if (record.grown_from || !(record.measured > 0)) continue;
    const double off = record.replayed / record.measured - 1;
    record.is_unexplained = off < -kExplained || (off > kExplained && !is_network_assumed);
    if (record.is_unexplained) unexplained.insert(static_cast<std::int64_t>(record.ranks));
  }
  for (const auto& run : runs) {
    if (run->record.grown_from) run->record.is_unexplained = unexplained.contains(*run->record.grown_from);
  }
}

// The leading configuration of every case and its reference, on every network.
void AddNetworkGains(const LoadedRuns& runs, const ReplayRules& rules, const std::vector<Network>& networks,
                     SweepOptions options, WhatIf& what_if) {
  for (const Network& network : networks) {
    options.network = &network;
    const auto replay = [&](std::size_t outcome) {
      const BalanceConfiguration& configuration = what_if.outcomes[outcome].configuration;
      const BalanceRunData& run = *runs[configuration.run];
      SweepRun on_network = run.sweep;
      on_network.tasks = std::make_shared<TaskProgram>(CompileTasks(run.trace, run.matching, run.cut, rules, &network));
      const TaskReplayResult result = ReplayConfiguration(on_network, configuration, options);
      return LongRunIteration(OutcomeOf(*on_network.tasks, configuration.processors, result),
                              on_network.tasks->iterations);
    };
    for (const BalanceCase& one : CasesOf(what_if)) {
      if (!one.lead) continue;
      NetworkGain gain{*one.lead, network.name, replay(*one.lead), 0, {}};
      gain.reference = replay(ReferenceOf(what_if, one, what_if.outcomes[*one.lead]));
      gain.gain = GainOf(gain.reference, gain.iteration);
      what_if.network_gains.push_back(std::move(gain));
    }
  }
  std::ranges::stable_sort(what_if.network_gains, {}, [](const NetworkGain& one) { return one.gain.value; });
}

// As measured, and a way of balancing beside none at its level.
std::vector<BalancedProjection> BalancedTables(const LoadedRuns& runs, const Study& study, const SweepOptions& options,
                                               const Measured& measured, const WhatIf& what_if) {
  if (what_if.by_time.empty()) return {};
  // The best of those that most runs can have: a projection needs runs more than the last percent.
  const auto runs_with = [&](std::size_t outcome) {
    const BalanceConfiguration& configuration = what_if.outcomes[outcome].configuration;
    return std::ranges::count_if(what_if.runs, [&](const BalanceRun& run) {
      const auto processors = std::ceil(static_cast<double>(run.ranks) / std::round(configuration.level()));
      return processors >= 2 && configuration.interval < run.iterations;
    });
  };
  const BalanceOutcome& best = what_if.outcomes[*std::ranges::max_element(what_if.by_time, {}, runs_with)];
  FactorTable whole = measured.runs.table;
  whole.rows = measured.runs.table.Rows(study.series, measured.phase.name);
  if (!IsLoop(whole.rows, true)) return {};  // the measurement leaves out the work between occurrences
  std::vector<BalancedProjection> tables = {{"without balancing", whole, {}}};
  for (const BalanceOutcome* outcome : {&what_if.outcomes[best.baseline], &best}) {
    BalancedProjection balanced = TableAtLevel(runs, study, options, whole, outcome->configuration);
    if (balanced.table.rows.size() < 2) return {};
    CompleteTable(balanced.table);
    tables.push_back(std::move(balanced));
  }
  return tables;
}

}  // namespace

std::pair<WhatIf, std::vector<BalancedProjection>> RunBalance(const Study& study, const BalanceStudy& balance,
                                                              const ModelLibrary& library,
                                                              const ProgressSink& progress) {
  WhatIf what_if;
  Measured measured = ChoosePhase(study, balance.phase_is_given);
  const std::vector<RunSpec> specs = UsableRuns(study, measured.runs, what_if);
  FindShape(specs, measured.phase);
  const std::vector<Network> networks = ReplayNetworks(study, balance, what_if);
  const Network& network = networks.front();
  auto runs = LoadRuns(study, specs, balance, measured.phase, network, what_if);
  PhaseSpec of_grown = measured.phase;
  const std::vector<RunSpec> grown = GrownRuns(study, balance, measured, progress, of_grown, what_if);
  if (!grown.empty()) {
    std::ranges::move(LoadRuns(study, grown, balance, of_grown, network, what_if), std::back_inserter(runs));
  }
  AddAnomalies(measured.runs.table, runs, what_if);
  const RunRecord& first = measured.runs.runs.front();
  const std::string program = std::filesystem::path(first.program).filename().string();
  what_if.title = !study.title.empty() ? study.title : program.empty() ? first.path : program;
  what_if.phase = measured.phase.name;
  what_if.computation = runs.back()->computation;
  if (std::ranges::any_of(runs, [](const auto& run) { return run->cut.span == Span::kEach; })) {
    what_if.computation += "; what lies between the occurrences of the phase is simulated with them";
  }
  what_if.task_bytes_source = runs.back()->task_bytes_source;
  DescribeCosts(balance, what_if);
  const bool same_problem = measured.runs.table.scaling == Scaling::kStrong && runs.size() > 1;
  if (same_problem && !balance.per_node) ShareNodes(runs, what_if);
  CheckMigrations(runs, network, balance, what_if);
  FindUnexplained(balance, networks.size() > 1, runs);
  std::vector<SweepRun> sweeps;
  for (const auto& run : runs) {
    what_if.runs.push_back(run->record);
    sweeps.push_back(run->sweep);
  }
  SweepOptions options = balance.sweep;
  options.network = &network;
  options.same_problem = same_problem;
  Sweep(
      sweeps, options,
      [&](std::size_t done, std::size_t total) {
        if (progress) progress(done, total, "configurations");
      },
      what_if);
  if (networks.size() > 1) AddNetworkGains(runs, study.factors.rules, networks, options, what_if);
  const auto mark = [&](BalanceConfiguration& one) { one.is_grown = what_if.runs[one.run].grown_from.has_value(); };
  for (BalanceOutcome& outcome : what_if.outcomes) mark(outcome.configuration);
  for (LeftOut& left_out : what_if.left_out) mark(left_out.configuration);
  AddMappings(runs, network, what_if);
  std::vector<BalancedProjection> tables = BalancedTables(runs, study, options, measured, what_if);
  for (BalancedProjection& one : tables) one.projected = Project(one.table, library, study.projection);
  return {std::move(what_if), std::move(tables)};
}

}  // namespace farscale
