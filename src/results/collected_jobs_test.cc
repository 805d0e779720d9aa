#include "results/collected_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/diagnostics.h"
#include "base/files.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "anna");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void AddJob(const std::string& file, const std::string& program, int ranks, double elapsed, double efficiency,
              const std::string& started = "2026-11-20T00:00:00Z") {
    nlohmann::ordered_json job = {{"format", "farscale-measured-run"},
                                  {"version", 1},
                                  {"program", program},
                                  {"command", {program, "-x"}},
                                  {"mpi", "MPICH"},
                                  {"started", started},
                                  {"ranks", ranks},
                                  {"threads", 2},
                                  {"ending", "finalized"},
                                  {"nodes", {{{"name", "n1"}, {"ranks", {0}}}}},
                                  {"regions", {{{"name", "whole run"}, {"elapsed", elapsed}}}}};
    if (efficiency > 0) job["regions"][0]["factors"] = {{"parallelEfficiency", efficiency}};
    WriteFile(folder_ / file, job.dump());
  }

  std::vector<std::string> Programs(JobOrder order) {
    std::vector<std::string> programs;
    for (const CollectedJob& job : ReadJobs(folder_, order).jobs) programs.push_back(job.program);
    return programs;
  }

  fs::path folder_;
};

TEST_F(JobsTest, TheWorstComeFirst) {
  AddJob("a.json", "good", 4, 3600, 0.9);                            // 8 cores for an hour lose 0.8
  AddJob("anna/b.json", "bad", 2, 36, 0.5, "2026-11-21T00:00:00Z");  // 4 cores for 0.01 hours lose 0.02
  AddJob("c.json", "nothing computed", 2, 36, 0, "2026-11-19T00:00:00Z");
  EXPECT_THAT(Programs(JobOrder::kEfficiency), ElementsAre("bad", "good", "nothing computed"));
  EXPECT_THAT(Programs(JobOrder::kLost), ElementsAre("good", "bad", "nothing computed"));
  EXPECT_THAT(Programs(JobOrder::kStarted), ElementsAre("bad", "good", "nothing computed"));
  EXPECT_THAT(Programs(JobOrder::kProgram), ElementsAre("bad", "good", "nothing computed"));
  const CollectedJobs jobs = ReadJobs(folder_, JobOrder::kLost);
  EXPECT_NEAR(*jobs.jobs[0].lost_core_hours, 0.8, 1e-12);
  EXPECT_NEAR(*jobs.jobs[1].lost_core_hours, 0.02, 1e-12);
  EXPECT_EQ(jobs.jobs[2].lost_core_hours, std::nullopt);
  EXPECT_EQ(jobs.jobs[1].file, "anna/b.json");
  EXPECT_EQ(jobs.jobs[1].cores, 4);
  EXPECT_EQ(jobs.jobs[1].command, "bad -x");
}

TEST_F(JobsTest, OtherFilesAreNoJobsAndDamagedOnesAreFindings) {
  AddJob("a.json", "good", 4, 10, 0.9);
  WriteFile(folder_ / "other.json", R"({"format": "farscale-factors"})");
  WriteFile(folder_ / "list.json", "[1, 2]");
  WriteFile(folder_ / "notes.txt", "farscale-measured-run");
  WriteFile(folder_ / "cut.json", R"({"format": "farscale-measured-run", "prog)");
  WriteFile(folder_ / "empty.json",
            R"({"format": "farscale-measured-run", "program": "x", "ranks": 2, "regions": []})");
  WriteFile(folder_ / "odd.json", R"({"format": "farscale-measured-run", "program": 7, "ranks": -2, "regions": [{}]})");
  const CollectedJobs jobs = ReadJobs(folder_, JobOrder::kEfficiency);
  EXPECT_EQ(jobs.jobs.size(), 1u);
  ASSERT_EQ(jobs.findings.size(), 1u);
  EXPECT_EQ(jobs.findings[0].count, 3u);
  EXPECT_THROW(ReadJobs(folder_ / "nowhere", JobOrder::kEfficiency), Error);
}

TEST_F(JobsTest, CsvHasARowForEveryJob) {
  AddJob("a.json", "one, two", 4, 3600, 0.75);
  const std::string csv = WriteJobsCsv(ReadJobs(folder_, JobOrder::kEfficiency));
  EXPECT_THAT(csv, HasSubstr("\n\"one, two\","));
  EXPECT_THAT(csv, HasSubstr(",4,2,8,1,3600,0.75,,,,,2,a.json\n"));
}

}  // namespace
}  // namespace farscale
