#include "models/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/models.h"

namespace farscale {
namespace {

const std::vector<double> kCores = {16, 32, 64, 128, 256, 512};

const ModelLibrary& Library() {
  static const ModelLibrary library = test::AllModels();
  return library;
}

const ScalingModel& Get(const std::string& id) { return Library().Get(id, "test"); }

// Every model of fits/ in all its dimensions.
std::vector<Candidate> AllCandidates() {
  std::vector<Candidate> candidates;
  for (const std::string& id : Library().Ids()) candidates.push_back({&Get(id), Get(id).dimensions});
  return candidates;
}

Candidate Only(const std::string& id, int dimension = 1) { return {&Get(id), {dimension}}; }

// A model in one dimension, with parameters, in the order of their names, that make a curve below 1.
struct Law {
  std::string model;
  int dimension;
  std::vector<double> parameters;

  double At(double cores) const { return Get(model).Evaluate(cores, dimension, parameters); }
  std::vector<DataPoint> Sample(const std::vector<double>& cores) const {
    std::vector<DataPoint> points;
    for (const double count : cores) points.push_back({count, At(count)});
    return points;
  }
};

void PrintTo(const Law& law, std::ostream* stream) { *stream << law.model << " in dimension " << law.dimension; }

Ensemble Fit(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
             std::optional<double> limit = 1.0, const std::vector<double>& reach = {16, 8192}) {
  return FitEnsemble(candidates, points, limit, reach, 1);
}

double SumOfWeights(const Ensemble& ensemble) {
  return std::accumulate(ensemble.members.begin(), ensemble.members.end(), 0.0,
                         [](double sum, const Member& member) { return sum + member.weight; });
}

const Member* Find(const Ensemble& ensemble, const std::string& model, int dimension = 1) {
  for (const Member& member : ensemble.members) {
    if (member.model->id == model && member.fit.dimension == dimension) return &member;
  }
  return nullptr;
}

// What holds for every ensemble of use: weights, their order, and the draws they are for.
void ExpectSound(const Ensemble& ensemble) {
  ASSERT_TRUE(ensemble.IsUsable());
  EXPECT_NEAR(SumOfWeights(ensemble), 1, 1e-12);
  for (std::size_t i = 0; i < ensemble.members.size(); ++i) {
    const Member& member = ensemble.members[i];
    EXPECT_GE(member.weight, 0);
    if (i > 0) {
      EXPECT_LE(member.weight, ensemble.members[i - 1].weight);
    }
    if (!IsUsable(member.fit.outcome)) {
      EXPECT_EQ(member.weight, 0) << member.model->id;
    }
    if (member.weight == 0) continue;
    EXPECT_EQ(member.posterior.draws.size(), member.posterior.weights.size());
    EXPECT_NEAR(std::accumulate(member.posterior.weights.begin(), member.posterior.weights.end(), 0.0), 1, 1e-9);
  }
}

class EveryModel : public testing::TestWithParam<Law> {};

TEST_P(EveryModel, RecoversItsParametersAndIsRightBeyond) {
  const Law& law = GetParam();
  const Ensemble alone = Fit({Only(law.model, law.dimension)}, law.Sample(kCores));
  ExpectSound(alone);
  const std::vector<double>& found = alone.members.front().fit.parameters;
  for (std::size_t i = 0; i < law.parameters.size(); ++i) {
    EXPECT_NEAR(found[i], law.parameters[i], 1e-4 * std::fabs(law.parameters[i])) << alone.members.front().fit.names[i];
  }
  for (const double cores : {16, 512, 8192}) EXPECT_NEAR(alone.ValueAt(cores), law.At(cores), 1e-5);
}

// Among all the others, it or one that says the same is found.
TEST_P(EveryModel, IsRightAmongAllModels) {
  const Law& law = GetParam();
  const Ensemble all = Fit(AllCandidates(), law.Sample(kCores));
  ExpectSound(all);
  const Member* itself = Find(all, law.model, law.dimension);
  ASSERT_NE(itself, nullptr);
  EXPECT_GT(itself->weight, 0);
  EXPECT_NEAR(itself->Evaluate(4096, itself->fit.parameters), law.At(4096), 1e-5);
  // At 8 times the largest run, the heaviest says what is true, and all together are close: the other laws that the
  // values leave possible count, too.
  const Member& first = all.members.front();
  EXPECT_NEAR(first.Evaluate(4096, first.fit.parameters) / law.At(4096), 1, 0.001) << first.model->id;
  EXPECT_NEAR(all.ValueAt(4096) / law.At(4096), 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(OfThisProject, EveryModel,
                         testing::Values(Law{"constant", 1, {0.87}}, Law{"amdahl", 1, {0.95, 0.999}},
                                         Law{"amdahl", 2, {0.95, 0.98}}, Law{"amdahl", 3, {0.95, 0.9}},
                                         Law{"pipeline", 1, {0.9, 0.8}}, Law{"pipeline", 2, {0.9, 0.7}},
                                         Law{"pipeline", 3, {0.9, 0.7}}, Law{"saturation", 1, {0.7, 4}},
                                         Law{"saturation", 2, {0.7, 1}}, Law{"saturation", 3, {0.7, 0.7}},
                                         Law{"logarithm", 1, {0.04, 0.95}}, Law{"quadratic", 1, {0.95, 0.999998}},
                                         Law{"quadratic", 3, {0.95, 0.99}}, Law{"linlog", 1, {0.0002, 0.95}},
                                         Law{"extremes", 1, {0.1, 0.95}}, Law{"power", 1, {0.95, 0.1}},
                                         Law{"universal", 1, {0.95, 0.000002, 0.0005}}, Law{"growing", 1, {-4.0, 0.3}},
                                         Law{"boundary", 1, {0.1, 0.9, 48}}));

// A new model needs a law above.
TEST(Ensemble, EveryModelIsAmongTheLaws) {
  std::size_t count = 0;
  for (const Candidate& candidate : AllCandidates()) count += candidate.dimensions.size();
  EXPECT_EQ(count, 19u);
}

TEST(Ensemble, LevelDataPreferTheConstant) {
  const std::vector<DataPoint> points = {{16, 0.9}, {32, 0.902}, {64, 0.899}, {128, 0.901}, {256, 0.9}};
  const Ensemble ensemble = Fit(AllCandidates(), points);
  ExpectSound(ensemble);
  EXPECT_EQ(ensemble.members.front().model->id, "constant");
  EXPECT_NEAR(ensemble.ValueAt(2048), 0.9, 0.01);
}

// The law of Amdahl is the universal one without coherency: the same curve, one parameter less.
TEST(Ensemble, FewerParametersArePreferred) {
  const Law law{"amdahl", 1, {0.95, 0.999}};
  const Ensemble ensemble = Fit({Only("universal"), Only("amdahl")}, law.Sample(kCores));
  ExpectSound(ensemble);
  EXPECT_EQ(ensemble.members.front().model->id, "amdahl");
  const double prior = Get("amdahl").PriorOf(1) / Get("universal").PriorOf(1);
  EXPECT_GT(ensemble.members[0].weight / ensemble.members[1].weight, 1.5 * prior);
}

// Three parameters are taken where two cannot tell what the larger runs show.
TEST(Ensemble, MoreParametersWhereTheyPredictBetter) {
  const Law law{"boundary", 1, {0.25, 0.97, 64}};
  const Ensemble ensemble =
      Fit({Only("constant"), Only("logarithm"), Only("boundary")}, law.Sample({8, 16, 32, 64, 128, 256, 512, 1024}));
  EXPECT_EQ(ensemble.members.front().model->id, "boundary");
  EXPECT_NEAR(ensemble.ValueAt(8192), law.At(8192), 0.01);
}

TEST(Ensemble, TwoCounts) {
  const std::vector<DataPoint> points = {{16, 0.95}, {64, 0.9}};
  const Ensemble ensemble = Fit(AllCandidates(), points);
  ExpectSound(ensemble);
  EXPECT_EQ(Find(ensemble, "universal")->fit.outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(Find(ensemble, "universal")->weight, 0);
  EXPECT_EQ(ensemble.members.back().weight, 0);
  EXPECT_GT(ensemble.ValueAt(64), 0.85);
  EXPECT_LT(ensemble.ValueAt(1024), 0.9);
}

TEST(Ensemble, OneCountHasNoMemberOfUse) {
  for (const std::vector<DataPoint>& points :
       {std::vector<DataPoint>{{16, 0.9}}, {{16, 0.9}, {16, 0.91}, {16, 0.89}}, {}}) {
    const Ensemble ensemble = Fit(AllCandidates(), points);
    EXPECT_FALSE(ensemble.IsUsable());
    EXPECT_EQ(SumOfWeights(ensemble), 0);
    for (const Member& member : ensemble.members) EXPECT_EQ(member.fit.outcome, FitOutcome::kTooFewPoints);
    EXPECT_EQ(ensemble.members.front().model->id, Library().Ids().front());  // as they were named
  }
  EXPECT_FALSE(Fit({}, {{16, 0.9}, {32, 0.8}}).IsUsable());
}

// 0.80, 0.82, 0.84 at 16 cores, their mean on the curve of the other runs: the curve stays what it is.
TEST(Ensemble, RepeatsAtOneCount) {
  const Law law{"logarithm", 1, {0.03, 0.95}};
  std::vector<DataPoint> points = law.Sample(kCores);
  points.push_back({16, points.front().value - 0.02});
  points.push_back({16, points.front().value + 0.02});
  const Ensemble ensemble = Fit(AllCandidates(), points);
  ExpectSound(ensemble);
  EXPECT_NEAR(ensemble.ValueAt(2048), law.At(2048), 0.03);
  const Ensemble two = Fit(AllCandidates(), {{16, 0.9}, {16, 0.91}, {16, 0.92}, {32, 0.88}});
  ExpectSound(two);
  EXPECT_EQ(Find(two, "universal")->fit.outcome, FitOutcome::kTooFewPoints);  // two counts, whatever the repeats
}

TEST(Ensemble, AboveOneWithoutLimit) {
  for (const double exponent : {-0.1, 0.1}) {  // caches that fit ever more, and the opposite
    const Law law{"power", 1, {1.5, exponent}};
    const Ensemble ensemble = Fit(AllCandidates(), law.Sample(kCores), std::nullopt);
    ExpectSound(ensemble);
    EXPECT_NEAR(ensemble.ValueAt(4096) / law.At(4096), 1, 0.1);
  }
}

TEST(Ensemble, PerfectEverywhere) {
  for (const std::optional<double> limit : {std::optional<double>(1), std::optional<double>()}) {
    const Ensemble ensemble = Fit(AllCandidates(), {{16, 1}, {32, 1}, {64, 1}, {128, 1}}, limit);
    ExpectSound(ensemble);
    for (const double cores : {16, 128, 8192}) EXPECT_NEAR(ensemble.ValueAt(cores), 1, 0.001);
    if (limit) {
      EXPECT_LE(ensemble.ValueAt(8192), 1);
    }
  }
}

TEST(Ensemble, IdenticalValues) {
  const Ensemble ensemble = Fit(AllCandidates(), {{16, 0.7}, {32, 0.7}, {64, 0.7}, {128, 0.7}});
  ExpectSound(ensemble);
  EXPECT_EQ(ensemble.members.front().model->id, "constant");
  EXPECT_NEAR(ensemble.ValueAt(8192), 0.7, 0.001);
}

// Values that rise go on or stay, but never exceed the limit.
TEST(Ensemble, RisingUnderALimit) {
  const Ensemble ensemble = Fit(AllCandidates(), {{16, 0.8}, {32, 0.85}, {64, 0.88}, {128, 0.91}, {256, 0.93}});
  ExpectSound(ensemble);
  EXPECT_GT(ensemble.ValueAt(512), 0.8);
  for (const double cores : {512, 8192}) EXPECT_LE(ensemble.ValueAt(cores), 1);
  for (const Member& member : ensemble.members) {
    for (const CurveDraw& draw : member.posterior.draws) {
      const bool counts = member.posterior.weights[static_cast<std::size_t>(&draw - member.posterior.draws.data())] > 0;
      if (counts) {
        EXPECT_LE(member.Evaluate(8192, draw.parameters), 1 + 1e-9) << member.model->id;
      }
    }
  }
}

TEST(Ensemble, ASingleModelIsItsOwnCurve) {
  const std::vector<DataPoint> points = {{16, 0.95}, {32, 0.93}, {64, 0.84}, {128, 0.75}};
  for (const char* id : {"amdahl", "pipeline", "power"}) {
    const Ensemble ensemble = Fit({Only(id)}, points);
    ASSERT_EQ(ensemble.members.size(), 1u);
    EXPECT_EQ(ensemble.members.front().weight, 1);
    const FittedModel fit = FitModel(Get(id), 1, points, 1.0);
    EXPECT_EQ(ensemble.members.front().fit, fit);
    for (const double cores : {16.0, 100.0, 8192.0}) {
      EXPECT_EQ(ensemble.ValueAt(cores), Get(id).Evaluate(cores, 1, fit.parameters)) << id;
    }
  }
}

TEST(Ensemble, AModelThatIsNowhereDefined) {
  const ScalingModel nowhere = ParseModel(
      "id = 'm'\nname = 'M'\nformula = 'sqrt(e0 - 2)'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = [0.5]\n", "m");
  const std::vector<DataPoint> points = {{16, 0.5}, {32, 0.4}, {64, 0.3}};
  EXPECT_FALSE(Fit({{&nowhere, {1}}}, points).IsUsable());
  const Ensemble ensemble = Fit({{&nowhere, {1}}, Only("amdahl")}, points);
  ExpectSound(ensemble);
  EXPECT_EQ(ensemble.members.front().model->id, "amdahl");
  EXPECT_EQ(ensemble.members.front().weight, 1);
}

// A line that crosses zero at 100 cores.
TEST(Ensemble, CurvesThatLeaveTheRangeWithinReach) {
  const ScalingModel line = ParseModel(
      "id = 'm'\nname = 'M'\nformula = 'e0 * (1 - x / 100)'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = [0.5]\n",
      "m");
  const std::vector<DataPoint> points = {{2, 0.49}, {4, 0.48}, {8, 0.46}};
  EXPECT_TRUE(Fit({{&line, {1}}}, points, 1.0, {2, 50}).IsUsable());
  EXPECT_EQ(Fit({{&line, {1}}}, points, 1.0, {2, 1000}).members.front().fit.outcome, FitOutcome::kLeavesRange);
}

// Whatever a table may hold, the values are numbers that the factor can have.
TEST(Ensemble, OddValues) {
  const std::vector<std::vector<DataPoint>> series = {
      {{16, 0}, {32, 0}, {64, 0}},                                      // nothing useful at all
      {{16, 1}, {32, 0}, {64, 1}, {128, 0}},                            // from one end to the other
      {{16, 0.9, 0}, {32, 0.8, 0}, {64, 0.7, 0}},                       // errors of nothing
      {{16, 0.9, 1e300}, {32, 0.8, 1e-300}, {64, 0.7, 1}},              // errors of anything
      {{64, 0.7}, {16, 0.9}, {256, 0.4}, {32, 0.8}},                    // in no order
      {{1, 1}, {2, 0.99}, {4, 0.97}, {8, 0.94}},                        // one core
      {{16, 0.9}, {16.5, 0.9}},                                         // next to each other
      {{16, 1e-12}, {32, 1e-13}, {64, 1e-14}},                          // hardly anything
      {{16, 1.2}, {32, 1.3}, {64, 1.4}},                                // above the limit
      {{16, 0.9}, {1 << 20, 0.1}, {1 << 21, 0.05}, {1 << 22, 0.026}}};  // far apart
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Ensemble ensemble = Fit(AllCandidates(), series[i]);
    if (!ensemble.IsUsable()) {
      EXPECT_EQ(SumOfWeights(ensemble), 0) << i;
      continue;
    }
    ExpectSound(ensemble);
    for (const double cores : {16, 100, 8192}) {
      EXPECT_GE(ensemble.ValueAt(cores), 0) << i;  // which a value that is no number is not
      EXPECT_LE(ensemble.ValueAt(cores), 1) << i;
    }
  }
}

TEST(Ensemble, SameForTheSameSeed) {
  const std::vector<DataPoint> points = {{16, 0.95}, {32, 0.93}, {64, 0.84}, {128, 0.75}};
  const auto weights = [&](std::uint64_t seed) {
    std::vector<double> found;
    for (const Member& member : FitEnsemble(AllCandidates(), points, 1.0, {16, 8192}, seed).members) {
      found.push_back(member.weight);
    }
    return found;
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

// Two constants, so that the averages are known at every core count.
Ensemble TwoConstants(double first, double weight, double second, std::optional<double> limit) {
  Ensemble ensemble;
  ensemble.limit = limit;
  for (const double value : {first, second}) {
    Member member{&Get("constant"), {}, value == first ? weight : 1 - weight, {}};
    member.fit.parameters = {value};
    ensemble.members.push_back(member);
  }
  return ensemble;
}

// A series that rises towards its limit gets there and stays, and what is asked for beyond does not choose its models.
TEST(Ensemble, WhatRisesIsCutOffAtTheLimit) {
  const std::vector<DataPoint> points = {{2, 0.60}, {4, 0.63}, {8, 0.66}, {16, 0.70}, {32, 0.73}};
  const std::vector<Candidate> candidates = {{&Get("power"), {1}}, {&Get("constant"), {1}}};
  const Ensemble near = FitEnsemble(candidates, points, 1.0, {2, 64}, 1);
  const Ensemble far = FitEnsemble(candidates, points, 1.0, {2, 1e6}, 1);
  EXPECT_EQ(near.members.front().model->id, "power");
  EXPECT_DOUBLE_EQ(near.ValueAt(64), far.ValueAt(64));
  EXPECT_GT(far.ValueAt(64), 0.73);
  EXPECT_LE(far.ValueAt(1e6), 1);
}

// Losses -ln y of 0.09 and 0.39, each with 0.01 more: half each, the root of their product is 0.2; three quarters of
// the first, 0.1 · 4^(1/4) = 0.1 · sqrt(2). A member that sees no loss counts with 0.01: (0.01 · 0.25)^(1/2) = 0.05.
TEST(Ensemble, AverageOfLosses) {
  const double little = std::exp(-0.09), much = std::exp(-0.39);
  EXPECT_NEAR(TwoConstants(little, 0.5, much, 1.0).ValueAt(64), std::exp(-0.19), 1e-12);
  EXPECT_NEAR(TwoConstants(little, 0.75, much, 1.0).ValueAt(64), std::exp(0.01 - 0.1 * std::sqrt(2.0)), 1e-12);
  EXPECT_NEAR(TwoConstants(1, 0.5, std::exp(-0.24), 1.0).ValueAt(64), std::exp(-0.04), 1e-12);
  EXPECT_NEAR(TwoConstants(1, 0.5, 1, 1.0).ValueAt(64), 1, 1e-12);
  EXPECT_NEAR(TwoConstants(0.5, 1, 0.9, 1.0).ValueAt(64), 0.5, 1e-12);  // a weight of 0 does not count
}

// What the values leave possible counts, not what fits best: two draws with losses of 0.09 and 0.39.
TEST(Ensemble, AverageOfCurves) {
  Ensemble ensemble = TwoConstants(0.5, 1, 0.9, 1.0);
  Member& member = ensemble.members.front();
  for (const double loss : {0.09, 0.39}) member.posterior.draws.push_back({{std::exp(-loss)}, 0.01});
  member.curves = {0, 1};
  EXPECT_NEAR(ensemble.ValueAt(64), std::exp(-0.19), 1e-12);
  member.curves = {1, 1};
  EXPECT_NEAR(ensemble.ValueAt(64), std::exp(-0.39), 1e-12);
}

// Without a limit, the mean of the logarithms: the root of 4 · 0.25 is 1; a quarter of the first, 4^(1/4) · 0.25^(3/4)
// = 2^(-1).
TEST(Ensemble, AverageWithoutLimit) {
  EXPECT_NEAR(TwoConstants(4, 0.5, 0.25, std::nullopt).ValueAt(64), 1, 1e-12);
  EXPECT_NEAR(TwoConstants(4, 0.25, 0.25, std::nullopt).ValueAt(64), 0.5, 1e-12);
}

}  // namespace
}  // namespace farscale
