#include "factors/factor_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "stats/distributions.h"

namespace farscale {
namespace {

constexpr double kKnown = std::numeric_limits<double>::infinity();

// e^0.01 and e^-0.01: Σ = 0.0002 around 0. With an expected 0.01 over 4 degrees: (4 · 0.0001 + 0.0002) / 5 = 0.00012,
// over two runs 0.00006.
TEST(Change, ExpectedAndMeasuredNoise) {
  const Measurement two = *Measure({std::exp(0.01), std::exp(-0.01)}, {});
  EXPECT_DOUBLE_EQ(two.value, 1);
  EXPECT_NEAR(two.error, std::sqrt(0.00006), 1e-12);
  EXPECT_EQ(two.freedom, 5);
  EXPECT_EQ(two.runs, 2u);
  EXPECT_EQ(Measure({0.8}, {})->error, 0.01);
  EXPECT_NEAR(Measure({0.8, 0.8, 0.8, 0.8}, {}, {0.02, kKnown})->error, 0.01, 1e-12);
}

// Errors of 0.04 and 0.03 at 1: variances 0.0016 and 0.0009, mean 0.00125, over two runs 0.000625 = 0.025².
TEST(Change, ErrorsWithinTheRunsAreALowerBound) {
  EXPECT_NEAR(Measure({1, 1}, {0.04, 0.03})->error, 0.025, 1e-12);
  EXPECT_NEAR(Measure({0.5}, {0.01})->error, 0.02, 1e-12);
  EXPECT_NEAR(Measure({0.5}, {std::nullopt})->error, 0.01, 1e-12);
}

TEST(Change, WhatHasNoLogarithmIsNotMeasured) {
  EXPECT_FALSE(Measure({}, {}));
  EXPECT_FALSE(Measure({0.5, 0}, {}));
}

// Deviations 0.1 and 0.1 around one mean, 0.2 and 0.2 around another: (0.02 + 0.08) / 2.
TEST(Change, NoiseIsPooledOverPlaces) {
  const Noise noise = *NoiseOfRepeats({{std::exp(0.1), std::exp(-0.1)}, {std::exp(1.2), std::exp(0.8)}, {5}});
  EXPECT_NEAR(noise.deviation, std::sqrt(0.05), 1e-12);
  EXPECT_EQ(noise.freedom, 2);
  EXPECT_FALSE(NoiseOfRepeats({{1}, {2}}));
}

// 0.01 and 0.02: together sqrt(0.0005); (0.0005)² / (0.0001² / 4 + 0.0004² / 8) = 11.1 degrees.
TEST(Change, OfTwoMeasurements) {
  const Change change = ChangeBetween({0.8, 0.01, 4, 1}, {0.76, 0.02, 8, 1});
  EXPECT_DOUBLE_EQ(change.ratio, 0.95);
  EXPECT_NEAR(change.error, std::sqrt(0.0005), 1e-12);
  EXPECT_NEAR(change.freedom, 25e-8 / (0.25e-8 + 2e-8), 1e-9);
  EXPECT_NEAR(change.Low(), 0.95 * std::exp(-StudentQuantile(0.95, change.freedom) * change.error), 1e-12);
  EXPECT_TRUE(change.IsBeyondNoise(0.9));
  EXPECT_TRUE(ChangeBetween({1, 0.01, kKnown, 1}, {0.97, 0.01, kKnown, 1}).IsBeyondNoise());
  EXPECT_FALSE(ChangeBetween({1, 0.01, kKnown, 1}, {0.975, 0.01, kKnown, 1}).IsBeyondNoise());
  EXPECT_FALSE(ChangeBetween({1, 0, 4, 1}, {1, 0, 4, 1}).IsBeyondNoise());
}

// Half as fast, with a noise of 0.1 % that is known: 490 standard deviations.
TEST(Change, NothingIsTooLargeToBeSeen) {
  const Change change = ChangeBetween({1, 0.001, kKnown, 1}, {0.5, 0.001, kKnown, 1});
  EXPECT_TRUE(change.IsBeyondNoise());
  EXPECT_TRUE(change.IsBeyondNoise(0.999999));
}

// 3.8906 standard deviations of 0.001·√2 on either side of 1.
TEST(Change, BoundsOfKnownNoise) {
  const Change change = ChangeBetween({1, 0.001, kKnown, 1}, {1, 0.001, kKnown, 1});
  EXPECT_NEAR(change.High(0.9999), std::exp(3.890592 * 0.001 * std::sqrt(2)), 1e-8);
  EXPECT_NEAR(change.Low(0.9999), std::exp(-3.890592 * 0.001 * std::sqrt(2)), 1e-8);
}

// The same code measured twice, three runs each with 1 % noise: beyond noise one time in twenty.
TEST(Change, NominalRateOnSimulatedNoise) {
  Random random(7);
  const auto measure = [&] {
    std::vector<double> values;
    for (int i = 0; i < 3; ++i) values.push_back(0.8 * std::exp(0.01 * random.Normal()));
    return *Measure(values, {});
  };
  int beyond = 0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) beyond += ChangeBetween(measure(), measure()).IsBeyondNoise() ? 1 : 0;
  EXPECT_GT(beyond, 0.01 * kTrials);
  EXPECT_LT(beyond, 0.06 * kTrials);
}

}  // namespace
}  // namespace farscale
