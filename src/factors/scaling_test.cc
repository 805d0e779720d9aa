#include "factors/scaling.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

struct OneRun {
  double cores = 0;
  double seconds = 0;  // of an iteration
  double useful = 0;   // of all processes together, in an iteration
  std::optional<double> instructions = std::nullopt;
};

// Rows as traces give them.
FactorTable Traced(const std::vector<OneRun>& runs, Scaling scaling, const std::string& phase = "loop") {
  FactorTable table;
  table.scaling = scaling;
  table.scaling_source = "study";
  for (const OneRun& run : runs) {
    FactorRow row;
    row.phase = phase;
    row.cores = row.ranks = static_cast<std::int64_t>(run.cores);
    row.iterations = 10;
    row.runtime = 10 * run.seconds;
    row.totals.emplace();
    row.totals->elapsed = 10 * run.seconds;
    row.totals->total_useful = 10 * run.useful;
    if (run.instructions) row.totals->instructions = 10 * *run.instructions;
    table.rows.push_back(row);
  }
  CompleteTable(table);
  return table;
}

std::string WhyRefused(FactorTable table) {
  try {
    CheckScaling(table, "here");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

// What is odd about the scaling; empty where nothing is.
std::string Doubt(FactorTable table) {
  CheckScaling(table, "here");
  for (const Finding& finding : table.findings) {
    if (finding.id == "scalingUnlikely") return DetailOf(finding);
  }
  return "";
}

// A problem of 16e9 instructions and 16 s, from 2 to 8 cores: 8 to 2 s. Said to be weak, its computation scalability
// would be 8 / 2 = 4.
TEST(ScalingCheck, RefusesWeakScalingOfOneProblem) {
  const std::vector<OneRun> runs = {{2, 8, 16, 16e9}, {8, 2, 16, 16.16e9}};
  EXPECT_THAT(
      WhyRefused(Traced(runs, Scaling::kWeak)),
      HasSubstr("here: the problem does not grow with the cores: from 2 to 8 cores an iteration falls from 8 to "
                "2 s, and its instructions are 1.01 times as many, not 4 times"));
  EXPECT_EQ(WhyRefused(Traced(runs, Scaling::kStrong)), "");
  EXPECT_EQ(Doubt(Traced(runs, Scaling::kStrong)), "");
}

// Twice the cores alone do not exclude it, but make it unlikely: work grows by 2^0 and not by 2^1.
TEST(ScalingCheck, DoubtsWeakScalingOfOneProblemOnTwiceTheCores) {
  const std::vector<OneRun> runs = {{2, 8, 16}, {4, 4, 16}};
  EXPECT_EQ(WhyRefused(Traced(runs, Scaling::kWeak)), "");
  EXPECT_THAT(
      Doubt(Traced(runs, Scaling::kWeak)),
      HasSubstr("said to be weak, but from 2 to 4 cores an iteration falls from 8 to 4 s, and its computation on "
                "all cores together is 1 times as much, not 2 times: strong scaling fits"));
}

// Work that grows from 16 to 512 s on 32 times the cores: a program of which nothing is parallel would do so, too.
TEST(ScalingCheck, DoubtsStrongScalingOfGrownProblems) {
  const std::vector<OneRun> runs = {{2, 8, 16}, {8, 8.1, 64}, {64, 8.4, 512}};
  EXPECT_EQ(WhyRefused(Traced(runs, Scaling::kStrong)), "");
  EXPECT_THAT(Doubt(Traced(runs, Scaling::kStrong)), HasSubstr("32 times as much, not the same: weak scaling fits"));
  EXPECT_EQ(Doubt(Traced(runs, Scaling::kWeak)), "");
}

// 2 to 32 cores: 16^0.5 = 4 is half way between 1 and 16. As 3 of NAS CG and MG in work that processes repeat, as 5 of
// neither; 100 is more than weak scaling has by more than that.
TEST(ScalingCheck, HalfWayIsTheLimit) {
  const auto grown = [](double work, Scaling scaling) {
    return Doubt(Traced({{2, 8, 16}, {32, 8, 16 * work}}, scaling));
  };
  EXPECT_EQ(grown(3, Scaling::kStrong), "");
  EXPECT_EQ(grown(5, Scaling::kWeak), "");
  EXPECT_THAT(grown(5, Scaling::kStrong), HasSubstr("weak scaling fits"));
  EXPECT_THAT(grown(3, Scaling::kWeak), HasSubstr("strong scaling fits"));
  EXPECT_THAT(grown(100, Scaling::kWeak), HasSubstr("neither strong nor weak scaling"));
}

// Caches: 16 s of computation become 4 s on 8 times the cores, with the same instructions.
TEST(ScalingCheck, InstructionsTellThroughCaches) {
  EXPECT_EQ(Doubt(Traced({{2, 8, 16, 1e9}, {16, 0.25, 4, 1e9}}, Scaling::kStrong)), "");
}

TEST(ScalingCheck, NeighbouringCountsTellNothing) {
  EXPECT_EQ(Doubt(Traced({{24, 8, 100}, {32, 6, 100}}, Scaling::kWeak)), "");
  EXPECT_EQ(Doubt(Traced({{24, 8, 100}}, Scaling::kWeak)), "");
}

// Eight threads instead of one are no growth of processes.
TEST(ScalingCheck, ComparesRunsWithAsManyThreads) {
  FactorTable table = Traced({{4, 8, 32}, {32, 1.2, 4.8}, {8, 4, 32}}, Scaling::kStrong);
  table.rows[1].threads = 8;
  const auto growth = GrowthOfWork(PointersTo(table.rows));
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->last, 8);
  EXPECT_DOUBLE_EQ(*growth->work, 1);
}

FactorTable Timed(const std::vector<std::pair<double, double>>& runs) {
  FactorTable table;
  for (const auto& [cores, seconds] : runs) {
    FactorRow row;
    row.cores = row.ranks = static_cast<std::int64_t>(cores);
    row.runtime = seconds;
    table.rows.push_back(row);
  }
  return table;
}

// 48 to 384 cores in 0.6 of the time, at whatever count: an efficiency of 167 % is none of weak scaling. In 0.7 of it,
// perhaps, but 143 % is unlikely. Slower runs with more cores say nothing of the problem.
TEST(ScalingCheck, TimesAlone) {
  const auto in_terms = [](const std::vector<std::pair<double, double>>& runs, Scaling scaling) {
    FactorTable table = Timed(runs);
    PutInTerms(table, scaling, std::nullopt);
    return table;
  };
  EXPECT_THROW(in_terms({{48, 1}, {384, 0.6}}, Scaling::kWeak), Error);
  EXPECT_THROW(in_terms({{48, 1}, {96, 0.6}, {384, 2}}, Scaling::kWeak), Error);
  EXPECT_THAT(Doubt(in_terms({{48, 1}, {384, 0.7}}, Scaling::kWeak)),
              HasSubstr("from 48 to 384 cores an iteration falls from 1 to 0.7 s, an efficiency of 1.429 for weak "
                        "scaling: strong scaling fits"));
  EXPECT_EQ(Doubt(in_terms({{48, 1}, {384, 0.18}}, Scaling::kStrong)), "");
  EXPECT_EQ(Doubt(in_terms({{48, 1}, {384, 1.4}}, Scaling::kStrong)), "");
  EXPECT_EQ(Doubt(in_terms({{48, 1}, {384, 1.4}}, Scaling::kWeak)), "");
}

// A computation scalability of 3.999 that a table gives for weak scaling on 4 times the cores is that of one problem:
// its work grows 4 / 3.999 times.
TEST(ScalingCheck, ScalabilityAsGiven) {
  FactorTable table = Timed({{2, 0}, {8, 0}});
  for (FactorRow& row : table.rows) row.runtime.reset();
  table.rows[0].values[Factor::kComputationScalability] = 1;
  table.rows[1].values[Factor::kComputationScalability] = 3.999;
  table.scaling = Scaling::kWeak;
  EXPECT_THAT(Doubt(table),
              HasSubstr("from 2 to 8 cores an iteration's computation on all cores together is 1 times as "
                        "much, not 4 times: strong scaling fits"));
}

// Whoever says it: the study, a file or the command line.
TEST(ScalingCheck, TablesThatSayTheirScaling) {
  FactorTable table = Traced({{2, 8, 16}, {8, 2, 16}}, Scaling::kWeak);
  table.scaling_source = "file";
  EXPECT_THROW(PutInTerms(table, std::nullopt, std::nullopt), Error);
  EXPECT_NO_THROW(PutInTerms(table, Scaling::kStrong, std::nullopt));
}

// Of every series, with its name; once, however often a table is completed.
TEST(ScalingCheck, EverySeriesOnce) {
  FactorTable table = Traced({{2, 8, 16}, {8, 8, 64}}, Scaling::kStrong);
  for (FactorRow& row : table.rows) row.series = "grown";
  for (FactorRow row : Traced({{2, 8, 16}, {8, 2, 16}}, Scaling::kStrong).rows) {
    row.series = "fixed";
    table.rows.push_back(row);
  }
  CheckScaling(table, "here");
  CheckScaling(table, "here");
  ASSERT_EQ(table.findings.size(), 1u);
  EXPECT_EQ(table.findings[0].count, 1u);
  EXPECT_EQ(table.findings[0].population, 2u);
  EXPECT_THAT(table.findings[0].example, HasSubstr("series grown: said to be strong"));
  EXPECT_TRUE(PutsAllInDoubt(table.findings[0]));
}

// One thread a process on 8 cores, two on 16 to 64: there the time falls from 16.8 to 4.6 s on four times the
// processes, and P T PE goes from 8 · 16.8 · 0.92 = 123.6 s to 32 · 4.6 · 0.86 = 126.6 s. That the smallest run has
// other threads than all others is no reason not to look.
TEST(ScalingCheck, TheSmallestRunMayHaveOtherThreads) {
  FactorTable table = Timed({{8, 32}, {16, 16.8}, {32, 8.8}, {64, 4.6}});
  const std::vector<double> efficiencies = {0.95, 0.92, 0.89, 0.86};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    FactorRow& row = table.rows[i];
    row.threads = i == 0 ? 1 : 2;
    row.ranks = row.cores / row.threads;
    row.values[Factor::kParallelEfficiency] = efficiencies[i];
  }
  const auto growth = GrowthOfWork(PointersTo(table.rows));
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->first, 16);
  EXPECT_EQ(growth->last, 64);
  EXPECT_DOUBLE_EQ(growth->processes, 4);
  EXPECT_NEAR(*growth->work, 126.6 / 123.6, 1e-3);
  EXPECT_THROW(PutInTerms(table, Scaling::kWeak, std::nullopt), Error);
}

// Of 5 s of "io" and 4 s of "solve", which falls to 0.53 s on 8 times the cores: the program as a whole scales weakly,
// but 905 % of efficiency are no truth about "solve". The same in a phase of work that does not grow as fast is usual.
TEST(ScalingCheck, SmallerPhasesThatExcludeIt) {
  FactorTable table = Traced({{8, 5, 36}, {64, 5, 288}}, Scaling::kWeak, "io");
  for (FactorRow row : Traced({{8, 4, 29}, {64, 0.53, 29}}, Scaling::kWeak, "solve").rows) table.rows.push_back(row);
  for (FactorRow row : Traced({{8, 4, 29}, {64, 4, 29}}, Scaling::kWeak, "setup").rows) table.rows.push_back(row);
  EXPECT_EQ(WhyRefused(table), "");
  EXPECT_THAT(Doubt(table), HasSubstr("phase solve: said to be weak, but from 8 to 64 cores an iteration falls from 4 "
                                      "to 0.53 s"));
  EXPECT_THAT(Doubt(table), Not(HasSubstr("setup")));
  FactorTable shorter = table;
  for (FactorRow& row : shorter.rows) {
    if (row.phase == PhaseId("solve")) *row.runtime *= 0.4;  // 1.6 of 5 s
  }
  EXPECT_EQ(Doubt(shorter), "");
  try {
    CheckScalingOf(table, "", "solve");
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("phase solve: the problem does not grow with the cores: from 8 to 64 cores"));
  }
  EXPECT_EQ(CheckScalingOf(table, "", "io"), "");
  EXPECT_THAT(CheckScalingOf(table, "", "setup"), HasSubstr("computation on all cores together is 1 times as much"));
}

// Nobody said what the growth of work has decided; and a stored table was not given an option now.
TEST(ScalingCheck, WhoSaysIt) {
  FactorTable table = Traced({{2, 8, 16}, {32, 8, 1600}}, Scaling::kWeak);
  EXPECT_THAT(Doubt(table), testing::StartsWith("said to be weak, but"));
  for (const char* decided : {"instructions", "useful time", kShownByTimes}) {
    table.scaling_source = decided;
    EXPECT_THAT(Doubt(table), testing::StartsWith("taken to be weak, but"));
    EXPECT_THAT(SourceOfStoredScaling(table), HasSubstr(decided));
  }
  table.scaling_source = "command line";
  EXPECT_EQ(SourceOfScaling(table), "--scaling weak");
  EXPECT_EQ(SourceOfStoredScaling(table), "weak scaling, as the table says");
  FactorTable stored = Traced({{2, 8, 16}, {8, 2, 16}}, Scaling::kWeak);
  stored.scaling_source = "command line";
  const auto why = [&](std::optional<Scaling> scaling) -> std::string {
    try {
      FactorTable asked = stored;
      PutInTerms(asked, scaling, std::nullopt);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why(std::nullopt), testing::StartsWith("weak scaling, as the table says: the problem does not grow"));
  EXPECT_THAT(why(Scaling::kWeak), testing::StartsWith("--scaling weak: the problem does not grow"));
}

}  // namespace
namespace {

FactorRow TimedRow(std::int64_t cores, double runtime, std::optional<double> speedup, double iterations = 1) {
  FactorRow row;
  row.cores = row.ranks = cores;
  row.runtime = runtime;
  row.iterations = iterations;
  row.values[Factor::kSpeedup] = speedup;
  return row;
}

std::optional<Scaling> ShownBy(const std::vector<FactorRow>& rows) { return ScalingShownBy(PointersTo(rows)); }

// 10 s · 1 and 6.25 s · 1.6 are both 10 s. Weak scaling: 10 s · 1 and 12.5 s · 1.6 = 20 s on twice the cores.
TEST(RunScaling, TimesAndSpeedupsShowIt) {
  EXPECT_EQ(ShownBy({TimedRow(4, 10, 1), TimedRow(8, 6.25, 1.6)}), Scaling::kStrong);
  EXPECT_EQ(ShownBy({TimedRow(4, 10, 1), TimedRow(8, 12.5, 1.6)}), Scaling::kWeak);
  EXPECT_EQ(ShownBy({TimedRow(4, 20, 1, 2), TimedRow(8, 6.25, 1.6)}),
            Scaling::kStrong);  // times of an iteration
}

// GE · P instead: 10 · 4 and 6.25 · 0.8 · 8 are both 40.
TEST(RunScaling, GlobalEfficiencyDoes) {
  std::vector<FactorRow> rows = {TimedRow(4, 10, std::nullopt), TimedRow(8, 6.25, std::nullopt)};
  rows[0].values[Factor::kGlobalEfficiency] = 1;
  rows[1].values[Factor::kGlobalEfficiency] = 0.8;
  EXPECT_EQ(ShownBy(rows), Scaling::kStrong);
  rows[1].runtime = 12.5;
  EXPECT_EQ(ShownBy(rows), Scaling::kWeak);
}

TEST(RunScaling, NothingWhereItDoesNotShow) {
  EXPECT_FALSE(ShownBy({}));
  EXPECT_FALSE(ShownBy({TimedRow(4, 10, 1)}));
  EXPECT_FALSE(ShownBy({TimedRow(4, 10, 1), TimedRow(4, 10, 1)}));
  EXPECT_FALSE(ShownBy({TimedRow(4, 10, 1), TimedRow(8, 6.25, std::nullopt)}));
  EXPECT_FALSE(ShownBy({TimedRow(4, 10, 1), TimedRow(8, 9, 1.6)}));
}

TEST(RunScaling, WhatTheTableSaysComesFirst) {
  FactorTable table;
  const std::vector<FactorRow> rows = {TimedRow(4, 10, 1), TimedRow(8, 6.25, 1.6)};
  EXPECT_EQ(ScalingOf(table, rows), Scaling::kStrong);
  table.scaling = Scaling::kWeak;
  EXPECT_EQ(ScalingOf(table, rows), Scaling::kWeak);
}

// Rows with times and parallel efficiency alone.
FactorTable Told(const std::vector<std::array<double, 3>>& runs, const std::string& phase = "") {
  FactorTable table;
  for (const auto& [cores, runtime, efficiency] : runs) {
    table.rows.push_back(TimedRow(static_cast<std::int64_t>(cores), runtime, std::nullopt));
    table.rows.back().phase = phase;
    table.rows.back().values[Factor::kParallelEfficiency] = efficiency;
  }
  return table;
}

std::string WhyNot(FactorTable table, Scaling scaling) {
  try {
    PutInTerms(table, scaling, std::nullopt);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// 16 · 8 · 0.9 = 115.2 s of computation and 64 · 2.5 · 0.75 = 120 s: 1.04 times as much on 4 times the cores.
TEST(RunScaling, WeakRunsHaveMoreToCompute) {
  const FactorTable strong = Told({{16, 8, 0.9}, {64, 2.5, 0.75}});
  EXPECT_THAT(WhyNot(strong, Scaling::kWeak),
              testing::HasSubstr("--scaling weak: the problem does not grow with the cores: from 16 to 64 cores an "
                                 "iteration falls from 8 to 2.5 s, and its computation on all cores together is 1.04 "
                                 "times as much, not 4 times"));
  EXPECT_EQ(WhyNot(strong, Scaling::kStrong), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {32, 3.5, 0.9}}), Scaling::kWeak), "");  // too few cores to be sure
}

// In turn: weak runs; those that waited for something at first; computation that every rank repeats; one rank that
// computes while the others wait.
TEST(RunScaling, KeepsSilentWhenUnsure) {
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {64, 9, 0.8}}), Scaling::kWeak), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.2}, {64, 2, 0.8}}), Scaling::kWeak), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 0.9}, {64, 8, 0.9}}), Scaling::kStrong), "");
  EXPECT_EQ(WhyNot(Told({{16, 8, 1. / 16}, {64, 8, 1. / 64}}), Scaling::kWeak), "");
}

// Speedups 1 and 1.6 from 4 cores on are 0.625 and 1 from 8 cores on, whatever is asked for besides.
// Measured runs say times and efficiencies only. Useful time: 10 * 0.9 = 9 and 4 * 3 * 0.8 = 9.6 s, so that computation
// scales by 9 / 9.6 if the problem is the same, and by 9 / (9.6 / 4) if it grew with the cores.
TEST(RunScaling, AGuessGivesWayToWhatIsSaid) {
  FactorTable table;
  for (const auto& [cores, seconds, efficiency] : {std::array{1., 10., .9}, std::array{4., 3., .8}}) {
    FactorRow row;
    row.phase = "loop";
    row.cores = row.ranks = static_cast<std::int64_t>(cores);
    row.runtime = seconds;
    row.values[Factor::kParallelEfficiency] = efficiency;
    table.rows.push_back(row);
  }
  for (const Scaling guessed : {Scaling::kStrong, Scaling::kWeak}) {
    table.scaling = guessed;
    table.scaling_source = "useful time";
    for (const auto& [said, scalability] : {std::pair(Scaling::kStrong, 9 / 9.6), std::pair(Scaling::kWeak, 9 / 2.4)}) {
      FactorTable put = table;
      PutInTermsUnchecked(put, said, std::nullopt);
      EXPECT_EQ(put.scaling, said);
      EXPECT_DOUBLE_EQ(put.rows[1].values[Factor::kComputationScalability].value(), scalability);
    }
  }
}

TEST(RunScaling, ReferenceAndScalingCanBeAskedForAlone) {
  const auto table_in = [](std::optional<Scaling> scaling, std::optional<std::int64_t> reference) {
    FactorTable table;
    table.rows = {TimedRow(4, 10, 1), TimedRow(8, 6.25, 1.6)};
    PutInTerms(table, scaling, reference);
    return table;
  };
  const FactorTable referred = table_in(std::nullopt, 8);
  EXPECT_EQ(referred.reference, 8);
  EXPECT_DOUBLE_EQ(*referred.rows[0].values[Factor::kSpeedup], 0.625);
  EXPECT_DOUBLE_EQ(*referred.rows[1].values[Factor::kSpeedup], 1);
  EXPECT_EQ(referred.scaling_source, kShownByTimes);
  const FactorTable scaled = table_in(Scaling::kStrong, std::nullopt);
  EXPECT_EQ(scaled.scaling_source, "command line");
  EXPECT_DOUBLE_EQ(*scaled.rows[1].values[Factor::kSpeedup], 1.6);
}

// Work of an iteration is cores times seconds times efficiency: 32, 32, 64 in the first table; then it halves its
// growth everywhere, and in the last it is that of strong runs with 10 % more at each step.
TEST(RunScaling, OfBothKindsIsSaid) {
  EXPECT_EQ(WhyMixed(Told({{4, 8, 1}, {8, 4, 1}, {16, 4, 1}})),
            "the runs mix strong and weak scaling: from 4 to 8 cores an iteration's work is 1 times as much, from 8 to "
            "16 cores 2 times");
  EXPECT_EQ(WhyMixed(Told({{4, 8, 1}, {8, 6, 1}, {16, 4.5, 1}})), "");
  EXPECT_EQ(WhyMixed(Told({{4, 8, 1}, {8, 4.4, 1}, {16, 2.4, 1}})), "");
  EXPECT_EQ(WhyMixed(Told({{4, 8, 1}})), "");
}

// Work of a fixed size inside a weak run shows nothing of the run.
TEST(RunScaling, TheLongestPhaseTells) {
  FactorTable table = Told({{16, 80, 0.9}, {64, 85, 0.8}}, "iteration");
  const FactorTable fixed = Told({{16, 8, 0.9}, {64, 2.5, 0.75}}, "table");
  table.rows.insert(table.rows.begin(), fixed.rows.begin(), fixed.rows.end());
  EXPECT_EQ(WhyNot(table, Scaling::kWeak), "");
}

}  // namespace

}  // namespace farscale
