#include "stats/distributions.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace farscale {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// |value| to nine digits.
void ExpectNineDigits(double value, double expected) { EXPECT_NEAR(value / expected, 1, 1e-9) << expected; }

constexpr std::array<double, 6> kConfidences = {0.5, 0.8, 0.95, 0.98, 0.9999, 0.999999};

struct TableRow {
  double freedom;
  std::array<double, 6> quantiles;  // at the confidences above
};

// Two-sided, by bisection of the incomplete beta function with 40 digits.
const std::vector<TableRow> kStudentTable = {
    {0.1, {168.2360732, 1604425.706, 1.682362289e12, 1.604425706e16, 1.642931923e39, 1.642931923e59}},
    {0.5, {1.553773974, 10.27032441, 164.5576735, 1028.49101, 41139646.25, 4.113964625e11}},
    {1, {1, 3.077683537, 12.70620474, 31.82051595, 6366.197671, 636619.7724}},
    {2, {0.8164965809, 1.885618083, 4.30265273, 6.964556734, 99.99249984, 999.99925}},
    {4, {0.7406970841, 1.533206274, 2.776445105, 3.746947388, 15.54410058, 49.45863676}},
    {10, {0.6998120613, 1.372183641, 2.228138852, 2.763769458, 6.211050891, 10.51648996}},
    {30, {0.6827556933, 1.310415025, 2.042272456, 2.457261542, 4.482417175, 6.11907562}},
    {1e3, {0.6747351646, 1.282398721, 1.962339081, 2.330082675, 3.906343737, 4.922289523}},
    {1e5, {0.6744922036, 1.281560031, 1.959987708, 2.326385165, 3.890748845, 4.891943341}},
};
constexpr std::array<double, 6> kNormalTable = {0.6744897502, 1.281551566, 1.959963985,
                                                2.326347874,  3.890591886, 4.891638476};

TEST(Distributions, StudentTable) {
  for (const TableRow& row : kStudentTable) {
    for (std::size_t i = 0; i < kConfidences.size(); ++i) {
      const double quantile = StudentQuantile(kConfidences[i], row.freedom);
      EXPECT_NEAR(quantile / row.quantiles[i], 1, 1e-8) << row.freedom << " degrees, " << kConfidences[i];
      EXPECT_NEAR(StudentProbability(quantile, row.freedom), kConfidences[i], 1e-12);
    }
  }
}

// The first term of the expansion is (z³ + z) / 4ν, 3.1e-8 at most for z = 4.9 and a billion degrees.
TEST(Distributions, StudentBecomesNormal) {
  for (std::size_t i = 0; i < kConfidences.size(); ++i) {
    for (const double freedom : {1e9, 1e12, 1e300, kInfinite}) {
      EXPECT_NEAR(StudentQuantile(kConfidences[i], freedom), kNormalTable[i], 1e-7) << freedom;
    }
    EXPECT_NEAR(NormalReach(kConfidences[i]), kNormalTable[i], 1e-9);
    ExpectNineDigits(NormalQuantile((1 + kConfidences[i]) / 2), kNormalTable[i]);
  }
}

// In closed form: tan(πp/2) for one degree, √2 p / √(1 - p²) for two.
TEST(Distributions, StudentInClosedForm) {
  for (const double p : {0.01, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999, 0.999999}) {
    ExpectNineDigits(StudentQuantile(p, 1), 1 / std::tan(std::numbers::pi / 2 * (1 - p)));
    ExpectNineDigits(StudentQuantile(p, 2), std::numbers::sqrt2 * p / std::sqrt((1 - p) * (1 + p)));
  }
}

// More confidence needs more room, and better known noise less.
TEST(Distributions, QuantilesAreMonotonous) {
  for (double freedom = 0.1; freedom < 2e9; freedom *= 1.7) {
    double before = 0;
    for (double missing = 0.5; missing > 1e-6; missing *= 0.8) {
      const double quantile = StudentQuantile(1 - missing, freedom);
      EXPECT_GT(quantile, before);
      EXPECT_LE(StudentQuantile(1 - missing, 1.7 * freedom), quantile * (1 + 1e-9)) << freedom << " " << missing;
      EXPECT_NEAR((1 - StudentProbability(quantile, freedom)) / missing, 1, 1e-6) << freedom << " " << missing;
      before = quantile;
    }
  }
}

TEST(Distributions, Ends) {
  EXPECT_EQ(StudentQuantile(0, 3), 0);
  EXPECT_EQ(StudentQuantile(1, 3), kInfinite);
  EXPECT_EQ(StudentProbability(0, 3), 0);
  EXPECT_EQ(StudentProbability(kInfinite, 3), 1);
  EXPECT_EQ(NormalReach(0), 0);
  EXPECT_EQ(NormalReach(1), kInfinite);
  EXPECT_EQ(NormalQuantile(0), -kInfinite);
  EXPECT_EQ(NormalQuantile(0.5), 0);
}

TEST(Distributions, WhatIsNoProbabilityIsRefused) {
  EXPECT_THROW(StudentQuantile(0.95, 0), std::domain_error);
  EXPECT_THROW(StudentQuantile(0.95, -1), std::domain_error);
  EXPECT_THROW(StudentQuantile(0.95, std::nan("")), std::domain_error);
  EXPECT_THROW(StudentQuantile(1.5, 4), std::domain_error);
  EXPECT_THROW(NormalQuantile(-0.1), std::domain_error);
}

// One dimension and one degree: 1 / (π (1 + x²)). Two and two: 1 / (2π (1 + r²/2)²).
TEST(Distributions, StudentDensity) {
  EXPECT_NEAR(StudentDensity(1, 1).Log(4), -std::log(5 * std::numbers::pi), 1e-14);
  EXPECT_NEAR(StudentDensity(2, 2).Log(3), -std::log(2 * std::numbers::pi * 2.5 * 2.5), 1e-14);
}

}  // namespace
}  // namespace farscale
