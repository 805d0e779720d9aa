// Time of hosts in the runtimes of their devices, with the numbers worked out by hand; one tick is a second.
#include <gtest/gtest.h>

#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "replay/matching.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

class DeviceCallsTest : public testing::Test {
 protected:
  DeviceCallsTest() : archive_(folder_.path() / "a", "traces") {
    archive_.SetClock(1, 0);
    const std::uint32_t node = archive_.Node("n");
    for (int rank = 0; rank < 2; ++rank) archive_.AddProcess(node);
    archive_.AddMpi();
  }

  LossRecord Losses() {
    const Trace trace = ReadTrace(archive_.Close());
    const Matching matching = MatchTrace(trace);
    return RecordOf(Diagnose(trace, matching, CutPhase(trace, PhaseSpec::WholeRun()), {}), "whole");
  }

  test::TemporaryFolder folder_;
  test::Otf2Archive archive_;
};

// Rank 0 waits for its device from 40 to 70. Rank 1 copies from 10 to 25, which calls the driver from 12 to 20, and
// waits from 30 to 40, in which the runtime calls a function of the program from 32 to 35. As in factors, that is
// computation: of 52 in the runtime, 37 are in cudaDeviceSynchronize.
TEST_F(DeviceCallsTest, FunctionsOfAllRanks) {
  archive_.Location(0)
      .Enter(0, "main")
      .Enter(40, "cudaDeviceSynchronize")
      .Leave(70, "cudaDeviceSynchronize")
      .Leave(100, "main");
  archive_.Location(1)
      .Enter(0, "main")
      .Enter(10, "cudaMemcpy")
      .Enter(12, "cudaMemcpyHtoD")
      .Leave(20, "cudaMemcpyHtoD")
      .Leave(25, "cudaMemcpy")
      .Enter(30, "cudaDeviceSynchronize")
      .Enter(32, "callback")
      .Leave(35, "callback")
      .Leave(40, "cudaDeviceSynchronize")
      .Leave(100, "main");
  const LossRecord losses = Losses();
  ASSERT_TRUE(losses.device_calls);
  EXPECT_DOUBLE_EQ(losses.device_calls->time, 52);
  EXPECT_EQ(losses.device_calls->largest, "cudaDeviceSynchronize");
  EXPECT_DOUBLE_EQ(losses.device_calls->of_largest, 37);
  EXPECT_DOUBLE_EQ(losses.allocation, 200);
}

TEST_F(DeviceCallsTest, NothingWithoutDevices) {
  for (int rank = 0; rank < 2; ++rank)
    archive_.Location(static_cast<std::uint64_t>(rank)).Enter(0, "main").Leave(100, "main");
  EXPECT_FALSE(Losses().device_calls);
}

}  // namespace
}  // namespace farscale
