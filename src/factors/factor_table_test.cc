#include "factors/anomalies.h"
#include "factors/factor_table.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "factors/scaling.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FactorRow Row(std::int64_t cores, double useful, double elapsed) {
  FactorRow row;
  row.phase = "p";
  row.cores = row.ranks = cores;
  row.runtime = elapsed;
  PhaseTotals totals;
  totals.elapsed = elapsed;
  totals.total_useful = useful;
  row.totals = totals;
  row.values[Factor::kParallelEfficiency] = useful / (static_cast<double>(cores) * elapsed);
  return row;
}

FactorTable Table(std::vector<FactorRow> rows, std::optional<Scaling> scaling) {
  FactorTable table;
  table.rows = std::move(rows);
  table.scaling = scaling;
  CompleteTable(table);
  return table;
}

// Σt 10 -> 12, T 5 -> 4. Strong: 10/12 and 5/4.
TEST(FactorTable, StrongScaling) {
  const FactorTable table = Table({Row(2, 10, 5), Row(4, 12, 4)}, Scaling::kStrong);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kComputationScalability], 1);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 10.0 / 12);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kSpeedup], 5.0 / 4);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kGlobalEfficiency], 12.0 / 16 * 10 / 12);
}

// Twice the problem on twice the cores: Σt 10 -> 25, T 5 -> 6.25. 10/25 · 2 = 0.8, speedup 5/6.25 · 2 = 1.6.
TEST(FactorTable, WeakScaling) {
  const FactorTable table = Table({Row(2, 10, 5), Row(4, 25, 6.25)}, Scaling::kWeak);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 0.8);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kSpeedup], 1.6);
}

FactorTable OfTimes(const std::vector<std::pair<std::int64_t, double>>& times) {
  FactorTable table;
  for (const auto& [cores, seconds] : times) {
    FactorRow row;
    row.cores = row.ranks = cores;
    row.repeat = static_cast<std::int64_t>(table.rows.size());
    row.runtime = seconds;
    table.rows.push_back(row);
  }
  return table;
}

// 10 s on 2 cores, 4 s on 8: speedup 10/4, on 4 times the cores.
TEST(FactorTable, EfficiencyByTimes) {
  FactorTable table = OfTimes({{2, 10}, {8, 4}});
  CompleteTable(table);
  EXPECT_EQ(table.scaling, Scaling::kStrong);
  EXPECT_TRUE(IsScalingDecided(table));
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kGlobalEfficiency], 1);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kSpeedup], 2.5);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kGlobalEfficiency], 0.625);
  ChangeTerms(table, std::nullopt, 8);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kGlobalEfficiency], 1.6);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kGlobalEfficiency], 1);
  ChangeTerms(table, Scaling::kWeak, 2);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kGlobalEfficiency], 2.5) << "4 times the work";
}

// Of repeats: 10 / 4 and 10 / 5 s of the mean of 9 and 11 s.
TEST(FactorTable, EfficiencyByTimesOfRepeats) {
  FactorTable table = OfTimes({{1, 9}, {1, 11}, {2, 4}, {2, 5}});
  table.scaling = Scaling::kStrong;
  CompleteTable(table);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kGlobalEfficiency], 10.0 / 9);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kGlobalEfficiency], 1.25);
  EXPECT_DOUBLE_EQ(*table.rows[3].values[Factor::kGlobalEfficiency], 1);
}

std::string WhyIncomplete(FactorTable table) {
  try {
    CompleteTable(table);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

// Weak runs, or strong ones that gain nothing: 10 / 11 of the work, or of a fourth of it.
TEST(FactorTable, TimesThatStayDoNotTellTheScaling) {
  EXPECT_THAT(WhyIncomplete(OfTimes({{1, 10}, {2, 9}, {4, 11}})),
              HasSubstr("10 s on 1 core, 11 s on 4: efficiency 0.227 if strong, 0.909 if weak"));
  EXPECT_THAT(WhyIncomplete(OfTimes({{24, 20}, {48, 20}, {72, 20}})),
              HasSubstr("20 s on 24 cores, 20 s on 72: efficiency 0.333 if strong, 1.000 if weak"));
  FactorTable one = OfTimes({{4, 10}, {4, 5}});
  CompleteTable(one);
  EXPECT_FALSE(one.scaling) << "one core count says nothing";
}

// Each by itself: 10 / 5.5 / 2 and, told to be weak, 20 / 22.
TEST(FactorTable, SeriesThatScaleDifferently) {
  FactorTable table = OfTimes({{1, 10}, {2, 5.5}, {1, 20}, {2, 22}});
  for (std::size_t i = 0; i < 4; ++i) table.rows[i].series = i < 2 ? "a" : "b";
  EXPECT_THAT(WhyIncomplete(table), HasSubstr("series b: 20 s on 1 core, 22 s on 2"));
  table.rows[2].values[Factor::kSpeedup] = 1;
  table.rows[3].values[Factor::kSpeedup] = 2 * 20.0 / 22;
  PutInTerms(table, std::nullopt, std::nullopt);
  EXPECT_FALSE(table.scaling);
  for (const int reference : {1, 2, 1}) {
    ChangeTerms(table, std::nullopt, reference);
    EXPECT_EQ(ScalingOf(table, table.Rows("a", {})), Scaling::kStrong);
    EXPECT_EQ(ScalingOf(table, table.Rows("b", {})), Scaling::kWeak);
  }
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kGlobalEfficiency], 10 / 5.5 / 2);
  EXPECT_DOUBLE_EQ(*table.rows[3].values[Factor::kGlobalEfficiency], 20.0 / 22);
  EXPECT_THROW(PutInTerms(table, Scaling::kStrong, std::nullopt), Error);
}

// Work of a series that stays, and of one that grows with the cores.
TEST(FactorTable, SeriesWhoseWorkGrowsDifferently) {
  FactorTable table;
  table.rows = {Row(2, 10, 5), Row(8, 11, 2), Row(2, 10, 5), Row(8, 42, 6)};
  for (std::size_t i = 0; i < 4; ++i) table.rows[i].series = i < 2 ? "a" : "b";
  CompleteTable(table);
  CompleteTable(table);
  EXPECT_FALSE(table.scaling);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 10.0 / 11);
  EXPECT_DOUBLE_EQ(*table.rows[3].values[Factor::kComputationScalability], 40.0 / 42);
}

// 9.9 / 16 = 0.61875; from 2 cores on 9.9 / 1.92 / 8.
TEST(FactorTable, SpeedupAloneIsEfficiencyTimesCores) {
  FactorTable table;
  for (const auto& [cores, speedup] : {std::pair(1, 1.0), {2, 1.92}, {4, 3.57}, {8, 6.25}, {16, 9.9}}) {
    FactorRow row;
    row.cores = row.ranks = cores;
    row.values[Factor::kSpeedup] = speedup;
    table.rows.push_back(row);
  }
  FactorTable without_first = table;
  without_first.rows.erase(without_first.rows.begin());
  CompleteTable(table);
  EXPECT_DOUBLE_EQ(*table.rows[4].values[Factor::kGlobalEfficiency], 0.61875);
  ChangeTerms(table, std::nullopt, 2);
  EXPECT_DOUBLE_EQ(*table.rows[4].values[Factor::kGlobalEfficiency], 9.9 / 1.92 / 8);
  CompleteTable(without_first);
  EXPECT_DOUBLE_EQ(*without_first.rows[3].values[Factor::kGlobalEfficiency], 9.9 / 1.92 / 8);
}

// What is measured beside the time tells more.
TEST(FactorTable, TimesBesideAFactorAreNoEfficiency) {
  FactorTable table = OfTimes({{2, 10}, {8, 4}});
  for (FactorRow& row : table.rows) row.values[Factor::kLoadBalance] = 0.9;
  CompleteTable(table);
  EXPECT_FALSE(table.scaling);
  EXPECT_FALSE(table.rows[1].values[Factor::kGlobalEfficiency]);
}

// One master in runs of 2 and 4 cores: the problem is twice as large although its ranks are not more. 10/25 · 2 = 0.8.
TEST(FactorTable, WeakScalingOfAGroup) {
  std::vector<FactorRow> rows = {Row(2, 10, 12), Row(4, 25, 30)};
  for (FactorRow& row : rows) row.ranks = 1;
  const FactorTable table = Table(rows, Scaling::kWeak);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 0.8);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kSpeedup], 0.8);
}

// T = Σt / (P · PE), so the speedup follows from global efficiency, strong or weak.
TEST(FactorTable, SpeedupFollowsFromGlobalEfficiency) {
  for (const Scaling scaling : {Scaling::kStrong, Scaling::kWeak}) {
    const FactorTable table = Table({Row(2, 9, 5), Row(8, 13, 2.5), Row(32, 30, 2)}, scaling);
    for (const FactorRow& from : table.rows) {
      const SpeedupAnchor anchor = {static_cast<double>(from.cores), *from.values[Factor::kGlobalEfficiency],
                                    *from.values[Factor::kSpeedup]};
      for (const FactorRow& to : table.rows) {
        EXPECT_NEAR(*to.values[Factor::kSpeedup],
                    SpeedupFrom(*to.values[Factor::kGlobalEfficiency], static_cast<double>(to.cores), anchor), 1e-12);
      }
    }
  }
}

// ins 100 -> 120, cyc 50 -> 80, Σt 10 -> 12: 100/120, (120/80)/(100/50) = 0.75, (80/12)/(50/10) = 4/3; their product
// is 10/12.
TEST(FactorTable, ChildrenOfComputationScalability) {
  FactorRow a = Row(2, 10, 5), b = Row(4, 12, 4);
  a.totals->instructions = 100;
  a.totals->cycles = 50;
  b.totals->instructions = 120;
  b.totals->cycles = 80;
  const FactorTable table = Table({a, b}, Scaling::kStrong);
  const FactorValues& values = table.rows[1].values;
  EXPECT_DOUBLE_EQ(*values[Factor::kInstructionScaling], 100.0 / 120);
  EXPECT_DOUBLE_EQ(*values[Factor::kIpcScaling], 0.75);
  EXPECT_DOUBLE_EQ(*values[Factor::kFrequencyScaling], 4.0 / 3);
  EXPECT_NEAR(*values[Factor::kComputationScalability], 10.0 / 12, 1e-12);
}

// Cuts of different length compare by the iteration: 2 iterations of 5 each against 4 of 6 each.
TEST(FactorTable, PerIteration) {
  FactorRow a = Row(2, 10, 5), b = Row(4, 24, 8);
  a.iterations = 2;
  b.iterations = 4;
  const FactorTable table = Table({a, b}, Scaling::kStrong);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 5.0 / 6);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kSpeedup], 2.5 / 2);
}

TEST(FactorTable, ReferenceOfTheStudy) {
  FactorTable table;
  table.rows = {Row(2, 10, 5), Row(4, 12, 4)};
  table.scaling = Scaling::kStrong;
  table.reference = 4;
  CompleteTable(table);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kComputationScalability], 1.2);
  table.reference = 3;
  try {
    CompleteTable(table);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("runs are at 2, 4 cores"));
  }
}

// Two runs at the reference: their mean useful time, 11, is it.
TEST(FactorTable, RepeatsAtTheReferenceAreAveraged) {
  FactorRow again = Row(2, 12, 6);
  again.repeat = 1;
  const FactorTable table = Table({Row(2, 10, 5), again, Row(4, 11, 4)}, Scaling::kStrong);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kComputationScalability], 1);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kComputationScalability], 1.1);
}

// From 2 to 8 cores work that stays is strong, work that grows fourfold is weak; the border is its square root, 2.
TEST(FactorTable, ScalingIsDecidedFromTheWork) {
  FactorTable strong = Table({Row(2, 10, 5), Row(8, 19, 2)}, std::nullopt);
  EXPECT_EQ(strong.scaling, Scaling::kStrong);
  EXPECT_EQ(strong.scaling_source, "useful time");
  ASSERT_EQ(strong.findings.size(), 1u);
  EXPECT_EQ(strong.findings[0].id, "scalingGuessed");
  EXPECT_EQ(Table({Row(2, 10, 5), Row(8, 21, 2)}, std::nullopt).scaling, Scaling::kWeak);
  FactorRow a = Row(2, 10, 5), b = Row(8, 10, 5);
  a.totals->instructions = 100;
  b.totals->instructions = 390;
  const FactorTable by_instructions = Table({a, b}, std::nullopt);
  EXPECT_EQ(by_instructions.scaling, Scaling::kWeak);
  EXPECT_EQ(by_instructions.scaling_source, "instructions");
}

// The setup comes first and computes the same in both runs; the loop takes longest and grows fourfold with the cores.
// The check of scaling looks at the loop, too, so it does not contradict what was decided.
TEST(FactorTable, TheLongestPhaseDecidesTheScaling) {
  FactorRow setup = Row(2, 1, 0.5), loop = Row(2, 10, 5), larger_setup = Row(8, 1, 0.2), larger_loop = Row(8, 40, 5);
  setup.phase = larger_setup.phase = "setup";
  FactorTable table = Table({setup, larger_setup, loop, larger_loop}, std::nullopt);
  EXPECT_EQ(table.scaling, Scaling::kWeak);
  ASSERT_EQ(table.findings.size(), 1u);
  EXPECT_THAT(table.findings[0].example, HasSubstr("useful time grows 4 times from 2 to 8 cores: weak scaling"));
  CheckScaling(table, "table");
  EXPECT_EQ(table.findings.size(), 1u);
}

// Two, then four threads a process, and no other runs: four times the work on four times the cores is weak scaling.
TEST(FactorTable, CoresDecideTheScalingWhereThreadsDiffer) {
  FactorRow few = Row(2, 10, 5), many = Row(8, 40, 5);
  few.ranks = many.ranks = 1;
  few.threads = 2;
  many.threads = 8;
  EXPECT_EQ(Table({few, many}, std::nullopt).scaling, Scaling::kWeak);
}

TEST(FactorTable, OneRunAloneIsItsOwnReference) {
  const FactorTable table = Table({Row(8, 10, 5)}, std::nullopt);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kComputationScalability], 1);
  EXPECT_FALSE(table.scaling);
}

// From elsewhere, with run time and parallel efficiency: Σt = P · T · PE = 8, then 10.
TEST(FactorTable, UsefulTimeOfTablesFromElsewhere) {
  FactorRow a, b;
  a.cores = a.ranks = 2;
  a.runtime = 5;
  a.values[Factor::kParallelEfficiency] = 0.8;
  b.cores = b.ranks = 4;
  b.runtime = 5;
  b.values[Factor::kParallelEfficiency] = 0.5;
  const FactorTable table = Table({a, b}, Scaling::kStrong);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 0.8);
}

// Σt 10, 12, 15 at 2, 4, 8 cores. Against 4 cores: 12/10, 1, 12/15; T 5, 4, 2.5 gives speedups 4/5, 1, 4/2.5.
TEST(FactorTable, AnotherReferenceIsMeasuredAnew) {
  FactorTable table = Table({Row(2, 10, 5), Row(4, 12, 4), Row(8, 15, 2.5)}, Scaling::kStrong);
  ChangeTerms(table, std::nullopt, 4);
  EXPECT_EQ(table.reference, 4);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kComputationScalability], 1.2);
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 1);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kComputationScalability], 0.8);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kSpeedup], 1.6);
  EXPECT_DOUBLE_EQ(*table.rows[2].values[Factor::kGlobalEfficiency], 15.0 / 20 * 0.8);

  // Without totals the same comes from dividing.
  FactorTable divided = Table({Row(2, 10, 5), Row(4, 12, 4), Row(8, 15, 2.5)}, Scaling::kStrong);
  for (FactorRow& row : divided.rows) row.totals.reset();
  ChangeTerms(divided, std::nullopt, 4);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Factor factor : {Factor::kComputationScalability, Factor::kSpeedup, Factor::kGlobalEfficiency}) {
      EXPECT_NEAR(*divided.rows[i].values[factor], *table.rows[i].values[factor], 1e-15);
    }
  }
}

FactorRow RowWithErrors(std::int64_t cores, double useful, double elapsed, double useful_error, double elapsed_error) {
  FactorRow row = Row(cores, useful, elapsed);
  row.totals->errors = RelativeErrors{elapsed_error, useful_error, {}, {}, {}};
  row.standard_errors[Factor::kParallelEfficiency] = 0.02;
  return row;
}

// Σt 10 ± 10 %, 12 ± 5 %; T 5 ± 2 %, 4 ± 1 %. Every row has its own share of its own value: computation scalability
// 1 ± 0.1 and 10/12 ± 5 %, speedup 1 ± 0.02 and 5/4 ± 1 %, global efficiency (5/5 and 12/16 · 10/12) ± the same.
TEST(FactorTable, ErrorsOfWhatComparesAreThoseOfTheRun) {
  FactorTable table =
      Table({RowWithErrors(2, 10, 5, 0.1, 0.02), RowWithErrors(4, 12, 4, 0.05, 0.01)}, Scaling::kStrong);
  const auto expect = [&](std::size_t row, Factor factor, double value, double relative) {
    EXPECT_DOUBLE_EQ(*table.rows[row].values[factor], value);
    EXPECT_DOUBLE_EQ(*table.rows[row].standard_errors[factor], value * relative);
  };
  expect(0, Factor::kComputationScalability, 1, 0.1);
  expect(1, Factor::kComputationScalability, 10.0 / 12, 0.05);
  expect(0, Factor::kSpeedup, 1, 0.02);
  expect(1, Factor::kSpeedup, 5.0 / 4, 0.01);
  expect(1, Factor::kGlobalEfficiency, 12.0 / 16 * 10 / 12, 0.01);
  EXPECT_EQ(table.rows[1].standard_errors[Factor::kParallelEfficiency], 0.02);

  // Whatever the reference, the shares stay; with totals they are made anew, without them divided with the values.
  for (const bool with_totals : {true, false}) {
    FactorTable changed = table;
    if (!with_totals) {
      for (FactorRow& row : changed.rows) row.totals.reset();
    }
    ChangeTerms(changed, std::nullopt, 4);
    for (std::size_t row = 0; row < 2; ++row) {
      for (const Factor factor : {Factor::kComputationScalability, Factor::kSpeedup, Factor::kGlobalEfficiency}) {
        EXPECT_NEAR(*changed.rows[row].standard_errors[factor] / *changed.rows[row].values[factor],
                    *table.rows[row].standard_errors[factor] / *table.rows[row].values[factor], 1e-15);
      }
    }
    EXPECT_DOUBLE_EQ(*changed.rows[0].values[Factor::kComputationScalability], 1.2);
  }
  ChangeTerms(table, Scaling::kWeak, std::nullopt);
  expect(1, Factor::kSpeedup, 5.0 / 2, 0.01);
}

TEST(FactorTable, AnotherKindOfScalingNeedsTotals) {
  FactorTable table = Table({Row(2, 10, 5), Row(4, 25, 6.25)}, std::nullopt);
  EXPECT_EQ(table.findings.size(), 1u);  // decided, with a warning
  ChangeTerms(table, Scaling::kStrong, std::nullopt);
  EXPECT_TRUE(table.findings.empty());
  EXPECT_EQ(table.scaling_source, "command line");
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kComputationScalability], 0.4);
  for (FactorRow& row : table.rows) row.totals.reset();
  EXPECT_THROW(ChangeTerms(table, Scaling::kWeak, std::nullopt), Error);
}

// A table from elsewhere whose scalabilities are 1 at 4 cores was made with that reference.
TEST(FactorTable, ReferenceOfATableFromElsewhere) {
  FactorTable table = Table({Row(2, 10, 5), Row(4, 12, 4), Row(8, 15, 2.5)}, Scaling::kStrong);
  ChangeTerms(table, std::nullopt, 4);
  table.reference.reset();
  for (FactorRow& row : table.rows) row.totals.reset();
  CompleteTable(table);
  EXPECT_EQ(table.reference, 4);
}

TEST(FactorTable, RunsWithOtherNumbersOfThreadsAreSaid) {
  FactorRow threaded = Row(4, 10, 3);
  threaded.ranks = 2;
  threaded.threads = 2;
  const FactorTable table = Table({Row(2, 10, 5), threaded}, Scaling::kStrong);
  ASSERT_EQ(table.findings.size(), 1u);
  EXPECT_EQ(table.findings[0].id, "threadsDifferBetweenRuns");
}

// 4 cores that are useful for 0.9 · 0.8 of 3 s, MPI and OpenMP.
FactorRow HybridRow(std::int64_t cores, std::int64_t threads, double mpi, double openmp) {
  FactorRow row;
  row.phase = "p";
  row.cores = cores;
  row.threads = threads;
  row.ranks = cores / threads;
  row.runtime = 3;
  row.values[Factor::kLoadBalance] = mpi;
  row.values[Factor::kCommunicationEfficiency] = 1;
  row.values[Factor::kOmpParallelEfficiency] = openmp;
  return row;
}

TEST(FactorTable, ARunOfOneThreadStandsBesideHybridOnes) {
  FactorRow single = HybridRow(2, 1, 0.95, 1);
  single.values[Factor::kOmpParallelEfficiency].reset();
  const FactorTable table = Table({single, HybridRow(4, 2, 0.9, 0.8)}, Scaling::kStrong);
  EXPECT_TRUE(table.findings.empty());
  const FactorValues &one = table.rows[0].values, &two = table.rows[1].values;
  EXPECT_DOUBLE_EQ(*one[Factor::kMpiParallelEfficiency], 0.95);
  EXPECT_DOUBLE_EQ(*one[Factor::kOmpSerialization], 1);
  EXPECT_DOUBLE_EQ(*one[Factor::kParallelEfficiency], 0.95);
  EXPECT_DOUBLE_EQ(*two[Factor::kMpiParallelEfficiency], 0.9);
  EXPECT_DOUBLE_EQ(*two[Factor::kDeviceOffload], 1);
  EXPECT_DOUBLE_EQ(*two[Factor::kParallelEfficiency], 0.72);
  EXPECT_DOUBLE_EQ(*table.rows[1].UsefulTime(), 4 * 3 * 0.72);
  EXPECT_TRUE(IsShown(Factor::kOmpParallelEfficiency, table.rows));
  EXPECT_FALSE(IsShown(Factor::kDeviceOffload, table.rows));
  EXPECT_FALSE(IsShown(Factor::kDeviceParallelEfficiency, table.rows));
}

// A run without devices beside one that waits for them.
TEST(FactorTable, OffloadIsShownWhereAnyRunUsesDevices) {
  FactorRow with = HybridRow(4, 2, 0.9, 0.8);
  with.values[Factor::kDeviceOffload] = 0.5;
  const FactorTable table = Table({HybridRow(2, 2, 0.9, 0.8), with}, Scaling::kStrong);
  EXPECT_TRUE(IsShown(Factor::kDeviceOffload, table.rows));
  EXPECT_DOUBLE_EQ(*table.rows[1].values[Factor::kParallelEfficiency], 0.36);
}

// They are no repeats, so there is no curve over cores.
TEST(FactorTable, OtherThreadsOnTheSameCoresAreSaid) {
  const FactorTable table = Table({HybridRow(4, 2, 0.9, 0.8), HybridRow(4, 4, 0.95, 0.6)}, Scaling::kStrong);
  ASSERT_EQ(table.findings.size(), 1U);
  EXPECT_EQ(table.findings[0].id, "splitsDiffer");
  EXPECT_EQ(CoresOfSeveralSplits(PointersTo(table.rows)), 4);
  const FactorTable one = Table({HybridRow(2, 2, 0.9, 0.8), HybridRow(4, 4, 0.95, 0.6)}, Scaling::kStrong);
  EXPECT_TRUE(one.findings.empty());
  EXPECT_FALSE(CoresOfSeveralSplits(PointersTo(one.rows)).has_value());
}

// 0.9 · 0.8 = 0.72. To one percent that is rounding, whichever way; beyond it the table contradicts itself.
TEST(FactorTable, ParentsThatAreNotTheirProduct) {
  const auto findings_with = [](double parallel_efficiency) {
    FactorRow row;
    row.cores = row.ranks = 4;
    row.values[Factor::kLoadBalance] = 0.9;
    row.values[Factor::kCommunicationEfficiency] = 0.8;
    row.values[Factor::kParallelEfficiency] = parallel_efficiency;
    const FactorTable table = Table({row}, Scaling::kStrong);
    return std::count_if(table.findings.begin(), table.findings.end(),
                         [](const Finding& finding) { return finding.id == anomaly::kParentNotProduct.id; });
  };
  for (const double fine : {0.72, 0.726, 0.714}) EXPECT_EQ(findings_with(fine), 0) << fine;
  for (const double wrong : {0.73, 0.71}) EXPECT_EQ(findings_with(wrong), 1) << wrong;
}

TEST(FactorTable, SeriesAndPhases) {
  FactorRow a = Row(2, 1, 1), b = Row(1, 1, 1), c = Row(1, 1, 1);
  a.series = "x";
  b.series = "x";
  c.series = "y";
  c.phase = "q";
  FactorTable table;
  table.rows = {a, b, c};
  EXPECT_THAT(table.Series(), ElementsAre("x", "y"));
  EXPECT_THAT(table.Phases("y"), ElementsAre("q"));
  EXPECT_EQ(table.Rows("x", "p")[0].cores, 1);
  EXPECT_EQ(table.Rows("x", "p").size(), 2u);
  EXPECT_EQ(table.Rows("y", "q").size(), 1u);
  EXPECT_TRUE(table.Rows("x", "q").empty());  // in the table, but not together
}

}  // namespace
}  // namespace farscale
