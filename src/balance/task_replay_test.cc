// Tasks on processors: exactly the plain replay with one task a processor, and programs worked out by hand with more.
#include "balance/task_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "replay/replay.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/replay_rules.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using test::kBsc;
using test::kCausal;

struct ReplayedTasks {
  Trace trace;
  Matching matching;
  PhaseCut cut;
};

ReplayedTasks TasksOf(const std::string& text) {
  const test::TextProgram program = test::ParseProgram(text);
  ReplayedTasks tasks;
  tasks.trace = program.trace;
  tasks.matching = MatchTrace(tasks.trace);
  tasks.cut = program.cuts.empty() ? CutPhase(tasks.trace, PhaseSpec::WholeRun()) : test::CutOf(program);
  return tasks;
}

TaskReplayResult RunTasks(const ReplayedTasks& of, const std::vector<std::int32_t>& nodes, TaskReplayOptions options,
                          const Network* network = nullptr) {
  const TaskProgram tasks = CompileTasks(of.trace, of.matching, of.cut, kBsc, network);
  if (options.placement.empty()) options.placement = PlaceTasks(tasks.tasks(), nodes.size());
  return ReplayTasks(tasks, {nodes, network}, options);
}

TaskReplayOptions PlacedAs(const std::vector<std::uint32_t>& placement) {
  TaskReplayOptions options;
  options.placement = placement;
  return options;
}

// A network on which everything costs something; seconds are ticks of random programs by 1e-9.
Network TimedNetwork(bool contention) {
  Network network;
  network.name = "test";
  network.local = {2e-9, 5e9, 1e-9, 20000};
  network.remote = {5e-9, 1e9, 2e-9, 5000};
  network.collectives = StandardCollectives();
  if (contention) {
    network.sending = 1;
    network.receiving = 2;
  }
  return network;
}

void ExpectPlainReplay(const Trace& trace, const ReplayRules& rules, const Network* network, const std::string& what) {
  const Matching matching = MatchTrace(trace);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const ReplayResult plain = Replay(trace, matching, cut, {rules, false, network});
  const TaskProgram tasks = CompileTasks(trace, matching, cut, rules, network);
  Machine machine{{}, network};
  for (const Rank& rank : trace.ranks) machine.nodes.push_back(rank.node);
  TaskReplayOptions options;
  options.placement = PlaceTasks(trace.size(), trace.size());
  EXPECT_EQ(ReplayTasks(tasks, machine, options).end, plain.end) << what;
}

// Bytes both ways between every two tasks: 30 + 5 and 7; a task's messages to itself are no edge.
TEST(TaskProgram, EdgesAreTheBytesOfMessages) {
  const ReplayedTasks of = TasksOf(
      "r0: Isend>1#a*30 0-1 | Recv<1#b*5 1-2 | Wait~a 2-3\n"
      "r1: Isend>0#b*5 0-1 | Recv<0#a*30 1-2 | Wait~b 2-3 | Send>2#c*7 3-4 | Isend>1#d*9 4-5 | Recv<1#d*9 5-6\n"
      "r2: Recv<1#c*7 0-4");
  const TaskProgram tasks = CompileTasks(of.trace, of.matching, of.cut, kBsc, nullptr);
  std::vector<std::array<double, 3>> edges;
  for (const TaskEdge& edge : tasks.edges) {
    edges.push_back({static_cast<double>(edge.first), static_cast<double>(edge.second), edge.bytes});
  }
  EXPECT_THAT(edges, ElementsAre(std::array<double, 3>{0, 1, 35}, std::array<double, 3>{1, 2, 7}));
}

TEST(TaskReplay, IsThePlainReplayWithOneTaskAProcessor) {
  const Network free = TimedNetwork(false), shared = TimedNetwork(true);
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    trace.nodes = {"a", "b", "c"};
    for (std::size_t i = 0; i < trace.size(); ++i) trace.ranks[i].node = static_cast<std::int32_t>(i * seed % 3);
    for (const ReplayRules& rules : {kBsc, kCausal}) {
      for (const Network* network : {static_cast<const Network*>(nullptr), &free, &shared}) {
        ExpectPlainReplay(trace, rules, network,
                          "seed " + std::to_string(seed) + " " + ToString(rules.set) +
                              (network == nullptr ? " ideal"
                               : network == &free ? " free"
                                                  : " shared"));
        if (HasFailure()) return;
      }
    }
  }
}

// Two tasks on one processor, nothing to wait for: one after the other.
TEST(TaskReplay, OneTaskAtATime) {
  EXPECT_THAT(RunTasks(TasksOf("r0: comp 0-4\nr1: comp 0-3"), {0}, {}).end, ElementsAre(4, 7));
}

// Task 0 computes 2 and waits for task 2, which sends at 5. In between its processor runs task 1, from 2 to 5; at 5
// both become free, and task 0 goes on until 6.
TEST(TaskReplay, AProcessorSwitchesWhereATaskWaits) {
  const ReplayedTasks tasks = TasksOf(
      "r0: comp 0-2 | Recv<2#a 2-5 | comp 5-6\n"
      "r1: comp 0-3\n"
      "r2: comp 0-5 | Send>0#a 5-5");
  EXPECT_THAT(RunTasks(tasks, {0, 1}, PlacedAs({0, 0, 1})).end, ElementsAre(6, 5, 5));
}

// The same with task 1 computing 7: it is not interrupted, so task 0, ready at 5, goes on at 9.
TEST(TaskReplay, ComputationIsNotInterrupted) {
  const ReplayedTasks tasks = TasksOf(
      "r0: comp 0-2 | Recv<2#a 2-5 | comp 5-6\n"
      "r1: comp 0-7\n"
      "r2: comp 0-5 | Send>0#a 5-5");
  EXPECT_THAT(RunTasks(tasks, {0, 1}, PlacedAs({0, 0, 1})).end, ElementsAre(10, 9, 5));
}

// Large messages towards each other, whose senders wait for each other until they are released, at 2 and 3. By then
// their processors have run tasks 1 and 3 until 7 and 5: on each the sender goes on after that.
TEST(TaskReplay, ReleasedSendersWaitForTheirProcessor) {
  const ReplayedTasks tasks = TasksOf(
      "r0: comp 0-2 | Send>2#a*50000 2-4 | Recv<2#b*50000 4-5 | comp 5-6\n"
      "r1: comp 0-5\n"
      "r2: comp 0-3 | Send>0#b*50000 3-4 | Recv<0#a*50000 4-5 | comp 5-7\n"
      "r3: comp 0-2");
  EXPECT_THAT(RunTasks(tasks, {0, 1}, PlacedAs({0, 0, 1, 1})).end, ElementsAre(8, 7, 7, 5));
}

// What a processor computes is never longer than the makespan, and one processor computes all the time on the ideal
// network, whoever waits for whom.
TEST(TaskReplay, ProcessorsRunOneTaskAtATime) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const Network network = TimedNetwork(true);
    for (const Network* on : {static_cast<const Network*>(nullptr), &network}) {
      const TaskProgram tasks = CompileTasks(trace, matching, cut, kCausal, on);
      const TaskLoads loads = LoadsOf(tasks);
      for (std::size_t processors = 1; processors <= 3; ++processors) {
        const std::vector<std::uint32_t> placement = PlaceTasks(trace.size(), processors, Placement::kRoundRobin);
        const Machine machine{NodesInBlocks(processors, 1), on};
        const TaskReplayResult result = ReplayTasks(tasks, machine, PlacedAs(placement));
        std::vector<Tick> computed(processors, 0);
        for (std::size_t task = 0; task < loads.size(); ++task) computed[placement[task]] += loads[task].front();
        for (const Tick ticks : computed) ASSERT_GE(result.Makespan(), ticks) << "seed " << seed;
        Tick begin = 0;
        for (const RankProgram& rank : tasks.program.ranks) begin = std::max(begin, rank.begin);
        if (processors == 1 && on == nullptr) {
          ASSERT_LE(result.Makespan(), computed[0] + begin) << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace farscale
