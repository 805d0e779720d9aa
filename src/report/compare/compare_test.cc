#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planning/compare.h"
#include "report/compare/pages.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

// Of a phase of a and b.
std::vector<std::string> Notes(const ComparedPhase& phase) {
  ComparedResults compared;
  compared.before = "a";
  compared.after = "b";
  return PhaseNotes(compared, phase, test::OwnTexts());
}

std::string Text(const ComparedResults& compared) {
  return WriteCompareTexts(BuildCompareModel({compared}, test::OwnTexts()), test::OwnTexts()).front();
}

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

double Sum(const Decomposition& difference) {
  double sum = 0;
  for (const auto& [id, logarithm] : difference.parts) sum += logarithm;
  return sum;
}

FactorValues Values(double balance, double serialization, double transfer, double computation) {
  FactorValues values;
  values[Factor::kLoadBalance] = balance;
  values[Factor::kSerialization] = serialization;
  values[Factor::kTransfer] = transfer;
  values[Factor::kComputationScalability] = computation;
  values.DeriveParents();
  return values;
}

FactorRow Row(std::int64_t cores, double runtime, const FactorValues& values) {
  FactorRow row;
  row.phase = "solve";
  row.cores = row.ranks = cores;
  row.runtime = runtime;
  row.values = values;
  return row;
}

Results Table(const std::vector<FactorRow>& rows) {
  Results results;
  results.table.rows = rows;
  results.table.scaling = Scaling::kStrong;
  results.table.reference = rows.front().cores;
  return results;
}

// Load balance halves, transfer doubles, serialization falls by e^-0.1: ln = -0.693 - 0.1 + 0.693 = -0.1 in all.
TEST(Compare, PartsAddUp) {
  const auto explained =
      Explain(Factor::kGlobalEfficiency, Values(0.8, 0.9, 0.4, 0.9), Values(0.4, 0.9 * std::exp(-0.1), 0.8, 0.9));
  ASSERT_TRUE(explained);
  EXPECT_NEAR(explained->logarithm, -0.1, 1e-12);
  EXPECT_NEAR(Sum(*explained), explained->logarithm, 1e-12);
  ASSERT_EQ(explained->parts.size(), 4u);
  EXPECT_EQ(explained->Largest()->first, "loadBalance");
  EXPECT_NEAR(explained->Largest()->second, -std::log(2), 1e-9);
}

// The whole is given as 0.5 where the parts make 0.72 · 0.9: the difference is the rest.
TEST(Compare, WhatPartsDoNotExplainIsTheRest) {
  FactorValues before = Values(0.8, 0.9, 1, 0.9), after = Values(0.8, 0.9, 1, 0.9);
  after[Factor::kGlobalEfficiency] = 0.5;
  const auto explained = Explain(Factor::kGlobalEfficiency, before, after);
  EXPECT_EQ(explained->parts.back().first, "rest");
  EXPECT_NEAR(explained->parts.back().second, std::log(0.5 / 0.648), 1e-12);
  EXPECT_NEAR(Sum(*explained), explained->logarithm, 1e-12);
  EXPECT_FALSE(Explain(Factor::kGlobalEfficiency, {}, {}));
}

// Times 10 and 12 s: ln 1.2 = 0.1823. Global efficiency falls from 0.8 to 0.72, ln = -0.1054; the base makes up the
// rest: ln(12 · 0.72 / (10 · 0.8)) = ln 1.08 = 0.0770.
TEST(Compare, TimeIsBaseOverEfficiency) {
  const Decomposition time =
      ExplainTime(10, 12, *Explain(Factor::kGlobalEfficiency, Values(0.8, 1, 1, 1), Values(0.72, 1, 1, 1)));
  EXPECT_NEAR(time.logarithm, std::log(1.2), 1e-12);
  EXPECT_EQ(time.parts.front().first, "base");
  EXPECT_NEAR(time.parts.front().second, std::log(1.08), 1e-12);
  EXPECT_NEAR(time.parts[1].second, std::log(0.8 / 0.72), 1e-12);
  EXPECT_NEAR(Sum(time), time.logarithm, 1e-12);
  EXPECT_EQ(time.Largest()->first, "loadBalance");
}

// Transfer falls by 10 % on 8 cores and nothing else changes; single runs are taken to differ by 1 %, which is 1.4 % of
// a difference: 10 % are beyond that, 1 % is not.
TEST(Compare, BeyondNoiseAndWithin) {
  const Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25, Values(1, 1, 0.8, 1))});
  const Results after = Table({Row(4, 10.1, Values(1, 1, 1, 1)), Row(8, 6.25 / 0.9, Values(1, 1, 0.72, 1))});
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  ASSERT_EQ(compared.phases.size(), 1u);
  const ComparedPhase& phase = compared.phases.front();
  EXPECT_FALSE(phase.noise);
  ASSERT_EQ(phase.counts.size(), 2u);
  EXPECT_FALSE(phase.counts[0].seconds.change->IsBeyondNoise());
  EXPECT_NEAR(phase.counts[0].seconds.change->error, 0.01 * std::sqrt(2), 1e-12);
  EXPECT_TRUE(phase.counts[1].seconds.change->IsBeyondNoise());
  EXPECT_TRUE(phase.counts[1].Find(Factor::kTransfer)->change->IsBeyondNoise());
  EXPECT_EQ(phase.counts[1].time->Largest()->first, "transferEfficiency");
  EXPECT_NEAR(phase.counts[1].time->Largest()->second, phase.counts[1].time->logarithm, 1e-9);
  EXPECT_THAT(SummarizeComparedPhase(compared, phase, test::OwnTexts()).front(),
              HasSubstr("On 8 cores, an iteration takes 6.25 s in a and 6.94 s in b: +11.1 %, beyond noise"));
  EXPECT_THAT(SummarizeComparedPhase(compared, phase, test::OwnTexts()).front(),
              HasSubstr("Mostly because of transfer"));
}

// On one side computation scalability is 1.5: the note says so of that side, wherever notes are shown.
TEST(Compare, EfficienciesAboveOneAreExplained) {
  const Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 5, Values(1, 1, 1, 1))});
  const Results after = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 3.33, Values(1, 1, 1, 1.5))});
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  const char* why = "b: Efficiencies above 110 % come from computation scalability (1.500 on 8 cores)";
  EXPECT_THAT(Notes(compared.phases[0]), testing::ElementsAre(HasSubstr(why)));
  EXPECT_THAT(Text(compared), HasSubstr(why));
  EXPECT_THAT(WriteCompareJson({compared}, test::OwnTexts()), HasSubstr(why));
  EXPECT_THAT(BuildCompareModel({compared}, test::OwnTexts()).data.dump(), HasSubstr(why));
  EXPECT_THAT(Notes(CompareResults(before, before, "a", "b").phases[0]), testing::IsEmpty());
}

// Repeats that differ by e^±0.05 are the noise of both sides.
TEST(Compare, RepeatsAreTheNoise) {
  std::vector<FactorRow> rows = {Row(4, 10 * std::exp(0.05), Values(1, 1, 1, 1)),
                                 Row(4, 10 * std::exp(-0.05), Values(1, 1, 1, 1))};
  rows[1].repeat = 1;
  const Results before = Table(rows), after = Table({Row(4, 10.5, Values(1, 1, 1, 1))});
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  EXPECT_NEAR(compared.phases[0].noise->deviation, std::sqrt(0.005), 1e-12);
  EXPECT_NEAR(compared.phases[0].counts[0].seconds.change->ratio, 1.05, 1e-12);
  EXPECT_FALSE(compared.phases[0].counts[0].seconds.change->IsBeyondNoise());
}

TEST(Compare, PhasesAndCountsOfOneSideAreNamed) {
  Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6, Values(1, 1, 0.8, 1))});
  before.table.rows[1].phase = "io";
  const Results after = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(16, 3, Values(1, 1, 0.8, 1))});
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  EXPECT_THAT(compared.only_before, ElementsAre("io"));
  EXPECT_THAT(SummarizeCompared(compared, test::OwnTexts()), Contains("Only in a: phase io."));
  EXPECT_TRUE(compared.phases[0].counts[0].is_common);
  EXPECT_FALSE(compared.phases[0].counts[1].is_common);
  EXPECT_FALSE(compared.phases[0].counts[1].seconds.before);
}

// Two codes: neither series nor phases have the same names.
TEST(Compare, TheMostImportantPhasesOfTwoCodes) {
  const Results before = Table({Row(4, 10, Values(1, 1, 1, 1))});
  Results after = Table({Row(4, 20, Values(1, 1, 1, 1)), Row(4, 5, Values(1, 1, 1, 1))});
  after.table.rows[0].phase = "step";
  after.table.rows[1].phase = "output";
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  ASSERT_EQ(compared.phases.size(), 1u);
  EXPECT_EQ(compared.phases[0].name, "solve and step");
  EXPECT_THAT(compared.only_after, ElementsAre("output"));
}

// One compares with 4 cores, the other with 8: both are put in terms of 8, where computation scalability is 1.
TEST(Compare, ReferencesAreMadeTheSame) {
  Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6, Values(1, 1, 0.9, 0.8))});
  Results after = Table({Row(8, 6, Values(1, 1, 0.9, 1))});
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  EXPECT_EQ(compared.phases[0].reference, 8);
  EXPECT_NEAR(*compared.phases[0].counts[1].Find(Factor::kComputationScalability)->before, 1, 1e-12);
  EXPECT_NEAR(compared.phases[0].counts[1].Find(Factor::kGlobalEfficiency)->change->ratio, 1, 1e-12);
  const auto is_said =
      Contains(HasSubstr("The reference runs differ: 4 cores in a, 8 in b. Both are put in terms of the "
                         "run on 8 cores"));
  EXPECT_THAT(SummarizeComparedPhase(compared, compared.phases[0], test::OwnTexts()), is_said);
  EXPECT_THAT(WriteCompareJson({compared}, test::OwnTexts()), HasSubstr("The reference runs differ"));
  EXPECT_THAT(BuildCompareModel({compared}, test::OwnTexts()).data.dump(), HasSubstr("The reference runs differ"));
}

// Neither table says how its runs scale, but times and global efficiencies do: 10 s · 4 · 1 = 6.25 s · 8 · 0.8 on one
// side, and times that grow on the other.
TEST(Compare, ScalingThatTimesShow) {
  Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25, Values(1, 1, 0.8, 1))});
  Results after = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 12.5, Values(1, 1, 0.8, 1))});
  before.table.scaling.reset();
  after.table.scaling.reset();
  const ComparedPhase phase = CompareResults(before, after, "a", "b").phases.front();
  EXPECT_THAT(Notes(phase),
              Contains("a does not say how its runs scale; its times and efficiencies show strong scaling."));
  EXPECT_THAT(Notes(phase), Contains(HasSubstr("One side scales strong, the other weak")));
  EXPECT_EQ(phase.counts[1].whole, Factor::kParallelEfficiency);
  EXPECT_FALSE(phase.counts[1].time);
  const ComparedPhase same = CompareResults(before, before, "a", "b").phases.front();
  EXPECT_TRUE(same.counts[1].time);
}

// Without computation there is no global efficiency, so nothing shows how the runs scale.
TEST(Compare, TimesThatNothingExplains) {
  Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25, Values(1, 1, 0.8, 1))});
  before.table.scaling.reset();
  Results after = before;
  for (FactorRow& row : after.table.rows) {
    row.values[Factor::kComputationScalability].reset();
    row.values[Factor::kGlobalEfficiency].reset();
  }
  const ComparedPhase one = CompareResults(before, after, "a", "b").phases.front();
  EXPECT_THAT(Notes(one),
              Contains(HasSubstr("It is unknown how the runs of b scale, so factors relative to the reference")));
  EXPECT_THAT(Notes(one), Contains("Only a knows global efficiency, computation scalability."));
  const ComparedPhase both = CompareResults(after, after, "a", "b").phases.front();
  EXPECT_THAT(Notes(both), ElementsAre(HasSubstr("It is unknown on both sides how the runs scale")));
  EXPECT_THAT(Notes(both),
              ElementsAre(HasSubstr("Times of an iteration are shown side by side, without an explanation.")));
}

TEST(Compare, StrongAgainstWeakComparesParallelEfficiencyAlone) {
  const Results before = Table({Row(4, 10, Values(1, 1, 0.9, 1))});
  Results after = Table({Row(4, 10, Values(1, 1, 0.8, 1))});
  after.table.scaling = Scaling::kWeak;
  const ComparedPhase phase = CompareResults(before, after, "a", "b").phases.front();
  EXPECT_EQ(phase.counts[0].whole, Factor::kParallelEfficiency);
  EXPECT_TRUE(phase.counts[0].efficiency);
  EXPECT_FALSE(phase.counts[0].time);
  EXPECT_THAT(Notes(phase), Contains(HasSubstr("scales strong")));
}

PhaseProjection Projection(double efficiency, double width, double reliable) {
  PhaseProjection phase;
  phase.phase = "solve";
  phase.fitted_cores = {4, 8};
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kTransfer}) {
    FactorProjection projection;
    projection.factor = factor;
    for (const double cores : {8.0, 16.0, 64.0}) {
      projection.curve.push_back(
          {cores, cores / 8, efficiency, IntervalBounds{efficiency - width, efficiency + width}, {}});
    }
    projection.targets = {projection.curve[1], projection.curve[2]};
    phase.factors.push_back(projection);
  }
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, reliable, ReliableRange::Reach::kUpTo};
  return phase;
}

// 0.8 ± 0.05 and 0.65 ± 0.05 are apart; on 64 cores one of both is not reliable.
TEST(Compare, ProjectionsAreEvidenceWhereIntervalsAreApart) {
  FactorValues values;
  values[Factor::kTransfer] = values[Factor::kParallelEfficiency] = 0.9;
  Results before = Table({Row(4, 1, values), Row(8, 1, values)}), after = before;
  before.projections = {Projection(0.8, 0.05, 64)};
  after.projections = {Projection(0.65, 0.05, 32)};
  const ComparedResults compared = CompareResults(before, after, "a", "b");
  const ComparedPhase& phase = compared.phases.front();
  ASSERT_EQ(phase.targets.size(), 2u);
  EXPECT_EQ(phase.targets[0].efficiency.reliability, Reliability::kReliable);
  EXPECT_TRUE(phase.targets[0].efficiency.is_apart);
  EXPECT_EQ(phase.targets[1].efficiency.reliability, Reliability::kUncertain);
  EXPECT_NEAR(phase.targets[0].explained->logarithm, std::log(0.65 / 0.8), 1e-12);
  EXPECT_THAT(SummarizeComparedPhase(compared, phase, test::OwnTexts()), Contains(HasSubstr("intervals are apart")));
}

// With 4 + 4 degrees of freedom 3.5 % is beyond t = 2.31 errors of sqrt(2) %, so beyond 95 %, but 16 changes together
// need t = 4.2: within noise in all sentences, tables and files.
TEST(Compare, OneNotionOfNoise) {
  const Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25, Values(1, 1, 0.8, 1))});
  const Results after = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25 / 0.965, Values(1, 1, 0.8 * 0.965, 1))});
  const std::vector<ComparedResults> compared = {CompareResults(before, after, "a", "b")};
  const ComparedCount& count = compared[0].phases[0].counts[1];
  EXPECT_TRUE(count.seconds.change->IsBeyondNoise());
  EXPECT_FALSE(count.seconds.is_beyond_noise);
  EXPECT_FALSE(count.Find(Factor::kTransfer)->is_beyond_noise);
  const std::string text = Text(compared[0]);
  EXPECT_THAT(text, HasSubstr("nothing changed beyond noise"));
  EXPECT_THAT(text, testing::Not(HasSubstr(", beyond noise (")));
  EXPECT_THAT(text, testing::Not(HasSubstr("yes")));
  EXPECT_THAT(WriteCompareJson(compared, test::OwnTexts()), testing::Not(HasSubstr("\"beyondNoise\": true")));
  EXPECT_THAT(BuildCompareModel(compared, test::OwnTexts()).data.dump(),
              testing::Not(HasSubstr("\"isBeyondNoise\":true")));
}

// Apart on 16 cores, overlapping on 64, nearer to eight times the largest run: that there is a difference is told.
TEST(Compare, AnyProjectionThatIsApartIsTold) {
  FactorValues values;
  values[Factor::kTransfer] = values[Factor::kParallelEfficiency] = 0.9;
  Results before = Table({Row(4, 1, values), Row(8, 1, values)}), after = before;
  before.projections = {Projection(0.8, 0.05, 64)};
  after.projections = {Projection(0.65, 0.05, 64)};
  ComparedResults compared = CompareResults(before, after, "a", "b");
  ComparedPhase& phase = compared.phases.front();
  phase.targets[0].efficiency.is_apart = true;
  phase.targets[1].efficiency.is_apart = false;
  EXPECT_THAT(
      SummarizeComparedPhase(compared, phase, test::OwnTexts()),
      Contains(testing::AllOf(HasSubstr("On 16 cores, where both sides are reliable"), HasSubstr("intervals are apart"),
                              HasSubstr("From 64 cores on the intervals overlap."))));
}

TEST(Compare, FilesHaveEveryTag) {
  const Results before = Table({Row(4, 10, Values(1, 1, 1, 1)), Row(8, 6.25, Values(1, 1, 0.8, 1))});
  const std::vector<ComparedResults> compared = {CompareResults(before, before, "a", "<b>")};
  EXPECT_THAT(WriteCompareJson(compared, test::OwnTexts()), HasSubstr("\"beyondNoise\": false"));
  EXPECT_EQ(BuildCompareModel(compared, test::OwnTexts()).data["comparisons"].size(), 1u);
  EXPECT_THAT(Text(compared[0]),
              HasSubstr("On the 2 common core counts nothing changed beyond noise, 16 changes taken together."));
}

// What is odd about the scaling of a side stands above its numbers; once where both have it.
TEST(Compare, DoubtsOfEitherSide) {
  Results before = Table({Row(8, 10, Values(0.9, 1, 1, 1)), Row(16, 5, Values(0.8, 1, 1, 1))}), after = before;
  after.table.findings = {{"scalingUnlikely", Severity::kWarning, "the work does not grow", 1, 0, "said to be weak"}};
  const ComparedResults one = CompareResults(before, after, "old", "new");
  EXPECT_THAT(ComparedDoubts(one), ElementsAre("new: the work does not grow (said to be weak)."));
  const ComparedResults both = CompareResults(after, after, "old", "new");
  EXPECT_THAT(ComparedDoubts(both), ElementsAre("old and new: the work does not grow (said to be weak)."));
  EXPECT_THAT(Text(one), HasSubstr("Warning: new: the work does not grow"));
  EXPECT_THAT(WriteCompareJson({one}, test::OwnTexts()), HasSubstr("scalingUnlikely"));
  EXPECT_THAT(BuildCompareModel({one}, test::OwnTexts()).data["comparisons"][0]["doubts"].dump(),
              HasSubstr("the work does not grow"));
  EXPECT_TRUE(ComparedDoubts(CompareResults(before, before, "old", "new")).empty());
}

}  // namespace
}  // namespace farscale
