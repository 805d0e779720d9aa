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
      EXPECT_FALSE(ChildrenOf(type.factor, FactorTree::kHybrid).empty() && type.advice.empty()) << type.id;
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

TEST(Factor, TreeOfHybridRuns) {
  constexpr FactorTree kTree = FactorTree::kHybrid;
  EXPECT_THAT(ChildrenOf(Factor::kParallelEfficiency, kTree),
              ElementsAre(Factor::kMpiParallelEfficiency, Factor::kOmpParallelEfficiency, Factor::kDeviceOffload));
  EXPECT_THAT(ChildrenOf(Factor::kMpiParallelEfficiency, kTree),
              ElementsAre(Factor::kLoadBalance, Factor::kCommunicationEfficiency));
  EXPECT_THAT(ChildrenOf(Factor::kOmpParallelEfficiency, kTree),
              ElementsAre(Factor::kOmpLoadBalance, Factor::kOmpScheduling, Factor::kOmpSerialization));
  EXPECT_EQ(DepthOf(Factor::kTransfer, kTree), 4);
  EXPECT_EQ(DepthOf(Factor::kOmpParallelEfficiency), 0);
  EXPECT_EQ(TreeOf({Factor::kLoadBalance}), FactorTree::kMpi);
  EXPECT_EQ(TreeOf({Factor::kLoadBalance, Factor::kOmpScheduling}), FactorTree::kHybrid);
  EXPECT_EQ(NameInSentence(Factor::kOmpLoadBalance), "OpenMP load balance");
  EXPECT_EQ(NameInSentence(Factor::kDeviceOffload), "device offload");
}

// (0.9 · 0.5) · (0.8 · 0.5 · 1) · 1 = 0.18; without device offload parallel efficiency is not known.
TEST(Factor, ParentsOfHybridRunsAreDerivedFromChildren) {
  FactorValues values;
  values[Factor::kLoadBalance] = 0.9;
  values[Factor::kCommunicationEfficiency] = 0.5;
  values[Factor::kOmpLoadBalance] = 0.8;
  values[Factor::kOmpScheduling] = 0.5;
  values[Factor::kOmpSerialization] = 1;
  FactorValues without = values;
  without.DeriveParents();
  EXPECT_DOUBLE_EQ(*without[Factor::kMpiParallelEfficiency], 0.45);
  EXPECT_FALSE(without[Factor::kParallelEfficiency]);
  values.SetPerfectOffload();
  values.DeriveParents();
  EXPECT_DOUBLE_EQ(*values[Factor::kOmpParallelEfficiency], 0.4);
  EXPECT_DOUBLE_EQ(*values[Factor::kParallelEfficiency], 0.18);
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
