#include "projection/model_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"

namespace farscale {
namespace {

TEST(ModelChoice, IsParsed) {
  const ModelChoice choice = ParseModelChoice("pipeline:3", "w");
  EXPECT_EQ(choice.options[0].model, "pipeline");
  EXPECT_THAT(choice.options[0].dimensions, testing::ElementsAre(3));
  EXPECT_TRUE(ParseModelChoice("amdahl", "w").options[0].dimensions.empty());
  EXPECT_THROW(ParseModelChoice("amdahl:x", "w"), Error);
  EXPECT_THROW(ParseModelChoice(":3", "w"), Error);
}

TEST(ModelChoice, IsDescribed) {
  EXPECT_EQ(Describe(ParseModelChoice("amdahl", "")), "amdahl");
  EXPECT_EQ(Describe(ParseModelChoice("pipeline:3", "")), "pipeline in dimension 3");
  EXPECT_EQ(Describe(ParseModelChoice("pipeline:1,2", "")), "pipeline in dimensions 1, 2");
}

}  // namespace
}  // namespace farscale
