#include "results/factor_table_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>

#include "base/diagnostics.h"
#include "factors/factor_table.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string RegionText(const std::string& name, int ranks, int starts, double elapsed, double efficiency) {
  return fmt::format(
      R"({{"name": "{}", "ranks": {}, "fewestStarts": {}, "mostStarts": {}, "elapsed": {},
          "usefulAverage": {}, "usefulLargest": {}, "usefulTotal": {},
          "factors": {{"parallelEfficiency": {}, "loadBalance": {}, "communicationEfficiency": 1}}}})",
      name, ranks, starts, starts, elapsed, elapsed * efficiency, elapsed, elapsed * efficiency * ranks, efficiency,
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
      {{"8.json",
        RunOf("b", "app", 8, RegionText("whole run", 8, 1, 1.2, 0.8) + "," + RegionText("step", 8, 10, 1, 0.7))},
       {"2.json",
        RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.9) + "," + RegionText("step", 2, 10, 3, 0.8))}});
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

// Two ranks of three threads, 20 s: useful 41 of 120 s, outside MPI 78.
std::string HybridRun(const std::string& times, const std::string& efficiency) {
  return RunOf("a", "app", 2,
               fmt::format(R"({{"name": "whole run", "ranks": 2, "fewestStarts": 1, "mostStarts": 1, "elapsed": 20,
                   "usefulAverage": 13, "usefulLargest": 16, "usefulTotal": 26, "threadTimes": {},
                   "factors": {{"parallelEfficiency": {}, "mpiParallelEfficiency": 0.65, "loadBalance": 0.8125,
                   "communicationEfficiency": 0.8, "ompParallelEfficiency": 0.525641025641}}}})",
                           times, efficiency));
}

// A run of n × m whose useful time is as given: MPI and OpenMP take a fifth of all CPUs each.
NamedText RunWithThreads(int ranks, int threads, double useful) {
  const int cpus = ranks * threads;
  const double elapsed = useful / 0.64 / cpus, average = 0.8 * elapsed, all = cpus * elapsed;
  const std::string region = fmt::format(
      R"({{"name": "whole run", "ranks": {}, "fewestStarts": 1, "mostStarts": 1, "elapsed": {:.12g},
          "usefulAverage": {:.12g}, "usefulLargest": {:.12g}, "usefulTotal": {:.12g},
          "threadTimes": {{"cpus": {}, "useful": {:.12g}, "mpi": {:.12g}, "mpiIdle": 0, "ompImbalance": {:.12g},
                           "ompScheduling": 0, "ompSerialization": 0}},
          "factors": {{"parallelEfficiency": 0.64, "mpiParallelEfficiency": 0.8, "loadBalance": 1,
                       "communicationEfficiency": 0.8, "ompParallelEfficiency": 0.8}}}})",
      ranks, elapsed, average, average, average * ranks, cpus, useful, 0.2 * all, 0.16 * all);
  return {fmt::format("{}x{}.json", ranks, threads), RunOf(fmt::format("{}x{}", ranks, threads), "app", ranks, region)};
}

// Of processes with as many threads work shows the scaling, whatever threads do: doubled from 1 to 2 processes it is
// weak, although it is but doubled from 1 to 8 cores, too. Threads that slow each other to 1 / 4 leave it strong.
TEST(MeasuredRuns, ScalingIsThatOfEqualThreads) {
  const FactorTable weak =
      TableOfMeasuredRuns({RunWithThreads(1, 1, 8), RunWithThreads(2, 1, 16), RunWithThreads(2, 4, 16)});
  EXPECT_EQ(weak.scaling, Scaling::kWeak);
  const FactorTable strong =
      TableOfMeasuredRuns({RunWithThreads(1, 1, 8), RunWithThreads(2, 1, 8), RunWithThreads(2, 4, 32)});
  EXPECT_EQ(strong.scaling, Scaling::kStrong);
}

// With threads alone, work that stays is that of one problem; work that grows may be due to either.
TEST(MeasuredRuns, ScalingOverThreadsAlone) {
  const FactorTable strong =
      TableOfMeasuredRuns({RunWithThreads(2, 1, 8), RunWithThreads(2, 2, 8.2), RunWithThreads(2, 4, 8.4)});
  EXPECT_EQ(strong.scaling, Scaling::kStrong);
  ASSERT_EQ(strong.findings.size(), 1U);
  EXPECT_EQ(strong.findings[0].id, "scalingGuessed");
  FactorTable unknown = TableOfMeasuredRuns({RunWithThreads(2, 1, 8), RunWithThreads(2, 4, 32)});
  EXPECT_FALSE(unknown.scaling.has_value());
  ASSERT_EQ(unknown.findings.size(), 1U);
  EXPECT_EQ(unknown.findings[0].id, "scalingUnknown");
  EXPECT_EQ(unknown.findings[0].example, "4 times from 2 × 1 to 2 × 4, processes × threads");
  unknown.scaling = Scaling::kStrong;
  CompleteTable(unknown);
  EXPECT_NEAR(*unknown.rows[1].values[Factor::kComputationScalability], 0.25, 1e-9);
}

TEST(MeasuredRuns, SayWhatThreadsDo) {
  const std::string times = R"({"cpus": 6, "useful": 41, "mpi": 14, "mpiIdle": 28, "ompImbalance": 13,
                                "ompScheduling": 4, "ompSerialization": 20})";
  FactorTable table = TableOfMeasuredRuns({{"6.json", HybridRun(times, "0.341666666667")}});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].threads, 3);
  EXPECT_EQ(table.rows[0].cores, 6);
  CompleteTable(table);
  EXPECT_DOUBLE_EQ(*table.rows[0].values[Factor::kDeviceOffload], 1);
  EXPECT_NEAR(*table.rows[0].UsefulTime(), 41, 1e-6);
  const auto error = [](const std::string& what) { return ThrowsMessage<Error>(HasSubstr(what)); };
  EXPECT_THAT(
      [&] {
        TableOfMeasuredRuns({{"6.json", HybridRun(times, "0.65")}});
      },
      error("parallelEfficiency and threadTimes contradict each other"));
  std::string other = times;
  other.replace(other.find("41"), 2, "42");
  EXPECT_THAT(
      [&] {
        TableOfMeasuredRuns({{"6.json", HybridRun(other, "0.35")}});
      },
      error("threadTimes and usefulAverage contradict each other"));
}

// 2 · 1 · 0.9 = 1.8 and 8 · 1.2 · 0.8 = 7.68.
TEST(MeasuredRuns, WhoseWorkGrowsScaleWeakly) {
  const FactorTable table =
      TableOfMeasuredRuns({{"2.json", RunOf("a", "app", 2, RegionText("whole run", 2, 1, 1, 0.9))},
                           {"8.json", RunOf("b", "app", 8, RegionText("whole run", 8, 1, 1.2, 0.8))}});
  EXPECT_EQ(table.scaling, Scaling::kWeak);
}

TEST(MeasuredRuns, OfOneCountAreRepeatsAndOfSeveralProgramsSeries) {
  const std::string whole = RegionText("whole run", 2, 1, 4, 0.9);
  const FactorTable table = TableOfMeasuredRuns(
      {{"1", RunOf("a", "app", 2, whole)}, {"2", RunOf("b", "app", 2, whole)}, {"3", RunOf("c", "other", 2, whole)}});
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[1].repeat, 1);
  EXPECT_EQ(table.rows[2].series, "other");
  EXPECT_EQ(table.rows[2].repeat, 0);
  EXPECT_FALSE(table.scaling.has_value());
}

TEST(MeasuredRuns, LeaveOutRegionsOfSomeRanks) {
  const FactorTable table = TableOfMeasuredRuns(
      {{"1", RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.9) + "," + RegionText("output", 1, 1, 4, 0.9))}});
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.findings.at(0).id, "regionOnSomeRanks");
}

TEST(MeasuredRuns, KeepRegionsThatAreCalledLikeTheWholeApart) {
  const std::string whole = RegionText("whole run", 2, 1, 4, 0.9);
  std::string regions = whole;
  for (const char* name : {"whole", "whole run", "region whole", "region of whole"}) {
    regions += "," + RegionText(name, 2, 1, 1, 0.5);
  }
  const FactorTable table = TableOfMeasuredRuns({{"1", RunOf("a", "app", 2, regions)}});
  ASSERT_EQ(table.rows.size(), 5U);
  EXPECT_EQ(table.rows[0].phase, "whole");
  EXPECT_EQ(table.rows[1].phase, "region whole");
  EXPECT_EQ(table.rows[2].phase, "region whole run");
  EXPECT_EQ(table.rows[3].phase, "region region whole");
  EXPECT_EQ(table.rows[4].phase, "region of whole");
  for (const FactorRow& row : table.rows) EXPECT_EQ(row.repeat, 0);
}

TEST(MeasuredRuns, KeepTheirWarnings) {
  const auto remark = [](const char* id, const char* severity) {
    return fmt::format(R"({{"id": "{}", "severity": "{}", "sentence": "the words"}})", id, severity);
  };
  const std::string more = ", \"diagnostics\": [" + remark("preempted", "warning") + "," +
                           remark("noCounters", "note") + "," + remark("ofTheFuture", "warning") + "]";
  const FactorTable table =
      TableOfMeasuredRuns({{"1", RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.9), more)},
                           {"2", RunOf("b", "app", 2, RegionText("whole run", 2, 1, 4, 0.9), more)}});
  ASSERT_EQ(table.findings.size(), 2U);
  EXPECT_EQ(table.findings[0].id, "preempted");
  EXPECT_EQ(table.findings[0].count, 2U);
  EXPECT_EQ(table.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(table.findings[0].example, "1: the words");
  EXPECT_EQ(table.findings[1].sentence, "the words");
  EXPECT_EQ(table.findings[1].example, "1");
}

// Each damage to a good file, and the words about it.
TEST(MeasuredRuns, WithImpossibleNumbersAreRefused) {
  const std::string good = RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.5));
  const std::vector<std::array<const char*, 3>> damages = {
      {R"("program": "app", "ranks": 2)", R"("program": "app", "ranks": 1e12)",
       "ranks is 1e+12, but must be at most 1e+09"},
      {R"("program": "app", "ranks": 2)", R"("program": "app", "ranks": -4)", "ranks is -4, but must be at least 1"},
      {R"("program": "app", "ranks": 2)", R"("program": "app", "ranks": 0)", "ranks is 0, but must be at least 1"},
      {R"("program": "app", "ranks": 2)", R"("program": "app", "ranks": 4.5)",
       "ranks is 4.5, which is not a whole number"},
      {R"("program": "app", "ranks": 2)", R"("program": "app", "ranks": "2")", "ranks is not a whole number"},
      {R"("threads": 1)", R"("threads": 0)", "threads is 0, but must be at least 1"},
      {R"("usefulTotal": 4)", R"("usefulTotal": -3)", "regions[0].usefulTotal is -3, but must be at least 0"},
      {R"("usefulTotal": 4)", R"("other": 4)", "regions[0].usefulTotal is missing"},
      {R"("usefulTotal": 4)", R"("usefulTotal": 5)", "regions[0] is damaged: usefulTotal and usefulAverage contradict"},
      {R"("usefulLargest": 4)", R"("usefulLargest": 9)", "regions[0] is damaged: usefulLargest and elapsed contradict"},
      {R"("usefulLargest": 4)", R"("usefulLargest": 4.00001)",
       "regions[0] is damaged: usefulLargest and elapsed contradict"},
      {R"("usefulLargest": 4)", R"("usefulLargest": 1)",
       "regions[0] is damaged: usefulAverage and usefulLargest contradict"},
      {R"("usefulLargest": 4)", R"("usefulLargest": 1.99999)",
       "regions[0] is damaged: usefulAverage and usefulLargest contradict"},
      {R"("parallelEfficiency": 0.5)", R"("parallelEfficiency": 0.9)",
       "regions[0] is damaged: parallelEfficiency and usefulAverage contradict"},
      {R"("threads": 1)", R"("threads": 1, "treads": 1)", "has the unknown key 'treads'; did you mean 'threads'?"},
      {R"("name": "whole run")", R"("name": "part")", "regions does not begin with the whole run"},
  };
  for (const auto& [from, to, words] : damages) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), std::string(from).size(), to);
    EXPECT_THAT(
        [&] {
          TableOfMeasuredRuns({{"f", text}});
        },
        ThrowsMessage<Error>(HasSubstr(std::string("f: ") + words)));
  }
}

TEST(MeasuredRuns, AreRefusedWhereTheyDoNotFit) {
  const std::string run = RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.9));
  EXPECT_THAT(
      [&] {
        TableOfMeasuredRuns({{"1", run}, {"2", run}});
      },
      ThrowsMessage<Error>(HasSubstr("2: the same run is given twice")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns({{"f", "{\"format\": \"farscale-factors\"}"}});
      },
      ThrowsMessage<Error>(HasSubstr("f: is not a measured run")));
  EXPECT_THAT([] { TableOfMeasuredRuns({{"f", "{"}}); }, ThrowsMessage<Error>(HasSubstr("f: is not valid JSON")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns(
            {{"f", RunOf("a", "app", 2, RegionText("whole run", 2, 1, 4, 0.9), ", \"missingRanks\": [1]")}});
      },
      ThrowsMessage<Error>(HasSubstr("has no data of 1 of its 2 ranks")));
  EXPECT_THAT(
      [] {
        TableOfMeasuredRuns({{"f", RunOf("a", "app", 2, RegionText("whole run", 2, 1, 0, 0.9))}});
      },
      ThrowsMessage<Error>(HasSubstr("regions[0] has factors, but elapsed is 0")));
}

}  // namespace
}  // namespace farscale
