#include "study/run_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "factors/phase_factors.h"
#include "replay/matching.h"
#include "results/factor_table_files.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "report/imbalance/losses.h"
#include "results/results_json.h"
#include "study/measure_run.h"
#include "study/study.h"
#include "support/models.h"
#include "support/otf2_archive.h"
#include "support/own_templates.h"
#include "support/temporary_folder.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::HasSubstr;

// Runs written for the test: `ranks` ranks compute, rank 0 a little longer, and meet in a barrier; `steps` times.
class RunStudyTest : public testing::Test {
 protected:
  std::string AddRun(const std::string& name, int ranks, const std::string& region = "step",
                     const std::string& program = "app", std::uint64_t work = 1000,
                     const std::string& around = "main") {
    test::Otf2Archive archive(folder_ / name, "traces");
    archive.AddWorld(ranks);
    for (std::uint64_t rank = 0; rank < static_cast<std::uint64_t>(ranks); ++rank) {
      auto events = archive.Location(rank);
      events.ProgramBegin(0, program).Enter(0, around);
      for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t t = 10 + 2000 * i;
        events.Enter(t, region)
            .Enter(t + work + (rank == 0 ? 100 : 0), "MPI_Barrier")
            .Collective(t + work + 100, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 0, 0)
            .Leave(t + 1990, "MPI_Barrier")
            .Leave(t + 2000, region);
      }
      events.Leave(8020, around);
    }
    const std::string anchor = archive.Close();
    study_.runs.push_back({anchor, std::nullopt, std::nullopt, "test"});
    return anchor;
  }

  // Two threads a rank: serial for 400, a team until 1000 for the main thread and 700 for the other, then the barrier.
  void AddHybridRun(const std::string& name, int ranks) {
    test::Otf2Archive archive(folder_ / name, "traces");
    const auto node = archive.Node("n");
    for (int rank = 0; rank < ranks; ++rank) archive.AddProcess(node, 2);
    archive.AddMpi();
    for (std::uint64_t rank = 0; rank < static_cast<std::uint64_t>(ranks); ++rank) {
      const std::uint64_t other = 1000 + 100 * rank + 1;
      const std::uint32_t team = archive.AddTeam({rank, other});
      archive.Location(rank).ProgramBegin(0, "app").Enter(0, "main");
      for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t t = 10 + 2000 * i;
        archive.Location(rank).Enter(t, "step").ThreadFork(t + 400, 2);
        for (const auto& [location, done] : {std::pair(rank, t + 1000), std::pair(other, t + 700)}) {
          archive.Location(location)
              .TeamBegin(t + 400, team)
              .Enter(done, "!$omp implicit barrier @x.c:9")
              .Leave(t + 1000, "!$omp implicit barrier @x.c:9")
              .TeamEnd(t + 1000, team);
        }
        archive.Location(rank)
            .ThreadJoin(t + 1000)
            .Enter(t + 1000, "MPI_Barrier")
            .Collective(t + 1000, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 0, 0)
            .Leave(t + 2000, "MPI_Barrier")
            .Leave(t + 2000, "step");
      }
      archive.Location(rank).Leave(8020, "main");
    }
    study_.runs.push_back({archive.Close(), std::nullopt, std::nullopt, "test"});
  }

  StudyResults Measure() {
    if (study_.phases.empty()) study_.phases = {PhaseSpec::Region("step")};
    return MeasureRuns(study_, nullptr);
  }

  std::string ErrorOf(int exit_code) {
    try {
      Measure();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), exit_code);
      return error.what();
    }
    return "no error";
  }

  test::TemporaryFolder folder_;
  Study study_;
};

// A step of 2000 with two threads: useful 1000 + 300, half of it is MPI's. Factors and reports see the same.
TEST_F(RunStudyTest, HybridRuns) {
  AddHybridRun("2", 2);
  AddHybridRun("4", 4);
  const StudyResults measured = Measure();
  ASSERT_EQ(measured.table.rows.size(), 2u);
  for (const FactorRow& row : measured.table.rows) {
    EXPECT_EQ(row.threads, 2);
    EXPECT_EQ(row.cores, 2 * row.ranks);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kParallelEfficiency], 1300.0 / 4000);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kMpiParallelEfficiency], 0.5);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpLoadBalance], 1700.0 / 2000);
    EXPECT_DOUBLE_EQ(*row.values[Factor::kOmpSerialization], 1300.0 / 1700);
  }
  for (const RunRecord& run : measured.runs) {
    EXPECT_TRUE(std::ranges::none_of(run.findings,
                                     [](const Finding& finding) { return finding.id == "threadsAtProcessLevel"; }));
  }
}

TEST_F(RunStudyTest, RowsByPhaseCoresAndRepeat) {
  AddRun("b", 4);
  AddRun("a", 2);
  AddRun("c", 2);
  study_.phases = {PhaseSpec::Region("step"), PhaseSpec::WholeRun()};
  study_.scaling = Scaling::kWeak;
  const StudyResults measured = Measure();
  ASSERT_EQ(measured.table.rows.size(), 6u);
  EXPECT_EQ(measured.table.rows[0].cores, 2);
  EXPECT_EQ(measured.table.rows[1].repeat, 1);
  EXPECT_EQ(measured.table.rows[2].cores, 4);
  EXPECT_EQ(measured.table.rows[3].phase, "whole");
  EXPECT_EQ(measured.table.rows[0].iterations, 4);
  EXPECT_EQ(measured.runs[2].cores, 4);
  EXPECT_EQ(measured.runs[0].fingerprint.size(), 64u);
  EXPECT_FALSE(measured.failure);
}

// Steps begin at 10, 2010, ... and take 2000 ns; rank 0 works 1100 of them before the barrier, rank 1 1000.
TEST_F(RunStudyTest, PicturesAndIterationsForReports) {
  AddRun("a", 2);
  study_.phases = {PhaseSpec::Region("step"), PhaseSpec::WholeRun()};
  EXPECT_FALSE(Measure().runs[0].picture);
  const RunRecord run = MeasureRuns(study_, nullptr, {}, Detail::kReport).runs[0];
  ASSERT_TRUE(run.picture);
  EXPECT_EQ(run.picture->rows.size(), 2u);
  EXPECT_EQ(run.picture->problem, "");
  ASSERT_EQ(run.phases.size(), 2u);
  EXPECT_EQ(run.phases[0].phase, "step");
  ASSERT_EQ(run.phases[0].iterations.size(), 4u);
  const IterationRecord& second = run.phases[0].iterations[1];
  EXPECT_DOUBLE_EQ(second.begin, 2010e-9);
  EXPECT_DOUBLE_EQ(second.end, 4010e-9);
  EXPECT_DOUBLE_EQ(second.elapsed, 2000e-9);
  EXPECT_DOUBLE_EQ(second.useful, (1110e-9 + 1010e-9) / 2);  // with 10 ns behind the barrier
  EXPECT_DOUBLE_EQ(second.load_balance, 1060.0 / 1110);
  EXPECT_TRUE(second.IsKept());
  ASSERT_EQ(run.phases[1].iterations.size(), 1u);
  EXPECT_EQ(run.phases[1].iterations[0].begin, 0);
  EXPECT_DOUBLE_EQ(run.phases[1].iterations[0].end, 8020e-9);
}

TEST_F(RunStudyTest, ManyIterationsAreToldInGroups) {
  PhaseCut cut;
  cut.iterations = 1000;
  Trace trace = ReadTrace(AddRun("a", 2));
  cut.ranks.resize(2);
  for (RankCut& rank : cut.ranks) {
    rank.present = true;
    for (Tick k = 0; k < 1000; ++k) rank.iterations.push_back({{8 * k, 0, 0}, {8 * k + 8, 0, 0}});
  }
  CleanChoice choice;
  choice.kept.assign(1000, true);
  choice.reasons.resize(1000);
  const PhaseMarks marks = MarkPhase(trace, MatchTrace(trace), cut, choice, {});
  EXPECT_EQ(marks.iterations.size(), 334u);
  EXPECT_EQ(marks.Count(), 1000);
  EXPECT_EQ(marks.iterations.back().iterations, 1);
}

TEST_F(RunStudyTest, OneBadRunDoesNotLoseTheOthers) {
  AddRun("a", 2);
  const std::string bad = AddRun("b", 4);
  std::filesystem::remove(folder_ / "b" / "traces" / "3.evt");
  AddRun("c", 8);
  const StudyResults measured = Measure();
  EXPECT_EQ(measured.table.rows.size(), 2u);
  ASSERT_EQ(measured.runs.size(), 3u);
  EXPECT_EQ(measured.runs[2].path, bad);
  EXPECT_THAT(measured.runs[2].error, HasSubstr("files are missing"));
  ASSERT_TRUE(measured.failure);
  EXPECT_EQ(measured.failure->exit_code(), 3);
}

// The run stands without it.
TEST_F(RunStudyTest, PhaseThatOneRunLacks) {
  AddRun("a", 2, "step", "app", 1000, "solve");
  AddRun("b", 4, "steps", "app", 1000, "solve");
  study_.phases = {PhaseSpec::Region("step"), PhaseSpec::Region("solve")};
  const StudyResults measured = Measure();
  EXPECT_TRUE(measured.runs[1].error.empty());
  ASSERT_EQ(measured.table.rows.size(), 3u);
  EXPECT_EQ(measured.table.rows[0].phase, "step");
  EXPECT_EQ(measured.table.rows[0].cores, 2);
  EXPECT_EQ(measured.table.rows[2].phase, "solve");
  ASSERT_FALSE(measured.table.findings.empty());
  EXPECT_EQ(measured.table.findings.back().id, "phaseNotInRun");
  EXPECT_THAT(measured.table.findings.back().example, HasSubstr("did you mean 'steps'?"));
}

TEST_F(RunStudyTest, NothingLeftIsAnError) {
  AddRun("a", 2);
  AddRun("b", 4);
  study_.phases = {PhaseSpec::Region("stepp")};
  EXPECT_THAT(ErrorOf(2), HasSubstr("no region 'stepp' for phase 'stepp' in this trace"));
  study_.runs.resize(1);
  EXPECT_THAT(ErrorOf(2), HasSubstr("did you mean 'step'?"));
}

TEST_F(RunStudyTest, RunsOfDifferentPrograms) {
  AddRun("a", 2, "step", "comd");
  AddRun("b", 4, "cycle", "lulesh");
  study_.phases = {PhaseSpec::WholeRun()};
  EXPECT_THAT(ErrorOf(2), HasSubstr("is a run of 'lulesh', but"));
}

TEST_F(RunStudyTest, SameRegionsOtherNameIsOneProgram) {
  AddRun("a", 2, "step", "cg.C.2");
  AddRun("b", 4, "step", "cg.C.4");  // built for a number of ranks
  EXPECT_TRUE(Measure().runs[1].findings.size() < 2);
  AddRun("c", 8, "step", "other");
  const StudyResults measured = Measure();
  bool noted = false;
  for (const Finding& finding : measured.runs[2].findings) noted |= finding.id == "programNameDiffers";
  EXPECT_TRUE(noted);
}

TEST_F(RunStudyTest, ThreadsOfTheStudyCountAsCores) {
  AddRun("a", 2);
  study_.runs[0].threads = 4;
  const StudyResults measured = Measure();
  EXPECT_EQ(measured.table.rows[0].cores, 8);
  EXPECT_EQ(measured.table.rows[0].ranks, 2);
}

// Thread 1 works 300 and thread 0 100, so that thread 0 waits 200 at the barrier; thread 1 waits 50 for the fork.
TEST_F(RunStudyTest, LossesOfHybridProgramsAreToldByThread) {
  test::Otf2Archive archive(folder_ / "a", "traces");
  archive.AddProcess(archive.Node("n"), 2);
  const std::uint32_t team = archive.AddTeam({0, 1001});
  const std::string end = "!$omp implicit barrier";
  archive.Location(0).Enter(0, "main").ThreadFork(50, 2);
  for (const std::uint64_t location : {0u, 1001u}) {
    const std::uint64_t done = location == 0 ? 160 : 360;
    archive.Location(location).TeamBegin(60, team).Enter(60, "work").Leave(done, "work").Enter(done, end);
    archive.Location(location).Leave(370, end).TeamEnd(370, team);
  }
  archive.Location(0).ThreadJoin(370).Leave(400, "main");
  study_.runs.push_back({archive.Close(), std::nullopt, std::nullopt, "test"});
  study_.phases = {PhaseSpec::WholeRun()};
  const StudyResults measured = MeasureRuns(study_, nullptr, {}, Detail::kLosses);
  EXPECT_EQ(WriteFactorCsv(measured.table), WriteFactorCsv(MeasureRuns(study_, nullptr).table));  // of ranks
  ASSERT_EQ(measured.losses.size(), 1u);
  const LossRecord& losses = measured.losses[0];
  EXPECT_EQ(losses.locations, (std::vector<Location>{{0, 0}, {0, 1}}));
  EXPECT_DOUBLE_EQ(losses.length, 400e-9);
  EXPECT_DOUBLE_EQ(losses.allocation, 800e-9);
  EXPECT_FALSE(losses.grid);
  const std::string text = FormatLosses(losses, 10, test::OwnTexts());
  EXPECT_THAT(text, HasSubstr("400 ns on 2 threads of 1 rank"));
  EXPECT_THAT(text, HasSubstr("Wait at implicit OpenMP barrier"));
  EXPECT_THAT(text, HasSubstr("0, thread 1"));
  EXPECT_THAT(SummarizeLosses(losses, test::OwnTexts())[0], HasSubstr("of the time of all threads"));
  EXPECT_EQ(JsonOf(FromJson<LossRecord>(JsonOf(losses), "test")), JsonOf(losses));
}

TEST_F(RunStudyTest, RepeatsTheStudyNumbers) {
  AddRun("a", 2);
  AddRun("b", 2);
  study_.runs[0].repeat = 1;
  const StudyResults measured = Measure();
  EXPECT_EQ(measured.runs[0].repeat, 0);
  study_.runs[1].repeat = 1;
  EXPECT_THAT(ErrorOf(2), HasSubstr("repeat 1 at 2 cores is taken"));
}

TEST_F(RunStudyTest, OneRunGivesFactorsButNoProjection) {
  AddRun("a", 2);
  study_.phases = {PhaseSpec::Region("step")};
  const StudyResults outcome = RunStudy(study_, test::AllModels(), nullptr);
  EXPECT_EQ(outcome.table.rows.size(), 1u);
  ASSERT_TRUE(outcome.shortage);
  EXPECT_EQ(outcome.shortage->exit_code(), 4);
}

// Same bytes at every thread count is tested on the command line; here: progress begins and counts every run once.
TEST_F(RunStudyTest, Progress) {
  AddRun("a", 2);
  AddRun("b", 4);
  study_.phases = {PhaseSpec::WholeRun()};
  std::vector<std::size_t> done;
  MeasureRuns(study_, [&](std::size_t n, std::size_t total, const std::string&) {
    EXPECT_EQ(total, 2u);
    done.push_back(n);
  });
  EXPECT_EQ(done, (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace farscale
