#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace farscale {
namespace {

TEST(LargeArrays, KeepTheirContentWhereverTheyLie) {
  for (const std::uint64_t limit :
       {std::uint64_t{0}, std::uint64_t{1} << 20, std::numeric_limits<std::uint64_t>::max()}) {
    LimitLargeArrays(limit);
    // The second of these exceeds a mebibyte together with the first, the last is small.
    constexpr std::size_t kSizes[] = {700000, 500000, kLargeArray, kLargeArray - 1, 0};
    void* arrays[5] = {};
    for (int i = 0; i < 5; ++i) {
      arrays[i] = AllocateArray(kSizes[i]);
      ASSERT_NE(arrays[i], nullptr);
      std::memset(arrays[i], i + 1, kSizes[i]);
    }
    for (int i = 0; i < 5; ++i) {
      const auto* bytes = static_cast<const unsigned char*>(arrays[i]);
      for (std::size_t k = 0; k < kSizes[i]; ++k) ASSERT_EQ(bytes[k], i + 1);
      FreeArray(arrays[i]);
    }
  }
  FreeArray(nullptr);
}

#ifndef FARSCALE_SANITIZED  // which end the program instead
TEST(LargeArrays, ThereIsNoneThatNeitherMemoryNorDiskHolds) {
  LimitLargeArrays(0);
  EXPECT_EQ(AllocateArray(std::numeric_limits<std::size_t>::max() / 4), nullptr);
  LimitLargeArrays(std::numeric_limits<std::uint64_t>::max());
}
#endif

TEST(LargeArrays, TheRestOfTheProgramHasItsShareOfTheBudget) {
  EXPECT_EQ(ShareOfLargeArrays(1 << 20), 256u << 10);         // a quarter of little
  EXPECT_EQ(ShareOfLargeArrays(896ull << 20), 700ull << 20);  // 7/8 of what 96 MiB leave
}

}  // namespace
}  // namespace farscale
