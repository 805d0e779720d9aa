#include "projection/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/diagnostics.h"
#include "base/files.h"
#include "results/factor_table_files.h"
#include "projection/model_settings.h"
#include "projection/load_balance_by_loads.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "results/results_json.h"
#include "support/models.h"
#include "support/tables.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelChoice Fixed(const std::string& model, int dimension) { return {{{model, {dimension}}}, "test"}; }

// The two tables of [Rosas14] that can be reproduced, with the decomposition dimension the paper does not state.
struct PublishedTable {
  const char* file;
  int dimension;
  const char* serialization;
  std::map<Factor, std::vector<double>> parameters;  // as found for docs/formulas.md, within the table's rounding
};

void PrintTo(const PublishedTable& table, std::ostream* stream) { *stream << table.file; }

class Rosas14 : public testing::TestWithParam<PublishedTable> {};

TEST_P(Rosas14, TablesComeBack) {
  const PublishedTable& published = GetParam();
  const FactorTable table = test::CompletedTable(ReadFile(test::SourceFolder() + "/tests/tables/" + published.file));
  ProjectionOptions options;
  options.models.standard = Fixed("amdahl", published.dimension);
  options.models.weighs_alike = true;
  options.models.by_factor[Factor::kSerialization] = Fixed(published.serialization, published.dimension);
  for (const FactorRow& row : table.rows) options.targets.push_back(static_cast<double>(row.cores));
  const PhaseProjection projection = Project(table, test::AllModels(), options).front();
  for (const Factor factor :
       {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer, Factor::kParallelEfficiency}) {
    const FactorProjection* projected = projection.Find(factor);
    ASSERT_NE(projected, nullptr);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      EXPECT_NEAR(projected->targets[i].value, *table.rows[i].values[factor], 0.001)
          << Describe(factor).name << " at " << table.rows[i].cores;
    }
  }
  for (const auto& [factor, parameters] : published.parameters) {
    EXPECT_NEAR(projection.Find(factor)->fit.parameters[0], parameters[0], 0.001);
    EXPECT_NEAR(projection.Find(factor)->fit.parameters[1], parameters[1], 0.001);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Rosas14,
                         testing::Values(PublishedTable{"rosas14-table2.csv",
                                                        3,
                                                        "pipeline",
                                                        {{Factor::kLoadBalance, {0.9655, 0.99797}},
                                                         {Factor::kTransfer, {0.9987, 0.86689}},
                                                         {Factor::kSerialization, {0.96995, 0.57308}}}},
                                         PublishedTable{"rosas14-table5.csv", 1, "amdahl", {}}));

// Loads are one more candidate for load balance, and move its value, unless somebody chose the models.
TEST(ProjectionOfLoads, AreACandidateForLoadBalance) {
  const FactorTable without = test::CompletedTable(
      "cores,loadBalance,serializationEfficiency,transferEfficiency\n"
      "4,0.95,0.9,0.9\n8,0.92,0.9,0.9\n16,0.9,0.9,0.9\n32,0.89,0.9,0.9\n");
  FactorTable with = without;
  for (FactorRow& row : with.rows) row.loads.emplace().largest_of_half = 1 / *row.values[Factor::kLoadBalance];
  ProjectionOptions options;
  options.targets = {64, 128};
  const PhaseProjection by_curves = Project(without, test::AllModels(), options).front();
  const PhaseProjection projection = Project(with, test::AllModels(), options).front();
  const std::vector<CandidateModel>& candidates = projection.Find(Factor::kLoadBalance)->candidates;
  double weights = 0;
  for (const CandidateModel& candidate : candidates) {
    weights += candidate.weight;
    if (candidate.model != kLoadsModel) continue;
    EXPECT_EQ(candidate.weight, kWeightOfLoads);
    EXPECT_EQ(candidate.values.size(), 2u);
  }
  EXPECT_NEAR(weights, 1, 1e-12);
  EXPECT_EQ(candidates[1].model, kLoadsModel);
  // Half of the ranks have the largest load, so that load balance levels off.
  EXPECT_GT(projection.Find(Factor::kLoadBalance)->targets[1].value,
            by_curves.Find(Factor::kLoadBalance)->targets[1].value);
  EXPECT_EQ(projection.Find(Factor::kTransfer)->targets, by_curves.Find(Factor::kTransfer)->targets);

  options.models.standard = Fixed("amdahl", 1);
  EXPECT_EQ(Project(with, test::AllModels(), options).front(), Project(without, test::AllModels(), options).front());
}

// LB = 0.9 everywhere, Ser = Trf = Amdahl: products multiply, and at 64 cores transfer takes over from load balance
// as the largest loss: 1 / (0.998 + 0.002 P) < 0.9 from P > 56.6 on.
class ProjectionTest : public testing::Test {
 protected:
  ProjectionTest() {
    std::string csv = "cores,loadBalance,serializationEfficiency,transferEfficiency\n";
    for (const int p : {2, 4, 8, 16, 32}) {
      csv += std::to_string(p) + ",0.9," + std::to_string(1 / (0.9995 + 0.0005 * p)) + "," +
             std::to_string(1 / (0.998 + 0.002 * p)) + "\n";
    }
    table_ = test::CompletedTable(csv);
    options_.models.standard = Fixed("amdahl", 1);
    options_.targets = {64, 1024};
    projection_ = Project(table_, test::AllModels(), options_).front();
  }

  const ProjectedValue& At(Factor factor, std::size_t target) { return projection_.Find(factor)->targets[target]; }

  FactorTable table_;
  ProjectionOptions options_;
  PhaseProjection projection_;
};

TEST_F(ProjectionTest, EveryFactorByItselfAndProducts) {
  EXPECT_NEAR(At(Factor::kLoadBalance, 1).value, 0.9, 1e-5);
  EXPECT_NEAR(At(Factor::kTransfer, 1).value, 1 / (0.998 + 0.002 * 1024), 1e-4);
  for (const std::size_t target : {0u, 1u}) {
    EXPECT_DOUBLE_EQ(At(Factor::kParallelEfficiency, target).value, At(Factor::kLoadBalance, target).value *
                                                                        At(Factor::kSerialization, target).value *
                                                                        At(Factor::kTransfer, target).value);
  }
  EXPECT_TRUE(projection_.Find(Factor::kParallelEfficiency)->is_product);
  EXPECT_EQ(projection_.Find(Factor::kGlobalEfficiency), nullptr);  // nothing is known of the computation
  EXPECT_DOUBLE_EQ(At(Factor::kTransfer, 1).ratio, 32);
}

TEST_F(ProjectionTest, DominanceChangesWhereTheCurvesCross) {
  ASSERT_EQ(projection_.dominance.size(), 2u);
  EXPECT_EQ(projection_.dominance[0].factor, Factor::kLoadBalance);
  EXPECT_EQ(projection_.dominance[1].factor, Factor::kTransfer);
  EXPECT_EQ(projection_.dominance[1].cores, 57);  // 0.998 + 0.114 = 1.112 > 1/0.9 = 1.1111; at 56: 1.110
  EXPECT_EQ(projection_.dominant_at[64], Factor::kTransfer);
}

TEST_F(ProjectionTest, IntervalsAreNestedAndWithinTheLimits) {
  for (const FactorProjection& factor : projection_.factors) {
    for (const ProjectedValue& value : factor.curve) {
      ASSERT_TRUE(value.interval80 && value.interval95);
      EXPECT_LE(0, value.interval95->low);
      EXPECT_LE(value.interval95->low, value.interval80->low);
      EXPECT_LE(value.interval80->low, value.value);
      EXPECT_LE(value.value, value.interval80->high);
      EXPECT_LE(value.interval80->high, value.interval95->high);
      EXPECT_LE(value.interval95->high, 1);
    }
  }
}

// With all models, where intervals and weights take part.
TEST_F(ProjectionTest, TargetsAloneAreTheSame) {
  options_.models = {};
  const PhaseProjection all = Project(table_, test::AllModels(), options_).front();
  const PhaseProjection alone = ProjectTargets(table_, test::AllModels(), options_).front();
  ASSERT_EQ(alone.factors.size(), all.factors.size());
  for (std::size_t i = 0; i < all.factors.size(); ++i) {
    EXPECT_EQ(alone.factors[i].factor, all.factors[i].factor);
    EXPECT_EQ(alone.factors[i].fit, all.factors[i].fit);
    EXPECT_EQ(alone.factors[i].targets, all.factors[i].targets);
  }
}

TEST_F(ProjectionTest, TrainMaxHidesTheLargerRuns) {
  options_.train_max = 8;
  const PhaseProjection projection = Project(table_, test::AllModels(), options_).front();
  EXPECT_THAT(projection.fitted_cores, ElementsAre(2, 4, 8));
  EXPECT_EQ(projection.Find(Factor::kLoadBalance)->fit.points.size(), 3u);
  EXPECT_EQ(projection.Find(Factor::kLoadBalance)->measured.size(), 5u);  // shown all the same
  EXPECT_DOUBLE_EQ(projection.Find(Factor::kLoadBalance)->targets[0].ratio, 8);
}

TEST_F(ProjectionTest, ModelsByFactorAndPhase) {
  options_.models.by_factor[Factor::kTransfer] = Fixed("pipeline", 2);
  options_.models.by_phase[""][Factor::kSerialization] = Fixed("constant", 1);
  const PhaseProjection projection = Project(table_, test::AllModels(), options_).front();
  EXPECT_EQ(projection.Find(Factor::kLoadBalance)->fit.model, "amdahl");
  EXPECT_EQ(projection.Find(Factor::kTransfer)->fit.model, "pipeline");
  EXPECT_EQ(projection.Find(Factor::kTransfer)->fit.dimension, 2);
  EXPECT_EQ(projection.Find(Factor::kSerialization)->fit.model, "constant");
  options_.models.standard = Fixed("amdal", 1);
  EXPECT_THROW(Project(table_, test::AllModels(), options_), Error);
}

TEST_F(ProjectionTest, FilesReadBack) {
  const auto json = JsonOf(std::vector{projection_});
  const std::vector<PhaseProjection> again =
      FromJson<std::vector<PhaseProjection>>(nlohmann::ordered_json::parse(json.dump()), "f");
  EXPECT_EQ(again.front(), projection_);
  const std::string csv = WriteProjectionCsv({projection_});
  EXPECT_THAT(
      csv,
      HasSubstr("series,phase,group,factor,model,dimension,cores,ratio,value,low80,high80,low95,high95,reliability\n"));
  EXPECT_THAT(csv, HasSubstr(",,,loadBalance,amdahl,1,64,2,0."));
  EXPECT_THAT(csv, HasSubstr(",,,parallelEfficiency,product,,1024,32,"));
}

// Errors of single parameters are the roots of the diagonal of their covariance.
TEST_F(ProjectionTest, FilesSayErrorsOfParameters) {
  const auto json = JsonOf(std::vector{projection_});
  for (std::size_t i = 0; i < projection_.factors.size(); ++i) {
    if (projection_.factors[i].factor != Factor::kTransfer) continue;
    const FittedModel& fit = projection_.factors[i].fit;
    ASSERT_EQ(fit.covariance.size(), 4u);
    const auto& parameters = json[0]["factors"][i]["fit"]["parameters"];
    EXPECT_DOUBLE_EQ(parameters.at(0).at("standardError").get<double>(), std::sqrt(fit.covariance[0]));
    EXPECT_DOUBLE_EQ(parameters.at(1).at("standardError").get<double>(), std::sqrt(fit.covariance[3]));
  }
}

// Numbers of cores lie above 0 and up to 10^12.
TEST_F(ProjectionTest, FilesWithImpossibleCountsAreRefused) {
  const auto read_with = [&](double cores) {
    auto json = nlohmann::ordered_json::parse(JsonOf(std::vector{projection_}).dump());
    json[0]["dominance"][0]["fromCores"] = cores;
    return FromJson<std::vector<PhaseProjection>>(json, "f");
  };
  for (const double fine : {0.5, 1e12}) EXPECT_EQ(read_with(fine).front().dominance[0].cores, fine);
  for (const double wrong : {-8.0, 0.0, 1.001e12}) EXPECT_THROW(read_with(wrong), Error) << wrong;
}

TEST(Projection, SpeedupAndGlobalEfficiency) {
  // Perfect parallel efficiency, computation scalability constant at 0.5 from 4 cores on: speedup P/2 · 0.5/1.
  const FactorTable table = test::CompletedTable(
      "cores,loadBalance,serializationEfficiency,transferEfficiency,computationScalability\n"
      "2,1,1,1,1\n4,1,1,1,0.5\n8,1,1,1,0.5\n16,1,1,1,0.5\n");
  ProjectionOptions options;
  options.models.standard = Fixed("constant", 1);
  options.models.weighs_alike = true;
  options.targets = {64};
  const PhaseProjection projection = Project(table, test::AllModels(), options).front();
  const double scalability = projection.Find(Factor::kComputationScalability)->targets[0].value;
  EXPECT_NEAR(scalability, 0.625, 1e-9);  // the mean
  EXPECT_NEAR(projection.Find(Factor::kGlobalEfficiency)->targets[0].value, scalability, 1e-9);
  EXPECT_NEAR(projection.Find(Factor::kSpeedup)->targets[0].value, 64.0 / 2 * scalability, 1e-9);
}

// 0.9 twice with 0.02 and 0.8 with 0.08, of a constant: the uncertain one counts less. Files keep errors and weights.
TEST(Projection, ErrorsOfTheTableBecomeWeights) {
  ModelSettings settings;
  settings.standard = Fixed("constant", 1);
  const FactorTable table =
      test::CompletedTable("cores,loadBalance,loadBalanceError\n2,0.9,0.02\n4,0.8,0.08\n8,0.9,0.02\n");
  const PhaseProjection projection = Project(table, test::AllModels(), {settings, {64}, {}}).front();
  const FittedModel& fit = projection.Find(Factor::kLoadBalance)->fit;
  ASSERT_EQ(fit.weights.size(), 3u);
  EXPECT_LT(fit.weights[1], fit.weights[0]);
  EXPECT_GT(projection.Find(Factor::kLoadBalance)->targets[0].value, 2.6 / 3);
  EXPECT_EQ(projection.Find(Factor::kLoadBalance)->measured[1].standard_error, 0.08);
  const auto json = nlohmann::ordered_json::parse(JsonOf(std::vector{projection}).dump());
  EXPECT_EQ(FromJson<std::vector<PhaseProjection>>(json, "f").front(), projection);
}

// The speedup of a group follows from its efficiency where it has the same share of the ranks in every run: 3 of 8, as
// near as whole ranks come to it.
TEST(Projection, SpeedupOfAGroupNeedsTheSameShare) {
  const auto has_speedup = [](const std::string& ranks_at_8, const std::string& ranks_at_20) {
    const std::string rest = ",0.9,0.9,0.9,1\n";
    const FactorTable table = test::CompletedTable(
        "phase,group,cores,ranks,loadBalance,serializationEfficiency,transferEfficiency,computationScalability\n"
        "step,pme,8," +
        ranks_at_8 + rest + "step,pme,20," + ranks_at_20 + rest);
    const PhaseProjection projection = Project(table, test::AllModels(), {{}, {64}, {}}).front();
    return projection.Find(Factor::kSpeedup) != nullptr;
  };
  EXPECT_TRUE(has_speedup("3", "7"));
  EXPECT_TRUE(has_speedup("3", "8"));
  EXPECT_FALSE(has_speedup("3", "6"));
  EXPECT_FALSE(has_speedup("1", "1"));
}

// A model for one phase holds for the groups of its ranks, unless one of them has its own.
TEST(Projection, ModelsOfAPhaseHoldForItsGroups) {
  const FactorTable table = test::CompletedTable(
      "phase,group,cores,loadBalance\nstep,,2,0.9\nstep,,4,0.8\nstep,a,2,0.9\nstep,a,4,0.8\nstep,b,2,0.9\n"
      "step,b,4,0.8\nstep / a,,2,0.9\nstep / a,,4,0.8\n");
  ProjectionOptions options{{}, {64}, {}};
  options.models.by_phase["step"][Factor::kLoadBalance] = Fixed("constant", 1);
  options.models.by_phase[{"step", "b"}][Factor::kLoadBalance] = Fixed("amdahl", 1);
  const std::vector<PhaseProjection> projections = Project(table, test::AllModels(), options);
  EXPECT_EQ(projections[0].Find(Factor::kLoadBalance)->fit.model, "constant");
  EXPECT_EQ(projections[1].Find(Factor::kLoadBalance)->fit.model, "constant");
  EXPECT_EQ(projections[2].Find(Factor::kLoadBalance)->fit.model, "amdahl");
  // A phase that only looks like a group has models of its own.
  ASSERT_EQ(projections[3].phase, PhaseId("step / a"));
  EXPECT_GT(projections[3].Find(Factor::kLoadBalance)->candidates.size(), 1u);
}

TEST(Projection, FinestCompleteFactorsAreFitted) {
  const auto fitted = [](const std::string& header) {
    std::string row = "8";
    for (std::size_t i = 1; i < static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1; ++i) {
      row += ",0.9";
    }
    return FittedFactors(test::CompletedTable(header + "\n" + row + "\n").rows);
  };
  EXPECT_THAT(fitted("cores,loadBalance,communicationEfficiency"),
              ElementsAre(Factor::kLoadBalance, Factor::kCommunicationEfficiency));
  EXPECT_THAT(fitted("cores,parallelEfficiency"), ElementsAre(Factor::kParallelEfficiency));
  EXPECT_THAT(fitted("cores,loadBalance,loadBalanceIn,loadBalanceOut,serializationEfficiency,transferEfficiency"),
              ElementsAre(Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer));
  EXPECT_THAT(fitted("cores,computationScalability,instructionScaling"),
              ElementsAre(Factor::kComputationScalability, Factor::kInstructionScaling));
  EXPECT_THAT(fitted("cores,instructionScaling,ipcScaling,frequencyScaling"),
              ElementsAre(Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling));
}

// Curves have four points a doubling or more, and their ends: between 100 and 110 cores none, since 4 log2(1.1) is
// 0.55.
TEST(Projection, CurvesAreAsFineAsTheyNeedToBe) {
  const auto curve_to = [](double target) {
    const PhaseProjection projection =
        Project(test::CompletedTable("cores,loadBalance\n100,0.9\n110,0.89\n"), test::AllModels(), {{}, {target}, {}})
            .front();
    std::vector<double> cores;
    for (const ProjectedValue& value : projection.Find(Factor::kLoadBalance)->curve) cores.push_back(value.cores);
    return cores;
  };
  EXPECT_THAT(curve_to(110), ElementsAre(100, 110));
  EXPECT_THAT(curve_to(200), testing::IsSupersetOf({100.0, 110.0, 200.0}));
  EXPECT_GE(curve_to(200).size(), 6u);
}

TEST(Projection, OneCoreCountIsAnObstacleNotAnError) {
  const PhaseProjection projection =
      Project(test::CompletedTable("cores,loadBalance\n8,0.9\n8,0.8\n"), test::AllModels(), {{}, {}, {}}).front();
  EXPECT_THAT(projection.obstacle, HasSubstr("two core counts"));
  EXPECT_EQ(projection.factors.front().fit.outcome, FitOutcome::kTooFewPoints);
  EXPECT_EQ(projection.factors.front().measured.size(), 2u);
}

// Every factor is fitted to the rows that have it; parts that are hardly known leave the whole to be fitted.
TEST(Projection, MissingValuesLeaveTheOthers) {
  const PhaseProjection projection =
      Project(test::CompletedTable("cores,loadBalance\n2,0.9\n4,\n8,0.7\n16,0.6\n"), test::AllModels(), {{}, {}, {}})
          .front();
  EXPECT_EQ(projection.obstacle, "");
  EXPECT_EQ(projection.Find(Factor::kLoadBalance)->fit.points.size(), 3u);
  const FactorTable hardly = test::CompletedTable(
      "cores,parallelEfficiency,loadBalance,communicationEfficiency\n"
      "2,0.9,0.95,0.947\n4,0.8,,\n8,0.7,,\n16,0.6,0.8,0.75\n");
  EXPECT_THAT(FittedFactors(hardly.rows), ElementsAre(Factor::kParallelEfficiency));
}

// A straight line that crosses zero at 100 cores is of no use at 1000; a law that stays positive is taken instead.
TEST(Projection, CurvesThatLeaveTheRangeAreRefused) {
  ModelLibrary library = test::AllModels();
  library.Add(
      ParseModel("id = 'line'\nname = 'L'\nformula = 'e0 * (1 - x / 100)'\n"
                 "[parameters.e0]\nupper = 'limit'\nstarts = [0.9]\n",
                 "line.toml"));
  const FactorTable table = test::CompletedTable("cores,loadBalance\n2,0.98\n4,0.96\n8,0.92\n");
  ModelSettings settings;
  settings.standard.options = {{"line", {}}};
  const PhaseProjection alone = Project(table, library, {settings, {1000}, {}}).front();
  EXPECT_EQ(alone.Find(Factor::kLoadBalance)->fit.outcome, FitOutcome::kLeavesRange);
  EXPECT_THAT(DescribeMissing(alone), HasSubstr("no factor could be fitted"));
  EXPECT_EQ(Project(table, library, {settings, {50}, {}}).front().obstacle, "");
  EXPECT_EQ(FromJson<std::vector<PhaseProjection>>(JsonOf(std::vector{alone}), "f").front(), alone);
  settings.standard.options.push_back({"amdahl", {1}});
  EXPECT_EQ(Project(table, library, {settings, {1000}, {}}).front().Find(Factor::kLoadBalance)->fit.model, "amdahl");
}

TEST(Projection, SaysWhichFactorCouldNotBeFitted) {
  ModelLibrary library = test::AllModels();
  library.Add(
      ParseModel("id = 'four'\nname = 'F'\nformula = 'a1 + b1 / x + c1 / x^2 + d1 / x^3'\n[parameters]\n"
                 "a1 = {upper = 1, starts = [0.9]}\nb1 = {upper = 1, starts = [0]}\n"
                 "c1 = {upper = 1, starts = [0]}\nd1 = {upper = 1, starts = [0]}\n",
                 "four.toml"));
  ModelSettings settings;
  settings.by_factor[Factor::kLoadBalance] = {{{"four", {}}}, ""};
  settings.by_factor[Factor::kParallelEfficiency] = {{{"constant", {}}}, ""};
  const auto projections =
      Project(test::CompletedTable("cores,loadBalance,communicationEfficiency\n2,0.9,0.9\n4,0.8,0.9\n8,0.7,0.9\n"),
              library, {settings, {}, {}});
  EXPECT_THAT(DescribeMissing(projections.front()),
              HasSubstr("no fit of loadBalance (model four: too few core counts), so nothing that it is part of"));
  const std::vector<Finding> unused = FindUnusedModels(settings, projections);
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_EQ(unused[0].example, "parallelEfficiency");
}

// Speedup 2 at 4 cores with global efficiency 0.8, against a run at 2 cores that the table no longer has; at 8 cores
// with 0.6: 2 · 0.6/0.8 · 8/4 = 3.
TEST(Projection, SpeedupIsAnchoredWhereItWasMeasured) {
  ModelSettings settings;
  settings.standard.options = {{"amdahl", {1}}};
  const PhaseProjection projection = Project(test::CompletedTable("cores,globalEfficiency,speedup\n4,0.8,2\n8,0.6,3\n"),
                                             test::AllModels(), {settings, {8, 16}, {}})
                                         .front();
  EXPECT_NEAR(projection.Find(Factor::kSpeedup)->targets[0].value, 3, 1e-6);
}

TEST(Projection, DefaultTargetsArePowersOfTwoUpToTheFarthestChecked) {
  EXPECT_THAT(DefaultTargets(125), ElementsAre(128, 256, 512, 1024, 2048, 4096));  // 64 * 125 is 8000
  EXPECT_THAT(DefaultTargets(2), ElementsAre(4, 8, 16, 32, 64, 128));
}

TEST(Projection, SameAtAnyThreadCount) {
  const std::string csv =
      "series,cores,loadBalance,communicationEfficiency\n"
      "a,2,0.9,0.8\na,4,0.8,0.7\na,8,0.75,0.5\nb,2,0.9,0.85\nb,4,0.9,0.8\nc,2,1,1\n";
  std::vector<std::string> texts;
  for (const std::size_t threads : {1u, 4u}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    texts.push_back(WriteProjectionJson(Project(test::CompletedTable(csv), test::AllModels(), {{}, {}, {}})));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
}  // namespace farscale
