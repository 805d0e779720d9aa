// Draws against sums over fine grids of parameters and scatters, where the posterior is known.
#include "models/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/random.h"
#include "support/models.h"

namespace farscale {
namespace {

// Of 1/y at a core count, and of the scatter.
struct Moments {
  double mean = 0;
  double deviation = 0;
  double mean_scatter = 0;
  double log_evidence = 0;
};

// The prior of the scatter [docs/formulas.md, posterior]: ten values from 0.001 to 0.6 by equal ratios, log-normal
// around 0.036 with a standard deviation of 1.2.
std::vector<std::pair<double, double>> ScattersWithPriors() {
  std::vector<std::pair<double, double>> scatters;
  double sum = 0;
  for (int i = 0; i < 10; ++i) {
    const double value = 0.001 * std::pow(600.0, i / 9.0);
    const double z = std::log(value / 0.036) / 1.2;
    scatters.emplace_back(value, std::exp(-z * z / 2));
    sum += scatters.back().second;
  }
  for (auto& [value, prior] : scatters) prior /= sum;
  return scatters;
}

// Probability of the points if ln y is normal around the logarithm of the curve.
double Likelihood(const std::vector<DataPoint>& points, double scatter, const std::function<double(double)>& curve) {
  const std::vector<double> errors = ErrorsForWeights(points), shapes = ShapesOf(points);
  double product = 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double deviation = std::hypot(errors[i], scatter * shapes[i]) / points[i].value;
    const double z = std::log(points[i].value / curve(points[i].cores)) / deviation;
    product *= std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi));
  }
  return product;
}

// Width of the flat prior in each reciprocal: 0.02, and half the largest loss 1/y - 1 of the points.
double WidthOfPrior(const std::vector<DataPoint>& points) {
  double widest = 0;
  for (const DataPoint& point : points) widest = std::max(widest, std::fabs(1 / point.value - 1));
  return 0.02 + widest / 2;
}

// Middles of equal steps.
std::vector<double> Axis(double low, double high, int steps) {
  std::vector<double> axis;
  for (int i = 0; i < steps; ++i) axis.push_back(low + (high - low) * (i + 0.5) / steps);
  return axis;
}

// Collects weighted values.
struct Sums {
  double weight = 0, value = 0, square = 0, scatter = 0;

  void Add(double weight_of_one, double value_of_one, double scatter_of_one) {
    weight += weight_of_one;
    value += weight_of_one * value_of_one;
    square += weight_of_one * value_of_one * value_of_one;
    scatter += weight_of_one * scatter_of_one;
  }
  Moments Result() const {
    const double mean = value / weight;
    return {mean, std::sqrt(std::max(0.0, square / weight - mean * mean)), scatter / weight, std::log(weight)};
  }
};

Moments MomentsOf(const Posterior& posterior, const ScalingModel& model, double asked) {
  Sums sums;
  for (std::size_t i = 0; i < posterior.draws.size(); ++i) {
    if (posterior.weights[i] == 0) continue;
    sums.Add(posterior.weights[i], 1 / model.Evaluate(asked, 1, posterior.draws[i].parameters),
             posterior.draws[i].scatter);
  }
  Moments moments = sums.Result();
  moments.log_evidence = posterior.log_evidence;
  return moments;
}

// The mean over some seeds, as one has but 400 draws.
Moments Sample(const ScalingModel& model, const std::vector<DataPoint>& points, std::optional<double> limit,
               const std::vector<double>& reach, double asked) {
  constexpr int kSeeds = 30;
  const FittedModel fit = FitModel(model, 1, points, limit);
  EXPECT_TRUE(IsUsable(fit.outcome));
  Moments mean;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Moments one = MomentsOf(SamplePosterior(model, fit, limit, reach, random), model, asked);
    mean.mean += one.mean / kSeeds;
    mean.deviation += one.deviation / kSeeds;
    mean.mean_scatter += one.mean_scatter / kSeeds;
    mean.log_evidence += one.log_evidence / kSeeds;
  }
  return mean;
}

void ExpectNear(const Moments& drawn, const Moments& summed) {
  EXPECT_NEAR(drawn.mean, summed.mean, 0.05 * summed.deviation);
  EXPECT_NEAR(drawn.deviation / summed.deviation, 1, 0.05);
  EXPECT_NEAR(drawn.mean_scatter / summed.mean_scatter, 1, 0.05);
  EXPECT_NEAR(drawn.log_evidence, summed.log_evidence, 0.05);
}

// A constant: 1/y = u with the density 1/width, from 1 on where there is a limit of 1.
Moments SumOfConstant(const std::vector<DataPoint>& points, double low, double high) {
  constexpr int kSteps = 20000;
  const double step = (high - low) / kSteps;
  Sums sums;
  for (const auto& [scatter, prior] : ScattersWithPriors()) {
    for (const double u : Axis(low, high, kSteps)) {
      const double likelihood = Likelihood(points, scatter, [&](double) { return 1 / u; });
      sums.Add(prior * likelihood * step / WidthOfPrior(points), u, scatter);
    }
  }
  return sums.Result();
}

TEST(Posterior, ConstantIsThatOfAGrid) {
  const ScalingModel constant = test::LoadModel("constant");
  const std::vector<DataPoint> points = {{16, 0.8}, {32, 0.83}, {64, 0.81}, {128, 0.82}};
  ExpectNear(Sample(constant, points, 1.0, {16, 1024}, 1024), SumOfConstant(points, 1, 3));
}

// Errors that leave next to nothing to the scatter.
TEST(Posterior, StatedErrors) {
  const ScalingModel constant = test::LoadModel("constant");
  const std::vector<DataPoint> points = {{16, 0.8, 0.05}, {32, 0.83, 0.03}, {64, 0.81, 0.04}, {128, 0.82, 0.05}};
  ExpectNear(Sample(constant, points, 1.0, {16, 1024}, 1024), SumOfConstant(points, 1, 3));
}

// Half of what the points allow lies beyond the limit: a normal distribution cut at its bound.
TEST(Posterior, ConstantAtItsBound) {
  const ScalingModel constant = test::LoadModel("constant");
  const std::vector<DataPoint> points = {{16, 0.998, 0.01}, {32, 1, 0.01}, {64, 1, 0.01}};
  ExpectNear(Sample(constant, points, 1.0, {16, 1024}, 1024), SumOfConstant(points, 1, 1.2));
}

TEST(Posterior, ConstantAboveOne) {
  const ScalingModel constant = test::LoadModel("constant");
  const std::vector<DataPoint> points = {{16, 1.3}, {32, 1.35}, {64, 1.32}};
  ExpectNear(Sample(constant, points, std::nullopt, {16, 1024}, 1024), SumOfConstant(points, 0.2, 1.6));
}

// The law of Amdahl: 1/y = u is a straight line in P, from its values at the smallest and the largest count. It must
// not fall (f <= 1), nor exceed 1 at one core (e0 <= 1), nor begin below (f >= 0: u at no core at all).
Moments SumOfAmdahl(const std::vector<DataPoint>& points, double asked, double high) {
  constexpr int kSteps = 250;
  const double p = points.front().cores, q = points.back().cores, step = (high - 1) / kSteps;
  Sums sums;
  for (const auto& [scatter, prior] : ScattersWithPriors()) {
    for (const double first : Axis(1, high, kSteps)) {
      for (const double last : Axis(1, high, kSteps)) {
        const auto line = [&](double cores) { return first + (last - first) * (cores - p) / (q - p); };
        if (last < first || line(1) < 1 || line(0) < 0) continue;
        const double likelihood = Likelihood(points, scatter, [&](double cores) { return 1 / line(cores); });
        sums.Add(prior * likelihood * std::pow(step / WidthOfPrior(points), 2), line(asked), scatter);
      }
    }
  }
  return sums.Result();
}

TEST(Posterior, AmdahlIsThatOfAGrid) {
  const ScalingModel amdahl = test::LoadModel("amdahl");
  const std::vector<DataPoint> points = {{16, 0.93}, {32, 0.9}, {64, 0.88}, {128, 0.81}};
  ExpectNear(Sample(amdahl, points, 1.0, {16, 1024}, 1024), SumOfAmdahl(points, 1024, 2));
}

// Hardly any loss: the parameters are at both their bounds.
TEST(Posterior, AmdahlAtItsBounds) {
  const ScalingModel amdahl = test::LoadModel("amdahl");
  const std::vector<DataPoint> points = {{16, 0.99, 0.005}, {32, 1, 0.005}, {64, 0.99, 0.005}, {128, 0.985, 0.005}};
  ExpectNear(Sample(amdahl, points, 1.0, {16, 1024}, 1024), SumOfAmdahl(points, 1024, 1.15));
}

// 1 / (1 + c P^p) with p normal around 0.4 ± 0.1: u = 1/y at the largest count is flat, and c = exp(k) follows from it.
TEST(Posterior, ParameterWithAPriorIsThatOfAGrid) {
  const ScalingModel model = ParseModel(
      "id = 'm'\nname = 'M'\nformula = '1 / (1 + exp(k) * x ^ p)'\n"
      "[parameters.k]\nlower = -30\nupper = 30\nstarts = [-3]\n"
      "[parameters.p]\nlower = -1\nupper = 2\nstarts = [0.3]\nprior_mean = 0.4\nprior_deviation = 0.1\n",
      "m.toml");
  const std::vector<DataPoint> points = {{16, 0.93}, {32, 0.9}, {64, 0.88}, {128, 0.81}};
  constexpr int kSteps = 400;
  Sums sums;
  for (const auto& [scatter, prior] : ScattersWithPriors()) {
    for (const double u : Axis(1, 2, kSteps)) {
      for (const double p : Axis(-0.2, 1, kSteps)) {
        const auto curve = [&](double cores) { return 1 / (1 + (u - 1) * std::pow(cores / 128, p)); };
        const double z = (p - 0.4) / 0.1;
        const double density = std::exp(-z * z / 2) / (0.1 * std::sqrt(2 * std::numbers::pi)) / WidthOfPrior(points);
        sums.Add(prior * density * Likelihood(points, scatter, curve) * (1.0 / kSteps) * (1.2 / kSteps),
                 1 / curve(1024), scatter);
      }
    }
  }
  ExpectNear(Sample(model, points, 1.0, {16, 1024}, 1024), sums.Result());
}

TEST(Posterior, DrawsRespectBoundsAndRange) {
  const std::vector<DataPoint> points = {{16, 0.9}, {32, 0.93}, {64, 0.96}, {128, 0.97}};
  for (const char* id : {"amdahl", "power", "saturation", "logarithm"}) {
    const ScalingModel model = test::LoadModel(id);
    const FittedModel fit = FitModel(model, 1, points, 1.0);
    Random random(3);
    const Posterior posterior = SamplePosterior(model, fit, 1.0, {16, 1024}, random);
    ASSERT_EQ(posterior.draws.size(), posterior.weights.size()) << id;
    EXPECT_NEAR(std::accumulate(posterior.weights.begin(), posterior.weights.end(), 0.0), 1, 1e-12) << id;
    for (std::size_t i = 0; i < posterior.draws.size(); ++i) {
      if (posterior.weights[i] == 0) continue;
      const std::vector<double>& parameters = posterior.draws[i].parameters;
      for (std::size_t k = 0; k < parameters.size(); ++k) {
        EXPECT_GE(parameters[k], model.parameters[k].lower) << id;
        EXPECT_LE(parameters[k], model.parameters[k].upper.value_or(1)) << id;
      }
      for (const double cores : {16, 1024}) EXPECT_GT(model.Evaluate(cores, 1, parameters), 0) << id;
      for (const DataPoint& point : points) {
        EXPECT_LE(model.Evaluate(point.cores, 1, parameters), 1 + 1e-8) << id;
      }
    }
  }
}

// The grid of scatters ends at 0.6, which is as near as it comes to points that have nothing to do with each other.
TEST(Posterior, LargestScatter) {
  const ScalingModel constant = test::LoadModel("constant");
  const std::vector<DataPoint> points = {{16, 0.9}, {32, 0.2}, {64, 0.9}, {128, 0.1}, {256, 0.8}, {512, 0.1}};
  const FittedModel fit = FitModel(constant, 1, points, 1.0);
  Random random(3);
  const Posterior posterior = SamplePosterior(constant, fit, 1.0, {16, 1024}, random);
  double largest = 0;
  for (const CurveDraw& draw : posterior.draws) largest = std::max(largest, draw.scatter);
  EXPECT_NEAR(largest, 0.6, 1e-12);
}

TEST(Posterior, SameForTheSameSeed) {
  const ScalingModel amdahl = test::LoadModel("amdahl");
  const FittedModel fit = FitModel(amdahl, 1, {{16, 0.93}, {32, 0.9}, {64, 0.88}, {128, 0.81}}, 1.0);
  const auto sample = [&](std::uint64_t seed) {
    Random random(seed);
    return SamplePosterior(amdahl, fit, 1.0, {16, 1024}, random);
  };
  const Posterior one = sample(1), again = sample(1), other = sample(2);
  EXPECT_EQ(one.log_evidence, again.log_evidence);
  EXPECT_EQ(one.weights, again.weights);
  for (std::size_t i = 0; i < one.draws.size(); ++i) {
    EXPECT_EQ(one.draws[i].parameters, again.draws[i].parameters);
    EXPECT_EQ(one.draws[i].scatter, again.draws[i].scatter);
  }
  EXPECT_NE(one.weights, other.weights);
}

// A curve that is above 1 at the run on 32 cores, wherever its parameter lies: 0.05 · 32 = 1.6.
TEST(Posterior, ImpossibleRangesAreAResult) {
  const ScalingModel model = ParseModel(
      "id = 'm'\nname = 'M'\nformula = 'e0 * x'\n[parameters.e0]\nlower = 0.05\nupper = 1\nstarts = [0.05]\n", "m");
  const FittedModel fit = FitModel(model, 1, {{16, 0.3}, {32, 0.5}}, 1.0);
  Random random(1);
  const Posterior posterior = SamplePosterior(model, fit, 1.0, {16, 1000}, random);
  EXPECT_EQ(posterior.log_evidence, -std::numeric_limits<double>::infinity());
  EXPECT_THAT(posterior.draws, testing::IsEmpty());
  EXPECT_THAT(posterior.weights, testing::IsEmpty());
}

}  // namespace
}  // namespace farscale
