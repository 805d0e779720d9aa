#include "study/grown_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "study/run_study.h"
#include "support/spmd_program.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::HasSubstr;

// A sweep through all ranks, one after the other, and work that the last ranks have more of.
void SweepAndWork(test::SpmdRank& rank) {
  for (int i = 0; i < 3; ++i) {
    rank.BeginIteration();
    rank.BeginSweep();
    if (rank.rank() > 0) rank.Receive(rank.rank() - 1, 4000, 1);
    rank.Compute(20000);
    if (rank.rank() + 1 < rank.ranks()) rank.Send(rank.rank() + 1, 4000, 1);
    rank.EndSweep();
    rank.Compute(rank.rank() + 1 == rank.ranks() ? 400000 : 300000);
    rank.AllReduce(8);
    rank.EndIteration();
  }
}

class GrownStudyTest : public testing::Test {
 protected:
  Trace RunOn(std::int32_t ranks) const {
    const Trace trace = test::RunSpmd(ranks, SweepAndWork);
    ReplayOptions options;
    options.keep_calls = true;
    options.network = &network_;
    return ReplayedTrace(trace, Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options));
  }

  Study StudyOf(const std::vector<std::int32_t>& counts, const PhaseSpec& phase) const {
    Study study;
    study.phases = {phase};
    for (const std::int32_t ranks : counts) {
      const std::filesystem::path anchor = folder_ / std::to_string(ranks) / "traces.otf2";
      std::filesystem::create_directories(anchor.parent_path());
      std::filesystem::remove_all(anchor.parent_path());
      WriteOtf2(RunOn(ranks), anchor);
      study.runs.push_back({anchor.string(), std::nullopt, std::nullopt, "test"});
    }
    return study;
  }

  std::vector<Study> GrowFrom(const Study& study, std::int64_t cores) {
    return GrowStudies(study, MeasureRuns(study, nullptr).table, {cores}, folder_.Write("n.toml", test::kSlowNetwork),
                       nullptr, findings_);
  }

  const Network network_ = ParseNetwork(test::kSlowNetwork, "n.toml", "n");
  test::TemporaryFolder folder_;
  std::vector<Finding> findings_;
};

// Shares of the waiting, by call path.
std::map<std::string, double> SharesOf(const LossRecord& losses, double (*of)(const PathRecord&)) {
  std::map<std::string, double> shares;
  for (const PathRecord& path : losses.paths) {
    const double share = of(path) / losses.Waiting();
    if (share > 0.02) shares[path.path] = share;
  }
  return shares;
}

void ExpectSame(const std::map<std::string, double>& grown, const std::map<std::string, double>& measured) {
  for (const auto& [path, share] : measured) {
    ASSERT_TRUE(grown.contains(path)) << path;
    EXPECT_NEAR(grown.at(path), share, 0.02) << path;
  }
  EXPECT_EQ(grown.size(), measured.size());
}

double CostsOfPath(const PathRecord& path) { return path.total.Costs(); }
double WaitingOfPath(const PathRecord& path) { return path.total.Waiting(); }

TEST_F(GrownStudyTest, RanksWaitWhereTheyDoInTheRunItself) {
  const std::vector<Study> grown = GrowFrom(StudyOf({4, 8, 16}, PhaseSpec::Region("step")), 64);
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_TRUE(findings_.empty());
  const StudyResults runs = MeasureRuns(grown.front(), nullptr, {}, Detail::kLosses);
  EXPECT_EQ(runs.runs.front().grown_from, 16);
  EXPECT_EQ(runs.runs.front().fingerprint, "");
  const LossRecord& losses = runs.losses.front();
  EXPECT_EQ(losses.grown_from, 16);
  EXPECT_EQ(losses.cores, 64);
  const StudyResults truth = MeasureRuns(StudyOf({64}, PhaseSpec::Region("step")), nullptr, {}, Detail::kLosses);
  EXPECT_FALSE(truth.losses.front().grown_from);
  EXPECT_NEAR(losses.Waiting() / losses.allocation, truth.losses.front().Waiting() / truth.losses.front().allocation,
              0.01);
  ExpectSame(SharesOf(losses, CostsOfPath), SharesOf(truth.losses.front(), CostsOfPath));
  const auto waits = SharesOf(losses, WaitingOfPath);
  ExpectSame(waits, SharesOf(truth.losses.front(), WaitingOfPath));
  EXPECT_TRUE(waits.contains("step / sweep / MPI_Recv"));
}

// The region that growth makes around iterations is none of the program.
TEST_F(GrownStudyTest, PathsAreThoseOfTheProgramInAnyPhase) {
  const Study study = StudyOf({4, 8, 16}, PhaseSpec::WholeRun());
  const std::vector<Study> grown = GrowFrom(study, 32);
  ASSERT_EQ(grown.size(), 1u);
  const StudyResults runs = MeasureRuns(grown.front(), nullptr, {}, Detail::kLosses);
  EXPECT_TRUE(SharesOf(runs.losses.front(), WaitingOfPath).contains("step / sweep / MPI_Recv"));
}

TEST_F(GrownStudyTest, SaysWhyNothingIsGrown) {
  EXPECT_TRUE(GrowFrom(StudyOf({4, 8}, PhaseSpec::Region("step")), 64).empty());
  ASSERT_EQ(findings_.size(), 1u);
  EXPECT_THAT(findings_.front().example, HasSubstr("step: 2 runs; three or more"));
}

}  // namespace
}  // namespace farscale
