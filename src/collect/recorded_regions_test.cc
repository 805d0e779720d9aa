#include "collect/page_file.h"

#include <gtest/gtest.h>

namespace farscale::collect {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

void Expect(const std::string& text, const std::string& name, std::uint64_t first, std::uint64_t last) {
  const RecordedRegion region = ParseRecordedRegion(text);
  EXPECT_EQ(region.name, name) << text;
  EXPECT_EQ(region.window, text) << text;
  EXPECT_EQ(region.first, first) << text;
  EXPECT_EQ(region.last, last) << text;
}

TEST(RecordedRegions, OccurrencesStandBehindTheLastColon) {
  Expect("step", "step", 1, kAll);
  Expect("step:3", "step", 3, 3);
  Expect("step:3..5", "step", 3, 5);
  Expect("step:3..", "step", 3, kAll);
  Expect("step:3:1..", "step:3", 1, kAll);  // a region that ends like occurrences
  Expect("Solver::step", "Solver::step", 1, kAll);
  Expect("step:", "step:", 1, kAll);
  Expect("step:a..5", "step:a..5", 1, kAll);
  Expect("step:3..b", "step:3..b", 1, kAll);
  Expect(":3", ":3", 1, kAll);
  Expect("step:99999999999999999999", "step:99999999999999999999", 1, kAll);  // no number of 64 bits
  Expect("step:0", "step", 0, 0);                                             // refused where the command line is read
}

}  // namespace
}  // namespace farscale::collect
