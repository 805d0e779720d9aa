// What devices of several processes did, with the numbers worked out by hand.
#include <gmock/gmock.h>

#include <memory>

#include "collect/page.h"
#include "collect/text.h"
#include "measure/measured_run.h"

namespace farscale {
namespace {

using namespace collect;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

// A process of one device, that did this in region 0 and nothing in region 1.
std::unique_ptr<Page> PageOf(int rank, const char* device, std::uint64_t kernels, std::uint64_t active) {
  auto page = std::make_unique<Page>();
  page->rank = rank;
  page->flags = kHasDevices;
  page->devices.devices = page->devices.sums = page->devices.is_complete = 1;
  CopyName(device, page->devices.name[0]);
  page->devices.sum[0] = {0, 0, kernels * kSecond, active * kSecond};
  return page;
}

// Ranks 0 and 1 share a device of node 0, which can be in kernels for no more than the 10 s of the region; a device of
// that name on node 1 is another one.
TEST(MeasuredDevices, OfNodesAndRanks) {
  const auto a = PageOf(0, "x", 4, 5), b = PageOf(1, "x", 7, 8), c = PageOf(2, "x", 3, 9);
  const std::vector<MeasuredDevice> devices = SumDevices({{a.get(), 0, 0}, {b.get(), 0, 0}, {c.get(), 1, 0}}, 10);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_THAT(devices[0].ranks, ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(devices[0].kernels, 10);
  EXPECT_DOUBLE_EQ(devices[0].active, 10);
  EXPECT_THAT(devices[1].ranks, ElementsAre(2));
  EXPECT_DOUBLE_EQ(devices[1].kernels, 3);
  EXPECT_DOUBLE_EQ(devices[1].active, 9);
}

TEST(MeasuredDevices, NothingWhereNoneComputesOrOneIsUnknown) {
  const auto a = PageOf(0, "x", 4, 5), b = PageOf(1, "y", 7, 8);
  EXPECT_THAT(SumDevices({{a.get(), 0, 1}, {b.get(), 0, 1}}, 10), IsEmpty());
  EXPECT_EQ(SumDevices({{a.get(), 0, 0}, {b.get(), 0, 0}}, 10).size(), 2U);
  b->devices.is_complete = 0;  // it did not come to the end of its run
  EXPECT_TRUE(UsesDevices(*b));
  EXPECT_FALSE(KnowsDevices(*b));
  EXPECT_THAT(SumDevices({{a.get(), 0, 0}, {b.get(), 0, 0}}, 10), IsEmpty());
}

// A page that somebody else wrote.
TEST(MeasuredDevices, NumbersBeyondTheRecordAreNotFollowed) {
  const auto page = PageOf(0, "x", 4, 5);
  page->devices.sums = 1'000'000;
  EXPECT_FALSE(KnowsDevices(*page));
  page->flags = 0;
  EXPECT_THAT(SumDevices({{page.get(), 0, 0}}, 10), IsEmpty());
}

TEST(MeasuredDevices, AProcessWithoutKnowsThatItHasNone) {
  const auto page = std::make_unique<Page>();
  EXPECT_FALSE(UsesDevices(*page));
  EXPECT_TRUE(KnowsDevices(*page));
}

}  // namespace
}  // namespace farscale
