#include "projection/backtest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/diagnostics.h"
#include "base/files.h"
#include "results/factor_table_files.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "results/results_json.h"
#include "support/models.h"
#include "support/tables.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Transfer by Amdahl's law, load balance the same everywhere.
FactorTable LawfulTable() {
  std::string csv = "cores,loadBalance,communicationEfficiency\n";
  for (const int p : {2, 4, 8, 16, 32}) {
    csv += std::to_string(p) + ",0.9," + std::to_string(1 / (0.99 + 0.01 * p)) + "\n";
  }
  return test::CompletedTable(csv);
}

// A single model in one dimension for every factor.
ProjectionOptions Fixed(const std::string& model) { return {{{{{model, {1}}}, "test"}, {}, {}}, {}, {}}; }

std::vector<BacktestRow> RowsOf(const BacktestResult& result, Factor factor) {
  std::vector<BacktestRow> rows;
  for (const BacktestRow& row : result.rows) {
    if (row.factor == factor) rows.push_back(row);
  }
  return rows;
}

BacktestRow Row(double measured, double value, std::optional<IntervalBounds> interval80 = std::nullopt) {
  BacktestRow row;
  row.measured = measured;
  row.predicted = {64, 2, value, interval80, std::nullopt};
  row.model = "amdahl";
  return row;
}

std::vector<const BacktestRow*> Pointers(const std::vector<BacktestRow>& rows) {
  std::vector<const BacktestRow*> pointers;
  for (const BacktestRow& row : rows) pointers.push_back(&row);
  return pointers;
}

// Five core counts: trained up to 8, then up to 16. What follows a law is predicted as it is.
TEST(Backtest, LawsAreFoundAgain) {
  const BacktestResult result = Backtest(LawfulTable(), test::AllModels(), Fixed("amdahl"), {});
  const std::vector<BacktestRow> rows = RowsOf(result, Factor::kParallelEfficiency);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].train_max, 8);
  EXPECT_EQ(rows[0].predicted.cores, 16);
  EXPECT_EQ(rows[0].predicted.ratio, 2);
  EXPECT_EQ(rows[1].train_max, 8);
  EXPECT_EQ(rows[1].predicted.cores, 32);
  EXPECT_EQ(rows[1].predicted.ratio, 4);
  EXPECT_EQ(rows[2].train_max, 16);
  EXPECT_EQ(rows[2].predicted.ratio, 2);
  EXPECT_EQ(rows[0].model, "product");
  EXPECT_EQ(RowsOf(result, Factor::kCommunicationEfficiency)[0].model, "amdahl");
  EXPECT_EQ(result.rows.size(), 9u);
  for (const BacktestRow& row : result.rows) {
    EXPECT_NEAR(*RelativeErrorOf(row), 0, 1e-4);
    ASSERT_TRUE(row.predicted.interval80 && row.predicted.interval95);
    EXPECT_TRUE(Contains(*row.predicted.interval80, row.measured));
    EXPECT_TRUE(Contains(*row.predicted.interval95, row.measured));
  }
  EXPECT_THAT(DescribeGaps(result), IsEmpty());
}

// 43 core counts allow 40 splits; 16 of them are evenly spread, up to the one that leaves a single run.
TEST(Backtest, ManyCountsAreNotAllSplit) {
  std::string csv = "cores,loadBalance\n";
  for (int p = 1; p <= 43; ++p) csv += std::to_string(p) + ",0.9\n";
  const BacktestResult result = Backtest(test::CompletedTable(csv), test::AllModels(), Fixed("constant"), {});
  std::set<double> splits;
  for (const BacktestRow& row : result.rows) splits.insert(row.train_max);
  EXPECT_EQ(splits.size(), 16u);
  EXPECT_EQ(*splits.begin(), 5);
  EXPECT_EQ(*splits.rbegin(), 42);
}

// Nothing in the smaller runs tells that load balance falls.
TEST(Backtest, JumpsAreMissed) {
  const FactorTable table = test::CompletedTable("cores,loadBalance\n2,0.9\n4,0.9\n8,0.9\n16,0.9\n32,0.1\n");
  const BacktestResult result = Backtest(table, test::AllModels(), Fixed("constant"), {});
  const BacktestRow& jump = result.rows.back();
  EXPECT_NEAR(jump.predicted.value, 0.9, 1e-4);
  EXPECT_NEAR(*RelativeErrorOf(jump), 8, 0.01);
  EXPECT_FALSE(Contains(*jump.predicted.interval95, jump.measured));
  const std::vector<ErrorsAtRatio> errors = ErrorsByRatio(result.rows);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].errors.points, 2u);  // 16 cores from 8, 32 from 16
  EXPECT_EQ(errors[0].errors.interval80->Coverage(), 0.5);
  EXPECT_EQ(errors[1].errors.interval80->Coverage(), 0);  // 32 cores from 8
}

TEST(Backtest, WhatIsHiddenDoesNotMatter) {
  const std::string head = "cores,loadBalance,communicationEfficiency,computationScalability\n";
  const std::string small = head + "2,0.9,0.95,1.1\n4,0.85,0.93,1.08\n8,0.8,0.9,1.05\n";
  const FactorTable one = test::CompletedTable(small + "16,0.79,0.88,1\n"),
                    other = test::CompletedTable(small + "16,0.3,0.2,0.5\n");
  FactorTable far = one;  // the reference is hidden as well
  far.reference = 16;
  const std::vector<BacktestRow> rows = Backtest(one, test::AllModels(), {}, {}).rows;
  EXPECT_EQ(rows.size(), 5u);  // three factors, parallel and global efficiency
  for (const FactorTable& table : {other, far}) {
    const std::vector<BacktestRow> again = Backtest(table, test::AllModels(), {}, {}).rows;
    ASSERT_EQ(again.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(again[i].factor, rows[i].factor);
      EXPECT_EQ(again[i].predicted, rows[i].predicted);
    }
  }
}

TEST(Backtest, EveryRepeatIsARow) {
  const BacktestResult result =
      Backtest(test::CompletedTable("cores,loadBalance\n2,0.9\n4,0.8\n8,0.7\n16,0.61\n16,0.59\n16,0.6\n"),
               test::AllModels(), {}, {});
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_EQ(result.rows[0].measured, 0.61);
  EXPECT_EQ(result.rows[1].measured, 0.59);
  EXPECT_EQ(result.rows[2].measured, 0.6);
  EXPECT_EQ(result.rows[2].repeat, 2);
  EXPECT_EQ(result.rows[0].predicted, result.rows[2].predicted);
}

// Of series a, 2 leaves too few, 8 and 10 the same, 16 nothing to predict; b has one count to train on at most.
TEST(Backtest, SplitsThatGiveNothingAreCounted) {
  const FactorTable table = test::CompletedTable(
      "series,phase,cores,loadBalance\na,,2,0.9\na,,4,0.9\na,,8,0.9\na,,16,0.9\nb,p,8,0.9\nb,p,128,0.9\n");
  const BacktestResult result = Backtest(table, test::AllModels(), {}, {10, 2, 8, 16, 8});
  EXPECT_THAT(result.rows, testing::SizeIs(1));
  EXPECT_EQ(result.rows[0].train_max, 8);
  EXPECT_EQ(result.tried, 8u);
  EXPECT_EQ(result.too_few, 5u);
  EXPECT_EQ(result.nothing_larger, 1u);
  EXPECT_EQ(result.same_runs, 1u);
  EXPECT_THAT(
      DescribeGaps(result),
      ElementsAre("7 of 8 splits into runs to train on and runs to predict give nothing: 5 with too few core counts to "
                  "train on, 1 with no larger run to predict, 1 with the same runs as a smaller one (first: a up to 2 "
                  "cores)"));
}

// Trained up to 9 cores, the largest of them is 8.
TEST(Backtest, RatiosAreToTheLargestRunTrainedOn) {
  const BacktestResult result = Backtest(LawfulTable(), test::AllModels(), {}, {9});
  EXPECT_EQ(result.rows[0].train_max, 9);
  EXPECT_EQ(result.rows[0].predicted.ratio, 2);
}

TEST(Backtest, ByDefaultFourCoreCountsAreNeeded) {
  const FactorTable table = test::CompletedTable("cores,loadBalance\n2,0.9\n4,0.9\n8,0.9\n");
  const BacktestResult result = Backtest(table, test::AllModels(), {}, {});
  EXPECT_THAT(result.rows, IsEmpty());
  EXPECT_EQ(result.too_few, 1u);
  EXPECT_THAT(DescribeGaps(result).front(), HasSubstr("(first: a series)"));
  EXPECT_THAT(Backtest(table, test::AllModels(), {}, {4}).rows,
              testing::SizeIs(1));  // when asked for, two are enough
}

TEST(Backtest, OnlyTheLargestSplitsForReports) {
  std::string csv = "cores,loadBalance\n";
  for (int p = 2; p <= 512; p *= 2) csv += std::to_string(p) + ",0.9\n";
  const FactorTable table = test::CompletedTable(csv);
  EXPECT_EQ(Backtest(table, test::AllModels(), {}, {}).rows.size(), 21u);  // 6 + 5 + 4 + 3 + 2 + 1
  const std::vector<BacktestRow> few = BacktestForReport(table, test::AllModels(), {{}, {}, {}});
  ASSERT_EQ(few.size(), 6u);
  EXPECT_EQ(few.front().train_max, 64);
  EXPECT_EQ(few.back().train_max, 256);
}

// Transfer is known at one of the smaller runs only and load balance not at the largest.
TEST(Backtest, GapsAreCounted) {
  const BacktestResult result =
      Backtest(test::CompletedTable("cores,loadBalance,transferEfficiency\n2,0.9,0.9\n4,0.9,\n8,0.9,\n16,,0.9\n"),
               test::AllModels(), {}, {});
  EXPECT_THAT(result.rows, IsEmpty());
  EXPECT_EQ(result.not_measured, 1u);
  EXPECT_EQ(result.not_predicted, 1u);
  EXPECT_THAT(DescribeGaps(result),
              ElementsAre("1 hidden values are not predicted, since no model could be fitted to their factor",
                          "1 predictions are of factors that the hidden run does not have"));
}

TEST(Backtest, ModelsAskedForInVainAreSaid) {
  ProjectionOptions options;
  options.models.by_factor[Factor::kParallelEfficiency] = {{{"constant", {}}}, "test"};
  const BacktestResult result = Backtest(LawfulTable(), test::AllModels(), options, {});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].id, "modelNotUsed");
  options.models.by_factor = {{Factor::kLoadBalance, {{{"none", {}}}, "test"}}};
  EXPECT_THROW(Backtest(LawfulTable(), test::AllModels(), options, {}), Error);
}

TEST(Backtest, SameAtAnyThreadCount) {
  std::string csv = "series,cores,loadBalance,transferEfficiency\n";
  for (const char* series : {"a", "b", "c", "d"}) {
    for (int p = 2; p <= 64; p *= 2) csv += fmt::format("{},{},{},{}\n", series, p, 0.9 - 0.001 * p, 1 - 0.003 * p);
  }
  const FactorTable table = test::CompletedTable(csv);
  std::vector<std::string> texts;
  for (const std::size_t threads : {1u, 4u}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    texts.push_back(WriteBacktestCsv(Backtest(table, test::AllModels(), {}, {}).rows));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

// 2 / α is 10 for 80 % and 40 for 95 %.
TEST(IntervalScore, WidthAndDistance) {
  const IntervalBounds interval{0.4, 0.6};
  EXPECT_NEAR(IntervalScore(interval, 0.80, 0.5), 0.2, 1e-12);
  EXPECT_NEAR(IntervalScore(interval, 0.80, 0.6), 0.2, 1e-12);
  EXPECT_NEAR(IntervalScore(interval, 0.80, 0.3), 0.2 + 10 * 0.1, 1e-12);
  EXPECT_NEAR(IntervalScore(interval, 0.80, 0.7), 0.2 + 10 * 0.1, 1e-12);
  EXPECT_NEAR(IntervalScore(interval, 0.95, 0.7), 0.2 + 40 * 0.1, 1e-12);
}

TEST(NearestPowerOfTwo, AsRatiosGo) {
  EXPECT_EQ(NearestPowerOfTwo(1.41), 1);
  EXPECT_EQ(NearestPowerOfTwo(1.42), 2);
  EXPECT_EQ(NearestPowerOfTwo(2), 2);
  EXPECT_EQ(NearestPowerOfTwo(2.82), 2);
  EXPECT_EQ(NearestPowerOfTwo(27.0 / 8), 4);
  EXPECT_EQ(NearestPowerOfTwo(64), 64);
}

// Errors of 10, 20, 30 and 40 %, so 25 % in the median; nine tenths are below the place 2.7 from 0 on, 37 %. Two of
// three intervals hold; their scores are 0.2, 0.1 and 0.2 + 10 · 0.1.
TEST(ErrorsOf, ByHand) {
  const std::vector<BacktestRow> rows = {Row(0.5, 0.55, IntervalBounds{0.45, 0.65}),
                                         Row(0.5, 0.4, IntervalBounds{0.4, 0.5}),
                                         Row(0.5, 0.65, IntervalBounds{0.6, 0.8}), Row(0.5, 0.7), Row(0, 0.1)};
  const PredictionErrors errors = ErrorsOf(Pointers(rows));
  EXPECT_EQ(errors.points, 5u);
  EXPECT_EQ(errors.without_error, 1u);
  EXPECT_NEAR(*errors.median, 0.25, 1e-12);
  EXPECT_NEAR(*errors.percentile90, 0.37, 1e-12);
  EXPECT_EQ(errors.interval80->points, 3u);
  EXPECT_EQ(errors.interval80->inside, 2u);
  EXPECT_NEAR(errors.interval80->score, (0.2 + 0.1 + 1.2) / 3, 1e-12);
  EXPECT_FALSE(errors.interval95);
  EXPECT_FALSE(ErrorsOf({}).median);
}

TEST(ErrorsBy, RatioAndPhase) {
  std::vector<BacktestRow> rows(5, Row(0.5, 0.6));
  rows[1].predicted.ratio = 3.9;
  rows[2].predicted.ratio = 4.1;
  rows[3].factor = Factor::kGlobalEfficiency;
  rows[4].series = "b";
  const std::vector<ErrorsAtRatio> by_ratio = ErrorsByRatio(rows);
  ASSERT_EQ(by_ratio.size(), 3u);
  EXPECT_EQ(by_ratio[0].factor, Factor::kGlobalEfficiency);
  EXPECT_EQ(by_ratio[1].ratio, 2);
  EXPECT_EQ(by_ratio[1].errors.points, 2u);
  EXPECT_EQ(by_ratio[2].ratio, 4);
  EXPECT_EQ(by_ratio[2].errors.points, 2u);
  const auto by_phase = ErrorsByPhase(rows, Factor::kParallelEfficiency);
  ASSERT_EQ(by_phase.size(), 2u);
  EXPECT_EQ(by_phase[0].second.points, 3u);
  EXPECT_EQ(by_phase[1].first.series, "b");
}

// The second of ours is not predicted by the others, whose first has no interval.
TEST(CompareBacktests, OnlyWhatBothHave) {
  std::vector<BacktestRow> ours(2, Row(0.5, 0.6, IntervalBounds{0.4, 0.7}));
  ours[1].series = "b";
  const std::vector<BacktestRow> others = {Row(0.5, 0.75)};
  const BacktestComparison comparison = CompareBacktests(ours, others, "amdahl");
  ASSERT_EQ(comparison.errors.size(), 1u);
  ASSERT_EQ(comparison.errors_against.size(), 1u);
  EXPECT_EQ(comparison.errors[0].errors.points, 1u);
  EXPECT_NEAR(*comparison.errors[0].errors.median, 0.2, 1e-12);
  EXPECT_NEAR(*comparison.errors_against[0].errors.median, 0.5, 1e-12);
  EXPECT_FALSE(comparison.errors[0].errors.interval80);
}

TEST(BacktestFiles, Csv) {
  BacktestRow row = Row(0.5, 0.625, IntervalBounds{0.5, 0.75});
  row.series = "a, b";
  row.phase = {"step", "pme"};
  row.train_max = 33;
  EXPECT_EQ(WriteBacktestCsv({row}),
            "series,phase,group,factor,train_max,cores,ratio,measured,value,low80,high80,low95,high95,model\n"
            "\"a, b\",step,pme,parallelEfficiency,33,64,2,0.5,0.625,0.5,0.75,,,amdahl\n");
}

TEST(BacktestFiles, JsonIsReadBack) {
  std::vector<BacktestRow> rows = Backtest(LawfulTable(), test::AllModels(), {}, {}).rows;
  rows[0].repeat = 3;
  rows[1].predicted.interval95.reset();
  EXPECT_EQ(FromJson<std::vector<BacktestRow>>(JsonOf(rows), "f"), rows);
  const auto json = nlohmann::ordered_json::parse(WriteBacktestJson(rows, CompareBacktests(rows, rows, "itself")));
  EXPECT_EQ(FromJson<std::vector<BacktestRow>>(json.at("rows"), "f"), rows);
  EXPECT_EQ(json.at("summary"), json.at("comparison").at("summaryAgainst"));
  auto broken = JsonOf(rows);
  broken[0]["ratio"] = 0;
  EXPECT_THROW(FromJson<std::vector<BacktestRow>>(broken, "f"), Error);
}

}  // namespace
}  // namespace farscale
