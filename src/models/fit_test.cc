#include "models/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "support/models.h"

namespace farscale {
namespace {

std::vector<DataPoint> Sample(const ScalingModel& model, int dimension, const std::vector<double>& parameters,
                              const std::vector<double>& cores) {
  std::vector<DataPoint> points;
  for (const double p : cores) points.push_back({p, model.Evaluate(p, dimension, parameters)});
  return points;
}

const std::vector<double> kFiveCores = {16, 32, 64, 128, 256};

// Noise-free points give back the parameters of every model, dimension and a spread of values.
TEST(Fit, RecoversParameters) {
  for (const std::string id : {"constant", "amdahl", "pipeline"}) {
    const ScalingModel model = test::LoadModel(id);
    for (const int dimension : model.dimensions) {
      for (const double e0 : {0.35, 0.8, 0.999}) {
        for (const double f : {0.55, 0.9, 0.9995}) {
          std::vector<double> truth = {e0, f};
          truth.resize(model.parameters.size());
          const FittedModel fit = FitModel(model, dimension, Sample(model, dimension, truth, kFiveCores), 1.0);
          ASSERT_TRUE(IsUsable(fit.outcome)) << id;
          for (std::size_t i = 0; i < truth.size(); ++i) {
            EXPECT_NEAR(fit.parameters[i], truth[i], 1e-6) << id << " d=" << dimension << " e0=" << e0 << " f=" << f;
          }
          EXPECT_LT(fit.sum_of_squares, 1e-15);
        }
      }
    }
  }
}

// From f = 0.9 a solver walks into the bound f = 1 and stays there; the true f here is 0.99.
TEST(Fit, DoesNotStayAtTheBound) {
  const ScalingModel model = test::LoadModel("amdahl");
  const FittedModel fit = FitModel(model, 1, Sample(model, 1, {0.98, 0.99}, {2, 4, 8, 4096}), 1.0);
  EXPECT_EQ(fit.outcome, FitOutcome::kConverged);
  EXPECT_NEAR(fit.parameters[1], 0.99, 1e-8);
}

// Rising values: the best an efficiency model can do is to stay level, at its bound.
TEST(Fit, RisingSeriesEndsAtTheBound) {
  const FittedModel fit = FitModel(test::LoadModel("amdahl"), 1, {{2, 0.8}, {4, 0.85}, {8, 0.9}}, 1.0);
  EXPECT_EQ(fit.outcome, FitOutcome::kAtBound);
  EXPECT_TRUE(fit.at_bound[1]);
  EXPECT_NEAR(fit.parameters[0], 0.85, 0.05);
}

TEST(Fit, FactorsWithoutLimitMayExceedOne) {
  const FittedModel limited = FitModel(test::LoadModel("constant"), 1, {{2, 1.2}, {4, 1.2}}, 1.0);
  const FittedModel free = FitModel(test::LoadModel("constant"), 1, {{2, 1.2}, {4, 1.2}}, std::nullopt);
  EXPECT_NEAR(limited.parameters[0], 1, 1e-9);
  EXPECT_NEAR(free.parameters[0], 1.2, 1e-9);
}

// The least cost of a boundary that a scan finds: n on a fine grid, c on another, e0 in closed form.
double ScanBoundary(const std::vector<DataPoint>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (double n = points.front().cores; n < points.back().cores; n *= 1.01) {
    for (double c = 1e-4; c < 100; c *= 1.02) {
      double yh = 0, hh = 0, yy = 0;
      for (const DataPoint& point : points) {
        const double h = 1 / (1 + c * std::max(0.0, std::log2(point.cores / n)));
        yh += point.value * h;
        hh += h * h;
        yy += point.value * point.value;
      }
      const double e0 = std::min(1.0, yh / hh);
      least = std::min(least, yy - 2 * e0 * yh + e0 * e0 * hh);
    }
  }
  return least;
}

// Between every two counts the boundary has a minimum of its own, at thousands of cores as at ten. The least one often
// lies at a count itself, on the kink, which the search approaches and does not reach: hence a percent.
TEST(Fit, FindsTheBestBoundaryAtAnySize) {
  const ScalingModel model = test::LoadModel("boundary");
  Random random(5);
  for (const double first : {2.0, 48.0, 4096.0}) {
    for (int i = 0; i < 6; ++i) {
      std::vector<DataPoint> points;
      for (double cores = first; points.size() < 6; cores *= 2) points.push_back({cores, 0.2 + 0.8 * random.Uniform()});
      const FittedModel fit = FitModel(model, 1, points, 1.0, true);
      ASSERT_TRUE(IsUsable(fit.outcome));
      EXPECT_LE(fit.sum_of_squares, 1.01 * ScanBoundary(points)) << first << ", series " << i;
    }
  }
}

TEST(Fit, TooFewPointsIsAResult) {
  EXPECT_EQ(FitModel(test::LoadModel("amdahl"), 1, {{8, 0.9}}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(FitModel(test::LoadModel("amdahl"), 1, {{8, 0.9}, {8, 0.8}}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(FitModel(test::LoadModel("amdahl"), 1, {}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_TRUE(IsUsable(FitModel(test::LoadModel("constant"), 1, {{8, 0.9}}, 1.0).outcome));
}

TEST(Fit, ModelThatIsNowhereDefinedIsAResult) {
  const ScalingModel model = ParseModel(
      "id = 'm'\nname = 'M'\nformula = 'sqrt(e0 - 2)'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = [0.5]\n", "m");
  EXPECT_EQ(FitModel(model, 1, {{2, 0.5}, {4, 0.4}}, 1.0).outcome, FitOutcome::kNotConverged);
}

// y = c through n points that count alike: the variance of c is σ²/n with σ² = RSS/(n-1). 0.8, 0.9: σ² = 0.005,
// variance 0.0025.
TEST(Fit, CovarianceOfAMean) {
  const FittedModel fit = FitModel(test::LoadModel("constant"), 1, {{2, 0.8}, {4, 0.9}}, 1.0, true);
  EXPECT_NEAR(fit.parameters[0], 0.85, 1e-9);
  EXPECT_NEAR(fit.sigma, std::sqrt(0.005), 1e-9);
  ASSERT_EQ(fit.covariance.size(), 1u);
  EXPECT_NEAR(fit.covariance[0], 0.0025, 1e-9);
  EXPECT_NEAR(fit.residuals[0], -0.05, 1e-9);
  EXPECT_EQ(fit.degrees_of_freedom, 1);
}

TEST(Fit, NoPointToSpareAssumesANoise) {
  const FittedModel fit = FitModel(test::LoadModel("amdahl"), 1, {{2, 0.9}, {8, 0.8}}, 1.0);
  EXPECT_EQ(fit.degrees_of_freedom, 0);
  EXPECT_TRUE(fit.sigma_is_assumed);
  EXPECT_EQ(fit.sigma, kAssumedSigma);
}

}  // namespace
}  // namespace farscale
