#include "base/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace farscale {
namespace {

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const std::size_t count : {0u, 1u, 2u, 1000u}) {
    std::vector<int> calls(count);
    ParallelFor(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, Nests) {
  std::vector<std::size_t> sums(20);
  ParallelFor(sums.size(), [&](std::size_t i) {
    std::vector<std::size_t> parts(50);
    ParallelFor(parts.size(), [&](std::size_t j) { parts[j] = i * j; });
    sums[i] = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
  });
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], i * 49 * 25);
}

TEST(ParallelFor, ThrowsWhatABodyThrows) {
  EXPECT_THROW(ParallelFor(100,
                           [](std::size_t i) {
                             if (i % 10 == 7) throw std::runtime_error("a text too long to be kept inside the string");
                           }),
               std::runtime_error);
}

}  // namespace
}  // namespace farscale
