#include "report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ThreadSplit MakeSplit(std::int64_t processes, std::int64_t threads, double time, Reliability reliability) {
  ThreadSplit split;
  split.processes = processes;
  split.threads = threads;
  split.efficiency = {0.8 / time, {0.75 / time, 0.85 / time}};
  split.time = {time, {0.9 * time, 1.1 * time}};
  split.seconds = {0.002 * time, {0.0018 * time, 0.0022 * time}};
  split.reliability = reliability;
  split.may_be_best = split.time.interval80.low <= 1;
  return split;
}

// On 64 cores 32 × 2 is best, and 16 × 4 cannot be told apart; on 128 all is unknown.
Results HybridResults() {
  Results results;
  FactorRow row;
  row.phase = "step";
  row.cores = row.ranks = 8;
  results.table.rows = {row};
  ThreadSplits near, far;
  near.phase = far.phase = "step";
  near.splits = {MakeSplit(64, 1, 1.5, Reliability::kUncertain), MakeSplit(32, 2, 1, Reliability::kReliable),
                 MakeSplit(16, 4, 1.05, Reliability::kReliable)};
  near.best = 1;
  far.splits = {MakeSplit(128, 1, 1, Reliability::kUnknown)};
  results.splits = {{64, {near}}, {128, {far}}};
  return results;
}

TEST(SplitsSection, TheBestSplitOfEveryTarget) {
  ReportModel model;
  const ReportData section = Splits(HybridResults(), {"", "step"}, {"step", "step"}, test::OwnTexts(), model);
  EXPECT_THAT(section["sentences"],
              ElementsAre("64 cores: best with 32 processes of 2 threads: 2.00 ms (1.80–2.20) per iteration, parallel "
                          "efficiency 0.800 (0.750–0.850).",
                          "MPI parallel efficiency limits it most.", "Cannot be told apart from it: 16 × 4."));
  ASSERT_EQ(section["best"].size(), 2U);
  EXPECT_EQ(section["best"][0]["split"], "32 × 2");
  EXPECT_EQ(section["best"][0]["reliability"], "");
  EXPECT_EQ(section["best"][1]["split"], "–");
  EXPECT_EQ(section["best"][1]["reliability"], "unknown");
  ASSERT_EQ(section["details"].size(), 4U);
  EXPECT_EQ(section["details"][0]["cores"], "64");
  EXPECT_EQ(section["details"][0]["overBest"], "(1.35–1.65)");  // uncertain: the interval alone
  EXPECT_EQ(section["details"][1]["cores"], "");
  EXPECT_TRUE(section["details"][1]["isBest"].get<bool>());
  EXPECT_EQ(model.figures.size(), 1U);
}

TEST(SplitsSection, OnTheTerminal) {
  const std::string text = FormatBestSplits(HybridResults(), test::OwnTexts(), {});
  EXPECT_THAT(text, HasSubstr("Processes and threads, step\n  64 cores: best with 32 processes"));
  EXPECT_THAT(text, HasSubstr("32 × 2"));
}

TEST(SplitsSection, WhyThereIsNone) {
  Results results = HybridResults();
  results.splits.erase(results.splits.begin());
  EXPECT_THAT(FormatBestSplits(results, test::OwnTexts(), {}), HasSubstr("too uncertain to use"));
  ThreadSplits& phase = results.splits.front().phases.front();
  phase.splits.clear();
  phase.obstacle = "add a run of 1 × 2";
  const std::string text = FormatBestSplits(results, test::OwnTexts(), {});
  EXPECT_THAT(text, HasSubstr("Best splits are unknown: add a run of 1 × 2."));
  EXPECT_THAT(text, Not(HasSubstr("limited most by")));
}

// Reports of other studies have no such section.
TEST(SplitsSection, NothingWithoutSplits) {
  Results results = HybridResults();
  results.splits.clear();
  ReportModel model;
  EXPECT_FALSE(Splits(results, {"", "step"}, {"step", "step"}, test::OwnTexts(), model));
  EXPECT_EQ(FormatBestSplits(results, test::OwnTexts(), {}), "");
  EXPECT_TRUE(model.figures.empty());
}

}  // namespace
}  // namespace farscale
