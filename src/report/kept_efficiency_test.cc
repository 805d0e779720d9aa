// What verdicts grade, worked out by hand and on programs of which more runs are known.
#include "report/sections.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "factors/factor_table.h"
#include "results/factor_table_files.h"
#include "support/models.h"

namespace farscale {
namespace {

using Kind = CountBound::Kind;

FactorTable TableOf(const std::string& csv) {
  FactorTable table = ReadFactorCsv(csv, "t.csv");
  CompleteTable(table);
  return table;
}

KeptEfficiency Kept(const FactorTable& table, const PhaseProjection* projection = nullptr) {
  return *FindKeptEfficiency(table.Rows("", {}), projection);
}

TEST(KeptEfficiency, IsGlobalWhereComputationIsKnown) {
  const FactorTable parallel = TableOf("cores,parallelEfficiency\n8,0.9\n16,0.8\n32,0.7\n");
  EXPECT_EQ(Kept(parallel).factor, Factor::kParallelEfficiency);
  EXPECT_EQ(Kept(parallel).count.value, (CountBound{Kind::kAt, 16}));
  const FactorTable global =
      TableOf("cores,parallelEfficiency,computationScalability\n8,0.9,1\n16,0.8,0.9\n32,0.7,0.5\n");
  EXPECT_EQ(Kept(global).factor, Factor::kGlobalEfficiency);  // 0.72 on 16 cores
  EXPECT_EQ(Kept(global).count.value, (CountBound{Kind::kAt, 8}));
  EXPECT_NEAR(Kept(global).at_largest, 0.35, 1e-12);
}

TEST(KeptEfficiency, EndsOfTheRuns) {
  EXPECT_EQ(Kept(TableOf("cores,parallelEfficiency\n8,0.7\n16,0.6\n")).count.value, (CountBound{Kind::kBelow, 8}));
  EXPECT_EQ(Kept(TableOf("cores,parallelEfficiency\n8,0.9\n16,0.8\n")).count.value, (CountBound{Kind::kMoreThan, 16}));
  // Repeats count by their median.
  const FactorTable repeats = TableOf("cores,repeat,parallelEfficiency\n8,0,0.9\n16,0,0.8\n16,1,0.76\n16,2,0.2\n");
  EXPECT_EQ(Kept(repeats).count.value, (CountBound{Kind::kMoreThan, 16}));
}

// Amdahl's law with a serial share s keeps 75 % up to 1 + 1 / (3 s) cores; runs on more cores of the same curve, which
// are fitted too, or held back, do not change what is said but within the intervals.
TEST(KeptEfficiency, MoreRunsOnTheCurveDoNotContradict) {
  std::mt19937 random(5);
  for (int program = 0; program < 10; ++program) {
    const double serial = std::exp(std::uniform_real_distribution<double>(std::log(0.0005), std::log(0.05))(random));
    const double truth = 1 + 1 / (3 * serial);
    std::string csv = "cores,parallelEfficiency\n";
    std::vector<std::string> verdicts;
    for (int i = 1; i <= 8; ++i) {
      const double cores = std::exp2(i);
      const double noise = std::normal_distribution<double>(0, 0.002)(random);
      csv += fmt::format("{},{}\n", cores, std::min(1.0, 1 / (1 + serial * (cores - 1)) + noise));
      if (i < 5) continue;
      const FactorTable table = TableOf(csv);
      const auto projections = Project(table, test::AllModels(), {{}, {}, {}});
      const KeptEfficiency kept = Kept(table, &projections[0]);
      if (kept.reliability == Reliability::kUnknown || kept.count.value.kind != Kind::kAt) continue;
      ASSERT_TRUE(kept.count.low && kept.count.high);
      EXPECT_LE(kept.count.low->cores, 1.05 * truth + 1) << csv;
      EXPECT_GE(1.05 * kept.count.high->cores + 1, truth) << csv;
      verdicts.push_back(ShortCount(kept));
    }
    if (truth < 100) {
      EXPECT_GE(verdicts.size(), 3u) << truth;
    }
  }
}

TEST(KeptEfficiency, RunsThatAreHeldBackDecide) {
  const FactorTable table = TableOf("cores,parallelEfficiency\n2,0.99\n4,0.98\n8,0.97\n16,0.95\n32,0.9\n64,0.4\n");
  ProjectionOptions options{{}, {}, {}};
  options.train_max = 16;
  const auto projections = Project(table, test::AllModels(), options);
  EXPECT_LT(Kept(table, &projections[0]).count.value.cores, 64);
  EXPECT_GE(Kept(table, &projections[0]).count.value.cores, 32);
}

}  // namespace
}  // namespace farscale
