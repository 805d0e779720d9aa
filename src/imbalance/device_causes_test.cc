// Ranks that wait for their devices for different times: what is named is their waiting, not their computation. Traces
// are written through OTF2 and worked out by hand; a tick is a microsecond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "imbalance/loss_remedy.h"
#include "replay/matching.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr std::size_t kIterations = 12;
constexpr std::uint64_t kCollective = 10;  // ticks, from the last rank on

using Piece = std::pair<std::string, std::uint64_t>;  // region, and ticks in it

class DeviceCausesTest : public testing::TestWithParam<std::size_t> {
 protected:
  std::size_t Ranks() const { return GetParam(); }
  std::size_t Slow() const { return Ranks() - 1; }

  // In every iteration each rank is in its pieces one after the other; then all meet.
  LossRecord Losses(const std::vector<std::vector<Piece>>& pieces) {
    test::Otf2Archive archive(folder_.path() / std::to_string(archives_++), "traces");
    archive.SetClock(1000000, 0);
    const std::uint32_t node = archive.Node("n");
    for (std::size_t rank = 0; rank < pieces.size(); ++rank) archive.AddProcess(node);
    archive.AddMpi();
    const std::uint64_t step = LengthOf(pieces);
    for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
      test::Otf2Writer writer = archive.Location(rank);
      writer.Enter(0, "main");
      for (std::size_t i = 0; i < kIterations; ++i) {
        std::uint64_t time = i * step;
        writer.Enter(time, "step");
        for (const auto& [region, ticks] : pieces[rank]) {
          writer.Enter(time, region).Leave(time + ticks, region);
          time += ticks;
        }
        const std::uint64_t end = (i + 1) * step;
        writer.Enter(time, "MPI_Allreduce")
            .Collective(end, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_UNDEFINED_UINT32, 8, 8)
            .Leave(end, "MPI_Allreduce")
            .Leave(end, "step");
      }
      writer.Leave(kIterations * step, "main");
    }
    const Trace trace = ReadTrace(archive.Close());
    const Matching matching = MatchTrace(trace);
    DiagnosisOptions options;
    options.finds_causes = true;
    options.shapes = 4;
    return RecordOf(Diagnose(trace, matching, CutPhase(trace, PhaseSpec::Region("step")), options), "step");
  }

  static std::uint64_t LengthOf(const std::vector<std::vector<Piece>>& pieces) {
    std::uint64_t longest = 0;
    for (const std::vector<Piece>& of_rank : pieces) {
      std::uint64_t length = 0;
      for (const Piece& piece : of_rank) length += piece.second;
      longest = std::max(longest, length);
    }
    return longest + kCollective;
  }

  static const PathRecord& PathOf(const LossRecord& losses, const std::string& end) {
    return *std::ranges::find_if(losses.paths, [&](const PathRecord& path) { return path.path.ends_with(end); });
  }

  test::TemporaryFolder folder_;
  int archives_ = 0;
};

constexpr const char* kWait = "cudaDeviceSynchronize";

// All compute 1000; the last rank waits 700 for its device, the others 200. Without that all are 500 earlier.
TEST_P(DeviceCausesTest, DeviceOfOneRank) {
  std::vector<std::vector<Piece>> pieces(Ranks(), {{"solve", 1000}, {kWait, 200}});
  pieces[Slow()] = {{"solve", 1000}, {kWait, 700}};
  const LossRecord losses = Losses(pieces);
  ASSERT_EQ(losses.causes.size(), 1u);
  const Cause& cause = losses.causes.front();
  EXPECT_TRUE(cause.is_device_call);
  EXPECT_FALSE(cause.is_mpi);
  EXPECT_TRUE(cause.path.ends_with(kWait)) << cause.path;
  EXPECT_EQ(cause.ranks.front(), Slow());
  EXPECT_EQ(IdOf(cause.reason()), IdOf(CauseClass::kDeviceWait));
  const double gain = Ranks() == 2 ? 250e-6 : 500e-6;  // of two ranks, either may be the usual one
  EXPECT_GE(cause.gain, gain * kIterations * 0.99);
  EXPECT_LE(cause.gain, 500e-6 * kIterations * 1.01);
  // All computation is even; what the calls make others wait is theirs.
  EXPECT_DOUBLE_EQ(losses.shape->imbalance, 0);
  EXPECT_DOUBLE_EQ(losses.shape->imbalance_in_step.value(), 0);
  EXPECT_EQ(RemedyForAll(losses), Remedy{});
  const PathRecord& wait = PathOf(losses, kWait);
  EXPECT_TRUE(wait.is_device_call);
  EXPECT_FALSE(PathOf(losses, "solve").is_device_call);
  EXPECT_NEAR(losses.device_calls->costs, losses.Waiting(), 1e-9);
  EXPECT_EQ(RemedyForPath(losses, wait).kind, Remedy::Kind::kRelieveDevices);
}

// Kernels of rank r take 300 + 100 r.
TEST_P(DeviceCausesTest, UnequalKernels) {
  std::vector<std::vector<Piece>> pieces;
  for (std::size_t rank = 0; rank < Ranks(); ++rank) pieces.push_back({{"solve", 500}, {kWait, 300 + 100 * rank}});
  const LossRecord losses = Losses(pieces);
  ASSERT_FALSE(losses.causes.empty());
  for (const Cause& cause : losses.causes) {
    EXPECT_TRUE(cause.is_device_call) << cause.path;
    EXPECT_EQ(IdOf(cause.reason()), IdOf(CauseClass::kDeviceWait));
  }
  EXPECT_EQ(losses.causes.front().ranks.front(), Slow());
  EXPECT_DOUBLE_EQ(losses.shape->imbalance, 0);
}

// Equal kernels cause nothing, and are no excuse: the computation of the last rank takes 1600 instead of 1000.
TEST_P(DeviceCausesTest, EqualKernels) {
  std::vector<std::vector<Piece>> pieces(Ranks(), {{"solve", 1000}, {kWait, 400}});
  EXPECT_TRUE(Losses(pieces).causes.empty());
  pieces[Slow()].front().second = 1600;
  const LossRecord losses = Losses(pieces);
  ASSERT_EQ(losses.causes.size(), 1u);
  EXPECT_FALSE(losses.causes.front().is_device_call);
  EXPECT_TRUE(losses.causes.front().path.ends_with("solve"));
  EXPECT_EQ(losses.device_calls->costs, 0);
  // (1600 - mean) / 1600 N / (N - 1) = 600 / 1600, whatever the calls to devices take.
  EXPECT_NEAR(losses.shape->imbalance, 600.0 / 1600, 1e-12);
  EXPECT_NEAR(losses.shape->imbalance_in_step.value(), 600.0 / 1600, 1e-12);
}

// The device of the last rank takes longer for everything: one cause, in all calls to devices.
TEST_P(DeviceCausesTest, AllCallsOfOneRank) {
  std::vector<std::vector<Piece>> pieces(
      Ranks(), {{"cudaMemcpy", 200}, {"solve", 1000}, {"cudaLaunchKernel", 150}, {kWait, 400}});
  pieces[Slow()] = {{"cudaMemcpy", 300}, {"solve", 1000}, {"cudaLaunchKernel", 225}, {kWait, 600}};
  const LossRecord losses = Losses(pieces);
  ASSERT_EQ(losses.causes.size(), 1u);
  const Cause& cause = losses.causes.front();
  EXPECT_TRUE(cause.is_device_call);
  EXPECT_TRUE(cause.in_everything);
  EXPECT_EQ(cause.path, "");
  EXPECT_EQ(cause.ranks.front(), Slow());
}

// A host that does nothing but wait has no computation to compare.
TEST_P(DeviceCausesTest, NoComputation) {
  std::vector<std::vector<Piece>> pieces(Ranks(), {{kWait, 400}});
  pieces[Slow()] = {{kWait, 800}};
  const LossRecord losses = Losses(pieces);
  ASSERT_EQ(losses.causes.size(), 1u);
  EXPECT_TRUE(losses.causes.front().is_device_call);
  EXPECT_EQ(losses.causes.front().ranks.front(), Slow());
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceCausesTest, testing::Values(2, 3, 4, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace farscale
