// Balancing points: small cases on paper, and what holds for any loads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "balance/outcome.h"
#include "balance/strategy.h"
#include "balance/task_replay.h"
#include "base/diagnostics.h"
#include "base/random.h"
#include "support/swept_tasks.h"

namespace farscale {
namespace {

using test::Computing;
using test::LoadedTasks;
using test::SweptTasksOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

TaskReplayOptions Options(const std::string& strategy, std::size_t interval, std::size_t tasks,
                          std::size_t processors) {
  TaskReplayOptions options;
  options.placement = PlaceTasks(tasks, processors);
  options.strategy = &StrategyById(strategy);
  options.interval = interval;
  return options;
}

// Every 40 iterations is 0.01 ms better in a long run of 10 ms iterations than every 10, and 63 ms worse over the
// trace: that is no better. 3 % are.
TEST(Balancing, LongRunsThatHardlyDifferGoByTheTrace) {
  std::map<std::size_t, std::pair<double, double>> times = {
      {40, {10.00, 612}}, {10, {10.01, 549}}, {5, {10.30, 500}}, {20, {10.04, 560}}};
  std::vector<std::size_t> order = {40, 10, 5, 20};
  SortByLongRun(order, [&](std::size_t outcome) { return times.at(outcome); });
  EXPECT_THAT(order, ElementsAre(10, 20, 40, 5));
}

// Loads 4 2 | 1 1 twice. Without balancing the first processor computes 12. GreedyLB after the first iteration, at 6,
// gives the 4 one processor and 2, 1 and 1 the other: each 4 more.
TEST(Balancing, GreedyAfterTheFirstIteration) {
  const auto tasks = Computing({{4, 4}, {2, 2}, {1, 1}, {1, 1}});
  const TaskProgram program = tasks->Compiled();
  const Machine machine{{0, 0}, nullptr};
  EXPECT_EQ(ReplayTasks(program, machine, Options("none", 0, 4, 2)).Makespan(), 12);
  const TaskReplayResult result = ReplayTasks(program, machine, Options("greedy", 1, 4, 2));
  EXPECT_EQ(result.Makespan(), 10);
  EXPECT_EQ(result.balancing_points, 1u);
  EXPECT_EQ(result.migrations, 1u);
  ASSERT_EQ(result.placements.size(), 2u);
  EXPECT_THAT(result.placements.back().second, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(result.iteration_end, ElementsAre(6, 10));
}

// At the second balancing point a strategy knows the loads of the two iterations before, and where processors are.
TEST(Balancing, StrategiesKnowTheMachineAndTheLoads) {
  static std::vector<BalancingProblem> problems;
  problems.clear();
  Strategy recorder;
  recorder.decide = [](const BalancingProblem& problem, double) {
    problems.push_back(problem);
    return BalancingDecision{.placement = problem.placement};
  };
  const auto tasks = Computing({{4, 5, 6, 7, 8}, {1, 2, 3, 4, 5}});
  TaskReplayOptions options = Options("greedy", 2, 2, 2);
  options.strategy = &recorder;
  ReplayTasks(tasks->Compiled(), {{3, 8}, nullptr}, options);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems.back().nodes, ElementsAre(3, 8));
  EXPECT_THAT(problems.back().loads, ElementsAre(13, 7));
  EXPECT_EQ(problems.back().SpeedOf(1), 1);
  EXPECT_THAT(problems.front().loads, ElementsAre(9, 3));
}

// The same by its parts: 16 s of computation on two processors; 2 + 0 above the mean of 4 in the two intervals.
TEST(Balancing, PartsOfTheMakespan) {
  const auto tasks = Computing({{4, 4}, {2, 2}, {1, 1}, {1, 1}});
  const TaskProgram program = tasks->Compiled();
  TaskReplayOptions options = Options("greedy", 1, 4, 2);
  options.counts_computation = true;
  const TaskReplayResult result = ReplayTasks(program, {{0, 0}, nullptr}, options);
  const BalanceOutcome outcome = OutcomeOf(program, 2, result);
  EXPECT_DOUBLE_EQ(outcome.makespan, 10);
  EXPECT_DOUBLE_EQ(outcome.parts.computation, 8);
  EXPECT_DOUBLE_EQ(outcome.parts.imbalance, 2);
  EXPECT_DOUBLE_EQ(outcome.parts.Total(), 10);
  EXPECT_DOUBLE_EQ(outcome.load_balance, 8.0 / 10);
  EXPECT_DOUBLE_EQ(outcome.parallel_efficiency, 0.8);
  const LoadHistory history = HistoryOf(program, 2, result, 8, 8);
  EXPECT_THAT(history.load, ElementsAre(6, 4, 2, 4));  // processor by processor
  EXPECT_THAT(history.time, ElementsAre(6, 10));
  EXPECT_THAT(history.average_load, ElementsAre(DoubleEq(8.0 / 12), DoubleEq(1)));
  EXPECT_THAT(HistoryOf(program, 2, result, 1, 1).load, ElementsAre(4));
}

// SweptTasks that wait for nobody: 1, 1, 1 and 9 s on one processor, 9, 1, 1 and 1 s on the other. Both compute until
// 12 s, when iterations end at 9, 10, 11 and 12 s. The last second has 9 + 1 s of work in its iteration, which is five
// times what two processors can do in it.
TEST(Balancing, AverageLoadIsOfTheTimeThatProcessorsHad) {
  const auto tasks = Computing({{1, 1, 1, 9}, {9, 1, 1, 1}});
  const TaskProgram program = tasks->Compiled();
  TaskReplayOptions options = Options("none", 0, 2, 2);
  options.counts_computation = true;
  const TaskReplayResult result = ReplayTasks(program, {{0, 0}, nullptr}, options);
  const LoadHistory history = HistoryOf(program, 2, result, 8, 8);
  EXPECT_THAT(history.time, ElementsAre(9, 10, 11, 12));
  EXPECT_THAT(history.average_load, ElementsAre(DoubleEq(1), DoubleEq(1), DoubleEq(1), DoubleEq(1)));
}

// Whatever moves, and however ranks wait: loads are shares, and over all times they are the computation of all tasks.
TEST(Balancing, AverageLoadsAreSharesOfAllComputation) {
  for (const auto movement : {test::Movement::kStatic, test::Movement::kDrifting, test::Movement::kRandomWalk}) {
    for (const auto synchronization :
         {test::Synchronization::kBarrier, test::Synchronization::kHalo, test::Synchronization::kChain}) {
      const auto tasks = LoadedTasks(test::MakeLoads(movement, 12, 20, 4), synchronization);
      const TaskProgram program = tasks->Compiled();
      for (const std::size_t columns : {1u, 7u, 20u}) {
        TaskReplayOptions options = Options("refine", 5, 12, 4);
        options.counts_computation = true;
        const TaskReplayResult result = ReplayTasks(program, {{0, 0, 1, 1}, nullptr}, options);
        const LoadHistory history = HistoryOf(program, 4, result, 4, columns);
        double computed = 0, before = 0, all = 0;
        for (std::size_t i = 0; i < history.columns; ++i) {
          EXPECT_GE(history.average_load[i], 0);
          EXPECT_LE(history.average_load[i], 1);
          computed += 4 * history.average_load[i] * (history.time[i] - before);
          before = history.time[i];
        }
        for (const std::vector<Tick>& task : result.loads) {
          all += program.Seconds(std::accumulate(task.begin(), task.end(), Tick{0}));
        }
        EXPECT_NEAR(computed, all, 1e-9 * all);
      }
    }
  }
}

// SweptTasks on one processor each, of which in turn one computes 3 s and the other 1 s, with a barrier after each of
// four iterations: 2 s of computation on average and 1 s of imbalance in each, and nothing else but the barrier. Both
// have 8 s in all; without the iterations all four would be communication.
TEST(Balancing, ImbalanceIsOfIterationsWithoutBalancing) {
  const auto tasks = LoadedTasks({{3000000, 1000000, 3000000, 1000000}, {1000000, 3000000, 1000000, 3000000}},
                                 test::Synchronization::kBarrier);
  const TaskProgram program = tasks->Compiled();
  const BalanceOutcome outcome =
      OutcomeOf(program, 2, ReplayTasks(program, {{0, 0}, nullptr}, Options("none", 0, 2, 2)));
  EXPECT_NEAR(outcome.makespan, 12, 1e-4);
  EXPECT_NEAR(outcome.parts.computation, 8, 1e-9);
  EXPECT_NEAR(outcome.parts.imbalance, 4, 1e-4);
  EXPECT_NEAR(outcome.parts.communication, 0, 1e-4);
}

// The same without the barriers: nobody waits, so nothing is lost to imbalance.
TEST(Balancing, ImbalanceIsNoMoreThanWhatIsWaited) {
  const auto tasks = Computing({{3, 1, 3, 1}, {1, 3, 1, 3}});
  const TaskProgram program = tasks->Compiled();
  const BalanceOutcome outcome =
      OutcomeOf(program, 2, ReplayTasks(program, {{0, 0}, nullptr}, Options("none", 0, 2, 2)));
  EXPECT_DOUBLE_EQ(outcome.makespan, 8);
  EXPECT_DOUBLE_EQ(outcome.parts.imbalance, 0);
  EXPECT_DOUBLE_EQ(outcome.parts.communication, 0);
}

// Parts add up, none is negative, and whatever is balanced how often, what does not become less of imbalance does not
// become communication: with a barrier after every iteration and no network there is none.
TEST(Balancing, BalancingCreatesNoCommunication) {
  for (const auto movement : {test::Movement::kStatic, test::Movement::kDrifting, test::Movement::kAlternating,
                              test::Movement::kRandomWalk}) {
    const auto tasks = LoadedTasks(test::MakeLoads(movement, 16, 24, 9), test::Synchronization::kBarrier);
    const TaskProgram program = tasks->Compiled();
    for (const std::size_t interval : {0u, 1u, 4u, 10u}) {
      TaskReplayOptions options = Options(interval > 0 ? "refine" : "none", interval, 16, 4);
      options.costs.are_free = true;
      const BalanceOutcome outcome = OutcomeOf(program, 4, ReplayTasks(program, {{0, 0, 0, 0}, nullptr}, options));
      EXPECT_NEAR(outcome.parts.Total(), outcome.makespan, 1e-9);
      EXPECT_GE(outcome.parts.imbalance, 0);
      EXPECT_GE(outcome.parts.communication, 0);
      EXPECT_LT(outcome.parts.communication, 1e-6 * outcome.makespan);
    }
  }
}

// Latency 1 s, 10 bytes a second, on two nodes. The barrier of two processors is one step up and one down: 2 s. Two
// tasks of 32 bytes each a record are collected in one step, 1 + 64/10 s, and told in one, 1 + 128/10 s; 8 + 8 steps of
// 0.5 s for GreedyLB (4 tasks, 2 processors). One task of 50 bytes moves: 1 + 5 s.
TEST(Balancing, Costs) {
  const auto tasks = Computing({{4, 4}, {2, 2}, {1, 1}, {1, 1}});
  Network network;
  network.remote = {1, 10, 0, 1000};
  network.local = {0, 100, 0, 1000};
  network.collectives = StandardCollectives();
  TaskReplayOptions options = Options("greedy", 1, 4, 2);
  options.costs.task_bytes.assign(4, 50);
  options.costs.step_seconds = 0.5;
  const TaskProgram program = tasks->Compiled(&network);
  const Machine machine{{0, 1}, &network};
  const BalancingDecision decision{{0, 1, 1, 1}, 12};
  EXPECT_DOUBLE_EQ(BarrierSeconds(machine), 2);
  EXPECT_DOUBLE_EQ(DecisionSeconds(machine, StrategyById("greedy"), decision, 4, options.costs), 6 + 7.4 + 13.8);
  const TaskReplayResult result = ReplayTasks(program, machine, options);
  EXPECT_EQ(result.barriers, 2);
  EXPECT_EQ(result.migration, 6);
  EXPECT_EQ(result.Makespan(), 10 + 2 + result.strategy + 6);
  EXPECT_DOUBLE_EQ(result.migrated_bytes, 50);
  options.costs.are_free = true;
  EXPECT_EQ(ReplayTasks(program, machine, options).Makespan(), 10);
}

// Processor 0 sends two states of 10 bytes at 10 bytes a second, one after the other, to two nodes: 1 + 1 s and 1 s of
// latency. From different processors of the same node they go side by side, unless the node sends one at a time.
TEST(Balancing, MigrationsShareProcessorsAndNodes) {
  Network network;
  network.remote = {1, 10, 0, 1000};
  network.local = {0, 100, 0, 1000};
  const Machine machine{{0, 0, 1, 2}, &network};
  const std::vector<double> bytes = {10, 10};
  EXPECT_DOUBLE_EQ(MigrationSeconds(machine, {0, 0}, {2, 3}, bytes), 3);
  EXPECT_DOUBLE_EQ(MigrationSeconds(machine, {0, 1}, {2, 3}, bytes), 2);
  EXPECT_DOUBLE_EQ(MigrationSeconds(machine, {0, 0}, {0, 1}, bytes), 0.1);
  network.sending = 1;
  EXPECT_DOUBLE_EQ(MigrationSeconds(machine, {0, 1}, {2, 3}, bytes), 3);
  EXPECT_DOUBLE_EQ(MigrationSeconds(machine, {0, 1}, {0, 1}, bytes), 0);
}

// The last interval says that task 0 is heavy, though task 1 will be: the exact predictor knows better.
TEST(Balancing, Predictors) {
  const TaskLoads loads = {{2, 4, 6, 1}, {1, 1, 1, 9}};
  EXPECT_THAT(PredictLoads(loads, 3, 1, LoadPredictor::kLast), ElementsAre(6, 1));
  EXPECT_THAT(PredictLoads(loads, 3, 1, LoadPredictor::kMean), ElementsAre(4, 1));
  EXPECT_THAT(PredictLoads(loads, 3, 1, LoadPredictor::kTrend), ElementsAre(8, 1));
  EXPECT_THAT(PredictLoads(loads, 3, 1, LoadPredictor::kExact), ElementsAre(1, 9));
  EXPECT_THAT(PredictLoads(loads, 2, 2, LoadPredictor::kTrend), ElementsAre(6, 2));  // no interval before: the last
}

// Rank 0 ends its first iteration only after a message that rank 1 sends in its second.
TEST(Balancing, IterationsThatDependOnLaterOnesAreNamed) {
  const auto tasks = SweptTasksOf(
      "r0: comp 0-1 | Recv<1#a 1-4 | comp 4-5 | comp 5-6\n"
      "r1: comp 0-1 | comp 1-3 | Send>0#a 3-4 | comp 4-5\n"
      "cuts: r0 5 6; r1 1 5");
  const TaskProgram program = tasks->Compiled();
  try {
    ReplayTasks(program, {{0, 0}, nullptr}, Options("greedy", 1, 2, 2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData);
    EXPECT_THAT(error.what(), HasSubstr("iterations depend on later iterations of other ranks"));
    EXPECT_THAT(error.what(), HasSubstr("rank 0 in MPI_Recv"));
  }
}

TEST(Balancing, RanksMustHaveEquallyManyIterations) {
  const auto tasks = SweptTasksOf("r0: comp 0-4\nr1: comp 0-4\ncuts: r0 2 4; r1 4");
  EXPECT_THROW(tasks->Compiled(), Error);
}

// No strategy changes the work, whatever the loads; and with constant loads balancing that costs nothing is never
// slower than none.
TEST(Balancing, ConstantLoadsAreNeverSlowedDown) {
  Random random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t count = 3 + random.Index(14), processors = 2 + random.Index(3), iterations = 2 + random.Index(5);
    std::vector<std::vector<int>> loads;
    int total = 0;
    for (std::size_t task = 0; task < count; ++task) {
      const int load = static_cast<int>(random.Index(20));
      loads.emplace_back(iterations, load);
      total += load * static_cast<int>(iterations);
    }
    const auto tasks = Computing(loads);
    const TaskProgram program = tasks->Compiled();
    const Machine machine{std::vector<std::int32_t>(processors, 0), nullptr};
    const Tick without = ReplayTasks(program, machine, Options("none", 0, count, processors)).Makespan();
    for (const Strategy& strategy : Strategies()) {
      for (const std::size_t interval : {1, 2, 3}) {
        TaskReplayOptions options = Options(strategy.id, interval, count, processors);
        options.costs.are_free = true;
        const TaskReplayResult result = ReplayTasks(program, machine, options);
        const BalanceOutcome outcome = OutcomeOf(program, processors, result);
        EXPECT_LE(result.Makespan(), without) << strategy.id << " trial " << trial;
        EXPECT_NEAR(outcome.parts.computation * static_cast<double>(processors), total, 1e-9);
        EXPECT_NEAR(outcome.parts.Total(), outcome.makespan, 1e-9);
      }
    }
  }
}

// |4 - 2| + |4 - 4| + |1 - 1| + |3 - 1| = 4 of 2 + 4 + 1 + 1 = 8.
TEST(Balancing, LoadChange) {
  EXPECT_DOUBLE_EQ(LoadChange({{2, 4, 4}, {1, 1, 3}}).value(), 0.5);
  EXPECT_FALSE(LoadChange({{5}, {6}}));
  EXPECT_FALSE(LoadChange({{0, 0}, {0, 0}}));
}

}  // namespace
}  // namespace farscale
