#include "projection/phase_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <memory>

#include "support/models.h"

namespace farscale {
namespace {

// A factor that is 0.5 in runs on 4 to 16 cores and in grown ones.
Ensemble AlwaysHalf(const std::vector<double>& cores, double scatter) {
  Ensemble ensemble;
  Member member{&test::AllModels().Get("constant", "test"), {}, 1, {}};
  member.fit.parameters = {0.5};
  for (const double at : cores) member.fit.points.push_back({at, 0.5, std::nullopt});
  member.posterior.draws = {{{0.5}, scatter}};
  member.posterior.weights = {1};
  ensemble.members.push_back(member);
  return ensemble;
}

// Of the tests, whatever the program has.
constexpr IntervalConstants kIntervalsOfCurves{0.13, 0.25, 0.15, 0.025, 0};

class GrownFactorsTest : public testing::Test {
 protected:
  static constexpr Factor kFactors[] = {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer};

  // Factors with these errors, as shares of the loss, whatever the distance.
  std::unique_ptr<GrownFactors> Of(const std::vector<double>& errors, std::optional<GrowthError> of_product,
                                   double scatter_of_curves = 0.05) {
    auto grown = std::make_unique<GrownFactors>(16, kIntervalsOfCurves);
    std::map<Factor, FactorDraws> curves;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      grown->Add(kFactors[i], AlwaysHalf({4, 8, 16, 64}, 0.01), {errors[i], 0}, i);
      const Ensemble& ensemble = ensembles_.emplace_back(AlwaysHalf({4, 8, 16}, scatter_of_curves));
      curves.try_emplace(kFactors[i], ensemble, kIntervalsOfCurves, 10 + i);
    }
    grown->Weigh(curves, {16, 32, 64, 128}, of_product);
    return grown;
  }

  // What the errors of growth alone make of every draw, in units of ln y.
  static std::vector<double> Errors(const GrownFactors& with, const GrownFactors& without, Factor factor) {
    std::vector<double> errors = with.DrawsAt(factor, 64);
    const std::vector<double> base = without.DrawsAt(factor, 64);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::log(errors[i] / base[i]);
    return errors;
  }

  static double RootMeanSquare(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares / static_cast<double>(values.size()));
  }

  std::deque<Ensemble> ensembles_;
};

// ln 0.5 = -0.693, so errors of 0.1, 0.2 and 0.15 are deviations of 0.0703, 0.1406 and 0.1055 with the 0.01 that a loss
// has at least; the product 0.125 has the logarithm -2.079, and with 0.05 of it the deviation 0.1045. Three independent
// errors would give 0.1893.
TEST_F(GrownFactorsTest, ErrorsOfFactorsCancelAsFarAsTheProductIsKnown) {
  const std::vector<double> shares = {0.1, 0.2, 0.15};
  const auto with = Of(shares, GrowthError{0.05, 0}), without = Of({0, 0, 0}, std::nullopt);
  std::vector<double> product(kFactorDraws, 0.0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::vector<double> errors = Errors(*with, *without, kFactors[i]);
    EXPECT_NEAR(RootMeanSquare(errors), shares[i] * (std::log(2) + 0.01), 0.006);
    for (std::size_t k = 0; k < product.size(); ++k) product[k] += errors[k];
  }
  EXPECT_NEAR(RootMeanSquare(product), 0.05 * (3 * std::log(2) + 0.01), 0.006);
}

TEST_F(GrownFactorsTest, ErrorsAreIndependentWhereTheProductIsUnknown) {
  const auto with = Of({0.1, 0.2, 0.15}, std::nullopt), without = Of({0, 0, 0}, std::nullopt);
  std::vector<double> product(kFactorDraws, 0.0);
  for (const Factor factor : kFactors) {
    const std::vector<double> errors = Errors(*with, *without, factor);
    for (std::size_t k = 0; k < product.size(); ++k) product[k] += errors[k];
  }
  EXPECT_NEAR(RootMeanSquare(product), 0.1893, 0.008);
}

// Two errors can cancel altogether, three of the same size as well; one alone has nothing to cancel with.
TEST_F(GrownFactorsTest, ProductsThatAreKnownExactly) {
  for (const std::size_t count : {1u, 2u, 3u}) {
    const auto with = Of(std::vector<double>(count, 0.1), GrowthError{1e-6, 0});
    const auto without = Of(std::vector<double>(count, 0.0), std::nullopt);
    std::vector<double> product(kFactorDraws, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<double> errors = Errors(*with, *without, kFactors[i]);
      for (std::size_t k = 0; k < product.size(); ++k) product[k] += errors[k];
    }
    EXPECT_NEAR(RootMeanSquare(product), count == 1 ? 0.0703 : 0, 0.004) << count;
  }
}

// The weight is that of the product: large errors of the factors, which cancel, do not make it small.
TEST_F(GrownFactorsTest, WeighsByTheProduct) {
  const double independent = Of({0.2, 0.2, 0.2}, std::nullopt)->WeightAt(64);
  const double known = Of({0.2, 0.2, 0.2}, GrowthError{0.02, 0})->WeightAt(64);
  EXPECT_GT(known, independent + 0.1);
}

// Up to the largest run, 16 cores, curves count alone; from 32 on all of the weight does.
TEST_F(GrownFactorsTest, BeginsToCountBeyondTheRuns) {
  const auto grown = Of({0.1, 0.1, 0.1}, GrowthError{0.05, 0});
  EXPECT_EQ(grown->WeightAt(16), 0);
  EXPECT_NEAR(grown->WeightAt(std::sqrt(16 * 32)), grown->WeightAt(32) / 2, 1e-9);
  EXPECT_GT(grown->WeightAt(32), 0.1);
}

}  // namespace
}  // namespace farscale
