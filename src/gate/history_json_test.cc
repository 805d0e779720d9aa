#include "gate/history_json.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
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
  const HistoryEntry entry{"", "feature/x", "2026-11-20T12:00:00Z", "new solver", OneRow(0.9)};
  const HistoryEntry read = ReadHistoryJson(WriteHistoryJson(entry), "e.json");
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
  const History history = ReadHistory(folder_);
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].commit, "first");
  EXPECT_EQ(history[1].table.rows.size(), 2u);
  EXPECT_EQ(history[1].table.rows[1].repeat, 1);
  EXPECT_EQ(history[2].commit, "third");
}

TEST_F(HistoryFolder, RefusesResultsWithoutDate) {
  WriteFile(folder_ / "results.csv", "phase,cores,loadBalance\nsolve,16,0.5\n");
  try {
    ReadHistory(folder_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("says neither commit nor date"));
  }
}

}  // namespace
}  // namespace farscale
