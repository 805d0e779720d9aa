#include "models/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "support/models.h"

namespace farscale {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText =
    "drift = 0.1\ndrift_power = 0.5\nnew_loss_share = 0.2\nnew_loss = 0.03\nnew_loss_power = 1\n";

std::string UsageErrorOfConstants(const std::string& text) {
  try {
    ParseIntervalConstants(text, "c.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Four times the usual scatter: twice the drift, four times the new loss.
TEST(IntervalConstants, GrowsWithTheScatter) {
  const IntervalConstants constants = ParseIntervalConstants(kText, "c.toml");
  EXPECT_DOUBLE_EQ(constants.DriftAt(kUsualScatter), 0.1);
  EXPECT_DOUBLE_EQ(constants.DriftAt(4 * kUsualScatter), 0.2);
  EXPECT_DOUBLE_EQ(constants.NewLossAt(4 * kUsualScatter), 0.12);
  EXPECT_DOUBLE_EQ(constants.new_loss_share, 0.2);
}

TEST(IntervalConstants, BadFiles) {
  EXPECT_THAT(UsageErrorOfConstants("drift = 0.1\n"), HasSubstr("drift_power"));
  EXPECT_THAT(UsageErrorOfConstants(std::string(kText) + "other = 1\n"), HasSubstr("other"));
  std::string negative = kText;
  negative.replace(negative.find("0.1"), 3, "-1");
  EXPECT_THAT(UsageErrorOfConstants(negative), HasSubstr("c.toml:1: 'drift' must not be negative"));
  std::string share = kText;
  share.replace(share.find("0.2"), 3, "1.2");
  EXPECT_THAT(UsageErrorOfConstants(share), HasSubstr("'new_loss_share' must not exceed 1"));
}

TEST(IntervalConstants, OfThisProject) {
  EXPECT_GT(test::AllModels().intervals().drift, 0);
  EXPECT_GT(test::AllModels().intervals().new_loss, 0);
}

}  // namespace
}  // namespace farscale
