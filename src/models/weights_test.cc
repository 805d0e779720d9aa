// Weights worked out on paper, and what they are good for.
#include "models/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "models/ensemble.h"
#include "support/models.h"

namespace farscale {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Weights, PointsWithoutErrorHaveTheMedianOfTheOthers) {
  EXPECT_THAT(ErrorsForWeights({{2, 0.9, 0.01}, {4, 0.9}, {8, 0.9, 0.04}, {16, 0.9, 0.02}}),
              ElementsAre(0.01, 0.02, 0.04, 0.02));
  EXPECT_THAT(ErrorsForWeights({{2, 0.9}, {4, 0.9, 0.25}, {8, 0.9, 0.75}}), ElementsAre(0.5, 0.25, 0.75));
  EXPECT_THAT(ErrorsForWeights({{2, 0.9}, {4, 0.9}}), ElementsAre(0, 0));
}

// e^-0.1 at the largest count: 0.15 of itself, and 0.15 · 0.743147 for its neighbour. One half two doublings before:
// 0.5 · 0.743147 · sqrt(1 + 0.15²) · sqrt(1 + 0.49 · 4).
TEST(Weights, ShapeGrowsWithLossAndDistance) {
  EXPECT_THAT(ShapesOf({{4, 0.5}, {16, std::exp(-0.1)}}),
              ElementsAre(DoubleNear(0.5 * (0.05 + std::log(2)) * std::sqrt(1.0225 * 2.96), 1e-12),
                          DoubleNear(std::hypot(0.15, 0.15 * (0.05 + std::log(2))) * std::exp(-0.1), 1e-12)));
  EXPECT_DOUBLE_EQ(LogShape(1), 0.05);
  EXPECT_DOUBLE_EQ(LogShape(2), 0.05 + std::log(2));  // gains count like losses
  EXPECT_DOUBLE_EQ(ShapeOfLoss(0.3), LogShape(std::exp(-0.3)));
  EXPECT_DOUBLE_EQ(ShapeOfLoss(100), LogShape(0));
}

// (0.0001² + 0.001²)/0.001² is 1.01.
TEST(Weights, APercentIsNoDifference) {
  EXPECT_TRUE(HardlyDiffer(WeightsOf({0, 0.00009, 0.00002}, {1, 1, 1}, 0.001)));
  EXPECT_FALSE(HardlyDiffer(WeightsOf({0, 0.00011, 0.00002}, {1, 1, 1}, 0.001)));
  EXPECT_TRUE(HardlyDiffer({}));
}

// 1/(3² + 4²) and 1/(0² + 5²) are equal, 1/(12² + 5²) is 25/169 of that: with the product 1, the first is
// (169/25)^(1/2) of two.
TEST(Weights, InverseVariancesWithTheProductOne) {
  EXPECT_THAT(WeightsOf({12, 0}, {1, 1}, 5), ElementsAre(DoubleNear(5.0 / 13, 1e-12), DoubleNear(13.0 / 5, 1e-12)));
  EXPECT_THAT(WeightsOf({12, 0}, {2, 2}, 2.5), ElementsAre(DoubleNear(5.0 / 13, 1e-12), DoubleNear(13.0 / 5, 1e-12)));
  EXPECT_THAT(WeightsOf({2, 2, 2}, {1, 1, 1}, 1), testing::Each(DoubleNear(1, 1e-15)));
}

// A constant: a = 2500, 2500, 625 from s = 0.02, 0.02, 0.04; their mean weighs 0.80, 0.90, 0.70 to 0.83333, residuals
// -1/30, 2/30, -4/30. Σ a r² = (2500 · 1 + 2500 · 4 + 625 · 16)/900 = 25. Leverages a/5625: 4/9, 4/9, 1/9, so that
// Σ a (1 - h) s² = 5/9 + 5/9 + 8/9 = 2 and Σ a (1 - h) = 2500 · 10/9 + 625 · 8/9 = 30000/9. The variance between runs
// is 23 · 9/30000 = 0.0069; twice the shape makes it half the scatter.
TEST(Weights, ScatterOfAConstant) {
  const std::vector<double> errors = {0.02, 0.02, 0.04};
  const std::vector<double> residuals = {-1.0 / 30, 2.0 / 30, -4.0 / 30}, leverages = {4.0 / 9, 4.0 / 9, 1.0 / 9};
  EXPECT_NEAR(ScatterOf(errors, {1, 1, 1}, {2500, 2500, 625}, residuals, leverages), std::sqrt(0.0069), 1e-12);
  EXPECT_NEAR(ScatterOf(errors, {2, 2, 2}, {2500, 2500, 625}, residuals, leverages), std::sqrt(0.0069) / 2, 1e-12);
  // Residuals that the errors explain: nothing but the least that is believed.
  EXPECT_EQ(ScatterOf(errors, {1, 1, 1}, {2500, 2500, 625}, {0.01, -0.01, 0.01}, leverages), kSmallestScatter);
}

std::vector<DataPoint> Sample(const ScalingModel& model, const std::vector<double>& parameters) {
  std::vector<DataPoint> points;
  for (const double cores : {2, 4, 8, 16, 32}) points.push_back({cores, model.Evaluate(cores, 1, parameters)});
  return points;
}

double At(const ScalingModel& model, const FittedModel& fit, double cores) {
  return model.Evaluate(cores, 1, fit.parameters);
}

// 0.9 instead of 0.98 at 2 cores: known to be uncertain, it bends the curve less.
TEST(Weights, AnUncertainPointPullsLess) {
  const ScalingModel amdahl = test::LoadModel("amdahl");
  const std::vector<double> truth = {0.98, 0.99};
  std::vector<DataPoint> points = Sample(amdahl, truth);
  points.front().value = 0.9;
  const double expected = amdahl.Evaluate(512, 1, truth);
  const double plain = At(amdahl, FitModel(amdahl, 1, points, 1.0), 512);
  for (DataPoint& point : points) point.standard_error = 0.002;
  points.front().standard_error = 0.08;
  const FittedModel fit = FitModel(amdahl, 1, points, 1.0);
  EXPECT_LT(std::fabs(At(amdahl, fit, 512) - expected), 0.5 * std::fabs(plain - expected));
  EXPECT_LT(fit.weights[0], 0.1 * fit.weights[1]);
  EXPECT_GT(fit.scatter, 0);
}

// Without a point to spare the curve goes through all points, and weights would change nothing.
TEST(Weights, NoPointToSpareHasNoWeights) {
  const FittedModel fit = FitModel(test::LoadModel("amdahl"), 1, {{2, 0.9, 0.01}, {8, 0.8, 0.05}}, 1.0);
  EXPECT_THAT(fit.weights, testing::IsEmpty());
  EXPECT_EQ(fit.sigma, kAssumedSigma);
}

TEST(Weights, ImpossibleErrorsAreAResult) {
  const std::vector<DataPoint> points = {{2, 0.9, 1e300}, {4, 0.8, 0.01}, {8, 0.7, 0.02}, {16, 0.6, 0}};
  const FittedModel fit = FitModel(test::LoadModel("amdahl"), 1, points, 1.0);
  ASSERT_TRUE(IsUsable(fit.outcome));
  EXPECT_NEAR(At(test::LoadModel("amdahl"), fit, 16), 0.6, 0.03);
}

// Root of the mean squared error of amdahl at 16 times the largest run, over some hundred studies with known noise.
struct Simulated {
  double plain = 0;
  double weighted = 0;
};

Simulated Simulate(const std::vector<double>& errors, double between_runs) {
  constexpr int kStudies = 300;
  const ScalingModel amdahl = test::LoadModel("amdahl");
  const std::vector<double> truth = {0.97, 0.995};
  const double expected = amdahl.Evaluate(512, 1, truth);
  Random random(7);
  Simulated result;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<DataPoint> points = Sample(amdahl, truth);
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].value += errors[i] * random.Normal() + between_runs * random.Normal();
    }
    const auto squared_error = [&] {
      return std::pow(At(amdahl, FitModel(amdahl, 1, points, 1.0), 512) - expected, 2) / kStudies;
    };
    result.plain += squared_error();
    for (std::size_t i = 0; i < points.size(); ++i) points[i].standard_error = errors[i];
    result.weighted += squared_error();
  }
  return {std::sqrt(result.plain), std::sqrt(result.weighted)};
}

TEST(Weights, PredictBetterWhereNoiseDiffers) {
  const Simulated noisy_small = Simulate({0.03, 0.02, 0.01, 0.005, 0.002}, 0);
  EXPECT_LT(noisy_small.weighted, noisy_small.plain);
  const Simulated noisy_large = Simulate({0.001, 0.002, 0.004, 0.008, 0.015}, 0);
  EXPECT_LT(noisy_large.weighted, noisy_large.plain);
  // What differs between runs takes away part of that, but does not make it worse than without errors.
  const Simulated between = Simulate({0.03, 0.02, 0.01, 0.005, 0.002}, 0.005);
  EXPECT_LT(between.weighted, 1.05 * between.plain);
}

}  // namespace
}  // namespace farscale
