// Tasks on processors: exactly the plain replay with one task a processor, and programs worked out by hand with more.
#include "balance/task_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/diagnostics.h"
#include "replay/replay.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/replay_rules.h"

namespace farscale {
namespace {

using testing::ElementsAre;

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

TaskReplayOptions SharedAs(const std::vector<std::uint32_t>& placement) {
  TaskReplayOptions options = PlacedAs(placement);
  options.shares_time = true;
  return options;
}

// Both run at half speed until the shorter has done 3, at 6; the longer has 1 left.
TEST(TaskReplay, SharedProcessorsServeAllReadyTasks) {
  EXPECT_THAT(RunTasks(TasksOf("r0: comp 0-4\nr1: comp 0-3"), {0}, SharedAs({0, 0})).end, ElementsAre(7, 6));
}

// Task 0 has done its 2 at 4, task 1 then 2 of 7. From 5 on, when the message is there, both share again: task 0 has
// done its 1 at 7, and task 1, which did 1 from 4 to 5 and 1 from 5 to 7, has 3 left.
TEST(TaskReplay, SharedProcessorsInterruptComputation) {
  const ReplayedTasks tasks = TasksOf(
      "r0: comp 0-2 | Recv<2#a 2-5 | comp 5-6\n"
      "r1: comp 0-7\n"
      "r2: comp 0-5 | Send>0#a 5-5");
  EXPECT_THAT(RunTasks(tasks, {0, 1}, SharedAs({0, 0, 1})).end, ElementsAre(7, 10, 5));
}

// With one task a processor there is nothing to share. In all, processors do the same work, so that one processor alone
// needs as long either way on the ideal network.
TEST(TaskReplay, SharingChangesNothingForOneTaskOrOneProcessor) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    ReplayedTasks of;
    of.trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    of.matching = MatchTrace(of.trace);
    of.cut = CutPhase(of.trace, PhaseSpec::WholeRun());
    std::vector<std::int32_t> nodes(of.trace.size(), 0);
    const std::vector<std::uint32_t> apart = PlaceTasks(nodes.size(), nodes.size()), together(nodes.size(), 0);
    EXPECT_EQ(RunTasks(of, nodes, SharedAs(apart)).end, RunTasks(of, nodes, PlacedAs(apart)).end) << seed;
    TaskReplayOptions shared = SharedAs(together), alone = PlacedAs(together);
    const auto makespan = static_cast<double>(RunTasks(of, {0}, alone).Makespan());
    // Every share rounds to a tick.
    EXPECT_NEAR(static_cast<double>(RunTasks(of, {0}, shared).Makespan()), makespan, 1e-6 * makespan + 100) << seed;
  }
}

// The processor runs task 0, then task 1 while task 0 waits, then task 0 again: it switches twice, at 1 each. Task 1
// runs from 3 to 6, task 0 from 7 to 8.
TEST(TaskReplay, SwitchingCosts) {
  const ReplayedTasks tasks = TasksOf(
      "r0: comp 0-2 | Recv<2#a 2-5 | comp 5-6\n"
      "r1: comp 0-3\n"
      "r2: comp 0-5 | Send>0#a 5-5");
  TaskReplayOptions options = PlacedAs({0, 0, 1});
  options.costs.switch_seconds = 1;
  const TaskReplayResult result = RunTasks(tasks, {0, 1}, options);
  EXPECT_THAT(result.end, ElementsAre(8, 6, 5));
  EXPECT_EQ(result.switches, 2u);
}

// Two iterations, of 4 on task 0 and 2 on task 1: again and again they are the same, with task 1 waiting for task 0 in
// every one.
TEST(RepeatedTasks, RepeatTheirIterations) {
  const ReplayedTasks of = TasksOf(
      "cuts: all 4 8\n"
      "r0: comp 0-4 | Send>1#a 4-4 | comp 4-8 | Send>1#a 8-8\n"
      "r1: comp 0-2 | Recv<0#a 2-4 | comp 4-6 | Recv<0#a 6-8");
  const TaskProgram once = CompileTasks(of.trace, of.matching, of.cut, kBsc, nullptr);
  const TaskProgram thrice = RepeatTasks(once, 3);
  EXPECT_EQ(thrice.iterations, 6u);
  TaskReplayOptions options;
  options.placement = PlaceTasks(2, 2);
  const TaskReplayResult result = ReplayTasks(thrice, {{0, 0}, nullptr}, options);
  EXPECT_THAT(result.end, ElementsAre(24, 24));
  EXPECT_THAT(result.iteration_end, ElementsAre(4, 8, 12, 16, 20, 24));
  EXPECT_THAT(result.loads, ElementsAre(std::vector<Tick>(6, 4), std::vector<Tick>(6, 2)));
  EXPECT_EQ(ReplayTasks(RepeatTasks(once, 1), {{0, 0}, nullptr}, options).end,
            ReplayTasks(once, {{0, 0}, nullptr}, options).end);
  EXPECT_THROW(RepeatTasks(once, 1000000000), Error);
}

// On a network on which all that is exchanged takes time, with ranks that are together at the end: each repetition
// takes as long as the first.
TEST(RepeatedTasks, RepeatMessagesAndCollectives) {
  const ReplayedTasks of = TasksOf(
      "r0: comp 0-4 | Send>1#a*8 4-4 | Reduce@r/1 4-5 | Barrier@b 5-6\n"
      "r1: comp 0-2 | Recv<0#a*8 2-4 | Reduce@r/1 4-5 | Barrier@b 5-6");
  Network network;
  network.local = network.remote = {1, 1, 0.5, 100};
  network.collectives = StandardCollectives();
  const TaskProgram once = CompileTasks(of.trace, of.matching, of.cut, kBsc, &network);
  const Machine machine{{0, 1}, &network};
  TaskReplayOptions options;
  options.placement = PlaceTasks(2, 2);
  const Tick alone = ReplayTasks(once, machine, options).Makespan();
  EXPECT_GT(alone, 4 + 8);
  EXPECT_EQ(ReplayTasks(RepeatTasks(once, 3), machine, options).Makespan(), 3 * alone);
}

// A halo that is sent at the end of an iteration and received at the begin of the next one. Rank 1 computes 2 and waits
// for rank 0, which computes 4: it gets the halo at 0 (from before the phase), 4 and 8, and ends at 10.
TEST(RepeatedTasks, MessagesGoFromOneRepetitionToTheNext) {
  ReplayedTasks of = TasksOf(
      "cuts: r0 2 8; r1 2 6\n"
      "r0: comp 0-1 | Send>1#a 1-2 | Recv<1#b 2-3 | comp 3-7 | Send>1#a 7-8 | Recv<1#b 8-9\n"
      "r1: comp 0-1 | Send>0#b 1-2 | Recv<0#a 2-3 | comp 3-5 | Send>0#b 5-6 | Recv<0#a 6-9");
  of.cut.iterations = 1;  // the second one alone
  for (RankCut& rank : of.cut.ranks) {
    rank.iterations.erase(rank.iterations.begin());
    rank.window = rank.iterations.front();
  }
  const TaskProgram once = CompileTasks(of.trace, of.matching, of.cut, kBsc, nullptr);
  TaskReplayOptions options;
  options.placement = PlaceTasks(2, 2);
  EXPECT_THAT(ReplayTasks(RepeatTasks(once, 3), {{0, 0}, nullptr}, options).end, ElementsAre(12, 10));
}

// Loads of 4, 5, 6 rise by 1: three iterations later they are 7, 8, 9. Loads that fall to 0 stay there; two that
// scatter have no drift, nor has what does not change.
TEST(RepeatedTasks, ContinueTheirDrift) {
  const LoadScale scale = ContinueDrift({{4, 5, 6}, {4, 2, 1}, {3, 9, 4}, {0, 0, 0}}, 2);
  EXPECT_THAT(scale[0], ElementsAre(1, 1, 1, 7.0 / 4, 8.0 / 5, 9.0 / 6));
  EXPECT_THAT(scale[1], ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_THAT(scale[2], ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(scale[3], ElementsAre(1, 1, 1, 1, 1, 1));
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
