// Weights worked out on paper, and what they are good for.
#include "models/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "base/files.h"
#include "models/fit.h"
#include "models/selection.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ScalingModel Load(const std::string& id) {
  const std::string file = test::SourceFolder() + "/fits/" + id + ".toml";
  return ParseModel(ReadFile(file), file);
}

TEST(Weights, PointsWithoutErrorHaveTheMedianOfTheOthers) {
  EXPECT_THAT(ErrorsForWeights({0.01, std::nullopt, 0.04, 0.02}), ElementsAre(0.01, 0.02, 0.04, 0.02));
  EXPECT_THAT(ErrorsForWeights({std::nullopt, 0.25, 0.75}), ElementsAre(0.5, 0.25, 0.75));
}

TEST(Weights, EqualErrorsAreNone) {
  EXPECT_THAT(ErrorsForWeights({}), IsEmpty());
  EXPECT_THAT(ErrorsForWeights({std::nullopt, std::nullopt}), IsEmpty());
  EXPECT_THAT(ErrorsForWeights({0.02, std::nullopt, 0.02}), IsEmpty());
}

// (0.0001² + 0.001²)/0.001² is 1.01.
TEST(Weights, APercentIsNoDifference) {
  EXPECT_TRUE(HardlyDiffer(WeightsOf({0, 0.00009, 0.00002}, kSmallestSigma)));
  EXPECT_FALSE(HardlyDiffer(WeightsOf({0, 0.00011, 0.00002}, kSmallestSigma)));
  EXPECT_TRUE(HardlyDiffer({}));
}

// 1/(3² + 4²) and 1/(0² + 5²) are equal, 1/(12² + 5²) is 25/169 of that: with the product 1, the first is
// (169/25)^(1/2) of two.
TEST(Weights, InverseVariancesWithTheProductOne) {
  EXPECT_THAT(WeightsOf({12, 0}, 5),
              ElementsAre(testing::DoubleNear(5.0 / 13, 1e-12), testing::DoubleNear(13.0 / 5, 1e-12)));
  EXPECT_THAT(WeightsOf({2, 2, 2}, 1), testing::Each(testing::DoubleNear(1, 1e-15)));
}

// A constant: a = 2500, 2500, 625 from s = 0.02, 0.02, 0.04; their mean weighs 0.80, 0.90, 0.70 to 0.83333, residuals
// -1/30, 2/30, -4/30. Σ a r² = (2500 · 1 + 2500 · 4 + 625 · 16)/900 = 25. Leverages a/5625: 4/9, 4/9, 1/9, so that
// Σ a (1 - h) s² = 5/9 + 5/9 + 8/9 = 2 and Σ a (1 - h) = 2500 · 10/9 + 625 · 8/9 = 30000/9. τ² = 23 · 9/30000 = 0.0069.
TEST(Weights, BetweenRunsOfAConstant) {
  const std::vector<double> errors = {0.02, 0.02, 0.04};
  const std::vector<double> residuals = {-1.0 / 30, 2.0 / 30, -4.0 / 30}, leverages = {4.0 / 9, 4.0 / 9, 1.0 / 9};
  EXPECT_NEAR(BetweenRuns(errors, {2500, 2500, 625}, residuals, leverages), std::sqrt(0.0069), 1e-12);
  EXPECT_NEAR(BetweenRuns(errors, FirstWeightsOf(errors), residuals, leverages), std::sqrt(0.0069), 1e-12);
  // Residuals that the errors explain: nothing but the least that is believed.
  EXPECT_EQ(BetweenRuns(errors, {2500, 2500, 625}, {0.01, -0.01, 0.01}, leverages), kSmallestSigma);
}

// The same by the fit: weights 1/(0.0004 + 0.0069), twice, and 1/(0.0016 + 0.0069).
TEST(Weights, AConstantIsTheWeightedMean) {
  const FittedModel fit = FitModel(Load("constant"), 1, {{2, 0.8, 0.02}, {4, 0.9, 0.02}, {8, 0.7, 0.04}}, 1.0);
  const double a = 1 / 0.0073, b = 1 / 0.0085;
  const double mean = (0.8 * a + 0.9 * a + 0.7 * b) / (2 * a + b);
  EXPECT_NEAR(fit.between_runs, std::sqrt(0.0069), 1e-9);
  EXPECT_NEAR(fit.parameters[0], mean, 1e-9);
  ASSERT_EQ(fit.weights.size(), 3u);
  EXPECT_NEAR(fit.weights[0] * fit.weights[1] * fit.weights[2], 1, 1e-12);
  EXPECT_NEAR(fit.weights[2] / fit.weights[0], b / a, 1e-9);
  // σ² = Σ w r² / 2 for a run of weight 1, and the mean errs by σ²/Σ w.
  double squares = 0, weights = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    squares += fit.weights[i] * std::pow(fit.points[i].value - mean, 2);
    weights += fit.weights[i];
  }
  EXPECT_NEAR(fit.sum_of_squares, squares, 1e-9);
  EXPECT_NEAR(fit.sigma, std::sqrt(squares / 2), 1e-9);
  EXPECT_NEAR(fit.covariance[0], squares / 2 / weights, 1e-9);
}

std::vector<DataPoint> Sample(const ScalingModel& model, const std::vector<double>& parameters) {
  std::vector<DataPoint> points;
  for (const double cores : {2, 4, 8, 16, 32}) points.push_back({cores, model.Evaluate(cores, 1, parameters)});
  return points;
}

// 0.9 instead of 0.98 at 2 cores: known to be uncertain, it bends the curve less.
TEST(Weights, AnUncertainPointPullsLess) {
  const ScalingModel amdahl = Load("amdahl");
  const std::vector<double> truth = {0.98, 0.99};
  std::vector<DataPoint> points = Sample(amdahl, truth);
  points.front().value = 0.9;
  const double expected = amdahl.Evaluate(512, 1, truth);
  const double plain = EvaluateFit(amdahl, FitModel(amdahl, 1, points, 1.0), 512).value;
  for (DataPoint& point : points) point.standard_error = 0.002;
  points.front().standard_error = 0.08;
  const FittedModel fit = FitModel(amdahl, 1, points, 1.0);
  EXPECT_LT(std::fabs(EvaluateFit(amdahl, fit, 512).value - expected), 0.1 * std::fabs(plain - expected));
  EXPECT_LT(fit.weights[0], 0.1 * fit.weights[1]);
}

// Nothing to weigh by, or hardly: the same fit, bit by bit.
TEST(Weights, EqualErrorsChangeNothing) {
  const ScalingModel amdahl = Load("amdahl"), pipeline = Load("pipeline"), constant = Load("constant");
  std::vector<DataPoint> points = Sample(amdahl, {0.93, 0.97});
  for (std::size_t i = 0; i < points.size(); ++i) points[i].value += 0.003 * std::cos(static_cast<double>(i * i));
  const std::vector<Candidate> candidates = {{&amdahl, {1, 2, 3}}, {&pipeline, {1, 2, 3}}, {&constant, {1}}};
  const FittedModel plain = SelectModel(candidates, points, 1.0);
  for (const double error : {0.0, 0.02, 0.00009}) {
    std::vector<DataPoint> with_errors = points;
    for (DataPoint& point : with_errors) point.standard_error = error;
    if (error < 0.001) with_errors[2].standard_error = 0;
    with_errors[1].standard_error.reset();
    FittedModel fit = SelectModel(candidates, with_errors, 1.0);
    EXPECT_THAT(fit.weights, IsEmpty());
    fit.points = points;
    EXPECT_EQ(fit, plain);
  }
}

// Without a point to spare the curve goes through all points, and nothing tells what differs between runs.
TEST(Weights, NoPointToSpareHasNoWeights) {
  const FittedModel fit = FitModel(Load("amdahl"), 1, {{2, 0.9, 0.01}, {8, 0.8, 0.05}}, 1.0);
  EXPECT_THAT(fit.weights, IsEmpty());
  EXPECT_EQ(fit.sigma, kAssumedSigma);
}

TEST(Weights, ImpossibleErrorsAreAResult) {
  const std::vector<DataPoint> points = {{2, 0.9, 1e300}, {4, 0.8, 0.01}, {8, 0.7, 0.02}, {16, 0.6, 0}};
  const FittedModel fit = FitModel(Load("amdahl"), 1, points, 1.0);
  ASSERT_TRUE(IsUsable(fit.outcome));
  EXPECT_NEAR(EvaluateFit(Load("amdahl"), fit, 16).value, 0.6, 0.02);
}

// The same normal deviates on every machine.
class Normal {
 public:
  double operator()() {
    const double u = (static_cast<double>(engine_() >> 11) + 0.5) / 9007199254740992.0;
    const double v = static_cast<double>(engine_() >> 11) / 9007199254740992.0;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  std::mt19937_64 engine_{7};
};

// Root of the mean squared error of amdahl at 16 times the largest run, over some hundred studies with known noise.
struct Simulated {
  double plain = 0;
  double weighted = 0;
};

Simulated Simulate(const std::vector<double>& errors, double between_runs) {
  constexpr int kStudies = 300;
  const ScalingModel amdahl = Load("amdahl");
  const std::vector<double> truth = {0.97, 0.995};
  const double expected = amdahl.Evaluate(512, 1, truth);
  Normal normal;
  Simulated result;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<DataPoint> points = Sample(amdahl, truth);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].value += errors[i] * normal() + between_runs * normal();
    const auto squared_error = [&] {
      return std::pow(EvaluateFit(amdahl, FitModel(amdahl, 1, points, 1.0), 512).value - expected, 2) / kStudies;
    };
    result.plain += squared_error();
    for (std::size_t i = 0; i < points.size(); ++i) points[i].standard_error = errors[i];
    result.weighted += squared_error();
  }
  return {std::sqrt(result.plain), std::sqrt(result.weighted)};
}

TEST(Weights, PredictBetterWhereNoiseDiffers) {
  const Simulated noisy_small = Simulate({0.03, 0.02, 0.01, 0.005, 0.002}, 0);
  EXPECT_LT(noisy_small.weighted, 0.75 * noisy_small.plain);
  const Simulated noisy_large = Simulate({0.001, 0.002, 0.004, 0.008, 0.015}, 0);
  EXPECT_LT(noisy_large.weighted, 0.95 * noisy_large.plain);
  // What differs between runs takes away part of that, but does not make it worse than without weights.
  const Simulated between = Simulate({0.03, 0.02, 0.01, 0.005, 0.002}, 0.005);
  EXPECT_LT(between.weighted, between.plain);
}

}  // namespace
}  // namespace farscale
