// What rules judge: factors and times, and which factor is to blame.
#include "gate/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gate/verdicts.h"

namespace farscale {
namespace {

TEST(Quantity, HasAnId) {
  for (const std::string& id : QuantityIds()) {
    const auto quantity = QuantityById(id);
    ASSERT_TRUE(quantity) << id;
    EXPECT_EQ(IdOf(*quantity), id);
  }
  EXPECT_EQ(QuantityIds().size(), kFactorCount + 2);
  EXPECT_FALSE(QuantityById("balance"));
}

TEST(Quantity, TimesAreThoseOfAnIterationOrTheWholePhase) {
  FactorRow row;
  row.runtime = 20;
  row.runtime_error = 1;
  row.iterations = 10;
  row.values[Factor::kLoadBalance] = 0.9;
  EXPECT_EQ(ValueOf(row, Quantity::TimePerIteration()), 2);
  EXPECT_EQ(ErrorOf(row, Quantity::TimePerIteration()), 0.1);
  EXPECT_EQ(ValueOf(row, *QuantityById("runtime")), 20);
  EXPECT_EQ(ValueOf(row, Quantity::Of(Factor::kLoadBalance)), 0.9);
  EXPECT_EQ(ErrorOf(row, Quantity::Of(Factor::kLoadBalance)), std::nullopt);
  EXPECT_EQ(ValueOf(row, Quantity::Of(Factor::kTransfer)), std::nullopt);
  row.runtime.reset();
  EXPECT_EQ(ValueOf(row, Quantity::TimePerIteration()), std::nullopt);
}

TEST(Quantity, WhatComparesWithTheReference) {
  EXPECT_TRUE(Quantity::Of(Factor::kIpcScaling).IsOneAtReference());
  EXPECT_FALSE(Quantity::Of(Factor::kGlobalEfficiency).IsOneAtReference());
  EXPECT_TRUE(Quantity::Of(Factor::kGlobalEfficiency).ComparesWithReference());
  EXPECT_FALSE(Quantity::Of(Factor::kTransfer).ComparesWithReference());
  EXPECT_FALSE(Quantity::TimePerIteration().ComparesWithReference());
}

TEST(Quantity, IsPrintedWithItsUnit) {
  EXPECT_EQ(FormatQuantity(Quantity::TimePerIteration(), 0.00123), "1.23 ms");
  EXPECT_EQ(FormatQuantity(Quantity::Of(Factor::kSpeedup), 2.345), "2.35");
  EXPECT_EQ(FormatQuantity(Quantity::Of(Factor::kTransfer), 0.8134), "0.813");
}

// Logarithms -0.1, -0.3 and 0.05: the losses are 0.4 together, three quarters of them serialization.
TEST(Blame, TheLargestLossOfTheParts) {
  FactorLogs logs;
  logs.factors = {{Factor::kLoadBalance, -0.1}, {Factor::kSerialization, -0.3}, {Factor::kTransfer, 0.05}};
  const auto blame = BlameForLoss(Quantity::Of(Factor::kParallelEfficiency), logs);
  ASSERT_TRUE(blame);
  EXPECT_EQ(NameOf(*blame), "Serialization");
  EXPECT_EQ(IdOf(*blame), "serializationEfficiency");
  EXPECT_DOUBLE_EQ(blame->share, 0.75);
  EXPECT_DOUBLE_EQ(blame->effect, -0.3);
  logs.factors = {{Factor::kLoadBalance, 0}};
  EXPECT_FALSE(BlameForLoss(Quantity::Of(Factor::kLoadBalance), logs));
}

// Load balance is as before, and every rank computes 20 % more instructions: a time that rises is computation's doing.
TEST(Blame, ComputationMakesTimesLonger) {
  FactorLogs before, after;
  before.factors = after.factors = {{Factor::kParallelEfficiency, -0.2}};
  before.computation = {{Factor::kComputationScalability, 0},
                        {Factor::kInstructionScaling, 0},
                        {Factor::kIpcScaling, 0},
                        {Factor::kFrequencyScaling, 0}};
  after.computation = before.computation;
  after.computation[Factor::kComputationScalability] = after.computation[Factor::kInstructionScaling] = -std::log(1.2);
  const auto blame = BlameForChange(Quantity::TimePerIteration(), before, after);
  ASSERT_TRUE(blame);
  EXPECT_EQ(NameOf(*blame), "Instructions");
  EXPECT_EQ(IdOf(*blame), "instructions");
  EXPECT_DOUBLE_EQ(blame->share, 1);
}

}  // namespace
}  // namespace farscale
