// Invariants of tasks on processors, on every real trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "balance/outcome.h"
#include "balance/task_replay.h"
#include "replay/replay.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

Network MakeNetwork(bool contention) {
  Network network;
  network.remote = {1.5e-6, 10e9, 1e-7, 8192};
  network.local = {0.4e-6, 8e9, 5e-8, 65536};
  network.collectives = StandardCollectives();
  if (contention) network.sending = network.receiving = 1;
  return network;
}

TaskReplayOptions Placed(const std::vector<std::uint32_t>& placement) {
  TaskReplayOptions options;
  options.placement = placement;
  return options;
}

TEST(TasksProperty, OneTaskAProcessorIsThePlainReplayOnRealTraces) {
  const Network free = MakeNetwork(false), shared = MakeNetwork(true);
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      for (const Network* network : {static_cast<const Network*>(nullptr), &free, &shared}) {
        const ReplayRules rules{set, 32768};
        Machine machine{{}, network};
        for (const Rank& rank : trace.ranks) machine.nodes.push_back(rank.node);
        const TaskProgram tasks = CompileTasks(trace, matching, cut, rules, network);
        const TaskReplayResult result = ReplayTasks(tasks, machine, Placed(PlaceTasks(trace.size(), trace.size())));
        EXPECT_EQ(result.end, Replay(trace, matching, cut, {rules, false, network}).end) << path;
      }
    }
  }
}

// Fewer processors do the same work; a processor never computes more than the makespan, and one processor is never idle
// on the ideal network.
TEST(TasksProperty, FewerProcessorsOnRealTraces) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const TaskProgram tasks = CompileTasks(trace, matching, cut, {}, nullptr);
    Tick work = 0;
    for (const std::vector<Tick>& task : LoadsOf(tasks)) work = std::accumulate(task.begin(), task.end(), work);
    for (std::size_t processors = 1; processors <= trace.size(); processors *= 2) {
      const Machine machine{std::vector<std::int32_t>(processors, 0), nullptr};
      const TaskReplayResult result = ReplayTasks(tasks, machine, Placed(PlaceTasks(trace.size(), processors)));
      const BalanceOutcome outcome = OutcomeOf(tasks, processors, result);
      EXPECT_NEAR(outcome.parts.Total(), outcome.makespan, 1e-9 * outcome.makespan) << path;
      EXPECT_GE(outcome.parts.communication, 0) << path;
      EXPECT_NEAR(outcome.parts.computation * static_cast<double>(processors), tasks.Seconds(work),
                  1e-9 * tasks.Seconds(work));
      const Tick late = *std::max_element(result.end.begin(), result.end.end());
      Tick begin = 0;
      for (const RankProgram& rank : tasks.program.ranks) begin = std::max(begin, rank.begin);
      if (processors == 1) {
        EXPECT_LE(late, work + begin) << path;
      }
    }
  }
}

}  // namespace
}  // namespace farscale
