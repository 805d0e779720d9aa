#include "factors/factor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace farscale {
namespace {

using testing::ElementsAre;

TEST(Factor, TableIsInTheOrderOfTheEnumeration) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kFactorCount; ++i) {
    const FactorType& type = AllFactors()[i];
    EXPECT_EQ(static_cast<std::size_t>(type.factor), i);
    EXPECT_EQ(FactorById(type.id), type.factor);
    EXPECT_TRUE(ids.insert(type.id).second);
    EXPECT_FALSE(type.meaning.empty());
    // Parents come first; what is a leaf comes with advice.
    if (type.parent) {
      EXPECT_LT(*type.parent, type.factor);
      EXPECT_FALSE(ChildrenOf(type.factor).empty() && type.advice.empty()) << type.id;
    }
  }
  EXPECT_FALSE(FactorById("loadbalance"));
}

TEST(Factor, Tree) {
  EXPECT_THAT(ChildrenOf(Factor::kParallelEfficiency),
              ElementsAre(Factor::kLoadBalance, Factor::kCommunicationEfficiency));
  EXPECT_THAT(ChildrenOf(Factor::kComputationScalability),
              ElementsAre(Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling));
  EXPECT_EQ(DepthOf(Factor::kGlobalEfficiency), 0);
  EXPECT_EQ(DepthOf(Factor::kTransfer), 3);
  EXPECT_EQ(DepthOf(Factor::kSpeedup), 0);
}

// 0.9 · (0.8 · 0.5) = 0.36, through two levels.
TEST(Factor, ParentsAreDerivedFromChildren) {
  FactorValues values;
  values[Factor::kLoadBalance] = 0.9;
  values[Factor::kSerialization] = 0.8;
  values[Factor::kTransfer] = 0.5;
  values.DeriveParents();
  EXPECT_DOUBLE_EQ(*values[Factor::kCommunicationEfficiency], 0.4);
  EXPECT_DOUBLE_EQ(*values[Factor::kParallelEfficiency], 0.36);
  EXPECT_FALSE(values[Factor::kGlobalEfficiency]);  // computation scalability is not known
}

TEST(Factor, MeasuredParentsAreKept) {
  FactorValues values;
  values[Factor::kLoadBalance] = 0.9;
  values[Factor::kCommunicationEfficiency] = 0.5;
  values[Factor::kParallelEfficiency] = 0.449;
  values.DeriveParents();
  EXPECT_EQ(values[Factor::kParallelEfficiency], 0.449);
}

}  // namespace
}  // namespace farscale
