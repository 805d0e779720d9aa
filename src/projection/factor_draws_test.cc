#include "projection/load_balance_by_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "models/ensemble.h"
#include "support/models.h"

namespace farscale {
namespace {

// Of the tests, whatever the program has.
constexpr IntervalConstants kIntervals{0.13, 0.25, 0.15, 0.025, 0};

// A constant that is known, up to the scatter of the runs.
struct Known {
  double value = 0;
  double weight = 1;
  double scatter = 0.05;
};

// Measured up to 64 cores.
Ensemble Constants(const std::vector<Known>& constants, std::optional<double> limit,
                   std::optional<double> relative_error = std::nullopt) {
  Ensemble ensemble;
  ensemble.limit = limit;
  for (const Known& known : constants) {
    Member member{&test::AllModels().Get("constant", "test"), {}, known.weight, {}};
    member.fit.parameters = {known.value};
    for (const double cores : {16, 64}) {
      member.fit.points.push_back({cores, known.value, std::nullopt});
      if (relative_error) member.fit.points.back().standard_error = *relative_error * known.value;
    }
    member.posterior.draws = {{{known.value}, known.scatter}};
    member.posterior.weights = {1};
    ensemble.members.push_back(member);
  }
  return ensemble;
}

Ensemble Fitted() {
  const std::vector<DataPoint> points = {{16, 0.95}, {32, 0.93}, {64, 0.86}, {128, 0.77}};
  std::vector<Candidate> candidates;
  for (const char* id : {"constant", "amdahl", "logarithm", "power"}) {
    candidates.push_back({&test::AllModels().Get(id, "test"), {1}});
  }
  return FitEnsemble(candidates, points, 1.0, {16, 1 << 20}, 1);
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::vector<double> Logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

double Width80(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 9 / 10] - values[values.size() / 10];
}

TEST(FactorDraws, SameForTheSameSeed) {
  const Ensemble ensemble = Fitted();
  EXPECT_EQ(FactorDraws(ensemble, kIntervals, 1).At(1024), FactorDraws(ensemble, kIntervals, 1).At(1024));
  EXPECT_NE(FactorDraws(ensemble, kIntervals, 1).At(1024), FactorDraws(ensemble, kIntervals, 2).At(1024));
  const FactorDraws draws(ensemble, kIntervals, 1);
  const std::vector<double> before = draws.At(1024);
  draws.At(4096);
  EXPECT_EQ(draws.At(1024), before);  // asking changes nothing
}

TEST(FactorDraws, SameAtAnyThreadCount) {
  std::vector<std::vector<std::vector<double>>> by_threads;
  for (const std::size_t threads : {1u, 4u}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    std::vector<std::vector<double>> draws(8);
    // Each with a model of its own.
    ParallelFor(draws.size(), [&](std::size_t i) {
      const ScalingModel amdahl = test::LoadModel("amdahl");
      const Ensemble ensemble =
          FitEnsemble({{&amdahl, {1, 2}}}, {{16, 0.95}, {32, 0.93}, {64, 0.86}}, 1.0, {16, 1024}, i);
      draws[i] = FactorDraws(ensemble, kIntervals, i).At(1024);
    });
    by_threads.push_back(draws);
  }
  EXPECT_EQ(by_threads[0], by_threads[1]);
}

// 1000 draws: 300 of one, 700 of the other, none of the third.
TEST(FactorDraws, MembersAreDrawnAsTheyWeigh) {
  const Ensemble ensemble = Constants({{0.6, 0.7}, {0.9, 0.3}, {0.1, 0}}, 1.0);
  const std::vector<double> curves = FactorDraws(ensemble, kIntervals, 1).CurvesAt(4096);
  ASSERT_EQ(curves.size(), kFactorDraws);
  EXPECT_EQ(std::count(curves.begin(), curves.end(), 0.6), 700);
  EXPECT_EQ(std::count(curves.begin(), curves.end(), 0.9), 300);
  // In no order: the first half has as many of each as the second, or nearly.
  EXPECT_NEAR(static_cast<double>(std::count(curves.begin(), curves.begin() + 500, 0.9)), 150, 40);
}

TEST(FactorDraws, MeanOfTheCurvesIsThatOfThePosteriors) {
  const Ensemble ensemble = Fitted();
  double mean = 0;
  for (const Member& member : ensemble.members) {
    for (std::size_t i = 0; i < member.posterior.draws.size(); ++i) {
      mean += member.weight * member.posterior.weights[i] * member.Evaluate(512, member.posterior.draws[i].parameters);
    }
  }
  EXPECT_NEAR(Mean(FactorDraws(ensemble, kIntervals, 1).CurvesAt(512)), mean, 0.002);
}

// At the largest run there is no drift: ln y is normal around ln 0.5 with the scatter 0.05 · (0.05 + ln 2) = 0.0372;
// an own error of 0.05 makes it hypot(0.0372, 0.05) = 0.0623.
TEST(FactorDraws, ScatterOfARunAtTheLargestCount) {
  const Ensemble without = Constants({{0.5}}, 1.0), with = Constants({{0.5}}, 1.0, 0.05);
  const double scatter = 0.05 * (0.05 + std::log(2));
  const std::vector<double> draws = Logarithms(FactorDraws(without, kIntervals, 1).At(64));
  EXPECT_NEAR(Mean(draws), std::log(0.5), 0.004);
  EXPECT_NEAR(Deviation(draws), scatter, 0.05 * scatter);
  EXPECT_NEAR(Deviation(Logarithms(FactorDraws(with, kIntervals, 1).At(64))), std::hypot(scatter, 0.05), 0.004);
  EXPECT_EQ(FactorDraws(without, kIntervals, 1).At(16),
            FactorDraws(without, kIntervals, 1).At(64));  // nor among the runs
}

// Two doublings beyond 64 cores. A loss of 0.2 drifts by 0.13 of itself each: 0.13 · 2 · 0.2 = 0.052; it scatters by
// 0.036 · 0.25 = 0.009, a value of 1 by 0.036 · 0.05. 16 times the scatter doubles the drift, 16^(1/4). A value of 1
// has no loss to drift.
TEST(FactorDraws, LogDeviationByHand) {
  const double value = std::exp(-0.2);
  const Ensemble usual = Constants({{value, 1, 0.036}}, 1.0), more = Constants({{value, 1, 0.576}}, 1.0);
  EXPECT_NEAR(FactorDraws(usual, kIntervals, 1).LogDeviation(0, value, 256), std::hypot(0.052, 0.009), 1e-12);
  EXPECT_NEAR(FactorDraws(usual, kIntervals, 1).LogDeviation(0, value, 64), 0.009, 1e-12);
  EXPECT_NEAR(FactorDraws(usual, kIntervals, 1).LogDeviation(0, 1, 256), 0.0018, 1e-12);
  EXPECT_NEAR(FactorDraws(more, kIntervals, 1).LogDeviation(0, value, 256), std::hypot(0.104, 0.144), 1e-12);
  const Ensemble stated = Constants({{value, 1, 0.036}}, 1.0, 0.03);
  EXPECT_NEAR(FactorDraws(stated, kIntervals, 1).LogDeviation(0, value, 64), std::hypot(0.03, 0.009), 1e-12);
}

TEST(FactorDraws, StayWithinTheLimit) {
  for (const double value : {1e-6, 0.3, 0.97, 1.0}) {
    const Ensemble ensemble = Constants({{value, 1, 0.6}}, 1.0, 0.1);
    for (const double cores : {16.0, 64.0, 1024.0, 1e6}) {
      for (const double draw : FactorDraws(ensemble, kIntervals, 5).At(cores)) {
        ASSERT_GE(draw, 0) << value << " at " << cores;
        ASSERT_LE(draw, 1) << value << " at " << cores;
      }
    }
  }
}

// What may exceed 1 gains as often as it loses.
TEST(FactorDraws, WithoutLimitMayExceedOne) {
  const Ensemble ensemble = Constants({{1.0}}, std::nullopt);
  const std::vector<double> draws = FactorDraws(ensemble, kIntervals, 1).At(4096);
  const auto above = std::count_if(draws.begin(), draws.end(), [](double draw) { return draw > 1; });
  EXPECT_NEAR(static_cast<double>(above), 500, 60);
  EXPECT_NEAR(Mean(Logarithms(draws)), 0, 0.005);
}

TEST(FactorDraws, SpreadGrowsWithDistance) {
  const Ensemble fitted = Fitted(), known = Constants({{0.8}}, 1.0), free = Constants({{1.2}}, std::nullopt);
  for (const Ensemble* ensemble : {&fitted, &known, &free}) {
    const FactorDraws draws(*ensemble, kIntervals, 1);
    double before = 0;
    for (const double cores : {128, 256, 512, 1024, 2048}) {
      const double width = Width80(Logarithms(draws.At(cores)));
      EXPECT_GT(width, before) << cores;
      before = width;
    }
  }
}

// A loss of 0.2 that is seen as 0.3 two doublings beyond 64 cores: drift has a deviation of 0.13 · 2 · 0.2 = 0.052,
// scatter 0.009, so 0.002704 / (0.002704 + 0.000081) of the logarithm of 1.5 stays. At 64 cores all is scatter.
TEST(FactorDraws, WhatARunShowsIsDriftOrScatter) {
  const double value = std::exp(-0.2), outcome = std::exp(-0.3);
  const Ensemble ensemble = Constants({{value, 1, 0.036}}, 1.0);
  const FactorDraws draws(ensemble, kIntervals, 1);
  const double expected = 0.4 * std::pow(1.5, 0.002704 / (0.002704 + 0.000081));
  EXPECT_NEAR(LossAfter(0.4, draws.LearningAt(0, value, 256), -std::log(outcome)), expected, 1e-9);
  EXPECT_NEAR(LossAfter(0.4, draws.LearningAt(0, value, 64), -std::log(outcome)), 0.4, 1e-12);
  EXPECT_EQ(LossAfter(0.7, draws.LearningAt(0, value, 256), 0), 0.7);
}

// After a run at 64 cores or less nothing is new but what was chosen; after one at the target, no drift is left.
TEST(FactorDraws, AfterARunTakesCurvesAndLeavesTheNoise) {
  const Ensemble ensemble = Constants({{0.6, 0.7}, {0.9, 0.3}}, 1.0);
  const FactorDraws draws(ensemble, kIntervals, 1);
  const std::vector<double> before = draws.At(1024), curves = draws.CurvesAt(1024);
  std::vector<std::size_t> itself(kFactorDraws);
  std::iota(itself.begin(), itself.end(), 0);
  const auto after_run = [&](const std::vector<double>& losses, const std::vector<std::size_t>& chosen, double run) {
    std::vector<double> values = draws.AfterRun(losses, chosen, 1024, run);
    for (double& value : values) value = std::exp(-value);
    return values;
  };
  EXPECT_EQ(after_run(draws.LossesAt(1024), itself, 64), before);
  EXPECT_LT(Deviation(after_run(draws.LossesAt(1024), itself, 1024)), Deviation(before));

  const auto high = static_cast<std::size_t>(std::find(curves.begin(), curves.end(), 0.9) - curves.begin());
  const std::vector<double> after =
      after_run(std::vector<double>(kFactorDraws, -std::log(0.9)), std::vector<std::size_t>(kFactorDraws, high), 64);
  EXPECT_GT(Deviation(after), 0);  // every draw has its own noise still
  for (std::size_t i = 0; i < kFactorDraws; ++i) {
    if (curves[i] == 0.9) {
      EXPECT_EQ(after[i], before[i]);
    }
  }
}

}  // namespace
}  // namespace farscale
