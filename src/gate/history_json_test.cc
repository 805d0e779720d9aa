#include "factors/factor_table.h"
#include "gate/anomalies.h"
#include "gate/history_json.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"

namespace farscale {
namespace {

using ::testing::HasSubstr;

FactorTable OneRow(double balance) {
  FactorTable table;
  FactorRow row;
  row.phase = "solve";
  row.cores = row.ranks = 16;
  row.values[Factor::kLoadBalance] = balance;
  table.rows = {row};
  CompleteTable(table);
  return table;
}

TEST(Dates, AreUniversalTime) {
  EXPECT_EQ(DateFrom("2026-11-20"), "2026-11-20T00:00:00Z");
  EXPECT_EQ(DateFrom("2026-11-20T12:30:15Z"), "2026-11-20T12:30:15Z");
  EXPECT_EQ(DateFrom("2026-11-20T12-30-15Z"), "2026-11-20T12:30:15Z");
  EXPECT_EQ(DateFrom("2026-11-20T00:30:00+01:00"), "2026-11-19T23:30:00Z");
  EXPECT_EQ(DateFrom("2026-12-31 23:30:00 -0130"), "2027-01-01T01:00:00Z");
  EXPECT_EQ(DateFrom("2026-11-20T12:30:15.25Z"), "2026-11-20T12:30:15Z");
  EXPECT_EQ(DateFromSeconds(1795176000), "2026-11-20T12:00:00Z");
}

TEST(Dates, OthersAreNone) {
  for (const char* text : {"", "yesterday", "2026-13-01", "2026-02-30", "2026-11-20T25:00:00Z",
                           "2026-11-20T12:00:00CET", "20.11.2026", "2026-11-20x"}) {
    EXPECT_FALSE(DateFrom(text)) << text;
  }
}

TEST(HistoryJson, ReadsWhatItWrites) {
  const MeasuredResults entry{"", "feature/x", "2026-11-20T12:00:00Z", "new solver", OneRow(0.9)};
  const MeasuredResults read = ReadHistoryJson(WriteHistoryJson(entry), "e.json");
  EXPECT_EQ(read.commit, entry.commit);
  EXPECT_EQ(read.date, entry.date);
  EXPECT_EQ(read.accepted, entry.accepted);
  EXPECT_EQ(read.table.rows, entry.table.rows);
  EXPECT_EQ(FileNameOf(entry), "2026-11-20T12-00-00Z-feature-x.json");
}

class HistoryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("history_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    CreateFolder(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(HistoryFolder, IsInTheOrderOfDatesAndJoinsRepeats) {
  WriteFile(folder_ / "z.json", WriteHistoryJson({"", "first", "2026-11-01", "", OneRow(0.8)}));
  WriteFile(folder_ / "a.json", WriteHistoryJson({"", "second", "2026-11-02", "", OneRow(0.9)}));
  WriteFile(folder_ / "b.json", WriteHistoryJson({"", "second", "2026-11-02", "", OneRow(0.7)}));
  WriteFile(folder_ / "2026-11-03T10-00-00Z-third.csv", "phase,cores,loadBalance\nsolve,16,0.5\n");
  Diagnostics diagnostics;
  const History history = ReadHistory(folder_, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].commit, "first");
  EXPECT_EQ(history[1].table.rows.size(), 2u);
  EXPECT_EQ(history[1].table.rows[1].repeat, 1);
  EXPECT_EQ(history[2].commit, "third");
}

constexpr const char* kTable = "phase,cores,loadBalance\nsolve,16,0.5\n";

// What is no entry by name or format is skipped and counted; the first is named.
TEST_F(HistoryFolder, SkipsWhatIsNoEntry) {
  WriteFile(folder_ / "a.json", WriteHistoryJson({"", "first", "2026-11-01", "", OneRow(0.8)}));
  WriteFile(folder_ / "notes.csv", "day,weather\n1,rain\n");
  WriteFile(folder_ / "results.csv", kTable);
  WriteFile(folder_ / "2026-11-03-results.csv", kTable);
  WriteFile(folder_ / "empty.json", "");
  WriteFile(folder_ / "list.json", "[1, 2]");
  WriteFile(folder_ / "README.md", "# History");
  Diagnostics diagnostics;
  EXPECT_EQ(ReadHistory(folder_, diagnostics).size(), 1u);
  EXPECT_EQ(diagnostics.count(anomaly::kHistoryFileSkipped), 5u);
  EXPECT_EQ(diagnostics.findings().at(0).example, "2026-11-03-results.csv");
}

// An entry that cannot be read is an error.
TEST_F(HistoryFolder, RefusesDamagedEntries) {
  const std::string entry = WriteHistoryJson({"", "first", "2026-11-01", "", OneRow(0.8)});
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"a.json", entry.substr(0, entry.size() - 20)},
                                                        {"2026-11-03T10-00-00Z-third.json", "[]"},
                                                        {"2026-11-03T10-00-00Z-third.csv", "day,weather\n1,rain\n"}}) {
    WriteFile(folder_ / name, text);
    try {
      Diagnostics diagnostics;
      ReadHistory(folder_, diagnostics);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
    std::filesystem::remove(folder_ / name);
  }
}

// A job that ran twice with the same results did not measure twice.
TEST_F(HistoryFolder, CountsTheSameResultsOnce) {
  WriteFile(folder_ / "2026-11-03T10-00-00Z-a.csv", kTable);
  WriteFile(folder_ / "2026-11-03T11-00-00Z-a.csv", kTable);
  WriteFile(folder_ / "2026-11-04T11-00-00Z-b.csv", kTable);
  Diagnostics diagnostics;
  const History history = ReadHistory(folder_, diagnostics);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].table.rows.size(), 1u);
  EXPECT_EQ(diagnostics.count(anomaly::kSameResultsTwice), 1u);
}

// Run time times speedup is the same at both counts: strong scaling, so that computation can be compared, too.
TEST_F(HistoryFolder, RunTimesAndSpeedupsTellTheScaling) {
  WriteFile(folder_ / "2026-11-03T10-00-00Z-a.csv",
            "cores,runtime,speedup,parallelEfficiency\n16,8,1,0.9\n32,5,1.6,0.8\n");
  WriteFile(folder_ / "2026-11-04T10-00-00Z-b.csv", "cores,runtime,parallelEfficiency\n16,8,0.9\n32,5,0.8\n");
  Diagnostics diagnostics;
  History history = ReadHistory(folder_, diagnostics);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].table.scaling, Scaling::kStrong);
  EXPECT_EQ(history[0].table.scaling_source, "run times");
  // Useful time is 16 · 8 · 0.9 = 115.2 and 32 · 5 · 0.8 = 128.
  EXPECT_NEAR(*history[0].table.rows[1].values[Factor::kComputationScalability], 0.9, 1e-12);
  EXPECT_FALSE(history[1].table.scaling);
  EXPECT_FALSE(history[1].table.rows[1].values[Factor::kSpeedup]);
  history = ReadHistory(folder_, diagnostics, Scaling::kStrong);
  EXPECT_NEAR(*history[1].table.rows[1].values[Factor::kSpeedup], 1.6, 1e-12);
}

// 4 and 0.5 s on 8 and 64 cores are no weak scaling: of that commit only what needs none counts, and the others stay.
TEST_F(HistoryFolder, KeepsCommitsBesideOneWithAnExcludedScaling) {
  FactorTable table;
  for (const auto& [cores, seconds] : {std::pair(8, 4.0), std::pair(64, 0.5)}) {
    FactorRow row;
    row.cores = row.ranks = cores;
    row.runtime = seconds;
    row.values[Factor::kParallelEfficiency] = 0.9;
    table.rows.push_back(row);
  }
  FactorTable right = table;
  right.scaling = Scaling::kStrong;
  table.scaling = Scaling::kWeak;
  CompleteTable(right);
  CompleteTable(table);
  EXPECT_NEAR(*table.rows[1].values[Factor::kComputationScalability], 8, 1e-12);
  WriteFile(folder_ / "a.json", WriteHistoryJson({"", "wrong", "2026-11-01", "", table}));
  WriteFile(folder_ / "b.json", WriteHistoryJson({"", "right", "2026-11-02", "", right}));
  Diagnostics diagnostics;
  const History history = ReadHistory(folder_, diagnostics);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].table.rows[1].values[Factor::kParallelEfficiency], 0.9);
  EXPECT_FALSE(history[0].table.rows[1].values[Factor::kComputationScalability]);
  EXPECT_FALSE(history[0].table.rows[1].values[Factor::kGlobalEfficiency]);
  EXPECT_TRUE(history[1].table.rows[1].values[Factor::kGlobalEfficiency]);
  ASSERT_EQ(diagnostics.count(anomaly::kScalingExcluded), 1u);
  EXPECT_THAT(diagnostics.findings()[0].example, HasSubstr("a.json: the problem does not grow with the cores"));
}

}  // namespace
}  // namespace farscale
