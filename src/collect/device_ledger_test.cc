#include "collect/devices/device_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace farscale::collect {
namespace {

DeviceSums SumsIn(const DeviceLedger& ledger, std::uint32_t region, std::uint32_t device) {
  const auto sums = ledger.sums().find({region, device});
  return sums != ledger.sums().end() ? sums->second : DeviceSums();
}

// The run begins at 100. Kernels from 90 to 120, 110 to 130 and 140 to 150 are 40 from 100 on, with copies from 125 to
// 145 the device is active for 50. Region 1 is open from 115 to 142: kernels for 15 and 2, active all the time.
TEST(DeviceLedger, OverlapsCountOnceAndRegionsCut) {
  DeviceLedger ledger(100);
  ledger.Add(7, true, {140, 150});
  ledger.Open(1, 115);
  ledger.Add(7, true, {90, 120});
  ledger.Add(7, false, {125, 145});
  ledger.Close(1, 142);
  ledger.Add(7, true, {110, 130});
  ledger.Add(8, false, {0, 99});
  ledger.Settle(200);
  EXPECT_EQ(SumsIn(ledger, 0, 7).kernels, 40U);
  EXPECT_EQ(SumsIn(ledger, 0, 7).active, 50U);
  EXPECT_EQ(SumsIn(ledger, 1, 7).kernels, 17U);
  EXPECT_EQ(SumsIn(ledger, 1, 7).active, 27U);
  EXPECT_EQ(ledger.sums().size(), 2U);
  EXPECT_EQ(ledger.lost(), 0U);
}

// What comes after its time was settled is lost as far as it lies before, and work beyond the end of the run is not
// part of it.
TEST(DeviceLedger, LateWorkIsLost) {
  DeviceLedger ledger(0);
  ledger.Settle(50);
  ledger.Add(0, true, {30, 60});
  ledger.Add(0, true, {10, 15});
  ledger.Add(0, true, {90, 130});
  ledger.Settle(100);
  EXPECT_EQ(ledger.lost(), 25U);
  EXPECT_EQ(SumsIn(ledger, 0, 0).kernels, 20U);
}

// Edges at the very time up to which is settled, and a region that is open when the run ends.
TEST(DeviceLedger, RegionsGoOnBehindWhatIsSettled) {
  DeviceLedger ledger(0);
  ledger.Add(0, true, {0, 100});
  ledger.Open(1, 10);
  ledger.Settle(20);
  ledger.Close(1, 30);
  ledger.Open(1, 50);
  ledger.Settle(50);
  ledger.Settle(100);
  EXPECT_EQ(SumsIn(ledger, 1, 0).kernels, 70U);
  EXPECT_EQ(SumsIn(ledger, 0, 0).active, 100U);
}

// In whatever portions random work is settled, the sums are those of counting every ns by itself.
TEST(DeviceLedger, PortionsMakeNoDifference) {
  constexpr std::uint32_t kDevices = 2, kRegions = 3;
  constexpr std::uint64_t kEnd = 1000;
  std::mt19937 random(27);
  for (int trial = 0; trial < 200; ++trial) {
    DeviceLedger ledger(0);
    std::vector<char> kernels[kDevices], active[kDevices], open[kRegions];
    for (auto* all : {kernels, active}) {
      for (std::uint32_t i = 0; i < kDevices; ++i) all[i].assign(kEnd, 0);
    }
    for (auto& one : open) one.assign(kEnd, 0);
    open[0].assign(kEnd, 1);
    for (std::uint64_t now = 0; now < kEnd;) {
      const std::uint64_t next = std::min<std::uint64_t>(kEnd, now + 1 + random() % 100);
      const std::uint32_t region = 1 + random() % (kRegions - 1), device = random() % kDevices;
      const std::uint64_t begin = now + random() % (next - now), end = std::min(kEnd, begin + random() % 200);
      ledger.Open(region, now);
      ledger.Close(region, next);
      std::fill(open[region].begin() + static_cast<long>(now), open[region].begin() + static_cast<long>(next), 1);
      const bool is_kernel = random() % 2 == 0;
      ledger.Add(device, is_kernel, {begin, end});
      for (std::uint64_t i = begin; i < end; ++i) {
        active[device][i] = 1;
        if (is_kernel) kernels[device][i] = 1;
      }
      if (random() % 3 == 0) ledger.Settle(next);
      now = next;
    }
    ledger.Settle(kEnd);
    for (std::uint32_t region = 0; region < kRegions; ++region) {
      for (std::uint32_t device = 0; device < kDevices; ++device) {
        DeviceSums expected{};
        for (std::uint64_t i = 0; i < kEnd; ++i) {
          expected.kernels += open[region][i] != 0 && kernels[device][i] != 0 ? 1 : 0;
          expected.active += open[region][i] != 0 && active[device][i] != 0 ? 1 : 0;
        }
        EXPECT_EQ(SumsIn(ledger, region, device).kernels, expected.kernels);
        EXPECT_EQ(SumsIn(ledger, region, device).active, expected.active);
      }
    }
  }
}

// A million kernels of 600 ns, one every 1000 ns, handed over as they end: what is kept stays small, and nothing is
// lost.
TEST(DeviceLedger, MuchIsSettledOnTheWay) {
  constexpr std::uint64_t kKernels = 1'000'000;
  DeviceLedger ledger(0);
  for (std::uint64_t i = 0; i < kKernels; ++i) {
    ledger.Add(0, true, {i * 1000, i * 1000 + 600});
    if (ledger.keeps_much()) ledger.SettleHalf();
  }
  EXPECT_GT(SumsIn(ledger, 0, 0).kernels, (kKernels - (std::uint64_t{1} << 18U)) * 600);
  ledger.Settle(kKernels * 1000);
  EXPECT_EQ(SumsIn(ledger, 0, 0).kernels, kKernels * 600);
  EXPECT_EQ(ledger.lost(), 0U);
}

}  // namespace
}  // namespace farscale::collect
