#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string WhyNot(std::string_view list) {
  std::vector<std::int64_t> cores;
  return WhyNoCoreCounts(list, cores);
}

TEST(CoreCount, Lists) {
  std::vector<std::int64_t> cores;
  EXPECT_THAT(WhyNoCoreCounts("16, 128,1000000000", cores), IsEmpty());
  EXPECT_THAT(cores, ElementsAre(16, 128, 1000000000));
}

// 1,024 is neither 1 and 24 nor, as octal digits, 1 and 20.
TEST(CoreCount, ZerosInFront) {
  EXPECT_THAT(WhyNot("1,024"), HasSubstr("'024' is no number of cores, for it begins with a zero; write 1024"));
  EXPECT_THAT(WhyNot("16,1,024"), HasSubstr("write 1024"));
  EXPECT_THAT(WhyNot("0100"), HasSubstr("'0100' is no number of cores, for it begins with a zero; write 100"));
  EXPECT_THAT(WhyNot("1,000"), HasSubstr("write 1000"));
  EXPECT_THAT(WhyNot("00"), HasSubstr("begins with a zero"));
}

TEST(CoreCount, EmptyItemsAndOtherWords) {
  for (const char* list : {"", ",", "1,", ",2", "1,,2", "1, ,2"}) EXPECT_EQ(WhyNot(list), kEmptyCoreCount) << list;
  for (const char* list : {"0", "-4", "+4", "1e3", "16.0", "0x10", "16 32", "1000000001", "99999999999999999999"}) {
    EXPECT_THAT(WhyNot(list), HasSubstr("no whole number of cores from 1 to 1000000000")) << list;
  }
}

}  // namespace
}  // namespace farscale
