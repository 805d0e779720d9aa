// Factors of devices, with the numbers worked out by hand from OTF2 archives; one tick is a second.
#include "factors/thread_times.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "factors/phase_factors.h"
#include "replay/matching.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

constexpr std::uint64_t kFirstStream = 500;

// Two ranks that run from 0 to 100.
class DeviceTimesTest : public testing::Test {
 protected:
  DeviceTimesTest() : archive_(folder_.path() / "a", "traces") {
    archive_.SetClock(1, 0);
    node_ = archive_.Node("n");
    for (int rank = 0; rank < 2; ++rank) archive_.AddProcess(node_);
    archive_.AddMpi();
  }

  // A new stream of the rank.
  std::uint64_t Stream(std::uint32_t rank, std::uint32_t device) {
    archive_.AddStream(kFirstStream + streams_, rank, device);
    return kFirstStream + streams_++;
  }
  void Kernel(std::uint64_t stream, std::uint64_t begin, std::uint64_t end) {
    archive_.Location(stream).Enter(begin, "cuda kernel").Leave(end, "cuda kernel");
  }
  // Computes until `wait`, then waits for its device until `end`.
  void Step(std::uint64_t rank, const std::string& region, std::uint64_t begin, std::uint64_t wait, std::uint64_t end) {
    archive_.Location(rank)
        .Enter(begin, region)
        .Enter(wait, "cudaDeviceSynchronize")
        .Leave(end, "cudaDeviceSynchronize")
        .Leave(end, region);
  }

  Trace Read() {
    ReadOptions options;
    options.keep_threads = true;
    return ReadTrace(archive_.Close(), options);
  }
  static PhaseFactors Measure(const Trace& trace, const PhaseSpec& spec = PhaseSpec::WholeRun()) {
    return MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, spec), {});
  }

  test::TemporaryFolder folder_;
  test::Otf2Archive archive_;
  std::uint32_t node_ = 0;
  std::uint64_t streams_ = 0;
};

// Rank 0 has device 0 with two streams: kernels from 10 to 40 and from 30 to 60 are 50 of 100, with a copy from 55 to
// 80 it is active for 70. Rank 1 has device 1 with kernels of 20 and device 2 that copies for 10 only. 70 of 3 · 100
// are kernels: load balance 70 / (3 · 50), communication 50 / 70, orchestration 70 / 100. Each host waits for 40 of
// 100.
TEST_F(DeviceTimesTest, SeveralDevicesAndStreams) {
  const std::uint32_t device0 = archive_.AddDevice(node_), device1 = archive_.AddDevice(node_),
                      device2 = archive_.AddDevice(node_);
  for (std::uint64_t rank = 0; rank < 2; ++rank) Step(rank, "work", 0, 60, 100);
  const std::uint64_t first = Stream(0, device0), second = Stream(0, device0);
  Kernel(first, 10, 40);
  Kernel(second, 30, 60);
  archive_.Location(first).BeginCopy(55, 0, 1).EndCopy(80, 0, 1);
  Kernel(Stream(1, device1), 20, 40);
  archive_.Location(Stream(1, device2)).BeginCopy(10, 0, 1).EndCopy(20, 0, 1);
  const PhaseFactors factors = Measure(Read());
  ASSERT_TRUE(factors.totals.devices);
  EXPECT_EQ(*factors.totals.devices, (DeviceTimes{3, 70, 50, 70}));
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceParallelEfficiency], 70.0 / 300);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceLoadBalance], 70.0 / 150);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceCommunication], 50.0 / 70);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceOrchestration], 0.7);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceOffload], 0.6);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kParallelEfficiency], 0.6);
}

// Whatever devices do, their factors multiply, and none exceeds 1 by more than rounding.
TEST_F(DeviceTimesTest, FactorsOfRandomDevicesMultiply) {
  std::mt19937 random(7);
  for (std::uint64_t rank = 0; rank < 2; ++rank) Step(rank, "work", 0, 60, 1000);
  const std::uint32_t devices[] = {archive_.AddDevice(node_), archive_.AddDevice(node_), archive_.AddDevice(node_)};
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t stream = Stream(random() % 2, devices[random() % 3]);
    for (std::uint64_t now = random() % 50, id = 0; now < 900; now += 1 + random() % 80, ++id) {
      const std::uint64_t begin = now;
      now += random() % 60;
      if (random() % 3 > 0) Kernel(stream, begin, now);
      if (random() % 3 > 0) continue;
      archive_.Location(stream).BeginCopy(now, 0, id);
      now += random() % 30;
      archive_.Location(stream).EndCopy(now, 0, id);
    }
  }
  const FactorValues values = Measure(Read()).values;
  const double product = *values[Factor::kDeviceLoadBalance] * *values[Factor::kDeviceCommunication] *
                         *values[Factor::kDeviceOrchestration];
  EXPECT_NEAR(*values[Factor::kDeviceParallelEfficiency], product, 1e-12);
  for (const Factor factor : {Factor::kDeviceLoadBalance, Factor::kDeviceCommunication, Factor::kDeviceOrchestration}) {
    EXPECT_GT(*values[factor], 0);
    EXPECT_LE(*values[factor], 1 + 1e-12);
  }
}

// Of kernels that cross the edges of the phase, from 20 to 60, what lies inside counts: 10 and 15 of 40. The device of
// rank 1 has no kernel there, and counts. Without it, in the group of rank 0, load balance is 1.
TEST_F(DeviceTimesTest, KernelsCrossEdgesOfPhase) {
  const std::uint32_t device0 = archive_.AddDevice(node_), device1 = archive_.AddDevice(node_);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    Step(rank, "before", 0, 15, 20);
    Step(rank, "phase", 20, 50, 60);
    Step(rank, "after", 60, 90, 100);
  }
  const std::uint64_t stream = Stream(0, device0);
  Kernel(stream, 10, 30);
  Kernel(stream, 45, 95);
  Kernel(Stream(1, device1), 70, 80);
  const Trace trace = Read();
  const PhaseFactors whole = Measure(trace, PhaseSpec::Region("phase"));
  EXPECT_EQ(*whole.totals.devices, (DeviceTimes{2, 25, 25, 25}));
  EXPECT_DOUBLE_EQ(*whole.values[Factor::kDeviceParallelEfficiency], 25.0 / 80);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::Region("phase")).OnlyRanks({0}, "first");
  const auto ticks = TicksOfDevices(trace, cut, [&](std::size_t rank) { return cut.CountedTime(rank); });
  EXPECT_EQ(ticks, std::vector<DeviceTicks>{(DeviceTicks{25, 25})});
  // Nothing computes on devices before 10.
  EXPECT_FALSE(DeviceTimesOf(trace, {{0, 5}}, 10));
}

// Two ranks on one device, from 10 to 40 and from 30 to 50.
TEST_F(DeviceTimesTest, SharedDeviceCountsOnce) {
  const std::uint32_t device = archive_.AddDevice(node_);
  for (std::uint64_t rank = 0; rank < 2; ++rank) Step(rank, "work", 0, 60, 100);
  Kernel(Stream(0, device), 10, 40);
  Kernel(Stream(1, device), 30, 50);
  EXPECT_EQ(*Measure(Read()).totals.devices, (DeviceTimes{1, 40, 40, 40}));
}

// Five iterations of 20 with kernels of 8, 8, 8, 8 and 13: without one of the first, 37 of 80; without the last, 32 of
// 80. Their spread is the error of the factor.
TEST_F(DeviceTimesTest, IterationsGiveErrors) {
  const std::uint64_t stream = Stream(0, archive_.AddDevice(node_));
  for (std::uint64_t k = 0; k < 5; ++k) {
    for (std::uint64_t rank = 0; rank < 2; ++rank) Step(rank, "step", 20 * k, 20 * k + 10, 20 * k + 20);
    Kernel(stream, 20 * k + 2, 20 * k + (k == 4 ? 15 : 10));
  }
  const PhaseFactors factors = Measure(Read(), PhaseSpec::Region("step"));
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceParallelEfficiency], 0.45);
  ASSERT_TRUE(factors.samples);
  ASSERT_EQ(factors.samples->values.size(), 5u);
  EXPECT_DOUBLE_EQ(*factors.samples->values[0][Factor::kDeviceParallelEfficiency], 37.0 / 80);
  EXPECT_DOUBLE_EQ(*factors.samples->values[4][Factor::kDeviceParallelEfficiency], 32.0 / 80);
}

// Calls of a host to OpenACC, and to a paradigm that says itself to be one of accelerators.
TEST_F(DeviceTimesTest, OtherParadigms) {
  archive_.Location(0).Enter(0, "main").Enter(20, "acc wait").Leave(60, "acc wait").Leave(100, "main");
  archive_.Location(1).Enter(0, "main").Enter(20, "sycl wait").Leave(60, "sycl wait").Leave(100, "main");
  const PhaseFactors factors = Measure(Read());
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kDeviceOffload], 0.6);
  EXPECT_FALSE(factors.totals.devices);
}

}  // namespace
}  // namespace farscale
