#include "trace/device_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/anomalies.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Spans = std::vector<DeviceSpan>;

TEST(DeviceSpans, UnionIsInOrderAndApart) {
  EXPECT_THAT(UnionOf({{5, 7}, {1, 3}, {2, 4}, {4, 5}, {9, 10}}), ElementsAre(DeviceSpan{1, 7}, DeviceSpan{9, 10}));
  EXPECT_THAT(UnionOf({}), IsEmpty());
}

// What ends without a begin, begins without an end, or ends before it begins is no span.
TEST(DeviceSpans, UnbalancedRecordsAreLeftOut) {
  StreamRecords stream;
  stream.Leave(1, 7, StreamUse::kKernel);
  stream.Enter(5, 7);
  stream.Leave(3, 7, StreamUse::kKernel);
  stream.Enter(6, 7);
  stream.Leave(8, 7, StreamUse::kKernel);
  stream.BeginCopy(8, 0, 1);
  stream.EndCopy(9, 0, 1);
  stream.EndCopy(10, 0, 1);
  stream.BeginCopy(11, 0, 2);
  stream.Enter(12, 7);
  Diagnostics diagnostics;
  const DeviceWork work = stream.Finish("here", diagnostics);
  EXPECT_EQ(work.kernels, (Spans{{6, 8}}));
  EXPECT_EQ(work.active, (Spans{{6, 8}, {8, 9}}));
  EXPECT_EQ(diagnostics.count(anomaly::kDeviceRecordsUnbalanced), 5u);
}

class DeviceReadingTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kStream = 500;

  DeviceReadingTest() : archive_(folder_.path() / "a", "traces") {
    archive_.SetClock(1, 0);
    node_ = archive_.Node("n");
    for (int rank = 0; rank < 2; ++rank) archive_.AddProcess(node_);
    archive_.AddMpi();
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      archive_.Location(rank).Enter(0, "main").Enter(1, "cudaDeviceSynchronize").Leave(2, "cudaDeviceSynchronize");
      archive_.Location(rank).Leave(100, "main");
    }
  }

  void Kernel(std::uint64_t stream, std::uint64_t begin, std::uint64_t end) {
    archive_.Location(stream).Enter(begin, "cuda kernel").Leave(end, "cuda kernel");
  }

  Trace Read(bool keep_threads = true) {
    if (anchor_.empty()) anchor_ = archive_.Close();
    ReadOptions options;
    options.keep_threads = keep_threads;
    return ReadTrace(anchor_, options);
  }

  test::TemporaryFolder folder_;
  test::Otf2Archive archive_;
  std::uint32_t node_ = 0;
  std::string anchor_;
};

// Two streams of a device whose kernels overlap, one of them with copies of both kinds and a mark that it is idle; a
// stream of which nothing is recorded; and a device that does nothing.
TEST_F(DeviceReadingTest, StreamsOfADevice) {
  const std::uint32_t used = archive_.AddDevice(node_), unused = archive_.AddDevice(node_);
  for (const std::uint64_t stream : {kStream, kStream + 1, kStream + 2}) archive_.AddStream(stream, 0, used);
  archive_.AddStream(kStream + 3, 0, unused);
  for (const std::uint64_t stream : {kStream + 2, kStream + 3}) archive_.Location(stream);
  Kernel(kStream, 10, 20);
  Kernel(kStream + 1, 15, 30);
  archive_.Location(kStream)
      .BeginCopy(28, 0, 1)
      .EndCopy(33, 0, 1)
      .Enter(40, "cuda copy")
      .Leave(45, "cuda copy")
      .Enter(50, "cuda idle")
      .Leave(60, "cuda idle");
  const Trace trace = Read();
  ASSERT_EQ(trace.devices.size(), 1u);
  ASSERT_EQ(trace.devices[0].of_ranks.size(), 1u);
  const DeviceWork& work = trace.devices[0].of_ranks[0];
  EXPECT_EQ(work.rank, 0);
  EXPECT_EQ(work.kernels, (Spans{{10, 30}}));
  EXPECT_EQ(work.active, (Spans{{10, 33}, {40, 45}}));
  EXPECT_TRUE(trace.diagnostics.findings().empty());
  const Trace without = Read(false);
  EXPECT_TRUE(without.devices.empty());
  EXPECT_EQ(without.diagnostics.count(anomaly::kOtherLocationsIgnored), 2u);  // with records
}

TEST_F(DeviceReadingTest, RanksShareADevice) {
  const std::uint32_t device = archive_.AddDevice(node_);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    archive_.AddStream(kStream + rank, rank, device);
    Kernel(kStream + rank, 10 + rank, 20);
  }
  const Trace trace = Read();
  ASSERT_EQ(trace.devices.size(), 1u);
  ASSERT_EQ(trace.devices[0].of_ranks.size(), 2u);
  EXPECT_EQ(trace.devices[0].of_ranks[1].kernels, (Spans{{11, 20}}));
}

// Two devices of rank 0, the first with two streams, and one of rank 1.
TEST_F(DeviceReadingTest, StreamsOfOldArchives) {
  archive_.AddStream(kStream, 0, "CUDA[0:7]");
  archive_.AddStream(kStream + 1, 0, "CUDA[0:8]");
  archive_.AddStream(kStream + 2, 0, "CUDA[1:7]");
  archive_.AddStream(kStream + 3, 1, "CUDA[0:7]");
  for (std::uint64_t stream = 0; stream < 4; ++stream) Kernel(kStream + stream, 10 + stream, 20);
  const Trace trace = Read();
  ASSERT_EQ(trace.devices.size(), 3u);
  EXPECT_EQ(trace.devices[0].of_ranks[0].kernels, (Spans{{10, 20}}));
  EXPECT_EQ(trace.devices[2].of_ranks[0].rank, 1);
}

// The clock of the device is 1000 behind, then 1020: without offsets nothing fits the process.
TEST_F(DeviceReadingTest, ClocksOfDevices) {
  const std::uint32_t device = archive_.AddDevice(node_);
  archive_.AddStream(kStream, 0, device);
  archive_.SetClockOffset(kStream, 1000, -1000);
  archive_.SetClockOffset(kStream, 1100, -1020);
  Kernel(kStream, 1000, 1050);
  const Trace trace = Read();
  EXPECT_EQ(trace.devices[0].of_ranks[0].kernels, (Spans{{0, 40}}));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDeviceClockDiffers), 0u);
}

TEST_F(DeviceReadingTest, ClocksThatDifferAreReported) {
  archive_.AddStream(kStream, 0, archive_.AddDevice(node_));
  Kernel(kStream, 50, 60);
  Kernel(kStream, 1000, 1050);
  EXPECT_EQ(Read().diagnostics.count(anomaly::kDeviceClockDiffers), 1u);
}

TEST(DeviceReading, KernelsWithoutCallsOfHosts) {
  test::TemporaryFolder folder;
  test::Otf2Archive archive(folder.path() / "a", "traces");
  archive.AddWorld(1);
  archive.AddStream(500, 0, "CUDA[0:7]");
  archive.Location(0).Enter(0, "main").Leave(100, "main");
  archive.Location(500).Enter(10, "cuda kernel").Leave(20, "cuda kernel");
  ReadOptions options;
  options.keep_threads = true;
  const Trace trace = ReadTrace(archive.Close(), options);
  EXPECT_FALSE(RecordsDeviceCalls(trace));
  EXPECT_EQ(trace.diagnostics.count(anomaly::kDeviceCallsUnrecorded), 1u);
}

}  // namespace
}  // namespace farscale
