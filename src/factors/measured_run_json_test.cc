#include "factors/measured_run_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string Region(const std::string& name, int ranks, int starts, double elapsed, double efficiency) {
  return fmt::format(
      R"({{"name": "{}", "ranks": {}, "fewestStarts": {}, "mostStarts": {}, "elapsed": {},
          "usefulAverage": {}, "usefulLargest": {}, "usefulTotal": {},
          "factors": {{"parallelEfficiency": {}, "loadBalance": {}, "communicationEfficiency": 1}}}})",
      name, ranks, starts, starts, elapsed, efficiency * elapsed, elapsed, efficiency * elapsed * ranks, efficiency,
      efficiency);
}

std::string RunOf(const std::string& job, const std::string& program, int ranks, const std::string& regions,
                  const std::string& more = "") {
  std::string nodes = "{\"name\": \"a\", \"ranks\": [0]}";
  return fmt::format(
      R"({{"format": "farscale-measured-run", "version": 1, "job": "{}", "program": "{}", "ranks": {}, "threads": 1,
          "ending": "finalized", "nodes": [{}], "regions": [{}]{}}})",
      job, program, ranks, nodes, regions, more);
}

// Useful time is 2 · 4 · 0.9 = 7.2 and 8 · 1.2 · 0.8 = 7.68: strong scaling.
TEST(MeasuredRuns, AreAFactorTable) {
  const FactorTable table = TableOfMeasuredRuns(
      {{RunOf("b", "app", 8, Region("whole run", 8, 1, 1.2, 0.8) + "," + Region("step", 8, 10, 1, 0.7)), "8.json"},
       {RunOf("a", "app", 2, Region("whole run", 2, 1, 4, 0.9) + "," + Region("step", 2, 10, 3, 0.8)), "2.json"}});
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].cores, 2);
  EXPECT_EQ(table.rows[0].phase, "whole");
  EXPECT_EQ(table.rows[0].series, "");
  EXPECT_EQ(table.rows[0].span, Span::kWhole);
  EXPECT_EQ(table.rows[1].phase, "step");
  EXPECT_EQ(table.rows[1].iterations, 10);
  EXPECT_EQ(table.rows[1].span, Span::kEach);
  EXPECT_DOUBLE_EQ(*table.rows[3].values[Factor::kLoadBalance], 0.7);
  EXPECT_EQ(table.scaling, Scaling::kStrong);
  ASSERT_EQ(table.findings.size(), 1U);
  EXPECT_EQ(table.findings[0].id, "scalingGuessed");
}

// 2 · 1 · 0.9 = 1.8 and 8 · 1.2 · 0.8 = 7.68.
TEST(MeasuredRuns, WhoseWorkGrowsScaleWeakly) {
  const FactorTable table =
      TableOfMeasuredRuns({{RunOf("a", "app", 2, Region("whole run", 2, 1, 1, 0.9)), "2.json"},
                           {RunOf("b", "app", 8, Region("whole run", 8, 1, 1.2, 0.8)), "8.json"}});
  EXPECT_EQ(table.scaling, Scaling::kWeak);
}

TEST(MeasuredRuns, OfOneCountAreRepeatsAndOfSeveralProgramsSeries) {
  const std::string whole = Region("whole run", 2, 1, 4, 0.9);
  const FactorTable table = TableOfMeasuredRuns(
      {{RunOf("a", "app", 2, whole), "1"}, {RunOf("b", "app", 2, whole), "2"}, {RunOf("c", "other", 2, whole), "3"}});
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].repeat, 1);
  EXPECT_EQ(table.rows[2].series, "other");
  EXPECT_EQ(table.rows[2].repeat, 0);
  EXPECT_FALSE(table.scaling.has_value());
}

TEST(MeasuredRuns, TellTheWholeRunFromRegionsOfItsName) {
  const FactorTable table =
      TableOfMeasuredRuns({{RunOf("a", "app", 2,
                                  Region("whole run", 2, 1, 4, 0.9) + "," + Region("whole", 2, 1, 1, 0.5) + "," +
                                      Region("whole run", 2, 1, 2, 0.6)),
                            "1"}});
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].phase, "whole");
  EXPECT_EQ(table.rows[1].phase, "region whole");
  EXPECT_EQ(table.rows[2].phase, "region whole run");
  EXPECT_EQ(table.rows[2].repeat, 0);
}

TEST(MeasuredRuns, HandOnWhatMakesThemDoubtful) {
  const FactorTable table = TableOfMeasuredRuns({{RunOf("a", "app", 2, Region("whole run", 2, 1, 4, 0.9), R"(,
      "diagnostics": [{"id": "preempted", "severity": "warning", "sentence": "the ranks ran only 12 % of the time"},
                      {"id": "noCounters", "severity": "note", "sentence": "not known"}])"),
                                                  "1.json"}});
  ASSERT_EQ(table.findings.size(), 1U);
  EXPECT_EQ(table.findings[0].id, "preempted");
  EXPECT_EQ(table.findings[0].example, "1.json: the ranks ran only 12 % of the time");
}

TEST(MeasuredRuns, LeaveOutRegionsOfSomeRanks) {
  const FactorTable table = TableOfMeasuredRuns(
      {{RunOf("a", "app", 2, Region("whole run", 2, 1, 4, 0.9) + "," + Region("output", 1, 1, 4, 0.9)), "1"}});
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.findings.at(0).id, "regionOnSomeRanks");
}

TEST(MeasuredRuns, AreRefusedWhereTheyContradictThemselves) {
  for (const auto& [ranks, words] :
       {std::pair{0, "ranks must be a whole number"}, {-4, "ranks must be a whole number"}}) {
    EXPECT_THAT(
        [&] {
          TableOfMeasuredRuns({{RunOf("a", "app", ranks, Region("whole run", 2, 1, 4, 0.9)), "1"}});
        },
        ThrowsMessage<Error>(HasSubstr(words)));
  }
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns({{RunOf("a", "app", 2, Region("whole run", 2, 1, 4, -0.9)), "1"}});
      },
      ThrowsMessage<Error>(HasSubstr("useful times and elapsed time contradict each other")));
}

TEST(MeasuredRuns, AreRefusedWhereTheyDoNotFit) {
  const std::string run = RunOf("a", "app", 2, Region("whole run", 2, 1, 4, 0.9));
  EXPECT_THAT(
      [&] {
        TableOfMeasuredRuns({{run, "1"}, {run, "2"}});
      },
      ThrowsMessage<Error>(HasSubstr("2: the same run is given twice")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns({{"{\"format\": \"farscale-factors\"}", "f"}});
      },
      ThrowsMessage<Error>(HasSubstr("f: is not a measured run")));
  EXPECT_THAT([] { TableOfMeasuredRuns({{"{", "f"}}); }, ThrowsMessage<Error>(HasSubstr("f: is damaged")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns(
            {{RunOf("a", "app", 2, Region("whole run", 2, 1, 4, 0.9), ", \"missingRanks\": [1]"), "f"}});
      },
      ThrowsMessage<Error>(HasSubstr("nothing is known of 1 of its 2 ranks")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns({{RunOf("a", "app", 2, Region("whole run", 2, 1, 0, 0.9)), "f"}});
      },
      ThrowsMessage<Error>(HasSubstr("elapsed must be positive")));
}

}  // namespace
}  // namespace farscale
