#include "models/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "models/selection.h"
#include "support/traces.h"

namespace farscale {
namespace {

ScalingModel Load(const std::string& id) {
  const std::string file = test::SourceFolder() + "/fits/" + id + ".toml";
  return ParseModel(ReadFile(file), file);
}

std::vector<DataPoint> Sample(const ScalingModel& model, int dimension, const std::vector<double>& parameters,
                              const std::vector<double>& cores) {
  std::vector<DataPoint> points;
  for (const double p : cores) points.push_back({p, model.Evaluate(p, dimension, parameters)});
  return points;
}

const std::vector<double> kCores = {16, 32, 64, 128, 256};

// Noise-free points give back the parameters of every model, dimension and a spread of values.
TEST(Fit, RecoversParameters) {
  for (const std::string id : {"constant", "amdahl", "pipeline"}) {
    const ScalingModel model = Load(id);
    for (const int dimension : model.dimensions) {
      for (const double e0 : {0.35, 0.8, 0.999}) {
        for (const double f : {0.55, 0.9, 0.9995}) {
          std::vector<double> truth = {e0, f};
          truth.resize(model.parameters.size());
          const FittedModel fit = FitModel(model, dimension, Sample(model, dimension, truth, kCores), 1.0);
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
  const ScalingModel model = Load("amdahl");
  const FittedModel fit = FitModel(model, 1, Sample(model, 1, {0.98, 0.99}, {2, 4, 8, 4096}), 1.0);
  EXPECT_EQ(fit.outcome, FitOutcome::kConverged);
  EXPECT_NEAR(fit.parameters[1], 0.99, 1e-8);
}

// Rising values: the best an efficiency model can do is to stay level, at its bound.
TEST(Fit, RisingSeriesEndsAtTheBound) {
  const FittedModel fit = FitModel(Load("amdahl"), 1, {{2, 0.8}, {4, 0.85}, {8, 0.9}}, 1.0);
  EXPECT_EQ(fit.outcome, FitOutcome::kAtBound);
  EXPECT_TRUE(fit.at_bound[1]);
  EXPECT_NEAR(EvaluateFit(Load("amdahl"), fit, 1024).value, 0.85, 1e-6);
}

TEST(Fit, FactorsWithoutLimitMayExceedOne) {
  const FittedModel limited = FitModel(Load("constant"), 1, {{2, 1.2}, {4, 1.2}}, 1.0);
  const FittedModel free = FitModel(Load("constant"), 1, {{2, 1.2}, {4, 1.2}}, std::nullopt);
  EXPECT_NEAR(limited.parameters[0], 1, 1e-9);
  EXPECT_NEAR(free.parameters[0], 1.2, 1e-9);
}

TEST(Fit, TooFewPointsIsAResult) {
  EXPECT_EQ(FitModel(Load("amdahl"), 1, {{8, 0.9}}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(FitModel(Load("amdahl"), 1, {{8, 0.9}, {8, 0.8}}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(FitModel(Load("amdahl"), 1, {}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_TRUE(IsUsable(FitModel(Load("constant"), 1, {{8, 0.9}}, 1.0).outcome));
}

TEST(Fit, ModelThatIsNowhereDefinedIsAResult) {
  const ScalingModel model = ParseModel(
      "id = 'm'\nname = 'M'\nformula = 'sqrt(e0 - 2)'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = [0.5]\n", "m");
  EXPECT_EQ(FitModel(model, 1, {{2, 0.5}, {4, 0.4}}, 1.0).outcome, FitOutcome::kNotConverged);
}

// y = c through n points: the variance of c is σ²/n with σ² = RSS/(n-1). 0.8, 0.9: σ² = 0.005, variance 0.0025.
TEST(Fit, CovarianceOfAMean) {
  const FittedModel fit = FitModel(Load("constant"), 1, {{2, 0.8}, {4, 0.9}}, 1.0);
  EXPECT_NEAR(fit.parameters[0], 0.85, 1e-9);
  EXPECT_NEAR(fit.sigma, std::sqrt(0.005), 1e-9);
  ASSERT_EQ(fit.covariance.size(), 1u);
  EXPECT_NEAR(fit.covariance[0], 0.0025, 1e-9);
  EXPECT_NEAR(*EvaluateFit(Load("constant"), fit, 77).standard_error, 0.05, 1e-6);
  EXPECT_NEAR(fit.residuals[0], -0.05, 1e-9);
  EXPECT_EQ(fit.degrees_of_freedom, 1);
}

TEST(Fit, NoPointToSpareAssumesANoise) {
  const FittedModel fit = FitModel(Load("amdahl"), 1, {{2, 0.9}, {8, 0.8}}, 1.0);
  EXPECT_EQ(fit.degrees_of_freedom, 0);
  EXPECT_TRUE(fit.sigma_is_assumed);
  EXPECT_EQ(fit.sigma, kAssumedSigma);
}

// n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1) with n = 6, RSS = 0.06, two parameters and the variance: k = 3.
TEST(Fit, Akaike) {
  EXPECT_NEAR(*SmallSampleAkaike(0.06, 6, 2), 6 * std::log(0.01) + 6 + 24.0 / 2, 1e-12);
  EXPECT_FALSE(SmallSampleAkaike(0.06, 4, 2));
}

class SelectionTest : public testing::Test {
 protected:
  const ScalingModel amdahl_ = Load("amdahl"), pipeline_ = Load("pipeline"), constant_ = Load("constant");
  const std::vector<Candidate> all_ = {{&amdahl_, {1, 2, 3}}, {&pipeline_, {1, 2, 3}}, {&constant_, {1}}};
};

TEST_F(SelectionTest, FindsTheModelBehindThePoints) {
  for (const Candidate& truth : all_) {
    for (const int dimension : truth.dimensions) {
      const std::vector<double> parameters =
          truth.model->parameters.size() == 1 ? std::vector<double>{0.9} : std::vector<double>{0.95, 0.9};
      const FittedModel fit = SelectModel(all_, Sample(*truth.model, dimension, parameters, kCores), 1.0);
      EXPECT_NEAR(EvaluateFit(*truth.model, fit, 4096).value, truth.model->Evaluate(4096, dimension, parameters), 1e-4)
          << truth.model->id << " " << dimension;
    }
  }
}

// Exactly level: amdahl and pipeline fit as well with one parameter more, so constant is preferred.
TEST_F(SelectionTest, FewerParametersBreakTies) {
  const FittedModel fit = SelectModel(all_, Sample(constant_, 1, {0.9}, kCores), 1.0);
  EXPECT_EQ(fit.model, "constant");
  ASSERT_EQ(fit.rivals.size(), 7u);
  EXPECT_EQ(fit.rivals[0].model, "constant");
  EXPECT_TRUE(fit.left_out_error);
}

TEST_F(SelectionTest, TwoCountsTakeTheFirstThatBends) {
  const FittedModel fit = SelectModel(all_, {{2, 0.95}, {4, 0.9}}, 1.0);
  EXPECT_EQ(fit.model, "amdahl");
  EXPECT_EQ(fit.dimension, 1);
  EXPECT_FALSE(fit.left_out_error);
}

TEST_F(SelectionTest, OneCountIsTooFew) {
  EXPECT_EQ(SelectModel(all_, {{2, 0.95}, {2, 0.9}}, 1.0).outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(SelectModel(all_, {}, 1.0).outcome, FitOutcome::kTooFewPoints);
}

TEST_F(SelectionTest, FixedModelIsFittedWithoutChoice) {
  const FittedModel fit = SelectModel({{&amdahl_, {3}}}, Sample(constant_, 1, {0.9}, kCores), 1.0);
  EXPECT_EQ(fit.model, "amdahl");
  EXPECT_EQ(fit.dimension, 3);
}

// Repeats of the largest count are left out together.
TEST_F(SelectionTest, RepeatsOfTheLargestCount) {
  std::vector<DataPoint> points = Sample(amdahl_, 1, {0.95, 0.99}, kCores);
  points.push_back({256, points.back().value + 0.01});
  const FittedModel fit = SelectModel({{&amdahl_, {1}}}, points, 1.0);
  EXPECT_NEAR(*fit.left_out_error, 0.005, 1e-6);  // 0 and 0.01
}

}  // namespace
}  // namespace farscale
