#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "plot/chart.h"
#include "planning/allocation.h"
#include "report/allocation/pages.h"
#include "results/factor_table_files.h"
#include "support/models.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

ReportData Described(const AllocationPack& pack, const Results& results = {}) {
  return DescribeAllocation(results, pack, test::OwnTexts());
}

std::vector<std::string> ListIn(const ReportData& text, const char* list) { return text[list]; }

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

FactorRow Row(std::int64_t cores, double runtime, double iterations = 1, std::int64_t repeat = 0) {
  FactorRow row;
  row.phase = "solve";
  row.cores = row.ranks = cores;
  row.nodes = std::max<std::int64_t>(1, cores / 4);
  row.repeat = repeat;
  row.runtime = runtime;
  row.iterations = iterations;
  return row;
}

Results Strong(const std::vector<FactorRow>& rows) {
  Results results;
  results.title = "A code";
  results.table.rows = rows;
  results.table.scaling = Scaling::kStrong;
  results.table.reference = rows.front().cores;
  return results;
}

// 2 · 100 / (4 · 62.5) = 0.8; with weak scaling the cores do not count.
TEST(Allocation, EfficiencyOfTimes) {
  EXPECT_DOUBLE_EQ(EfficiencyOfTimes(Scaling::kStrong, 2, 100, 4, 62.5), 0.8);
  EXPECT_DOUBLE_EQ(EfficiencyOfTimes(Scaling::kWeak, 2, 100, 4, 125), 0.8);
}

// 10 iterations: 36 s, 20 s and 15 s on 4, 8 and 16 cores. E = 36 / (2 · 20) = 0.9 and 36 / (4 · 15) = 0.6; 1000
// iterations take 3600, 2000 and 1500 s: 4 · 3600 / 3600 = 4, 8 · 2000 / 3600 = 4.44 and 6.67 core hours.
TEST(Allocation, StrongScalingOnPaper) {
  AllocationOptions options;
  options.iterations = 1000;
  const AllocationPack pack = MakeAllocationPack(Strong({Row(4, 36, 10), Row(8, 20, 10), Row(16, 15, 10)}), options);
  ASSERT_EQ(pack.rows.size(), 3u);
  EXPECT_FALSE(pack.basis);
  EXPECT_EQ(pack.baseline, 4);
  EXPECT_TRUE(pack.rows[0].is_baseline);
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 0.9);
  EXPECT_DOUBLE_EQ(*pack.rows[1].speedup.value, 1.8);
  EXPECT_DOUBLE_EQ(pack.rows[1].ideal, 2);
  EXPECT_DOUBLE_EQ(*pack.rows[2].efficiency.value, 0.6);
  EXPECT_DOUBLE_EQ(*pack.rows[1].iteration.value, 2);
  EXPECT_DOUBLE_EQ(*pack.rows[1].work.value, 2000);
  EXPECT_NEAR(*pack.rows[1].core_hours.value, 8 * 2000 / 3600.0, 1e-12);
  EXPECT_FALSE(pack.rows[1].efficiency.interval80);  // no repeats: nothing known of noise
  // Without a projection: the largest run that keeps 75 %; the next one does not.
  EXPECT_FALSE(pack.recommendation.reliable_range_ends);
  EXPECT_EQ(pack.recommendation.row.cores, 8);
  EXPECT_TRUE(pack.recommendation.row.is_measured);
  EXPECT_NEAR(*pack.recommendation.row.core_hours.value, 40 / 9.0, 1e-12);
}

// 40 s on 4 cores and 8 s on 16: E = 4 · 40 / (16 · 8) = 1.25, said wherever the number is.
TEST(Allocation, SaysWhyAnEfficiencyIsAbove110Percent) {
  const Results results = Strong({Row(4, 40), Row(16, 8)});
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 1.25);
  const std::string why = "Efficiencies above 110 % are real where more of the problem fits the caches of more cores";
  EXPECT_THAT(pack.superlinear, HasSubstr(why));
  EXPECT_THAT(ListIn(Described(pack), "recommendation"), Contains(HasSubstr(why)));
  EXPECT_THAT(BuildAllocationModel(results, pack, test::OwnTexts()).data["tableNote"].get<std::string>(),
              HasSubstr(why));
  EXPECT_THAT(WriteAllocationCsv(results, pack, Described(pack, results)), HasSubstr(why));
  const std::string latex = "Efficiencies above 110 \\% are real";
  EXPECT_THAT(WriteAllocationTable(results, pack, test::OwnTexts()), HasSubstr(latex));
  EXPECT_THAT(WriteAllocationTable(results, pack, test::OwnTexts()), Not(HasSubstr("\n\n")));
  EXPECT_THAT(WriteAllocationText(Described(pack, results), test::OwnTexts()), HasSubstr(latex));
  EXPECT_EQ(MakeAllocationPack(Strong({Row(4, 40), Row(16, 9.5)}), {}).superlinear, "");
}

TEST(Allocation, ADoubtfulScalingIsAContradiction) {
  Results results = Strong({Row(4, 40), Row(16, 39)});
  results.table.scaling = Scaling::kWeak;
  results.table.rows[1].runtime = 29;  // an efficiency of 1.38: doubted, not refused
  CheckScaling(results.table, "");
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_THAT(ListIn(Described(pack), "contradictions"),
              Contains(HasSubstr("said to be weak, but from 4 to 16 cores an iteration falls")));
  EXPECT_THAT(WriteAllocationText(Described(pack, results), test::OwnTexts()),
              HasSubstr("\\textbf{the work of the runs does not grow"));
}

// The largest run keeps the efficiency, and a reliable projection says for how long: 512 cores are predicted.
TEST(Allocation, WhatLiesBehindTheLargestRunIsSaid) {
  Results results;
  results.table = ReadFactorCsv("cores,runtime\n48,1834\n96,951\n192,512\n384,301\n", "t.csv");
  results.table.scaling = Scaling::kStrong;
  CompleteTable(results.table);
  results.projections = Project(results.table, test::AllModels(), {{}, {}, {}});
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_EQ(pack.recommendation.row.cores, 384);
  EXPECT_FALSE(pack.recommendation.reliable_range_ends);
  const std::string text = ListIn(Described(pack, results), "recommendation").front();
  EXPECT_THAT(text, HasSubstr("Larger jobs were not run; they are predicted to keep it up to 4"));
  EXPECT_THAT(text, Not(HasSubstr("uncertain")));
  const std::string method = WriteAllocationText(Described(pack, results), test::OwnTexts());
  EXPECT_THAT(method, HasSubstr("taken from a table of run times"));
  EXPECT_THAT(method, Not(HasSubstr("load balance")));
}

// Per process as much: 10 s and 12.5 s are E = 0.8, and S = 0.8 · 4.
TEST(Allocation, WeakScalingWithSizes) {
  Results results = Strong({Row(4, 10), Row(16, 12.5)});
  results.table.scaling = Scaling::kWeak;
  results.problem.size_per_process = 1000;
  results.problem.unit = "atoms";
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 0.8);
  EXPECT_DOUBLE_EQ(*pack.rows[1].speedup.value, 3.2);
  EXPECT_EQ(pack.rows[1].size, 16000);
  EXPECT_EQ(pack.rows[1].portion, 1000);
  EXPECT_TRUE(pack.recommendation.reliable_range_ends);  // as far as was measured
  EXPECT_THAT(BuildAllocationModel(results, pack, test::OwnTexts()).data.dump(),
              HasSubstr("1,000 atoms per process; in total 4,000 atoms on 4 and 16,000 atoms on 16 cores"));
}

TEST(Allocation, SizeOfARunComesFirst) {
  Results results = Strong({Row(4, 10), Row(16, 4)});
  results.problem.size = 100;
  RunRecord run;
  run.cores = 16;
  run.size = 160;
  results.runs = {run};
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_EQ(pack.rows[0].size, 100);
  EXPECT_EQ(pack.rows[0].portion, 25);
  EXPECT_EQ(pack.rows[1].size, 160);
  EXPECT_EQ(pack.rows[1].portion, 10);
}

// Repeats of e^±0.02 around 10 s on 4 cores: deviation sqrt(0.0008) with one degree of freedom, so the mean of both has
// the error 0.02 and, with t(0.8; 2 degrees: one known, one here) = 1.886, the interval 10 e^±0.0377.
TEST(Allocation, IntervalsOfRepeats) {
  const AllocationPack pack =
      MakeAllocationPack(Strong({Row(4, 10 * std::exp(0.02)), Row(4, 10 * std::exp(-0.02), 1, 1), Row(8, 5)}), {});
  ASSERT_TRUE(pack.noise);
  EXPECT_NEAR(pack.noise->deviation, std::sqrt(0.0008), 1e-12);
  EXPECT_EQ(pack.rows[0].runs, 2u);
  EXPECT_NEAR(*pack.rows[0].iteration.value, 10, 1e-9);
  EXPECT_NEAR(*pack.rows[0].iteration.interval80->high, 10 * std::exp(1.8856 * 0.02), 2e-3);
  EXPECT_FALSE(pack.rows[0].efficiency.interval80);  // the baseline is 1 by definition
  EXPECT_FALSE(pack.rows[0].speedup.interval80);
  EXPECT_LT(pack.rows[1].efficiency.interval80->low, 0.97);
}

// Global efficiency 0.9 · 0.5 measured on 4 and 16 cores, projected 0.72 on 32 and 0.36 on 64, reliable up to 40.
Results Projected() {
  Results results = Strong({Row(4, 100), Row(16, 25)});
  PhaseProjection phase;
  phase.phase = "solve";
  phase.fitted_cores = {4, 16};
  FactorProjection global;
  global.factor = Factor::kGlobalEfficiency;
  global.is_product = true;
  FactorProjection speedup = global;
  speedup.factor = Factor::kSpeedup;
  const auto add = [&](double cores, double efficiency, double width, bool is_target) {
    const auto scaled = [&](double by) {
      return ProjectedValue{
          cores, cores / 16, efficiency * by, IntervalBounds{(efficiency - width) * by, (efficiency + width) * by}, {}};
    };
    global.curve.push_back(scaled(1));
    speedup.curve.push_back(scaled(cores / 4));
    if (!is_target) return;
    global.targets.push_back(global.curve.back());
    speedup.targets.push_back(speedup.curve.back());
  };
  add(4, 1, 0, false);
  add(16, 1, 0.01, false);
  add(32, 0.8, 0.05, true);
  add(64, 0.4, 0.12, true);
  phase.factors = {global, speedup};
  phase.reliable_range = ReliableRange{Factor::kGlobalEfficiency, {}, 40, ReliableRange::Reach::kUpTo};
  results.projections = {phase};
  for (FactorRow& row : results.table.rows) {
    row.values[Factor::kGlobalEfficiency] = 1;
    row.values[Factor::kSpeedup] = static_cast<double>(row.cores) / 4;
  }
  return results;
}

// On 32 cores E = 0.8 (0.75 to 0.85): T = 100 · 4 / (32 · 0.8) = 15.625 s, between 400 / (32 · 0.85) and
// 400 / (32 · 0.75) = 16.67 s. On 64 cores there is not reliable, so no number.
TEST(Allocation, PredictedRows) {
  const AllocationPack pack = MakeAllocationPack(Projected(), {});
  ASSERT_EQ(pack.rows.size(), 4u);
  const AllocationRow &known = pack.rows[2], &beyond = pack.rows[3];
  EXPECT_FALSE(known.is_measured);
  EXPECT_DOUBLE_EQ(*known.efficiency.value, 0.8);
  EXPECT_DOUBLE_EQ(*known.speedup.value, 6.4);
  EXPECT_DOUBLE_EQ(*known.iteration.value, 15.625);
  EXPECT_DOUBLE_EQ(known.iteration.interval80->low, 400 / (32 * 0.85));
  EXPECT_DOUBLE_EQ(*known.iteration.interval80->high, 400 / (32 * 0.75));
  EXPECT_NEAR(*known.core_hours.value, 32 * 15.625 / 3600, 1e-12);
  EXPECT_EQ(known.nodes, 8);
  EXPECT_EQ(beyond.reliability, Reliability::kUncertain);
  EXPECT_FALSE(beyond.efficiency.value);
  EXPECT_FALSE(beyond.iteration.value);
  EXPECT_NEAR(beyond.efficiency.interval80->low, 0.28, 1e-12);
  EXPECT_EQ(TabulateAllocation(pack, {})["rows"][3]["source"], "uncertain");
}

// 0.1 is less than half of 0.4, so nothing is known on 64 cores.
TEST(Allocation, UnknownRowsHaveNoNumbers) {
  Results results = Projected();
  for (FactorProjection& factor : results.projections[0].factors) {
    const double scale = factor.factor == Factor::kSpeedup ? 16 : 1;
    factor.curve.back().interval80 = IntervalBounds{0.1 * scale, 0.5 * scale};
    factor.targets.back().interval80 = factor.curve.back().interval80;
  }
  const AllocationPack pack = MakeAllocationPack(results, {});
  const AllocationRow& unknown = pack.rows.back();
  EXPECT_EQ(unknown.cores, 64);
  EXPECT_EQ(unknown.reliability, Reliability::kUnknown);
  for (const Estimate& estimate : {unknown.efficiency, unknown.speedup, unknown.iteration, unknown.core_hours}) {
    EXPECT_EQ(estimate, Estimate{});
  }
  EXPECT_EQ(pack.curve.back().first, 32);
  EXPECT_EQ(TabulateAllocation(pack, {})["rows"].back()["source"], "unknown");
  EXPECT_THAT(RenderSvg(SpeedupChart(pack), false), Not(HasSubstr("nan")));
}

// E falls from 0.8 on 32 to 0.4 on 64 cores, over the logarithm: 0.75 lies at 32 · 2^(1/8) = 34.9 cores, 0.6 at 45.3,
// which is beyond 40, where the reliable range ends.
TEST(Allocation, RecommendationStaysWithinTheEvidence) {
  AllocationOptions options;
  EXPECT_FALSE(MakeAllocationPack(Projected(), options).recommendation.reliable_range_ends);
  EXPECT_EQ(MakeAllocationPack(Projected(), options).recommendation.row.cores, 32);  // full nodes
  EXPECT_EQ(MakeAllocationPack(Projected(), options).recommendation.limit, 34);
  EXPECT_EQ(MakeAllocationPack(Projected(), options).recommendation.row.nodes, 8);  // full ones of 4 cores
  options.efficiency = 0.6;
  const AllocationPack pack = MakeAllocationPack(Projected(), options);
  EXPECT_TRUE(pack.recommendation.reliable_range_ends);
  EXPECT_EQ(pack.recommendation.row.cores, 32);  // 40 cores are 10 nodes, and 8 a usual count
  EXPECT_EQ(pack.recommendation.limit, 40);
  EXPECT_THAT(ListIn(Described(pack), "recommendation").front(),
              HasSubstr("the reliable range ends at 40 cores. Larger"));
  EXPECT_THAT(ListIn(Described(pack), "recommendation").front(), HasSubstr("too uncertain"));
}

// The limit of 34.9 cores holds 4 processes of 8 threads without nodes, and 4 full nodes of 8 cores; time, efficiency
// and core hours are those of that count.
TEST(Allocation, RecommendedJobsFitNodesAndProcesses) {
  Results results = Projected();
  for (FactorRow& row : results.table.rows) row.nodes.reset();
  EXPECT_EQ(MakeAllocationPack(results, {}).recommendation.row.cores, 32);
  EXPECT_EQ(MakeAllocationPack(results, {}).recommendation.row.nodes, std::nullopt);
  for (FactorRow& row : results.table.rows) row.threads = 8;
  AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_EQ(pack.recommendation.row.cores, 32);
  EXPECT_DOUBLE_EQ(*pack.recommendation.row.efficiency.value, 0.8);
  EXPECT_DOUBLE_EQ(*pack.recommendation.row.core_hours.value, 32 * 15.625 / 3600);
  EXPECT_THAT(ListIn(Described(pack), "recommendation").front(), HasSubstr("the limit is at 34, 80 % interval"));
  results = Projected();
  results.table.rows[0].nodes = 1;
  results.table.rows[1].nodes = 2;
  pack = MakeAllocationPack(results, {});
  EXPECT_EQ(pack.cores_per_node, 8);
  EXPECT_EQ(pack.recommendation.row.cores, 32);
  EXPECT_EQ(pack.recommendation.row.nodes, 4);
}

// The lower bound falls from 0.75 on 32 to 0.2 on 64 cores: 0.78 is between 16 (0.99) and 32, 0.5 at
// 32 · 2^(25/55) = 43.8 cores, beyond the reliable range.
TEST(Allocation, SureSizes) {
  AllocationOptions options;
  options.efficiency = 0.5;
  AllocationPack pack = MakeAllocationPack(Projected(), options);
  EXPECT_EQ(pack.recommendation.sure, 32);
  EXPECT_TRUE(pack.recommendation.is_surer);
  EXPECT_THAT(ListIn(Described(pack), "recommendation"),
              Contains("On 32 cores it is at least 50 % with a probability of more than 90 %."));
  pack = MakeAllocationPack(Projected(), {});
  EXPECT_EQ(pack.recommendation.sure, 32);
  EXPECT_FALSE(pack.recommendation.is_surer);
}

// On 16 cores 100 · 4 / (16 · T) = 0.7 was measured where 1 is projected: the run is stronger evidence, so that the
// baseline remains, and the projection alone would go to 34 cores.
TEST(Allocation, NothingBeyondRunsThatFail) {
  Results results = Projected();
  results.table.rows[1].runtime = 25 / 0.7;
  const AllocationPack pack = MakeAllocationPack(results, {});
  const Recommendation& job = pack.recommendation;
  EXPECT_FALSE(job.reliable_range_ends);
  EXPECT_TRUE(job.row.is_measured);
  EXPECT_TRUE(job.row.is_baseline);
  EXPECT_EQ(job.row.cores, 4);
  EXPECT_EQ(job.projected->cores, 34);
  ASSERT_EQ(job.disagreements.size(), 1u);
  EXPECT_DOUBLE_EQ(*job.disagreements[0].first.efficiency.value, 0.7);
  EXPECT_DOUBLE_EQ(*job.disagreements[0].second.value, 1);
  EXPECT_THAT(ListIn(Described(pack), "recommendation"),
              Contains("Measurement and projection disagree: on 16 cores the efficiency is 70.0 % as measured and "
                       "100.0 % (80 % interval 99.0 % to 101.0 %) as projected. What was measured comes first; the "
                       "projection alone allows 34 cores."));
  EXPECT_THAT(WriteAllocationCsv(results, pack, Described(pack, results)),
              HasSubstr("# Measurement and projection disagree: on 16 cores"));
  EXPECT_THAT(WriteAllocationText(Described(pack, results), test::OwnTexts()),
              HasSubstr("Measurement and projection disagree: on 16 cores"));
  EXPECT_THAT(BuildAllocationModel(results, pack, test::OwnTexts()).data.dump(),
              HasSubstr("Measurement and projection disagree"));
}

// On 32 cores 0.85 was measured where 0.8 is projected: with 0.82 required, the projection would stop at
// 16 · 2^0.9 = 29 cores, and the run is enough.
TEST(Allocation, NothingLessThanARunThatIsEnough) {
  Results results = Projected();
  FactorRow row = Row(32, 12.5 / 0.85);
  row.values[Factor::kSpeedup] = 6.8;
  results.table.rows.push_back(row);
  AllocationOptions options;
  options.efficiency = 0.82;
  const AllocationPack pack = MakeAllocationPack(results, options);
  EXPECT_EQ(pack.recommendation.row.cores, 32);
  EXPECT_TRUE(pack.recommendation.row.is_measured);
  EXPECT_TRUE(pack.recommendation.reliable_range_ends);
  EXPECT_EQ(pack.recommendation.projected->cores, 29);
  EXPECT_THAT(ListIn(Described(pack), "recommendation").front(), HasSubstr("(measured). Larger jobs were not run."));
}

// A requirement of 1 is met by the baseline by definition, though the projection there may be a bit less.
TEST(Allocation, TheBaselineIsEfficientByDefinition) {
  Results results = Strong({Row(4, 100), Row(16, 26)});
  AllocationOptions options;
  options.efficiency = 1;
  EXPECT_EQ(MakeAllocationPack(results, options).recommendation.row.cores, 4);
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, options)), "recommendation").front(),
              HasSubstr("(by definition). On 16 cores, the next larger count, it is less (96.2 %)."));
}

// E = 1, 0.6, 0.8: the largest is enough, and the one before is named.
TEST(Allocation, SmallerRunsThatFailAreNamed) {
  const AllocationPack pack = MakeAllocationPack(Strong({Row(4, 100), Row(8, 50 / 0.6), Row(16, 25 / 0.8)}), {});
  EXPECT_EQ(pack.recommendation.row.cores, 16);
  EXPECT_THAT(ListIn(Described(pack), "recommendation"),
              Contains("Some smaller jobs measured less: 60.0 % on 8 cores."));
}

// Repeats that differ by 4 % leave a mean of 0.9 surely above 0.75, with a probability of 90 % at least.
TEST(Allocation, SureAsMeasured) {
  const AllocationPack pack =
      MakeAllocationPack(Strong({Row(4, 100), Row(4, 102, 1, 1), Row(8, 54 / 0.9), Row(8, 52 / 0.9, 1, 1)}), {});
  EXPECT_EQ(pack.recommendation.sure, 8);
  EXPECT_THAT(ListIn(Described(pack), "recommendation"),
              Contains("On 8 cores it is at least 75 % with a probability of 90 %."));
}

// Weak runs called strong: T = 10 and 10.5 s on 4 and 16 cores are E = 0.24 with strong scaling, and 0.95 as the
// factors have it and weak scaling would.
TEST(Allocation, TheWrongScalingIsRefused) {
  Results results = Strong({Row(4, 10), Row(16, 10.5)});
  results.table.rows[0].values[Factor::kGlobalEfficiency] = 1;
  results.table.rows[1].values[Factor::kGlobalEfficiency] = 0.95;
  try {
    MakeAllocationPack(results, {});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("phase 'solve': times and factors contradict each other with strong scaling: "
                                        "efficiency is on 16 cores 23.8 % by times and 95.0 % by factors; with weak "
                                        "scaling they agree"));
  }
  results.table.scaling = Scaling::kWeak;
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, {})), "contradictions"), IsEmpty());
}

// E = 0.95 by times on 16 cores and 0.8 by factors is a contradiction that no scaling explains; 0.94 is noise.
TEST(Allocation, TimesThatContradictFactors) {
  Results results = Strong({Row(4, 10), Row(16, 2.5 / 0.95)});
  results.table.rows[0].values[Factor::kGlobalEfficiency] = 1;
  results.table.rows[1].values[Factor::kGlobalEfficiency] = 0.94;
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, {})), "contradictions"), IsEmpty());
  results.table.rows[1].values[Factor::kGlobalEfficiency] = 0.8;
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_THAT(ListIn(Described(pack), "contradictions"),
              ElementsAre(HasSubstr("on 16 cores 95.0 % by times and 80.0 % by factors")));
  for (const std::string& form : {WriteAllocationCsv(results, pack, Described(pack, results)),
                                  WriteAllocationText(Described(pack, results), test::OwnTexts()),
                                  BuildAllocationModel(results, pack, test::OwnTexts()).data.dump()}) {
    EXPECT_THAT(form, HasSubstr("contradict each other beyond noise"));
  }
}

TEST(Allocation, SizesThatContradictTheScaling) {
  Results results = Strong({Row(4, 10), Row(16, 4)});
  results.problem.size = 100;
  RunRecord run;
  run.cores = 16;
  run.size = 160;
  results.runs = {run};
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, {})), "contradictions"),
              ElementsAre(HasSubstr("the same size, but it is 100 on 4 cores, and 160 on 16: these")));
}

// The table does not say how its runs scale, but 10 s · 1 is 3.125 s · 3.2: strong.
TEST(Allocation, TheScalingThatTimesShow) {
  Results results = Strong({Row(4, 10), Row(16, 3.125)});
  results.table.scaling.reset();
  results.table.rows[0].values[Factor::kSpeedup] = 1;
  results.table.rows[1].values[Factor::kSpeedup] = 3.2;
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_FALSE(pack.basis);
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 0.8);
  EXPECT_TRUE(pack.is_scaling_shown);
  EXPECT_THAT(BuildAllocationModel(results, pack, test::OwnTexts()).data.dump(),
              HasSubstr("as its times and efficiencies show"));
}

// 16 cores as baseline: E there is 1 by definition; the projection is compared with that too.
TEST(Allocation, AnotherBaseline) {
  Results results = Projected();
  results.table.rows[1].runtime = 31.25;  // E = 0.8 against 4 cores
  results.table.rows[1].values[Factor::kGlobalEfficiency] = 0.8;
  results.table.rows[1].values[Factor::kSpeedup] = 3.2;
  AllocationOptions options;
  options.baseline = 16;
  const AllocationPack pack = MakeAllocationPack(results, options);
  EXPECT_DOUBLE_EQ(*pack.rows[0].efficiency.value, 1.25);
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 1);
  EXPECT_DOUBLE_EQ(*pack.rows[2].efficiency.value, 1);  // 0.8 / 0.8
  options.baseline = 5;
  EXPECT_THROW(MakeAllocationPack(results, options), Error);
}

TEST(Allocation, FactorsWithoutTimes) {
  Results results = Strong({Row(4, 1), Row(8, 1)});
  for (FactorRow& row : results.table.rows) row.runtime.reset();
  EXPECT_THROW(MakeAllocationPack(results, {}), Error);
  results.table.rows[0].values[Factor::kParallelEfficiency] = 0.8;
  results.table.rows[1].values[Factor::kParallelEfficiency] = 0.6;
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_DOUBLE_EQ(*pack.rows[1].efficiency.value, 0.75);
  EXPECT_DOUBLE_EQ(*pack.rows[1].speedup.value, 1.5);
  EXPECT_FALSE(pack.rows[1].iteration.value);
  EXPECT_THAT(ListIn(Described(pack), "missing"), Contains(HasSubstr("no wall times and no core hours")));
  EXPECT_THAT(ListIn(Described(pack), "missing"), Contains(HasSubstr("parallel efficiency alone")));
}

TEST(Allocation, TheLongestPhaseThatIsNoGroup) {
  FactorTable table;
  table.rows = {Row(4, 1), Row(4, 5), Row(4, 9)};
  table.rows[1].phase = "step";
  table.rows[2].phase = {"step", "pme"};
  EXPECT_EQ(MostImportantPhase(table, ""), PhaseId("step"));
}

// Of 1 s set-up and 9 s solving in a phase whose name contains what stands between phase and group in texts.
TEST(Allocation, APhaseOfAnyNameMayTakeLongest) {
  const FactorTable table = ReadFactorCsv(
      "phase,cores,runtime,parallelEfficiency\nset-up,4,1,0.9\nset-up,8,1,0.8\nmain / solve,4,9,0.9\n"
      "main / solve,8,9,0.8\n",
      "t.csv");
  EXPECT_EQ(MostImportantPhase(table, ""), PhaseId("main / solve"));
  const AllocationPack pack = MakeAllocationPack(ResultsOfTable(table, {}, "t"), {});
  EXPECT_EQ(pack.phase, PhaseId("main / solve"));
}

Results OfGroups() {
  FactorTable table;
  table.rows = {Row(4, 5), Row(4, 4), Row(4, 3), Row(4, 2), Row(4, 1)};
  table.rows[0].phase = "step";
  table.rows[1].phase = {"step", "pme"};
  table.rows[2].phase = "step / pp";
  table.rows[3].phase = {"step", "pp"};
  table.rows[4].phase = {"io", "pp"};
  for (FactorRow& row : table.rows) row.values[Factor::kParallelEfficiency] = 0.9;
  return ResultsOfTable(table, {}, "t");
}

PhaseId ChosenBy(std::optional<std::string> phase, std::optional<std::string> group) {
  AllocationOptions options;
  options.phase = std::move(phase);
  options.group = std::move(group);
  return MakeAllocationPack(OfGroups(), options).phase;
}

std::string WhyNotChosen(std::optional<std::string> phase, std::optional<std::string> group) {
  try {
    ChosenBy(std::move(phase), std::move(group));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A group by its own option, or by its text where no phase is called so.
TEST(Allocation, GroupsOfRanksByName) {
  EXPECT_EQ(ChosenBy({}, {}), PhaseId("step"));
  EXPECT_EQ(ChosenBy("step", "pp"), PhaseId("step", "pp"));
  EXPECT_EQ(ChosenBy({}, "pme"), PhaseId("step", "pme"));
  EXPECT_EQ(ChosenBy("step / pme", {}), PhaseId("step", "pme"));
  EXPECT_EQ(ChosenBy("step / pp", {}), PhaseId("step / pp"));
  EXPECT_THAT(WhyNotChosen({}, "pp"), HasSubstr("there is a group 'pp' of 2 phases"));
  EXPECT_THAT(WhyNotChosen("io", "pme"),
              HasSubstr("no group 'pme' of phase 'io' in the results; there are step / pme"));
  EXPECT_THAT(WhyNotChosen("stop", {}), HasSubstr("no phase 'stop' in the results"));
}

TEST(Allocation, LatexOfAnyName) {
  EXPECT_EQ(EscapeLatex("a_b & 50 % of $x^2 #1 {~\\}"),
            "a\\_b \\& 50 \\% of \\$x\\textasciicircum{}2 \\#1 \\{\\textasciitilde{}\\textbackslash{}\\}");
  EXPECT_EQ(EscapeLatex("<T> [i]*\n--"), "\\textless{}T\\textgreater{} {[}i]{*} -{}-");
  EXPECT_EQ(EscapeLatex("µ – é 中"), "\\ensuremath{\\mu} -- é {[}U+4E2D]");
}

// A quotation mark opens before a word and closes behind one.
TEST(Allocation, LatexOfQuotations) {
  EXPECT_EQ(EscapeLatex("the phase \"step\", (\"a b\") and \"c\""), "the phase ``step'', (``a b'') and ``c''");
  EXPECT_EQ(EscapeLatex("\""), "``");
}

TEST(Allocation, NamesFromTracesAreEscapedEverywhere) {
  Results results = Projected();
  results.title = "<script>alert(1)</script> a_b & 5 %";
  const AllocationPack pack = MakeAllocationPack(results, {});
  EXPECT_THAT(WriteAllocationText(Described(pack, results), test::OwnTexts()),
              HasSubstr("\\textless{}script\\textgreater{}alert(1)"));
  EXPECT_THAT(WriteAllocationText(Described(pack, results), test::OwnTexts()), HasSubstr("a\\_b \\& 5 \\%"));
  results.title = "two\nlines";
  EXPECT_THAT(WriteAllocationCsv(results, pack, Described(pack, results)),
              HasSubstr("# two lines, phase solve; baseline 4 cores"));
  EXPECT_THAT(WriteAllocationTable(results, pack, test::OwnTexts()), HasSubstr("% two lines\n"));
}

// 1,024 stays so; 530,604 in all are 66,325.5 each, of which no half is told; the baseline has one core.
TEST(Allocation, TextToHandIn) {
  Results results = Strong({Row(1, 1024), Row(8, 130), Row(1024, 1.1)});
  results.problem.size = 530604;
  const AllocationPack pack = MakeAllocationPack(results, {});
  const ReportData table = TabulateAllocation(pack, results.problem);
  const auto cell = [&](std::size_t line, const std::string& heading) {
    const ReportData& header = table["header"];
    const auto at = std::find(header.begin(), header.end(), heading) - header.begin();
    return table["rows"][line]["cells"][static_cast<std::size_t>(at)]["text"];
  };
  EXPECT_EQ(cell(2, "Ideal speedup"), "1,024");
  EXPECT_EQ(cell(1, "Size per process"), "66,326");
  const std::string data = BuildAllocationModel(results, pack, test::OwnTexts()).data.dump();
  for (const std::string& text :
       {data, SpeedupTikz(pack), WriteAllocationText(Described(pack, results), test::OwnTexts())}) {
    EXPECT_THAT(text, Not(HasSubstr(" 1 cores")));
    EXPECT_THAT(text, Not(HasSubstr("--up-to")));
  }
  EXPECT_THAT(data, HasSubstr("E = p₀ T₀ / (p T)"));
  EXPECT_THAT(
      WriteAllocationText(Described(pack, results), test::OwnTexts()),
      HasSubstr("with $p_0$ cores and the time $T_0$ for an iteration. A run with $p$ cores and the time $T$ has the "
                "speedup $S = T_0 / T$ and the efficiency $E = p_0 T_0 / (p\\,T)$."));
}

// In a table of run times nobody counts iterations, unless somebody plans some.
TEST(Allocation, RunTimesAreOfRuns) {
  std::vector<FactorRow> rows = {Row(4, 36), Row(8, 20)};
  for (FactorRow& row : rows) row.phase = PhaseId();
  const Results results = Strong(rows);
  AllocationOptions options;
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, options), results), "recommendation").back(),
              HasSubstr("; a run takes 20.0 s and costs 0.0444 core hours."));
  options.iterations = 10;
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, options), results), "recommendation").back(),
              HasSubstr("; 10 iterations of the phase take 200 s"));
}

TEST(Allocation, FiguresShowWhatIsKnown) {
  const AllocationPack pack = MakeAllocationPack(Projected(), {});
  for (const std::string& figure : {RenderSvg(SpeedupChart(pack), false), SpeedupTikz(pack)}) {
    EXPECT_THAT(figure, HasSubstr("ideal"));
    EXPECT_THAT(figure, HasSubstr("measured"));
    EXPECT_THAT(figure, HasSubstr("uncertain: interval only"));
    EXPECT_THAT(figure, HasSubstr("reliable up to 40 cores"));
    EXPECT_THAT(figure, Not(HasSubstr("nan")));
    EXPECT_THAT(figure, Not(HasSubstr("inf")));
  }
}

// "io" takes as long at all counts, "solve" falls from 4 to 0.53 s: of weak scaling, its efficiency would be 905 %.
TEST(Allocation, ThePhaseMustScaleAsItsRunsAreSaidTo) {
  FactorTable table;
  for (const auto& [phase, first, last] : {std::tuple("io", 5.0, 5.0), std::tuple("solve", 4.0, 0.53)}) {
    for (const std::int64_t cores : {8, 64}) {
      table.rows.push_back(Row(cores, cores == 8 ? first : last));
      table.rows.back().phase = phase;
      table.rows.back().values[Factor::kParallelEfficiency] = 0.9;
    }
  }
  table.scaling = Scaling::kWeak;
  CompleteTable(table);
  AllocationOptions options;
  options.phase = "solve";
  try {
    MakeAllocationPack(ResultsOfTable(table, {}, "t"), options);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("phase solve: the problem does not grow with the cores"));
  }
  options.phase = "io";
  const Results results = ResultsOfTable(table, {}, "t");
  EXPECT_THAT(ListIn(Described(MakeAllocationPack(results, options), results), "contradictions"), IsEmpty());
}

// Which of both a pack is about can be read off it.
TEST(Allocation, GroupsAreCalledGroups) {
  const Results results = OfGroups();
  const auto facts = [&](const char* phase, std::optional<std::string> group) {
    AllocationOptions options;
    options.phase = phase;
    options.group = std::move(group);
    const ReportData text = Described(MakeAllocationPack(results, options), results);
    std::map<std::string, std::string> texts;
    for (const ReportData& fact : text["facts"]) texts[fact["name"]] = fact["value"];
    return texts;
  };
  const auto of_group = facts("step", "pp"), of_phase = facts("step / pp", std::nullopt);
  EXPECT_THAT(of_group, Contains(testing::Pair("Phase", testing::StartsWith("step:"))));
  EXPECT_THAT(of_group, Contains(testing::Pair("Group of ranks", "pp")));
  EXPECT_THAT(of_phase, Contains(testing::Pair("Phase", testing::StartsWith("step / pp:"))));
  EXPECT_EQ(PhaseInWords({"step", "pp"}), "the group \"pp\" of ranks in the phase \"step\"");
}

}  // namespace
}  // namespace farscale
