// Sweeps over configurations: small cases on paper, and what holds for any loads.
#include "balance/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "balance/outcome.h"
#include "balance/strategy.h"
#include "base/diagnostics.h"
#include "support/swept_tasks.h"

namespace farscale {
namespace {

using test::Computing;
using test::RingTasks;
using test::SweptTasks;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

// One run on two processors with GreedyLB, unless `set` says otherwise.
WhatIf SweepOf(SweepRun run, const std::function<void(SweepOptions&)>& set) {
  SweepOptions options;
  options.processors = {2};
  options.strategies = {"greedy"};
  set(options);
  std::vector<SweepRun> runs;
  runs.push_back(std::move(run));
  WhatIf what_if;
  Sweep(runs, options, {}, what_if);
  return what_if;
}

// Four iterations of 4 and 2 | 1 and 1, which take 6 without balancing. After the first, GreedyLB leaves the 4 alone,
// and all others take 4.
std::unique_ptr<SweptTasks> FourIterations() {
  return Computing({{4, 4, 4, 4}, {2, 2, 2, 2}, {1, 1, 1, 1}, {1, 1, 1, 1}});
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
  const auto tasks = RingTasks(32, 40);
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
  const auto small = RingTasks(8, 12), large = RingTasks(32, 12);
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
  const auto simulates = [&](const SweepOptions& chosen) {
    return std::ranges::any_of(ConfigurationsOf(runs, chosen, left_out), [](const BalanceConfiguration& configuration) {
      return configuration.strategy == "hierarchical";
    });
  };
  SweepOptions options;
  options.processors = {2};
  EXPECT_FALSE(simulates(options));
  options.strategies = {"hierarchical"};
  EXPECT_TRUE(simulates(options));
}

TEST(Sweep, NothingToSimulateIsSaid) {
  const auto tasks = RingTasks(4, 4);
  EXPECT_THROW(SweepOf({tasks->Shared(), 4, {}}, [](SweepOptions& options) { options.processors = {16}; }), Error);
}

// 24 s without balancing. Balanced after the first iteration, at 6, every later one takes 4 s instead of 6.
TEST(Sweep, LaterIterationsAreToldApart) {
  const auto tasks = FourIterations();
  const WhatIf what_if = SweepOf({tasks->Shared(), 2, {}}, [](SweepOptions& options) {
    options.processors = {2, 2};
    options.intervals = {1, 1, 9};
  });
  ASSERT_EQ(what_if.outcomes.size(), 2u);
  EXPECT_FALSE(what_if.outcomes[0].later_iteration);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].makespan, 18);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].later_iteration.value(), 4);
  EXPECT_DOUBLE_EQ(what_if.outcomes[1].later_iteration_without.value(), 6);
  ASSERT_EQ(what_if.left_out.size(), 1u);
  EXPECT_THAT(what_if.left_out.front().why, HasSubstr("no balancing point comes after 9"));
}

// 24 s in four iterations without balancing: 6 s each. The first balancing point costs its barrier and
// moves one task of 50 bytes at 1 byte a second, 50 s: over the trace balancing loses. A later iteration takes 4 s and
// what a point costs without migrations, since none follow: in a long run it gains, and leads.
TEST(Sweep, ALongRunDecides) {
  const auto tasks = FourIterations();
  Network network;
  network.remote = network.local = {0, 1, 0, 1000};
  network.collectives = StandardCollectives();
  const WhatIf what_if = SweepOf({tasks->Shared(&network), 2, std::vector<double>(4, 50)}, [&](SweepOptions& options) {
    options.network = &network;
    options.intervals = {1, 2};
    options.costs.step_seconds = 0;
    options.costs.record_bytes = 0;
  });
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

// Balanced after every iteration.
WhatIf SweptFour(const std::function<void(SweepOptions&)>& set) {
  const auto tasks = FourIterations();
  return SweepOf({tasks->Shared(), 2, {}}, [&](SweepOptions& options) {
    options.intervals = {1};
    options.replicas = 0;
    set(options);
  });
}

// 98 iterations are 25 times the four: 6 and 99 times 4 seconds, instead of 100 times 6.
TEST(Sweep, ProductionRunsRepeatThePhase) {
  const WhatIf swept = SweptFour([](SweepOptions& options) { options.iterations = 98; });
  const ProductionRun run = swept.production.value();
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
  const WhatIf swept = SweptFour([](SweepOptions& options) { options.costs.switch_seconds = 1; });
  std::vector<double> makespans, gains;
  for (const OverheadCost& cost : swept.overhead_costs) {
    EXPECT_EQ(cost.overhead, "switching");
    makespans.push_back(cost.makespan);
    gains.push_back(cost.gain.value);
  }
  EXPECT_THAT(makespans, ElementsAre(18, 18, 16 + 3 * 34));
  EXPECT_THAT(gains, ElementsAre(DoubleEq(1 - 18.0 / 24), DoubleEq(1 - 18.0 / 24), DoubleEq(1 - 118.0 / 34)));
}

// The 2 moves and takes 3 then, once: the iteration behind the point takes 5.
TEST(Sweep, LostLocalityCostsAfterAMove) {
  const WhatIf swept = SweptFour([](SweepOptions& options) { options.costs.cold_share = 0.5; });
  EXPECT_DOUBLE_EQ(swept.outcomes[1].makespan, 6 + 5 + 4 + 4);
  EXPECT_DOUBLE_EQ(swept.overhead_costs.front().makespan, 18);
}

// Balancing points after 1 and 2 of 4 iterations of loads that stay: what both cost is spread over all iterations to
// come, every one of which passes one. Barriers of 2 s: 2 processors, one step up and one down with a latency of 1 s.
TEST(Sweep, ALongRunPaysForItsBalancingPoints) {
  const auto tasks = Computing({{4, 4, 4, 4}, {4, 4, 4, 4}});
  Network network;
  network.remote = network.local = {1, 1e9, 0, 1000};
  network.collectives = StandardCollectives();
  const WhatIf what_if = SweepOf({tasks->Shared(&network), 2, {}}, [&](SweepOptions& options) {
    options.network = &network;
    options.levels = {1};
    options.intervals = {1, 2, 3};
    options.costs.step_seconds = 0;
    options.costs.record_bytes = 0;
  });
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
  const WhatIf what_if = SweepOf({tasks->Shared(), 2, {}}, [](SweepOptions& options) {
    options.levels = {1};
    options.intervals = {1, 2, 3};
    options.costs.are_free = true;
  });
  for (const BalanceOutcome& outcome : what_if.outcomes) EXPECT_DOUBLE_EQ(LongRunIteration(outcome, 4), 3);
}

// Loads 1 5 1 5, dealt out 1 1 | 5 5: blocks have 12 each and need no balancing, dealt out they have 4 and 20. Whatever
// is gained there, blocks are ahead.
TEST(Sweep, PlacementsAreRankedByTime) {
  const auto tasks = Computing({{1, 1}, {5, 5}, {1, 1}, {5, 5}});
  const WhatIf what_if = SweepOf({tasks->Shared(), 2, {}}, [](SweepOptions& options) {
    options.intervals = {1};
    options.placements = {Placement::kRoundRobin, Placement::kBlock};
  });
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
  const auto tasks = RingTasks(16, 40);
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
  EXPECT_FALSE(NoiseReplica(LoadsOf(RingTasks(4, 5)->Compiled()), 1));
}

}  // namespace
}  // namespace farscale
