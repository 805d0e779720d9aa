// Balancing points and sweeps: small cases on paper, and what holds for any loads.
#include "balance/sweep.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>

#include "balance/outcome.h"
#include "balance/task_loads.h"
#include "base/error.h"
#include "base/random.h"
#include "support/loaded_program.h"
#include "support/program.h"
#include "support/ring_program.h"

namespace farscale {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ReplayRules kRules{RuleSet::kBsc, 32768};

struct SweptTasks {
  Trace trace;
  Matching matching;
  PhaseCut cut;
  TaskProgram Compiled(const Network* network = nullptr) const {
    return CompileTasks(trace, matching, cut, kRules, network);
  }
  std::shared_ptr<const TaskProgram> Shared(const Network* network = nullptr) const {
    return std::make_shared<TaskProgram>(Compiled(network));
  }
};

std::unique_ptr<SweptTasks> SweptTasksOf(const std::string& text) {
  const test::TextProgram program = test::ParseProgram(text);
  auto tasks = std::make_unique<SweptTasks>();
  tasks->trace = program.trace;
  tasks->matching = MatchTrace(tasks->trace);
  tasks->cut = test::CutOf(program);
  return tasks;
}

// SweptTasks that only compute, so many seconds in every iteration.
std::unique_ptr<SweptTasks> Computing(const std::vector<std::vector<int>>& loads) {
  std::string text, cuts = "cuts:";
  for (std::size_t task = 0; task < loads.size(); ++task) {
    text += fmt::format("r{}: comp 0-{}\n", task, std::accumulate(loads[task].begin(), loads[task].end(), 0));
    cuts += fmt::format("{} r{}", task > 0 ? ";" : "", task);
    int end = 0;
    for (const int load : loads[task]) cuts += fmt::format(" {}", end += load);
  }
  return SweptTasksOf(text + cuts);
}

std::unique_ptr<SweptTasks> LoadedTasks(const test::Loads& loads, test::Synchronization synchronization) {
  auto tasks = std::make_unique<SweptTasks>();
  tasks->trace = test::MakeLoaded(loads, synchronization);
  tasks->matching = MatchTrace(tasks->trace);
  tasks->cut = CutPhase(tasks->trace, PhaseSpec::Region("step"));
  return tasks;
}

TaskReplayOptions Options(const std::string& strategy, std::size_t interval, std::size_t tasks,
                          std::size_t processors) {
  TaskReplayOptions options;
  options.placement = PlaceTasks(tasks, processors);
  options.strategy = &StrategyById(strategy);
  options.interval = interval;
  return options;
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
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_THAT(result.epochs.back().placement, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(result.iteration_end, ElementsAre(6, 10));
}

// At the second balancing point a strategy knows the first four iterations and no more, and where processors are.
TEST(Balancing, StrategiesKnowTheMachineAndTheLoadsSoFar) {
  static std::vector<BalancingProblem> problems;
  static std::vector<std::vector<double>> loads;  // histories end with the replay
  problems.clear(), loads.clear();
  Strategy recorder;
  recorder.decide = [](const BalancingProblem& problem, const StrategyOptions&) {
    problems.push_back(problem);
    for (std::size_t task = 0; task < problem.tasks(); ++task) {
      loads.emplace_back();
      for (std::size_t i = 0; i < problem.history.iterations(); ++i) {
        loads.back().push_back(problem.history.Seconds(task, i));
      }
    }
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
  EXPECT_THAT(loads,
              ElementsAre(ElementsAre(4, 5), ElementsAre(1, 2), ElementsAre(4, 5, 6, 7), ElementsAre(1, 2, 3, 4)));
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

std::unique_ptr<SweptTasks> Ring(std::size_t ranks, std::size_t iterations) {
  auto tasks = std::make_unique<SweptTasks>();
  tasks->trace = test::MakeRing(ranks, iterations, 5);
  tasks->matching = MatchTrace(tasks->trace);
  tasks->cut = CutPhase(tasks->trace, PhaseSpec::Region("step"));
  return tasks;
}

Network SomeNetwork() {
  Network network;
  network.name = "test";
  network.local = {1e-6, 1e10, 0, 65536};
  network.remote = {2e-6, 1e9, 0, 65536};
  network.sending = network.receiving = 1;
  network.collectives = StandardCollectives();
  return network;
}

// A quarter of the tasks has three times the work of the others, in blocks on a quarter of the processors: a processor
// has 3 times the load of most. Balanced, an iteration takes half of that. What remains is told by its parts.
TEST(Sweep, FindsWhatBalancingBrings) {
  const Network network = SomeNetwork();
  const auto tasks = Ring(32, 40);
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(&network), 4, std::vector<double>(32, 1e5)});
  SweepOptions options;
  options.network = &network;
  options.processors = {8};
  options.strategies = {"greedy", "refine"};
  WhatIf what_if;
  std::size_t reported = 0;
  Sweep(
      runs, options, [&](std::size_t, std::size_t) { ++reported; }, what_if);
  ASSERT_EQ(what_if.outcomes.size(), 1 + 2 * 3u);  // intervals 5, 10 and 20
  EXPECT_EQ(reported, 7 + 7 * 20u);
  EXPECT_EQ(what_if.noise_replicas, 20u);
  const BalanceOutcome& best = what_if.outcomes[what_if.by_time.front()];
  EXPECT_GT(best.gain.value, 0.2);
  EXPECT_GT(best.gain.low, 0.15);
  EXPECT_LE(best.gain.low, best.gain.value);
  EXPECT_FALSE(best.gain_over_original);
  EXPECT_EQ(what_if.by_robustness.size(), 6u);
  for (const BalanceOutcome& outcome : what_if.outcomes) {
    EXPECT_NEAR(outcome.parts.Total(), outcome.makespan, 1e-9);
    EXPECT_NEAR(outcome.parts.computation, what_if.outcomes.front().parts.computation, 1e-12);
  }
  ASSERT_EQ(what_if.histories.size(), 3u);
  EXPECT_EQ(what_if.histories.front().outcome, 0u);
}

// The same problem on 8 and on 32 ranks: the first is the original of the second on 8 processors.
TEST(Sweep, ComparesWithTheOriginalRun) {
  const auto small = Ring(8, 12), large = Ring(32, 12);
  std::vector<SweepRun> runs;
  runs.push_back({small->Shared(), 8, {}});
  runs.push_back({large->Shared(), 8, {}});
  SweepOptions options;
  options.processors = {8};
  options.levels = {1, 4, 8};
  options.strategies = {"greedy"};
  options.intervals = {5};
  options.same_problem = true;
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  ASSERT_EQ(what_if.outcomes.size(), 3u);
  EXPECT_EQ(what_if.outcomes[0].configuration.tasks, 8u);
  EXPECT_FALSE(what_if.outcomes[0].gain_over_original);
  ASSERT_TRUE(what_if.outcomes[2].gain_over_original);
  EXPECT_DOUBLE_EQ(what_if.outcomes[2].gain_over_original->value,
                   1 - what_if.outcomes[2].makespan / what_if.outcomes[0].makespan);
  ASSERT_EQ(what_if.left_out.size(), 1u);
  EXPECT_EQ(what_if.left_out.front().why, "no run has 64 ranks");
}

// A sweep that names no strategies has those of before; others are simulated when named.
TEST(Sweep, HierarchicalOnlyWhenNamed) {
  const auto tasks = Computing({{4, 4}, {2, 2}, {1, 1}, {1, 1}});
  const std::vector<SweepRun> runs = {{tasks->Shared(), 1, {}}};
  std::vector<LeftOut> left_out;
  const auto simulates = [&](const SweepOptions& options) {
    return std::ranges::any_of(
        ConfigurationsOf(runs, options, left_out),
        [](const BalanceConfiguration& configuration) { return configuration.strategy == "hierarchical"; });
  };
  EXPECT_FALSE(simulates({.processors = {2}}));
  EXPECT_TRUE(simulates({.processors = {2}, .strategies = {"hierarchical"}}));
}

TEST(Sweep, NothingToSimulateIsSaid) {
  const auto tasks = Ring(4, 4);
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(), 4, {}});
  SweepOptions options;
  options.processors = {16};
  WhatIf what_if;
  EXPECT_THROW(Sweep(runs, options, {}, what_if), Error);
}

// Loads 4 2 | 1 1 in four iterations: 24 s without balancing. Balanced after the first, at 6, every later iteration
// takes 4 s instead of 6.
TEST(Sweep, LaterIterationsAreToldApart) {
  const auto tasks = Computing({{4, 4, 4, 4}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}});
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(), 2, {}});
  SweepOptions options;
  options.processors = {2, 2};
  options.strategies = {"greedy"};
  options.intervals = {1, 1, 9};
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  ASSERT_EQ(what_if.outcomes.size(), 2u);
  EXPECT_FALSE(what_if.outcomes[0].later_iteration);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].makespan, 18);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].later_iteration.value(), 4);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].later_iteration_without.value(), 6);
  ASSERT_EQ(what_if.left_out.size(), 1u);
  EXPECT_THAT(what_if.left_out.front().why, HasSubstr("no balancing point comes after 9"));
}

// Loads 4 2 | 1 1, 24 s in four iterations without balancing: 6 s each. The first balancing point costs its barrier and
// moves one task of 50 bytes at 1 byte a second, 50 s: over the trace balancing loses. A later iteration takes 4 s and
// what a point costs without migrations, since none follow: in a long run it gains, and leads.
TEST(Sweep, ALongRunDecides) {
  const auto tasks = Computing({{4, 4, 4, 4}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}});
  Network network;
  network.remote = network.local = {0, 1, 0, 1000};
  network.collectives = StandardCollectives();
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(&network), 2, std::vector<double>(4, 50)});
  SweepOptions options;
  options.network = &network;
  options.processors = {2};
  options.strategies = {"greedy"};
  options.intervals = {1, 2};
  options.costs.step_seconds = 0;
  options.costs.record_bytes = 0;
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  const BalanceOutcome& every = what_if.outcomes[1];
  EXPECT_EQ(every.configuration.interval, 1u);
  EXPECT_EQ(every.migrations, 1u);
  EXPECT_DOUBLE_EQ(every.makespan, 6 + 50 + 3 * 4);
  EXPECT_DOUBLE_EQ(every.gain.value, 1 - 68.0 / 24);
  EXPECT_DOUBLE_EQ(every.long_run_iteration.value(), 4);
  EXPECT_DOUBLE_EQ(LongRunIteration(what_if.outcomes[0], 4), 6);
  EXPECT_DOUBLE_EQ(LongRunGainOver(what_if.outcomes[0], 4, every, 4).value, 1 - 4.0 / 6);
  EXPECT_LT(what_if.outcomes[2].makespan, 12 + 50 + 8 + 1e-9);
  EXPECT_EQ(what_if.by_time.size(), 2u);
}

// Four iterations of 4 and 2 | 1 and 1, which take 6 without balancing. After the first, GreedyLB leaves the 4 alone,
// and all others take 4.
struct SweptFour {
  explicit SweptFour(const std::function<void(SweepOptions&)>& set) {
    const auto tasks = Computing({{4, 4, 4, 4}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}});
    std::vector<SweepRun> runs;
    runs.push_back({tasks->Shared(), 2, {}});
    SweepOptions options;
    options.processors = {2};
    options.strategies = {"greedy"};
    options.intervals = {1};
    options.replicas = 0;
    set(options);
    Sweep(runs, options, {}, what_if);
  }
  WhatIf what_if;
};

// 98 iterations are 25 times the four: 6 and 99 times 4 seconds, instead of 100 times 6.
TEST(Sweep, ProductionRunsRepeatThePhase) {
  const SweptFour swept([](SweepOptions& options) { options.iterations = 98; });
  const ProductionRun run = swept.what_if.production.value();
  EXPECT_EQ(run.iterations, 100u);
  EXPECT_EQ(run.repeats, 25u);
  EXPECT_DOUBLE_EQ(run.makespan, 6 + 99 * 4);
  EXPECT_DOUBLE_EQ(run.baseline, 600);
  EXPECT_DOUBLE_EQ(run.gain.value, 1 - 402.0 / 600);
}

// At 10 a switch (ten times what is stated): before the balancing point the first processor switches once, from the 4
// to the 2; behind it the other one runs three tasks in turn, 34 an iteration. Without balancing tasks never wait, and
// a processor switches once in all. A tenth of a second is less than a tick here.
TEST(Sweep, SwitchingIsVaried) {
  const SweptFour swept([](SweepOptions& options) { options.costs.switch_seconds = 1; });
  std::vector<double> makespans, gains;
  for (const OverheadCost& cost : swept.what_if.overhead_costs) {
    EXPECT_EQ(cost.overhead, "switching");
    makespans.push_back(cost.makespan);
    gains.push_back(cost.gain.value);
  }
  EXPECT_THAT(makespans, ElementsAre(18, 18, 16 + 3 * 34));
  EXPECT_THAT(gains, ElementsAre(DoubleEq(1 - 18.0 / 24), DoubleEq(1 - 18.0 / 24), DoubleEq(1 - 118.0 / 34)));
}

// The 2 moves and takes 3 then, once: the iteration behind the point takes 5.
TEST(Sweep, LostLocalityCostsAfterAMove) {
  const SweptFour swept([](SweepOptions& options) { options.costs.cold_share = 0.5; });
  EXPECT_DOUBLE_EQ(swept.what_if.outcomes[1].makespan, 6 + 5 + 4 + 4);
  EXPECT_DOUBLE_EQ(swept.what_if.overhead_costs.front().makespan, 18);
}

// Balancing points after 1 and 2 of 4 iterations of loads that stay: what both cost is spread over all iterations to
// come, every one of which passes one. Barriers of 2 s: 2 processors, one step up and one down with a latency of 1 s.
TEST(Sweep, ALongRunPaysForItsBalancingPoints) {
  const auto tasks = Computing({{4, 4, 4, 4}, {4, 4, 4, 4}});
  Network network;
  network.remote = network.local = {1, 1e9, 0, 1000};
  network.collectives = StandardCollectives();
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(&network), 2, {}});
  SweepOptions options;
  options.network = &network;
  options.processors = {2};
  options.levels = {1};
  options.strategies = {"greedy"};
  options.intervals = {1, 2, 3};
  options.costs.step_seconds = 0;
  options.costs.record_bytes = 0;
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  for (const BalanceOutcome& outcome : what_if.outcomes) {
    if (outcome.configuration.interval == 0) continue;
    const double point =
        (outcome.parts.barriers + outcome.parts.strategy) / static_cast<double>(outcome.balancing_points);
    EXPECT_GE(point, 2);
    EXPECT_DOUBLE_EQ(outcome.long_run_iteration.value(),
                     4 + point / static_cast<double>(outcome.configuration.interval));
  }
}

// The second half of the iterations has twice the work: an iteration of a long run has one and a half times that of the
// first, whichever half the balancing point leaves.
TEST(Sweep, ALongRunHasIterationsOfAllKinds) {
  const auto tasks = Computing({{2, 2, 4, 4}, {2, 2, 4, 4}});
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(), 2, {}});
  SweepOptions options;
  options.processors = {2};
  options.levels = {1};
  options.strategies = {"greedy"};
  options.intervals = {1, 2, 3};
  options.costs.are_free = true;
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  for (const BalanceOutcome& outcome : what_if.outcomes) EXPECT_DOUBLE_EQ(LongRunIteration(outcome, 4), 3);
}

// |4 - 2| + |4 - 4| + |1 - 1| + |3 - 1| = 4 of 2 + 4 + 1 + 1 = 8.
TEST(Balancing, LoadChange) {
  EXPECT_DOUBLE_EQ(LoadChange({{2, 4, 4}, {1, 1, 3}}).value(), 0.5);
  EXPECT_FALSE(LoadChange({{5}, {6}}));
  EXPECT_FALSE(LoadChange({{0, 0}, {0, 0}}));
}

// Loads 1 5 1 5, dealt out 1 1 | 5 5: blocks have 12 each and need no balancing, dealt out they have 4 and 20. Whatever
// is gained there, blocks are ahead.
TEST(Sweep, PlacementsAreRankedByTime) {
  const auto tasks = Computing({{1, 1}, {5, 5}, {1, 1}, {5, 5}});
  std::vector<SweepRun> runs;
  runs.push_back({tasks->Shared(), 2, {}});
  SweepOptions options;
  options.processors = {2};
  options.strategies = {"greedy"};
  options.intervals = {1};
  options.placements = {Placement::kRoundRobin, Placement::kBlock};
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  const BalanceOutcome& best = what_if.outcomes[what_if.by_time.front()];
  EXPECT_EQ(best.configuration.placement, Placement::kBlock);
  EXPECT_DOUBLE_EQ(best.makespan, 12);
  EXPECT_DOUBLE_EQ(best.gain.value, 0);
  const BalanceOutcome& other = what_if.outcomes[what_if.by_time.back()];
  EXPECT_DOUBLE_EQ(other.makespan, 16);  // 10 and 6
  EXPECT_DOUBLE_EQ(other.gain.value, 0.2);
}

// A replica has the same noise: sums of a task's load stay near, what all tasks do together stays in its iteration.
TEST(NoiseReplica, KeepsWhatIsNoNoise) {
  const auto tasks = Ring(16, 40);
  const TaskProgram program = tasks->Compiled();
  TaskLoads loads = LoadsOf(program);
  for (std::vector<Tick>& task : loads) task[24] *= 10;  // something that all do
  const auto scale = NoiseReplica(loads, 3);
  ASSERT_TRUE(scale);
  for (std::size_t task = 0; task < loads.size(); ++task) {
    EXPECT_NEAR((*scale)[task][24], 1, 0.25);
    for (const double factor : (*scale)[task]) EXPECT_GT(factor, 0);
  }
  EXPECT_EQ(*NoiseReplica(loads, 3), *scale);
  EXPECT_NE(*NoiseReplica(loads, 4), *scale);
  EXPECT_FALSE(NoiseReplica(LoadsOf(Ring(4, 5)->Compiled()), 1));
}

}  // namespace
}  // namespace farscale
