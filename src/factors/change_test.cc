#include "factors/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace farscale {
namespace {

constexpr double kKnown = std::numeric_limits<double>::infinity();

// Tables of Student's distribution, two-sided.
TEST(Change, StudentQuantiles) {
  EXPECT_NEAR(StudentQuantile(0.95, 1), 12.7062, 1e-3);
  EXPECT_NEAR(StudentQuantile(0.95, 2), 4.30265, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.95, 4), 2.77645, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.99, 10), 3.16927, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.95, kKnown), 1.95996, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.8, kKnown), 1.28155, 1e-4);
}

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
