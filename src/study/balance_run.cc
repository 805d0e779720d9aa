#include "study/run_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include "balance/outcome.h"
#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"
#include "factors/phase_totals.h"
#include "replay/clock_repair.h"
#include "study/grown_study.h"
#include "study/scenario.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

std::size_t LargestNode(const std::vector<std::int32_t>& nodes) {
  std::map<std::int32_t, std::size_t> ranks;
  std::size_t largest = 1;
  for (const std::int32_t node : nodes) largest = std::max(largest, ++ranks[node]);
  return largest;
}

// An estimate where nothing is known: a task's largest message is taken for one face of a cube that the task holds, in
// kStateArrays arrays of doubles: kStateArrays * 8 * (bytes / 8)^(3/2) bytes. A task that sends nothing has no state.
constexpr double kStateArrays = 10;  // chosen: right within an order of magnitude at best, so others are tried, too

// "rank,bytes" line by line behind a line with these names; every rank once. Throws a usage error with file and line.
std::vector<double> ParseTaskBytes(const std::string& text, const std::string& file, std::size_t tasks) {
  const auto fail = [&](std::size_t number, const std::string& what) {
    throw Error(ErrorKind::kUsage, fmt::format("{}:{}", file, number), what,
                "the file has a line rank,bytes and then one for every rank");
  };
  std::vector<double> bytes(tasks, -1);
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1) {
      if (line != "rank,bytes") fail(number, "the first line is not rank,bytes");
      continue;
    }
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    long long rank = -1;
    double value = -1;
    if (!ParseInteger(line.substr(0, comma), rank) || rank < 0) fail(number, "no rank in '" + line + "'");
    const bool has_bytes = comma != std::string::npos && ParseNumber(line.substr(comma + 1), value);
    if (!has_bytes || !(value >= 0 && value <= kLargestState)) fail(number, "no number of bytes in '" + line + "'");
    if (rank >= static_cast<long long>(tasks)) continue;  // from a larger run
    double& of = bytes[static_cast<std::size_t>(rank)];
    if (of >= 0) fail(number, fmt::format("rank {} is there twice", rank));
    of = value;
  }
  for (std::size_t rank = 0; rank < tasks; ++rank) {
    if (bytes[rank] < 0) fail(1, fmt::format("nothing is said of rank {}", rank));
  }
  return bytes;
}

void FindTaskBytes(const BalanceStudy& balance, BalanceRunData& run) {
  std::vector<double>& bytes = run.sweep.task_bytes;
  if (!balance.task_bytes_file.empty()) {
    bytes = ParseTaskBytes(ReadFile(balance.task_bytes_file), balance.task_bytes_file, run.trace.size());
    run.task_bytes_source = "as given by rank in " + balance.task_bytes_file;
  } else if (balance.task_bytes) {
    bytes.assign(run.trace.size(), *balance.task_bytes);
    run.task_bytes_source = FormatBytes(*balance.task_bytes) + " each, as given";
  } else {
    const TaskProgram& tasks = *run.sweep.tasks;
    bytes.assign(tasks.tasks(), 0);
    for (const TaskMessage& message : tasks.program.task_messages) {
      if (message.is_sent) bytes[message.from] = std::max(bytes[message.from], static_cast<double>(message.bytes));
    }
    for (double& state : bytes) state = kStateArrays * 8 * std::pow(state / 8, 1.5);
    run.task_bytes_source = fmt::format(
        "estimated from the largest messages: each is one face of a cube that the task holds in {:g} arrays",
        kStateArrays);
  }
}

void Describe(const PhaseCut& measured, const Trace& trace, const Network& network, BalanceRunData& run) {
  BalanceRun& record = run.record;
  record.path = trace.path;
  record.ranks = trace.size();
  record.nodes = trace.nodes.size();
  record.ranks_per_node = LargestNode(run.nodes);
  record.iterations = run.sweep.tasks->iterations;
  record.measured = trace.Seconds(measured.end() - measured.begin());
  const std::vector<double>& bytes = run.sweep.task_bytes;
  record.task_bytes =
      std::accumulate(bytes.begin(), bytes.end(), 0.0) / static_cast<double>(std::max<std::size_t>(1, bytes.size()));
  TaskReplayOptions options;
  options.placement = PlaceTasks(trace.size(), trace.size());
  const TaskReplayResult result = ReplayTasks(*run.sweep.tasks, {run.nodes, &network}, options);
  const BalanceOutcome outcome = OutcomeOf(*run.sweep.tasks, trace.size(), result);
  record.replayed = outcome.makespan;
  record.load_balance = outcome.load_balance;
  record.load_change = LoadChange(result.loads);
  Tick heaviest = 0, all = 0;
  for (const std::vector<Tick>& task : result.loads) {
    const Tick load = std::accumulate(task.begin(), task.end(), Tick{0});
    heaviest = std::max(heaviest, load);
    all += load;
  }
  if (all > 0) record.heaviest_task = static_cast<double>(heaviest) / static_cast<double>(all);
}

}  // namespace

std::unique_ptr<BalanceRunData> LoadBalanceRun(const Study& study, const RunSpec& spec, const BalanceStudy& balance,
                                               const PhaseSpec& phase, const Network& network) {
  auto run = std::make_unique<BalanceRunData>();
  run->trace = ReadRun(spec, {true, {}, spec.application, spec.accepted});
  run->matching = MatchSynchronised(run->trace);
  RequireClocks(run->trace, run->matching);
  run->cut = CutPhase(run->trace, phase);
  if (run->cut.iterations < 2) {
    throw Error(ErrorKind::kNotEnoughData, run->trace.path,
                fmt::format("phase '{}' has one iteration, so there is nothing to balance between", phase.name),
                "name the region of an iteration by --phase; farscale inspect lists the regions");
  }
  run->diagnostics = run->trace.diagnostics;
  for (const Diagnostics& of : {run->matching.diagnostics, run->cut.diagnostics,
                                CheckProcessorTime(run->trace, study.factors.counters, {run->cut})}) {
    run->diagnostics.Merge(of);
  }
  const PhaseCut measured = run->cut;
  run->computation = "as measured";
  for (const Rank& rank : run->trace.ranks) run->nodes.push_back(rank.node);
  if (balance.clean_computation) {  // without noise, and the places of the phase in the trace that has it
    Scenario scenario;
    scenario.network = network;
    scenario.clean_computation = true;
    scenario.source = balance.source;
    ScenarioRun clean = ReplayScenario(run->trace, run->matching, {run->cut}, scenario, study.factors);
    clean.trace.path = run->trace.path;
    run->trace = std::move(clean.trace);
    run->cut = clean.cuts.front();
    const std::size_t part = clean.description.rfind("; computation ");
    run->computation = part == std::string::npos ? clean.description : clean.description.substr(part + 2);
  }
  run->sweep.tasks =
      std::make_shared<TaskProgram>(CompileTasks(run->trace, run->matching, run->cut, study.factors.rules, &network));
  run->sweep.per_node = balance.per_node.value_or(LargestNode(run->nodes));
  FindTaskBytes(balance, *run);
  Describe(measured, run->trace, network, *run);
  if (spec.grown != nullptr) run->record.grown_from = spec.grown->from;
  return run;
}

FactorRow BalancedRow(const BalanceRunData& run, const BalanceConfiguration& configuration, const SweepOptions& options,
                      const FactorRow& measured, const ReplayRules& rules) {
  const TaskProgram& tasks = *run.sweep.tasks;
  const TaskReplayResult result = ReplayConfiguration(run.sweep, configuration, options);
  SweepRun ideal = run.sweep;
  ideal.tasks = std::make_shared<TaskProgram>(CompileTasks(run.trace, run.matching, run.cut, rules, nullptr));
  SweepOptions free = options;
  free.network = nullptr;
  free.costs.are_free = true;
  const TaskReplayResult without_network = ReplayConfiguration(ideal, configuration, free);
  std::vector<double> useful;
  for (const Tick ticks : ComputedTicks(tasks, configuration.processors, result)) {
    useful.push_back(tasks.Seconds(ticks));
  }
  PhaseTotals totals;
  totals.elapsed = tasks.Seconds(result.Makespan());
  totals.ideal_elapsed = std::min(totals.elapsed, tasks.Seconds(without_network.Makespan()));
  totals.total_useful = std::accumulate(useful.begin(), useful.end(), 0.0);
  totals.average_useful = totals.total_useful / static_cast<double>(useful.size());
  totals.largest_useful = totals.largest_computation = std::ranges::max(useful);
  totals.largest_node_load = LargestNodeLoad(useful, NodesInBlocks(configuration.processors, run.sweep.per_node));
  totals.total_mpi = totals.elapsed * static_cast<double>(useful.size()) - totals.total_useful;
  if (measured.totals) {
    totals.instructions = measured.totals->instructions;
    totals.cycles = measured.totals->cycles;
  }
  FactorRow row = measured;
  row.cores = row.ranks = static_cast<std::int64_t>(configuration.processors);
  row.threads = 1;
  row.nodes = static_cast<std::int64_t>((configuration.processors + run.sweep.per_node - 1) / run.sweep.per_node);
  row.runtime = totals.elapsed;
  row.runtime_error.reset();
  row.standard_errors = {};
  row.loads = DistributionOf(useful);
  row.samples.reset();
  row.totals = totals;
  row.values = FactorsOf(totals, rules.set);
  return row;
}

}  // namespace farscale
