#include "trace/packed_column.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace farscale {
namespace {

PackedColumn Pack(const std::vector<std::int64_t>& values) {
  PackedColumnBuilder builder;
  for (const std::int64_t value : values) builder.Append(value);
  return builder.Finish();
}

void ExpectSame(const std::vector<std::int64_t>& values) {
  const PackedColumn column = Pack(values);
  ASSERT_EQ(column.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(column[i], values[i]) << i;
}

TEST(PackedColumn, Empty) {
  EXPECT_EQ(Pack({}).size(), 0u);
  EXPECT_EQ(Pack({}).MemoryBytes(), 0u);
}

TEST(PackedColumn, EveryWidthAndPartialBlocks) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (const std::size_t count : {1u, 7u, 255u, 256u, 257u, 700u}) {
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        values.push_back(static_cast<std::int64_t>(random() & mask));
      }
      ExpectSame(values);
    }
  }
}

TEST(PackedColumn, Extremes) {
  using Limits = std::numeric_limits<std::int64_t>;
  ExpectSame({Limits::min(), Limits::max(), 0, -1, 1});
  ExpectSame(std::vector<std::int64_t>(1000, Limits::min()));
  ExpectSame({-5, -4, -3});
}

// 256 equal values need no bits, only the head of their block.
TEST(PackedColumn, EqualValuesTakeNoRoom) {
  EXPECT_LE(Pack(std::vector<std::int64_t>(256 * 100, 1 << 30)).MemoryBytes(), 100 * 16 + 8u);
}

// A rank has many columns of few values.
TEST(PackedColumn, FewValuesTakeLittle) {
  EXPECT_LE(sizeof(PackedColumn), 16u);
  EXPECT_LE(Pack({7}).MemoryBytes(), 16u);
  EXPECT_LE(Pack({7, 8, 9}).MemoryBytes(), 24u);
}

TEST(PackedColumn, CopiesAreApart) {
  const std::vector<std::int64_t> values = {3, 1, 4, 1, 5}, others(300, 9);
  PackedColumn column = Pack(values);
  const PackedColumn copy = column;
  column = Pack(others);
  EXPECT_EQ(column.size(), 300u);
  EXPECT_EQ(column[299], 9);
  ASSERT_EQ(copy.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(copy[i], values[i]);
  column = copy;
  EXPECT_EQ(column[2], 4);
  column = PackedColumn();
  EXPECT_EQ(column.size(), 0u);
}

// Times that ascend by up to 2^20 span 28 bits a block of 256: less than half of 64.
TEST(PackedColumn, AscendingTimesTakeHalf) {
  std::vector<std::int64_t> values;
  std::mt19937_64 random(2);
  std::int64_t time = 1'000'000'000'000;
  for (int i = 0; i < 10000; ++i) values.push_back(time += static_cast<std::int64_t>(random() & 0xFFFFF));
  EXPECT_LT(Pack(values).MemoryBytes(), values.size() * 8 / 2);
}

}  // namespace
}  // namespace farscale
