#include "results/reported_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace farscale {
namespace {

// Paths lose 1 to 12 s, half of them of either factor, and are named in the order of the alphabet.
LossRecord Record(const std::string& phase, int cores) {
  LossRecord record;
  record.phase = phase;
  record.cores = cores;
  record.by_factor.emplace();
  for (int i = 1; i <= 12; ++i) {
    const double loss = i;
    record.by_factor->push_back({std::string(1, static_cast<char>('a' + i)), loss / 4, loss * 3 / 4});
  }
  return record;
}

TEST(LossesForReport, AreThoseOfTheLargestRunOfAPhase) {
  const std::vector<LossRecord> reported =
      LossesForReport({Record("a", 2), Record("a", 8), Record("b", 4), Record("b", 2)});
  ASSERT_EQ(reported.size(), 2u);
  EXPECT_EQ(reported[0].cores, 8);
  EXPECT_EQ(reported[1].phase, "b");
  EXPECT_EQ(reported[1].cores, 4);
}

// Few phases have ten rows each, the largest loss first.
TEST(LossesForReport, KeepTheLargestOfBothFactors) {
  const FactorLosses paths = LossesForReport({Record("a", 2)}).front().by_factor.value();
  ASSERT_EQ(paths.size(), 10u);
  EXPECT_EQ(paths.front().path, "m");
  EXPECT_DOUBLE_EQ(paths.front().load_balance + paths.front().serialization, 12);
  EXPECT_EQ(paths.back().path, "d");
}

TEST(DetailFor, IsLessWithMorePhases) {
  for (const auto& [phases, rows, maps, is_brief] :
       {std::tuple{3, 10, 3, false}, {4, 10, 1, false}, {8, 10, 1, false}, {9, 3, 0, true}}) {
    const LossDetail detail = DetailFor(static_cast<std::size_t>(phases));
    EXPECT_EQ(detail.rows, static_cast<std::size_t>(rows)) << phases;
    EXPECT_EQ(detail.maps, static_cast<std::size_t>(maps)) << phases;
    EXPECT_EQ(detail.is_brief, is_brief) << phases;
  }
}

}  // namespace
}  // namespace farscale
