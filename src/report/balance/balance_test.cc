#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "planning/balance_cases.h"
#include "planning/balance_json.h"
#include "plot/heat_map.h"
#include "plot/chart.h"
#include "report/balance/pages.h"
#include "results/factor_table_files.h"
#include "support/models.h"
#include "support/own_templates.h"
#include "support/what_if.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string AnswerFor(const WhatIf& what_if, const BalanceCase& one) {
  return Join(CaseAnswer(what_if, one, test::OwnTexts()), " ");
}
Sentences Answers(const WhatIf& what_if) { return Answers(what_if, test::OwnTexts()); }
Sentences Reasons(const WhatIf& what_if, const BalanceCase& one) { return Reasons(what_if, one, test::OwnTexts()); }
Sentences Advice(const WhatIf& what_if, const BalanceCase& one) { return Advice(what_if, one, test::OwnTexts()); }

std::string Text(const WhatIf& what_if, std::size_t top, const std::vector<BalancedProjection>& list = {}) {
  return WriteBalanceText(BuildBalanceModel(what_if, test::OwnTexts(), list, top), test::OwnTexts());
}

ReportData TablesOfProjections(const std::vector<BalancedProjection>& list) {
  return BuildBalanceModel(test::MakeWhatIf(), test::OwnTexts(), list).data["projections"];
}

BalanceCase OnlyCase(const WhatIf& what_if) { return CasesOf(what_if).at(0); }

// The tasks of the best outcome take so long instead, and replicas say so.
WhatIf WithBest(double makespan, const Gain& over_original) {
  WhatIf what_if = test::MakeWhatIf();
  for (std::size_t i = 2; i < 5; ++i) what_if.outcomes[i].makespan = 11;
  what_if.outcomes[5].makespan = makespan;
  what_if.outcomes[5].gain_over_original = over_original;
  return what_if;
}

// One outcome without balancing on so many processors.
WhatIf WithoutBalancing(std::size_t processors) {
  WhatIf what_if;
  what_if.title = "t";
  what_if.runs = {{"t/traces.otf2", processors, 0, 0, 10, 1, 1, 1, 0, 0, {}}};
  BalanceOutcome outcome;
  outcome.configuration = {0, processors, processors, "none", 0, Placement::kBlock};
  outcome.makespan = outcome.parts.computation = 1;
  what_if.outcomes = {outcome};
  return what_if;
}

TEST(BalanceCases, OneForEveryNumberOfProcessorsOfAProblem) {
  WhatIf what_if = test::MakeWhatIf();
  ASSERT_EQ(CasesOf(what_if).size(), 1u);
  const BalanceCase one = OnlyCase(what_if);
  EXPECT_EQ(one.run, std::nullopt);
  EXPECT_EQ(one.ranking, what_if.by_time);
  EXPECT_EQ(one.robust, 4u);
  EXPECT_EQ(one.original, 0u);
  what_if.same_problem = false;  // then the runs do not compare
  ASSERT_EQ(CasesOf(what_if).size(), 2u);
  EXPECT_THAT(CasesOf(what_if)[0].ranking, IsEmpty());
  EXPECT_EQ(CasesOf(what_if)[1].run, 1u);
  EXPECT_EQ(CasesOf(what_if)[1].original, std::nullopt);
  EXPECT_EQ(NameOfCase(what_if, CasesOf(what_if)[1]), "16 processors (run on 64 ranks)");
}

TEST(BalanceCases, SweepsHoldEverythingElse) {
  const WhatIf what_if = test::MakeWhatIf();
  const std::vector<SweepLine> intervals = SweepOver(what_if, OnlyCase(what_if), BalanceAxis::kInterval);
  ASSERT_EQ(intervals.size(), 3u);
  EXPECT_EQ(intervals[1].strategy, "refine");
  EXPECT_EQ(intervals[1].points.begin()->second, 4u);
  EXPECT_EQ(intervals[1].points.rbegin()->first, 20);
  EXPECT_EQ(intervals[2].strategy, "none");  // the same at every interval
  EXPECT_EQ(intervals[2].points.begin()->second, 1u);
  EXPECT_EQ(intervals[2].points.rbegin()->second, 1u);
  const std::vector<SweepLine> levels = SweepOver(what_if, OnlyCase(what_if), BalanceAxis::kLevel);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[2].points.size(), 2u);  // without balancing at both levels
  EXPECT_EQ(levels[0].points.size(), 1u);
  EXPECT_THAT(SweepOver(what_if, OnlyCase(what_if), BalanceAxis::kProcessors), IsEmpty());
  EXPECT_THAT(BestOfStrategies(what_if, OnlyCase(what_if)), ElementsAre(0, 1, 5, 3));
}

// Where the network is unknown the answer is a range, and none where some networks gain and others lose.
TEST(BalanceWords, AnUnknownNetworkIsARange) {
  WhatIf what_if = test::MakeWhatIf();
  const std::size_t lead = *OnlyCase(what_if).lead;
  what_if.network_gains = {{lead, "slow", 0.24, 0.25, {0.04, 0.04, 0.04}}, {lead, "fast", 0.2, 0.25, {0.2, 0.2, 0.2}}};
  EXPECT_THAT(AnswerFor(what_if, OnlyCase(what_if)),
              HasSubstr("the same choice takes from 4.0 % less (slow) to 20.0 % less (fast)"));
  what_if.network_gains[0].gain = {-0.28, -0.28, -0.28};
  EXPECT_EQ(VerdictOf(what_if, OnlyCase(what_if)), BalanceVerdict::kNetworkDecides);
  const std::string answer = AnswerFor(what_if, OnlyCase(what_if));
  EXPECT_THAT(answer, HasSubstr("Whether balancing pays depends on the network"));
  EXPECT_THAT(answer, HasSubstr("from 28.0 % more (slow) to 20.0 % less (fast)"));
  EXPECT_THAT(answer, Not(HasSubstr("With RefineLB")));
}

// No gain is told of a run that the replay does not explain.
TEST(BalanceWords, AReplayThatIsFarOffTellsNothing) {
  WhatIf what_if = test::MakeWhatIf();
  for (BalanceRun& run : what_if.runs) run.is_unexplained = true;
  const std::string answer = AnswerFor(what_if, OnlyCase(what_if));
  EXPECT_THAT(answer, HasSubstr("Whether balancing pays cannot be told: the replay does not explain how long"));
  EXPECT_THAT(answer, Not(HasSubstr("RefineLB")));
  EXPECT_THAT(Advice(what_if, OnlyCase(what_if), test::OwnTexts()), IsEmpty());
  EXPECT_THAT(DescribeProduction(what_if, test::OwnTexts()), IsEmpty());
}

TEST(BalanceWords, TheAnswerSaysWhetherItPays) {
  const WhatIf what_if = test::MakeWhatIf();
  EXPECT_EQ(
      AnswerFor(what_if, OnlyCase(what_if)),
      "With RefineLB every 20 iterations, 64 tasks on 16 processors take 205 ms an iteration in a long run instead "
      "of 250 ms: 18.0 % less (80 % of the replicas between 16.0 % and 20.0 %). Over the 40 iterations of the trace "
      "they take 8.20 s instead of the 10.0 s of the run with 16 ranks: 18.0 % less (80 % of the replicas between "
      "16.0 % and 20.0 %). Over-decomposition alone, without balancing, takes 10.4 s: 4.0 % more; balancing then "
      "makes it 21.2 % less.");
  WhatIf alone = what_if;  // without replicas and the original run
  alone.noise_replicas = 0;
  for (BalanceOutcome& outcome : alone.outcomes) {
    outcome.gain_over_original.reset();
    outcome.gain.low = outcome.gain.high = outcome.gain.value;
  }
  EXPECT_EQ(
      AnswerFor(alone, OnlyCase(alone)),
      "With RefineLB every 20 iterations, 64 tasks on 16 processors take 205 ms an iteration in a long run instead "
      "of 260 ms: 21.2 % less. Over the 40 iterations of the trace they take 8.20 s instead of 10.4 s without "
      "balancing: 21.2 % less.");
  const WhatIf noise = WithBest(9.9, {0.01, -0.01, 0.03});
  EXPECT_THAT(AnswerFor(noise, OnlyCase(noise)),
              HasSubstr("On 16 processors over-decomposition and balancing gain no more than noise: the best, "));
}

// The best of these outcomes is refine every 10 iterations with 8.4 s, where the fixture's best is slowed down.
TEST(BalanceWords, OverDecompositionIsNotBlamedOnBalancing) {
  WhatIf loss = test::MakeWhatIf();
  for (std::size_t i = 1; i < loss.outcomes.size(); ++i) {
    BalanceOutcome& outcome = loss.outcomes[i];
    outcome.makespan += 4;
    const double gain = 1 - outcome.makespan / 10;
    outcome.gain_over_original = Gain{gain, gain, gain};
  }
  EXPECT_EQ(VerdictOf(loss, OnlyCase(loss)), BalanceVerdict::kCosts);
  EXPECT_EQ(
      AnswerFor(loss, OnlyCase(loss)),
      "On 16 processors the run with 16 ranks stays ahead: even the best, RefineLB every 20 iterations with 64 "
      "tasks, takes 305 ms an iteration in a long run instead of 250 ms: 22.0 % more. Over the 40 iterations of the "
      "trace it takes 12.2 s instead of the 10.0 s of the run with 16 ranks: 22.0 % more. Over-decomposition "
      "alone, without balancing, takes 14.4 s: 44.0 % more; balancing then makes it 15.3 % less.");
}

// Without migrations all that changes is how finely the problem is decomposed.
TEST(BalanceWords, NothingWorthMovingIsSaid) {
  WhatIf what_if = test::MakeWhatIf();
  for (std::size_t i = 2; i < what_if.outcomes.size(); ++i) {
    what_if.outcomes[i].migrations = 0;
    what_if.outcomes[i].makespan = 10.41;
  }
  const BalanceCase one = OnlyCase(what_if);
  EXPECT_EQ(one.lead, 1u);
  EXPECT_EQ(VerdictOf(what_if, one), BalanceVerdict::kNothingMoved);
  EXPECT_EQ(
      AnswerFor(what_if, one),
      "Over-decomposition alone, 64 tasks on 16 processors without balancing, takes 10.4 s instead of the 10.0 s "
      "of the run with 16 ranks: 4.0 % more (80 % of the replicas between 2.0 % and 6.0 %). No strategy finds "
      "anything worth moving: the best, RefineLB every 20 iterations with 64 tasks, takes 260 ms an iteration in a "
      "long run, 0.1 % more.");
  EXPECT_THAT(Advice(what_if, one), IsEmpty());
  EXPECT_THAT(Reasons(what_if, one), Not(testing::Contains(HasSubstr("Balancing itself"))));
  what_if.outcomes[2].migrations = 3;  // and makes it no better
  EXPECT_THAT(
      AnswerFor(what_if, OnlyCase(what_if)),
      HasSubstr("No strategy gains by moving tasks: those that move some take longer, and the best, RefineLB "
                "every 20 iterations with 64 tasks, moves none and takes 260 ms an iteration in a long run, 0.1 % "
                "more."));
  for (BalanceOutcome& outcome : what_if.outcomes) outcome.gain_over_original.reset();
  what_if.same_problem = false;  // and no original run: nothing else is left to say
  what_if.outcomes[2].migrations = 0;
  EXPECT_THAT(AnswerFor(what_if, CasesOf(what_if)[1]),
              testing::Eq("On 16 processors (run on 64 ranks) no strategy finds anything worth moving."));
  what_if.outcomes[2].migrations = 45;  // which is something, but no gain
  EXPECT_THAT(
      AnswerFor(what_if, CasesOf(what_if)[1]),
      HasSubstr("no strategy gains by moving tasks: the best, RefineLB every 20 iterations with 64 tasks, moves "
                "none."));
}

// No run has as many ranks as there are processors. 64 tasks take 10.4 s, with RefineLB as without, for it moves none;
// 32 tasks take 12 s. The 64 lead, not the 32 because they are something else without balancing.
TEST(BalanceWords, WhatIsSlowerDoesNotLead) {
  WhatIf what_if = test::MakeWhatIf();
  what_if.outcomes[0].configuration.tasks = 32;
  what_if.outcomes[0].makespan = 12;
  for (BalanceOutcome& outcome : what_if.outcomes) {
    outcome.gain_over_original.reset();
    if (IsUnbalanced(outcome)) continue;
    outcome.migrations = 0;
    outcome.makespan = what_if.outcomes[1].makespan;
  }
  const BalanceCase one = OnlyCase(what_if);
  EXPECT_EQ(one.original, std::nullopt);
  EXPECT_EQ(one.lead, one.ranking.front());
  EXPECT_THAT(AnswerFor(what_if, one), HasSubstr("no strategy finds anything worth moving"));
}

// 64 tasks in blocks take 10.4 s, dealt out 7 s; RefineLB makes that 8.2 s. There is no original run.
WhatIf WithRoundRobin() {
  WhatIf what_if = test::MakeWhatIf();
  BalanceOutcome dealt = what_if.outcomes[1];
  dealt.configuration.placement = Placement::kRoundRobin;
  dealt.makespan = 7;
  dealt.replicas.clear();
  dealt.baseline = 6;
  dealt.gain = {0, 0, 0};
  what_if.outcomes.push_back(dealt);
  for (BalanceOutcome& outcome : what_if.outcomes) outcome.gain_over_original.reset();
  what_if.same_problem = false;
  return what_if;
}

TEST(BalanceWords, PlacementAloneIsTheHeadline) {
  const WhatIf what_if = WithRoundRobin();
  const BalanceCase one = CasesOf(what_if)[1];
  EXPECT_EQ(one.lead, 6u);
  EXPECT_EQ(VerdictOf(what_if, one), BalanceVerdict::kUnbalancedLeads);
  EXPECT_EQ(Answers(what_if)[0],
            "Without balancing, 64 tasks on 16 processors, placed round robin, take 7.00 s instead of 10.4 s placed in "
            "blocks: 32.7 % less.");
  EXPECT_EQ(Answers(what_if)[1],
            "No strategy improves on that: the best, RefineLB every 20 iterations with 64 tasks placed in blocks, "
            "takes 205 ms an iteration in a long run, 17.1 % more.");
  EXPECT_EQ(Reasons(what_if, one)[0],
            "Placed in blocks, processors do not compute for 2.90 s of 10.4 s (2.20 s imbalance, 700 ms communication "
            "and waiting); placed round robin for 2.90 s of 7.00 s (2.20 s imbalance, 700 ms communication and "
            "waiting).");
  const std::string text = Text(what_if, 1);
  EXPECT_THAT(text, HasSubstr("\n16 processors (run on 64 ranks)  no balancing, placed round robin  "));
  EXPECT_THAT(text, testing::ContainsRegex("Placed +Iteration of a long run +Makespan"));
  EXPECT_LT(text.find("round robin                   175 ms"), text.find("in blocks                     205 ms"));
  const auto json = nlohmann::ordered_json::parse(WriteWhatIfJson(what_if));
  EXPECT_EQ(json["cases"][1]["lead"], 6);
  EXPECT_EQ(json["cases"][1]["reference"], 1);
  EXPECT_NEAR(json["cases"][1]["gain"]["value"].get<double>(), 1 - 7 / 10.4, 1e-12);
}

TEST(BalanceWords, BytesBeyondIntegers) {
  EXPECT_EQ(SayBytes(3145728), "3.0 MiB");
  EXPECT_EQ(SayBytes(-1), "0 B");
  EXPECT_EQ(SayBytes(2 * 1152921504606846976.0 * 8), "16 EiB");
  EXPECT_EQ(SayBytes(1e30), "8.67e+11 EiB");
}

TEST(BalanceWords, NothingIsSaidToo) {
  EXPECT_THAT(Answers(WhatIf()), ElementsAre("Nothing was simulated."));
  WhatIf refused;
  refused.left_out = test::MakeWhatIf().left_out;
  EXPECT_THAT(Answers(refused), ElementsAre(HasSubstr("Nothing could be simulated")));
  EXPECT_THAT(Answers(WithoutBalancing(1)), ElementsAre("On 1 processor there is nothing to balance."));
  EXPECT_THAT(Answers(WithoutBalancing(4)), ElementsAre("On 4 processors nothing was balanced."));
}

// 2 + 0.5 s of 10 s become 0.2 + 0.45 s of 8.2 s; the heaviest of 16 tasks is not among those of the best.
TEST(BalanceReasons, SayWhatWentAndWhatIsLeft) {
  WhatIf what_if = test::MakeWhatIf();
  EXPECT_THAT(
      Reasons(what_if, OnlyCase(what_if)),
      ElementsAre(
          "In the run with 16 ranks, processors do not compute for 2.50 s of 10.0 s (2.00 s imbalance, 500 ms "
          "communication and waiting); with balancing for 650 ms of 8.20 s (200 ms imbalance, 450 ms communication and "
          "waiting).",
          "Balancing itself takes 50.0 ms (0.6 %) at 2 balancing points: 10.0 ms for barriers, 10.0 ms for the "
          "strategy, 30.0 ms for 20 migrations of tasks with 20.0 MiB of state.",
          "64,000 messages between processors instead of 16,000: migrated or finer tasks have other neighbours.",
          "Shared evenly, computation alone would take 7.50 s (91.5 % of 8.20 s).",
          "The rest is communication and waiting (5.5 %), imbalance (2.4 %)."));
  // 0.1 of 7.5 s · 16 is 12 s, 1.6 times the 7.5 s of a processor.
  what_if.runs[1].heaviest_task = 0.1;
  EXPECT_EQ(
      Reasons(what_if, OnlyCase(what_if)).back(),
      "The heaviest task computes for 12.0 s, 1.6× the mean load of a processor: no strategy gets below that, but "
      "smaller tasks would.");
  what_if.runs[1].load_change = 0.004;
  EXPECT_EQ(Reasons(what_if, OnlyCase(what_if))[1],
            "From one iteration to the next the load of a task changes by 0.4 % on average: measured loads predict "
            "later ones, and balancing once goes a long way.");
  what_if.runs[1].load_change = 0.31;
  EXPECT_EQ(Reasons(what_if, OnlyCase(what_if))[1],
            "From one iteration to the next the load of a task changes by 31.0 % on average: measured loads hardly "
            "predict later ones; --predictor exact shows the gain with loads known in advance.");
  EXPECT_THAT(Reasons(WithoutBalancing(4), OnlyCase(WithoutBalancing(4))), IsEmpty());
}

TEST(BalanceReasons, AdviceIsAboutWhatWasTried) {
  const WhatIf what_if = test::MakeWhatIf();
  EXPECT_THAT(
      Advice(what_if, OnlyCase(what_if)),
      ElementsAre(
          "RefineLB is best every 20 iterations; every 10 iterations an iteration of a long run takes 210 ms, with "
          "250 ms more communication and waiting over the trace. More rarely was not tried.",
          "The next best strategy: GreedyLB every 20 iterations with 64 tasks takes 215 ms an iteration in a long "
          "run, 4.9 % more.",
          "By the worst tenth of the replicas, RefineLB every 10 iterations with 64 tasks is ahead: it is "
          "the safer choice.",
          "The state of tasks matters: over the trace, the gain of 21.2 % over no balancing becomes 21.4 % without "
          "any, "
          "18.6 % with 10× as much."));
  WhatIf flat = what_if;
  flat.outcomes[4].makespan = 8.21;
  EXPECT_THAT(Advice(flat, OnlyCase(flat)).front(),
              "How often tasks are balanced hardly matters: between 10 and 20 iterations, RefineLB changes a long run "
              "by no more than 0.1 %.");
}

// Over the trace 8.2 s instead of 10 s. Later iterations take 150 ms instead of 200 ms; in a long run they take 160 ms
// where the original run takes 250 ms: 36 % less.
TEST(BalanceReasons, ALongRunIsToldFirst) {
  WhatIf what_if = test::MakeWhatIf();
  BalanceOutcome& best = what_if.outcomes[5];
  best.later_iteration = 0.15;
  best.later_iteration_without = 0.2;
  best.long_run_iteration = 0.16;
  EXPECT_THAT(
      AnswerFor(what_if, OnlyCase(what_if)),
      HasSubstr("64 tasks on 16 processors take 160 ms an iteration in a long run instead of 250 ms: 36.0 % less. "
                "Over the 40 iterations of the trace they take 8.20 s instead of the 10.0 s of the run with 16 "
                "ranks: 18.0 % less"));
  EXPECT_EQ(
      Reasons(what_if, OnlyCase(what_if))[1],
      "After the first balancing point an iteration takes 150 ms instead of 200 ms without balancing, 25.0 % less; "
      "a long run does the same if its loads change as in the trace.");
  const auto json = nlohmann::ordered_json::parse(WriteWhatIfJson(what_if));
  EXPECT_EQ(json["outcomes"][5]["laterIteration"], 0.15);
  EXPECT_EQ(json["outcomes"][5]["laterIterationWithout"], 0.2);
  EXPECT_EQ(json["outcomes"][5]["longRunIteration"], 0.16);
  EXPECT_NEAR(json["cases"][0]["gainInLongRun"]["value"].get<double>(), 0.36, 1e-12);
  EXPECT_NEAR(json["cases"][0]["gain"]["value"].get<double>(), 0.18, 1e-12);
  EXPECT_FALSE(json["outcomes"][0].contains("laterIteration"));
  EXPECT_THAT(RenderHtml(BuildBalanceModel(what_if, test::OwnTexts()), test::OwnTemplates("balance")),
              HasSubstr("<td>150 ms<br><small>200 ms</small>"));
  what_if.runs[1].iterations = 30;  // 10 iterations behind a point every 20
  what_if.runs[1].load_change = 0.1;
  EXPECT_THAT(Reasons(what_if, OnlyCase(what_if)),
              testing::Contains(HasSubstr("The trace has only 10 iterations after that point")));
}

// Over the 40 iterations of the trace balancing loses, 10.8 s instead of 10 s. Of a long run an iteration takes 240 ms
// instead of 250 ms, so the verdict is a gain of 4 %, which pays after (10.8 - 40 * 0.24) / 0.01 = 120 iterations.
TEST(BalanceWords, AShortTraceDecidesNothing) {
  WhatIf what_if = test::MakeWhatIf();
  BalanceOutcome& best = what_if.outcomes[5];
  best.makespan = 10.8;
  best.long_run_iteration = 0.24;
  for (std::size_t i = 2; i < 5; ++i) what_if.outcomes[i].makespan = 11;
  best.gain_over_original = Gain{-0.08, -0.08, -0.08};
  const BalanceCase one = OnlyCase(what_if);
  EXPECT_EQ(one.lead, 5u);
  EXPECT_EQ(VerdictOf(what_if, one), BalanceVerdict::kGains);
  EXPECT_THAT(
      AnswerFor(what_if, one),
      HasSubstr(
          "take 240 ms an iteration in a long run instead of 250 ms: 4.0 % less. Over the 40 iterations of the "
          "trace they take 10.8 s instead of the 10.0 s of the run with 16 ranks: 8.0 % more. Balancing pays off after "
          "120 iterations."));
}

// An interval that is longer than the phase has neither strategy nor processors.
TEST(BalanceWords, LeftOutIntervals) {
  WhatIf what_if;
  what_if.left_out = {{{.run = 0, .tasks = 64, .interval = 10}, "the phase has 5 iterations"},
                      {{.run = 0, .tasks = 64, .interval = 1}, "the phase has 1 iteration"}};
  EXPECT_THAT(DescribeLeftOut(what_if),
              ElementsAre("balancing every 10 iterations with 64 tasks: the phase has 5 iterations",
                          "balancing every 1 iteration with 64 tasks: the phase has 1 iteration"));
  EXPECT_EQ(nlohmann::ordered_json::parse(WriteWhatIfJson(what_if))["leftOut"][0]["configuration"]["level"], 0);
}

// What is beyond the values that were tried has to exist, and not to have been refused.
TEST(BalanceReasons, NotTriedIsTrue) {
  WhatIf what_if = test::MakeWhatIf();
  what_if.runs[1].iterations = 21;  // every 20 is as rare as it gets
  EXPECT_THAT(Advice(what_if, OnlyCase(what_if))[0], Not(HasSubstr("was not tried")));
  what_if = test::MakeWhatIf();
  what_if.left_out = {{{1, 64, 16, "refine", 30, Placement::kBlock}, "tasks wait"}};
  EXPECT_THAT(Advice(what_if, OnlyCase(what_if))[0], Not(HasSubstr("was not tried")));
}

TEST(BalanceReasons, StatesMatterOnlyWhereTheyCost) {
  WhatIf what_if = test::MakeWhatIf();
  EXPECT_TRUE(DependsOnState(what_if));
  what_if.outcomes[5].parts.migration = 0;
  EXPECT_FALSE(DependsOnState(what_if));
  what_if = test::MakeWhatIf();
  for (StateCost& cost : what_if.state_costs) cost.makespan = 8.2;  // as without bandwidth, or without bytes
  EXPECT_FALSE(DependsOnState(what_if));
  EXPECT_THAT(Advice(what_if, OnlyCase(what_if)), Not(testing::Contains(HasSubstr("state"))));
}

TEST(BalanceReasons, ProductionRunsAndStatedCosts) {
  WhatIf what_if = test::MakeWhatIf();
  EXPECT_TRUE(DescribeProduction(what_if, test::OwnTexts()).empty());
  what_if.production = ProductionRun{10000, 100, true, 8, 10, {0.2, 0.2, 0.2}};
  const double gain = what_if.outcomes[what_if.by_time.front()].gain.value;
  what_if.overhead_costs = {{"switching", 0, 8, {gain, gain, gain}},
                            {"switching", 10, 9, {-0.5, -0.5, -0.5}},
                            {"lostLocality", 0, 8, {gain, gain, gain}}};
  EXPECT_THAT(DescribeProduction(what_if, test::OwnTexts()),
              ElementsAre(testing::AllOf(
                              HasSubstr("Over 10,000 iterations (100 times the phase, loads go on to change as in the "
                                        "trace), "),
                              HasSubstr(" takes 8.00 s instead of 10.0 s without balancing: 20.0 % less.")),
                          testing::AllOf(HasSubstr("Switching between tasks, as stated, matters: "),
                                         HasSubstr("−50.0 % with 10× as much.")),
                          HasSubstr("Lost locality, as stated, hardly matters: ")));
}

TEST(BalanceReasons, MappingsAreConfirmedOrNot) {
  WhatIf what_if = test::MakeWhatIf();
  EXPECT_THAT(
      DescribeMappings(what_if, test::OwnTexts()),
      ElementsAre("16 ranks round robin over 4 nodes: balance between nodes 0.970 (measured: 0.830), replayed in "
                  "10.3 s instead of 10.0 s, 3.0 % more (80 % of the replicas between 2.0 % and 4.0 %). It moves "
                  "imbalance from between nodes into them, which pays only where processors of a node share "
                  "work."));
  what_if.mappings[1].gain = {0.03, 0.02, 0.04};
  EXPECT_THAT(DescribeMappings(what_if, test::OwnTexts())[0],
              HasSubstr("The replay confirms that it helps: `--rank-files` writes it for"));
  EXPECT_THAT(DescribeFidelity(what_if, test::OwnTexts()),
              ElementsAre(HasSubstr("64 ranks takes 2.60 s instead of 2.90 s as measured")));
}

// Ranks 0 and 3 on the first node, 1 and 2 on the second.
TEST(RankFiles, OfAMappingThatGains) {
  WhatIf what_if = test::MakeWhatIf();
  EXPECT_EQ(MappingWorthHaving(what_if), nullptr);  // 3 % slower
  what_if.mappings[1].gain = {0.03, 0.02, 0.04};
  what_if.mappings[1].node_of_rank = {0, 1, 1, 0};
  what_if.mappings[1].nodes = 2;
  const NodeMapping* mapping = MappingWorthHaving(what_if);
  ASSERT_EQ(mapping, &what_if.mappings[1]);
  const NamedTexts files = RankFiles(*mapping);
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(files[0].second, "rank 0=+n0 slot=0\nrank 1=+n1 slot=0\nrank 2=+n1 slot=1\nrank 3=+n0 slot=1\n");
  EXPECT_THAT(files[1].second, HasSubstr("for node in 0 1 1 0; do host \"$node\"; done\n"));
  EXPECT_THAT(files[2].second, HasSubstr("echo \"$(host 0):1\"\necho \"$(host 1):2\"\necho \"$(host 0):1\"\n"));
  EXPECT_THAT(files[3].second, EndsWith("\n0,3,1,2\n"));
}

// 0.1 to 0.2 s: nothing lies far off, and the scale begins with the least.
TEST(BalanceFigures, MapsShareAScale) {
  const HeatLabels scale = ScaleOfLoads(test::MakeWhatIf().histories);
  EXPECT_EQ(scale.low, 0.1);
  EXPECT_EQ(scale.high, 0.2);
  EXPECT_EQ(scale.weakest + ", " + scale.strongest, "100 ms, 200 ms") << "without ≤ and ≥";
  const std::string svg = RenderLoadMap({1, 3, {0, 0.1, 0.2}},
                                        {"0", "0", "iteration 1", "3", "200 ms", "100 ms", 0.1, 0.2}, "t", "d", false);
  EXPECT_THAT(svg, HasSubstr("stroke-opacity=\"0.125\" d=\"M1 0h1\""));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#d55e00\" d=\"M2 0h1\""));
  ReportModel model;
  const ReportData maps = LoadMaps(test::MakeWhatIf(), "b", model);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0]["title"], "RefineLB every 20, 4 tasks a processor");
  EXPECT_EQ(maps[0]["table"]["rows"][1].dump(), R"({"cells":["8 – 15","200 ms","200 ms","150 ms","150 ms"]})");
  EXPECT_THAT(model.figures.at("b-load-1.svg"), HasSubstr("xmlns="));
}

// RefineLB is #a4250a and grey is no balancing, whichever other strategies there are.
TEST(BalanceFigures, AStrategyKeepsItsColour) {
  WhatIf what_if = test::MakeWhatIf();
  const auto figures = [](const WhatIf& of) {
    ReportModel model;
    FiguresOfCase(of, OnlyCase(of), "c", model);
    AverageLoadFigures(of, "c", model);
    return model.figures;
  };
  const auto all = figures(what_if);
  EXPECT_THAT(all.at("c-interval.svg"), HasSubstr("stroke=\"#2a38aa\""));
  for (std::size_t i : {2u, 3u}) what_if.outcomes[i].configuration.strategy = "refine";
  const auto alone = figures(what_if);
  EXPECT_THAT(alone.at("c-interval.svg"), Not(HasSubstr("#2a38aa")));
  for (const auto& drawn : {all, alone}) {
    for (const char* name : {"c-interval.svg", "c-average-load.svg"}) {
      EXPECT_THAT(drawn.at(name), HasSubstr("stroke=\"#a4250a\""));
      EXPECT_THAT(drawn.at(name), HasSubstr("stroke=\"#7f7f7f\""));
    }
  }
}

TEST(BalanceFigures, BarsAreStacked) {
  const std::string svg = RenderStackedBars("t", "d", "makespan", {{"a", 0}, {"b", 1}},
                                            {{"one", {1, 3}, "4 s"}, {"two", {2, -1}, "2 s"}}, true);
  EXPECT_THAT(svg, HasSubstr("<desc>d</desc>"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"14\" y=\"76\" width=\"118\" height=\"16\" fill=\"#2a38aa\"/>"));  // 472 / 4
  EXPECT_THAT(svg, HasSubstr("<rect x=\"132\" y=\"76\" width=\"354\" height=\"16\" fill=\"#a4250a\"/>"));
  EXPECT_THAT(svg, HasSubstr("makespan (s)"));
}

BalancedProjection MakeProjection(const std::string& label, double lost) {
  std::string csv = "phase,cores,loadBalance,serializationEfficiency,transferEfficiency,instructionScaling,runtime\n";
  for (const int cores : {4, 8, 16, 32})
    csv += fmt::format("step,{},{},0.99,0.98,1,{}\n", cores, 1 - lost * cores, 64.0 / cores);
  BalancedProjection side;
  side.label = label;
  side.table = ReadFactorCsv(csv, "t.csv");
  side.table.scaling = Scaling::kStrong;
  CompleteTable(side.table);
  side.projected = Project(side.table, test::AllModels(), {{}, {64, 4096}, {}});
  return side;
}

TEST(BalanceProjections, StandBesideThoseAsMeasured) {
  const std::vector<BalancedProjection> list = {MakeProjection("without balancing", 0.008),
                                                MakeProjection("RefineLB every 20 iterations", 0.001)};
  const ReportData tables = TablesOfProjections(list);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[1]["caption"], "Load balance");
  EXPECT_EQ(tables[1]["rows"][0]["cells"][0]["text"], "0.968");
  EXPECT_EQ(tables[1]["rows"][3]["cells"][1]["text"], "0.968");
  ASSERT_EQ(tables[1]["rows"].size(), 6u);
  EXPECT_TRUE(tables[1]["rows"][4]["isProjected"].get<bool>());
  EXPECT_THAT(tables[1]["rows"][5]["cells"][0]["text"].get<std::string>(),
              testing::MatchesRegex("uncertain \\(.*\\)|unknown"));
  EXPECT_EQ(tables[1]["rows"][5]["cells"][0]["tone"], "x");
  ASSERT_EQ(DescribeProjections(list, test::OwnTexts()).size(), 1u);
  EXPECT_THAT(DescribeProjections(list, test::OwnTexts())[0],
              HasSubstr("RefineLB every 20 iterations: parallel efficiency "));
  EXPECT_THAT(DescribeProjections(list, test::OwnTexts())[0], HasSubstr(" on 64 processors; without balancing: "));
  EXPECT_THAT(Text(test::MakeWhatIf(), 1, list),
              testing::ContainsRegex("4,096 \\(projected\\) +(uncertain \\(|unknown)"));
  EXPECT_THAT(TablesOfProjections({list[0]}), IsEmpty());
}

// With balancing nothing was replayed on 32 processors: the projection stands there, in the table as in the sentence.
TEST(BalanceProjections, AreToldWhereOneSideWasReplayed) {
  std::vector<BalancedProjection> list = {MakeProjection("without balancing", 0.008),
                                          MakeProjection("not balanced, 2 tasks a processor", 0.001)};
  FactorTable& table = list[1].table;
  std::erase_if(table.rows, [](const FactorRow& row) { return row.cores == 32; });
  for (BalancedProjection& side : list) {
    side.projected = Project(side.table, test::AllModels(), {{}, {32}, {}});
  }
  const ReportData row = TablesOfProjections(list)[0]["rows"][3];
  EXPECT_EQ(row["cores"], "32");
  EXPECT_EQ(row["kind"], "replayed, or projected with an interval");
  const std::string value = row["cells"][1]["text"], interval = row["cells"][1]["interval"];
  EXPECT_NE(value, "–");
  EXPECT_THAT(DescribeProjections(list, test::OwnTexts())[0],
              HasSubstr(fmt::format("not balanced, 2 tasks a processor: parallel efficiency {} ({}) on 32 processors",
                                    value, interval)));
  EXPECT_THAT(DescribeProjections(list, test::OwnTexts())[0],
              HasSubstr("without balancing: " + row["cells"][0]["text"].get<std::string>() + " (replayed)"));
  const auto json = nlohmann::ordered_json::parse(WriteWhatIfJson(test::MakeWhatIf(), list))["projections"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["label"], "not balanced, 2 tasks a processor");
  EXPECT_EQ(json[1]["targets"][3]["cores"], 32);
  EXPECT_EQ(json[1]["targets"][3]["parallelEfficiency"]["isReplayed"], false);
  EXPECT_EQ(json[1]["targets"][3]["parallelEfficiency"]["interval80"].size(), 2u);
  EXPECT_EQ(json[0]["targets"][3]["parallelEfficiency"]["isReplayed"], true);
}

TEST(BalancePages, EverythingIsOnOnePageWithoutScripts) {
  const ReportModel model =
      BuildBalanceModel(test::MakeWhatIf(), test::OwnTexts(),
                        {MakeProjection("without balancing", 0.008), MakeProjection("with balancing", 0.001)}, 2);
  const std::string html = RenderHtml(model, test::OwnTemplates("balance"));
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt; c"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr(" style=")));
  for (const char* part :
       {"What the makespan is made of", "Makespan against balancing interval", "Makespan against over-decomposition",
        "Average load of the processors over time", "Beyond the runs", "Other mappings of ranks to nodes",
        "All 6 configurations", "How this was simulated", "in a circle", "messages were lost"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  const std::string markdown = RenderMarkdown(model, test::OwnTemplates("balance"));
  EXPECT_THAT(markdown,
              HasSubstr("| RefineLB every 20 iterations | 64 (4) | 205 ms | 8.20 s | 21.2 % (19.2–23.2 %) |"));
  EXPECT_THAT(markdown, Not(HasSubstr("GreedyLB every 10")));
  for (const auto& [name, svg] : model.figures) EXPECT_THAT(markdown, HasSubstr("(figures/" + name + ")"));
}

TEST(BalancePages, LittleIsAPageToo) {
  WhatIf quiet = test::MakeWhatIf();  // neither replicas nor an original run
  quiet.noise_replicas = 0;
  for (BalanceOutcome& outcome : quiet.outcomes) {
    outcome.gain_over_original.reset();
    outcome.replicas.clear();
    outcome.gain.low = outcome.gain.high = outcome.gain.value;
  }
  WhatIf several = test::MakeWhatIf();
  several.same_problem = false;
  several.outcomes[2].configuration.placement = Placement::kRoundRobin;
  for (const WhatIf& what_if : {WhatIf(), WithoutBalancing(1), WithoutBalancing(4), quiet, several}) {
    const ReportModel model = BuildBalanceModel(what_if, test::OwnTexts());
    EXPECT_THAT(RenderHtml(model, test::OwnTemplates("balance")), HasSubstr("</html>"));
    EXPECT_THAT(RenderMarkdown(model, test::OwnTemplates("balance")), HasSubstr("How this was simulated"));
    EXPECT_THAT(Text(what_if, 3), HasSubstr("replayed"));
  }
}

TEST(BalanceText, TheBestAndWhatTheyAreComparedWith) {
  const std::string text = Text(test::MakeWhatIf(), 1);
  EXPECT_THAT(text, HasSubstr("Phase step of 2 runs on 16 and 64 ranks, replayed in 6 configurations, 4 of them with "
                              "balancing.\n"));
  EXPECT_THAT(text,
              HasSubstr("\nRefineLB every 20 iterations               64 (4)                   205 ms    8.20 s     "
                        "21.2 % (19.2–23.2 %)  "));
  EXPECT_THAT(text,
              HasSubstr("\nno balancing                               16 (1)                   250 ms    10.0 s"));
  EXPECT_THAT(text, HasSubstr("\n3 configurations more\n"));
  EXPECT_THAT(text, HasSubstr("\nLeft out:\nRefineLB every 20 iterations with 64 tasks on 8 processors: tasks wait for "
                              "each other in a circle\n"));
}

// Six processors counts: the table has all, and four are told in full.
TEST(BalanceText, OfManyCasesTheTableComesFirst) {
  WhatIf what_if = test::MakeWhatIf();
  what_if.same_problem = false;
  const std::vector<BalanceOutcome> outcomes = what_if.outcomes;
  for (std::size_t more = 1; more < 6; ++more) {
    for (std::size_t i : {1u, 5u}) {
      BalanceOutcome outcome = outcomes[i];
      outcome.configuration.processors = 16 + more;
      outcome.gain.value -= 0.01 * static_cast<double>(more);
      outcome.baseline = i == 1 ? what_if.outcomes.size() : what_if.outcomes.size() - 1;
      outcome.gain_over_original.reset();
      if (i == 5) what_if.by_time.push_back(what_if.outcomes.size());
      what_if.outcomes.push_back(outcome);
    }
  }
  const std::string text = Text(what_if, 3);
  EXPECT_LT(text.find("\n21 processors (run on 64 ranks)  RefineLB"), text.find("\nWith RefineLB"));
  EXPECT_THAT(text, HasSubstr("64 tasks on 19 processors take"));
  EXPECT_THAT(text, Not(HasSubstr("64 tasks on 20 processors take")));
  EXPECT_THAT(text, HasSubstr("\n16 processors (run on 16 ranks)  nothing was balanced"));
  EXPECT_THAT(text, HasSubstr("\n3 cases more in the table above; -o FOLDER"));
}

TEST(BalanceJson, HasEverything) {
  const auto json = nlohmann::ordered_json::parse(WriteWhatIfJson(test::MakeWhatIf()));
  EXPECT_EQ(json["format"], "farscale-balance");
  EXPECT_EQ(
      json["outcomes"][5]["configuration"].dump(),
      R"({"run":1,"tasks":64,"processors":16,"level":4.0,"strategy":"refine","interval":20,"placement":"block"})");
  EXPECT_EQ(
      json["outcomes"][5]["parts"].dump(),
      R"({"computation":7.5,"imbalance":0.2,"barriers":0.01,"strategy":0.01,"migration":0.03,"communication":0.45})");
  EXPECT_EQ(json["outcomes"][5]["replicas"].size(), 2u);
  EXPECT_FALSE(json["outcomes"][0].contains("gainOverOriginal"));
  EXPECT_EQ(json["histories"][0]["load"].dump(), "[[0.1,0.1,0.1,0.1],[0.2,0.2,0.15,0.15]]");
  EXPECT_EQ(json["mappings"][1]["placement"], "round-robin");
  EXPECT_EQ(json["stateCosts"][1]["factor"], 10);
  EXPECT_EQ(json["leftOut"][0]["why"], "tasks wait for each other in a circle");
  EXPECT_EQ(json["findings"][0]["population"], 100);
  EXPECT_EQ(nlohmann::ordered_json::parse(WriteWhatIfJson(WhatIf()))["outcomes"].dump(), "[]");
}

}  // namespace
}  // namespace farscale
