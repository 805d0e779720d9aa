#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.h"

namespace farscale {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CollectedJobs TwoJobs() {
  CollectedJobs jobs;
  jobs.folder = "/site";
  CollectedJob job;
  job.program = "lmp <b>";
  job.command = "lmp -in in.lj";
  job.ending = "signal";
  job.ranks = job.cores = 64;
  job.threads = 1;
  job.nodes = 2;
  job.elapsed = 3600;
  job.factors[Factor::kParallelEfficiency] = 0.5;
  job.lost_core_hours = 32;
  job.warnings = {"SIGTERM ended rank 3"};
  jobs.jobs = {job, job};
  jobs.jobs[1].program = "hpcc";
  return jobs;
}

TEST(Jobs, TheTableHasTheFirstOnes) {
  const std::string text = WriteJobsTable(TwoJobs(), 1, kAnyWidth);
  EXPECT_THAT(text, HasSubstr("2 jobs lost 64.0 of 128 core hours (50.0 %); hpcc lost most (32.0)."));
  EXPECT_THAT(text, HasSubstr("lmp <b>     64"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
  EXPECT_THAT(text, HasSubstr("signal"));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
  EXPECT_THAT(text, Not(HasSubstr("hpcc   ")));
  EXPECT_THAT(WriteJobsTable(TwoJobs(), 0, kAnyWidth), HasSubstr("hpcc"));
}

// Three jobs of one program lose 36 core hours of 136 together, the other one 32.
TEST(Jobs, ProgramsAreGrouped) {
  CollectedJobs jobs = TwoJobs();
  for (const int minutes : {1, 2}) {
    jobs.jobs.push_back(jobs.jobs.front());
    jobs.jobs.back().elapsed = 60 * minutes * 2.5;
    jobs.jobs.back().lost_core_hours = 64.0 * jobs.jobs.back().elapsed / 3600 / 2;
  }
  const std::string text = WriteJobsTable(jobs, 0, kAnyWidth);
  EXPECT_THAT(text, HasSubstr("4 jobs lost 68.0 of 136 core hours (50.0 %); lmp <b> lost most (36.0)."));
  EXPECT_THAT(text, HasSubstr("lmp <b>     3    72.0         36.0    50.0 %"));
  const ReportModel model = BuildJobsModel(jobs);
  EXPECT_EQ(model.data["programs"][1]["program"], "hpcc");
  EXPECT_EQ(model.data["programs"][1]["jobs"], "1");
}

TEST(Jobs, NarrowTerminalsKeepTheFactors) {
  const std::string text = WriteJobsTable(TwoJobs(), 0, 62);
  EXPECT_THAT(text, HasSubstr("communic."));
  EXPECT_THAT(text, Not(HasSubstr("owner")));
}

TEST(Jobs, ThePageHasTonesAndWarnings) {
  const ReportModel model = BuildJobsModel(TwoJobs());
  const auto& row = model.data["jobs"][0];
  EXPECT_EQ(row["cells"][0]["text"], "50.0 %");
  EXPECT_EQ(row["cells"][0]["tone"], "1");
  EXPECT_EQ(row["cells"][1]["tone"], "n");
  EXPECT_EQ(row["warnings"][0], "SIGTERM ended rank 3");
  EXPECT_EQ(row["warningCount"], "1 warning");
  EXPECT_EQ(row["ending"], "signal");
}

}  // namespace
}  // namespace farscale
