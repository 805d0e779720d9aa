// Intervals read off draws, worked out by hand.
#include "projection/model_settings.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace farscale {
namespace {

// 0.0, 0.1, ... 1.0: the middle 80 % lie between 0.1 and 0.9, the middle half between 0.25 and 0.75, halfway between
// two draws each.
TEST(Intervals, MiddlePartOfTheDraws) {
  std::vector<double> draws;
  for (int i = 0; i <= 10; ++i) draws.push_back(0.1 * i);
  EXPECT_NEAR(IntervalOf(draws, 0.8, 0.5).low, 0.1, 1e-12);
  EXPECT_NEAR(IntervalOf(draws, 0.8, 0.5).high, 0.9, 1e-12);
  EXPECT_NEAR(IntervalOf(draws, 0.5, 0.5).low, 0.25, 1e-12);
  EXPECT_NEAR(IntervalOf(draws, 0.5, 0.5).high, 0.75, 1e-12);
  EXPECT_EQ(IntervalOf(draws, 1, 0.5).low, 0);
  EXPECT_EQ(IntervalOf(draws, 1, 0.5).high, 1);
}

// A coverage of 80 says per cent, and no part of the draws.
TEST(Intervals, OnlySharesAreCovered) {
  for (const double coverage : {-0.8, 1.2, 80.0}) {
    EXPECT_THROW(IntervalOf({0.1, 0.5, 0.9}, coverage, 0.5), std::domain_error) << coverage;
  }
  EXPECT_THROW(IntervalOf({}, 0.8, 0.5), std::domain_error);
}

// A curve beside its draws widens the interval to itself, never to less than the draws say.
TEST(Intervals, HoldTheValueItself) {
  const std::vector<double> draws(11, 0.5);
  EXPECT_EQ(IntervalOf(draws, 0.8, 0.4), (IntervalBounds{0.4, 0.5}));
  EXPECT_EQ(IntervalOf(draws, 0.8, 0.6), (IntervalBounds{0.5, 0.6}));
  EXPECT_EQ(IntervalOf({0.7}, 0.8, 0.7), (IntervalBounds{0.7, 0.7}));
}

// An efficiency below a millionth is none, from a millionth on it is one; upper bounds are what they are.
TEST(Intervals, EfficienciesBelowAMillionthAreNone) {
  EXPECT_EQ(IntervalOf({0.9e-6}, 0.8, 0.9e-6), (IntervalBounds{0, 0.9e-6}));
  EXPECT_EQ(IntervalOf({1e-6}, 0.8, 1e-6), (IntervalBounds{1e-6, 1e-6}));
  EXPECT_EQ(IntervalOf({2e-6}, 0.8, 2e-6), (IntervalBounds{2e-6, 2e-6}));
}

}  // namespace
}  // namespace farscale
