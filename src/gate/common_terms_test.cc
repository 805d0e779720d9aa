#include "factors/anomalies.h"
#include "factors/factor_table.h"
#include "gate/result_files.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "results/factor_table_files.h"
#include "factors/scaling.h"
#include "gate/history_json.h"
#include "gate/verdicts.h"
#include "support/history_templates.h"

namespace farscale {
namespace {

using ::testing::HasSubstr;

// 4 s at any count with a parallel efficiency of 0.9: the work grows with the cores. Global efficiency is 0.9 for weak
// scaling; said to be strong, it is 0.9 · 8 / P.
FactorTable Grown(Scaling scaling, const std::vector<std::int64_t>& counts = {8, 16, 32, 64}, double efficiency = 0.9) {
  FactorTable table;
  table.scaling = scaling;
  for (const std::int64_t cores : counts) {
    FactorRow row;
    row.cores = row.ranks = cores;
    row.runtime = 4;
    row.values[Factor::kParallelEfficiency] = efficiency;
    table.rows.push_back(row);
  }
  CompleteTable(table);
  CheckScaling(table, "here");
  return table;
}

std::optional<double> GlobalAt(const FactorTable& table, std::int64_t cores) {
  for (const FactorRow& row : table.rows) {
    if (row.cores == cores) return row.values[Factor::kGlobalEfficiency];
  }
  return std::nullopt;
}

constexpr const char* kAgainstBaseline =
    "[[rule]]\nfactor = \"globalEfficiency\"\nmax_drop = 0.03\n"
    "[[rule]]\nfactor = \"parallelEfficiency\"\nmax_drop = 0.03\n";

GateReport JudgeAgainst(const FactorTable& table, const History& baseline) {
  GateInput input;
  input.results.name = "new.json";
  input.results.table = table;
  input.baseline = baseline;
  input.baseline_name = "old";
  return Judge(ParseRules(ConfigTable::Parse(kAgainstBaseline, "gate.toml"), "gate.toml"), input);
}

MeasuredResults Entry(const std::string& commit, FactorTable table) {
  return {"old.json", commit, "2026-11-20T12:00:00Z", "", std::move(table)};
}

// Said to be strong, the baseline has 0.9 at 8 and 0.1125 at 64 cores: no rise by 700 %, and no drop the other way.
// Parallel efficiency is the same, 0.9.
TEST(CommonTerms, GatesCompareNoOtherScaling) {
  for (const auto& [now, before] :
       {std::pair(Scaling::kWeak, Scaling::kStrong), std::pair(Scaling::kStrong, Scaling::kWeak)}) {
    const GateReport report = JudgeAgainst(Grown(now), {Entry("", Grown(before))});
    ASSERT_EQ(report.judgements.size(), 2u);
    EXPECT_EQ(report.judgements[0].verdict, Verdict::kUndecided);
    EXPECT_FALSE(report.judgements[0].change);
    EXPECT_THAT(report.judgements[0].sentence,
                HasSubstr("the baseline does not know globalEfficiency of the run; the scaling of old.json is " +
                          ToString(before) + ", that of new.json " + ToString(now)));
    EXPECT_EQ(report.judgements[1].verdict, Verdict::kPass);
    EXPECT_NEAR(*report.judgements[1].change, 0, 1e-12);
    EXPECT_EQ(report.ExitCode(), 4);
    for (const std::string& text : {WriteGateTable(report), WriteGateMarkdown(report), WriteGateJson(report)}) {
      EXPECT_THAT(text, HasSubstr("results differ in scaling, or have no common reference run"));
      EXPECT_THAT(text, HasSubstr("the work of the runs does not grow as their scaling says"));  // of either side
    }
  }
}

TEST(CommonTerms, GatesCompareTheSameScaling) {
  const GateReport report = JudgeAgainst(Grown(Scaling::kWeak), {Entry("a", Grown(Scaling::kWeak))});
  EXPECT_EQ(report.ExitCode(), 0);
  EXPECT_TRUE(report.findings.empty());
}

// A commit that scales otherwise is no part of the baseline of 0.9: with its 0.9 · 8 / P, the mean at 64 cores would be
// √(0.9 · 0.1125) = 0.318.
TEST(CommonTerms, HistoriesLeaveOutOtherScalings) {
  const History history = {Entry("right", Grown(Scaling::kWeak)), Entry("wrong", Grown(Scaling::kStrong))};
  const GateReport report = JudgeAgainst(Grown(Scaling::kWeak), history);
  EXPECT_EQ(report.judgements[0].verdict, Verdict::kPass);
  EXPECT_NEAR(*report.judgements[0].before, 0.9, 1e-12);
  EXPECT_THAT(WriteGateTable(report), HasSubstr("(the scaling of commit wrong is strong, that of new.json weak)"));

  const HistoryView view = ViewOf(history, "History");
  for (const HistoryTrack& track : view.tracks) {
    if (track.quantity != Quantity::Of(Factor::kGlobalEfficiency)) continue;
    EXPECT_FALSE(track.values[0][3]);  // in terms of the newest
    EXPECT_NEAR(*track.values[1][3], 0.1125, 1e-12);
    EXPECT_FALSE(track.last);
  }
  for (const std::string& text : {WriteHistoryTable(view), WriteHistoryMarkdown(view, test::HistoryTemplates()),
                                  WriteHistoryHtml(view, test::HistoryTemplates()), WriteTracksJson(view)}) {
    EXPECT_THAT(text, HasSubstr("the scaling of commit right is weak, that of commit wrong strong"));
    EXPECT_THAT(text, HasSubstr("commit wrong: said to be strong, but from 8 to 64 cores"));
  }
}

// Strong scaling with 10, 6 and 4 s of useful time on 8, 16 and 32 cores: scalabilities are 1, 10/6, 10/4 from 8 cores
// and 1, 6/4 from 16. Results that lack the run on 8 cores are compared from 16, levels are as they were.
TEST(CommonTerms, ReferencesAreMoved) {
  const auto table = [](const std::vector<std::pair<std::int64_t, double>>& runs) {
    FactorTable made;
    made.scaling = Scaling::kStrong;
    for (const auto& [cores, useful] : runs) {
      FactorRow row;
      row.cores = row.ranks = cores;
      row.runtime = useful / static_cast<double>(cores) / 0.9;
      row.values[Factor::kParallelEfficiency] = 0.9;
      made.rows.push_back(row);
    }
    CompleteTable(made);
    return made;
  };
  FactorTable all = table({{8, 10}, {16, 6}, {32, 4}}), larger = table({{16, 6}, {32, 4}});
  for (const bool results_lack_it : {true, false}) {
    const GateReport report =
        results_lack_it ? JudgeAgainst(larger, {Entry("a", all)}) : JudgeAgainst(all, {Entry("a", larger)});
    const Judgement& global = report.judgements[0];
    EXPECT_NEAR(*global.change, 0, 1e-12);
    EXPECT_THAT(global.cores, testing::ElementsAre(16, 32));
    EXPECT_EQ(global.verdict, Verdict::kPass);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].id, "referenceMoved");
    EXPECT_THAT(report.findings[0].example, HasSubstr("16 instead of 8 cores"));
  }
  AgreeOnTerms({{"old", &all}, {"new", &larger}});
  EXPECT_NEAR(*GlobalAt(all, 32), 0.9 * 6 / 4, 1e-12);
}

// Global efficiency alone cannot be put in terms of another run.
TEST(CommonTerms, WhatCannotBeMovedIsNotCompared) {
  FactorTable old = Grown(Scaling::kWeak);
  for (FactorRow& row : old.rows) {
    row.runtime.reset();
    for (const Factor factor : {Factor::kParallelEfficiency, Factor::kComputationScalability, Factor::kSpeedup}) {
      row.values[factor].reset();
    }
  }
  FactorTable now = Grown(Scaling::kWeak, {16, 32});
  const auto findings = AgreeOnTerms({{"old", &old}, {"new", &now}}).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].example, "old compares with its run on 8 cores, new with that on 16");
  EXPECT_FALSE(GlobalAt(old, 16));
  EXPECT_TRUE(GlobalAt(now, 16));
}

// One run alone is 1 of itself, however it scales; other counts compare with nothing.
TEST(CommonTerms, WhereTheyDoNotMatter) {
  FactorTable one = Grown(Scaling::kStrong, {64}), all = Grown(Scaling::kWeak), others = Grown(Scaling::kStrong, {128});
  EXPECT_EQ(AgreeOnTerms({{"all", &all}, {"one", &one}}).count(anomaly::kTermsDiffer), 0u);
  EXPECT_EQ(GlobalAt(all, 64), GlobalAt(one, 64));
  all = Grown(Scaling::kWeak);
  EXPECT_TRUE(AgreeOnTerms({{"all", &all}, {"others", &others}}).empty());
}

class ResultFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("terms_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    CreateFolder(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const FactorTable& table) const {
    WriteFile(folder_ / name, WriteFactorJson(table));
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

// The mean of 0.9 and 0.1125 would be no efficiency of anything.
TEST_F(ResultFolder, RepeatsOfAnotherScalingAreRefused) {
  const std::string right = Write("right.json", Grown(Scaling::kWeak)),
                    wrong = Write("wrong.json", Grown(Scaling::kStrong, {8, 16, 32, 64}, 0.89));
  for (const auto& paths : {std::vector{right, wrong}, std::vector{wrong, right}}) {
    try {
      ReadResultFiles(paths);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("are no repeats of each other"));
    }
  }
}

// What is odd about the second file stays known.
TEST_F(ResultFolder, RepeatsKeepTheirFindings) {
  FactorTable first = Grown(Scaling::kStrong), second = Grown(Scaling::kStrong, {8, 16, 32, 64}, 0.89);
  first.findings.clear();
  EXPECT_EQ(MergeRepeats({first, second}).findings, second.findings);
  ASSERT_EQ(MergeRepeats({second, second}).findings.size(), 1u);
  EXPECT_EQ(MergeRepeats({second, second}).findings[0].count, 2u);
}

}  // namespace
}  // namespace farscale
