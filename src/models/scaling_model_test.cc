#include "models/scaling_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string UsageErrorOf(const std::string& text) {
  try {
    ParseModel(text, "m.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

const std::string kParameter = "[parameters.e0]\nlower = 0\nupper = 1\nstarts = [0.5]\n";

TEST(Formula, EvaluatesWithItsVariables) {
  const Formula formula("a * x + log(b)", {"x", "a", "b"}, "f");
  EXPECT_DOUBLE_EQ(formula({2, 3, 1}), 6);
  EXPECT_TRUE(formula.Uses("a"));
  const Formula copy = formula;
  EXPECT_DOUBLE_EQ(copy({1, 1, 1}), 1);
}

TEST(Formula, WhatIsNotAFormula) {
  for (const char* text : {"", "x +", "x * y", "sin("}) EXPECT_THROW(Formula(text, {"x"}, "f"), Error) << text;
  EXPECT_FALSE(std::isfinite(Formula("log(x)", {"x"}, "f")({-1})));
}

// Every model of fits/ is well-formed, says what it means and where it is from, and has checks, which ParseModel runs.
TEST(ScalingModel, FilesOfThisProject) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::SourceFolder() + "/fits")) {
    const std::string text = ReadFile(entry.path());
    const ScalingModel model = ParseModel(text, entry.path().string());
    EXPECT_EQ(model.id, entry.path().stem());
    EXPECT_FALSE(model.meaning.empty()) << model.id;
    EXPECT_THAT(model.source, HasSubstr("["));
    for (const char* key : {"[[checks]]", "\norder = ", "\nfactors = ", "\nroles = "})
      EXPECT_THAT(text, HasSubstr(key));
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(ScalingModel, FactorsAndRolesThatItServes) {
  const std::string head = "id = 'm'\nname = 'M'\nformula = 'e0'\n";
  const ScalingModel every = ParseModel(head + kParameter, "m.toml");
  EXPECT_TRUE(every.Serves(ModelRole::kCores, Factor::kTransfer));
  EXPECT_TRUE(every.Serves(ModelRole::kLosses, std::nullopt));
  const ScalingModel some =
      ParseModel(head + "factors = ['transferEfficiency', 'ipcScaling']\n" + kParameter, "m.toml");
  EXPECT_TRUE(some.Serves(ModelRole::kSplits, Factor::kIpcScaling));
  EXPECT_FALSE(some.Serves(ModelRole::kCores, Factor::kLoadBalance));
  EXPECT_FALSE(some.Serves(ModelRole::kLosses, std::nullopt));
  const ScalingModel splits = ParseModel(head + "factors = 'all'\nroles = 'splits'\n" + kParameter, "m.toml");
  EXPECT_TRUE(splits.Serves(ModelRole::kSplits, Factor::kTransfer));
  EXPECT_FALSE(splits.Serves(ModelRole::kCores, Factor::kTransfer));
}

TEST(ScalingModel, ImpossibleFactorsAndRoles) {
  const auto error_for = [](const std::string& line) {
    return UsageErrorOf("id = 'm'\nname = 'M'\nformula = 'e0'\n" + line + "\n" + kParameter);
  };
  EXPECT_THAT(error_for("factors = ['transferEficiency']"),
              HasSubstr("m.toml:4: unknown factor 'transferEficiency'; did you mean 'transferEfficiency'?"));
  EXPECT_THAT(error_for("factors = []"), HasSubstr("m.toml:4: 'factors' must not be empty"));
  EXPECT_THAT(error_for("factors = ['all', 'loadBalance']"), HasSubstr("\"all\" goes with no other factor"));
  EXPECT_THAT(error_for("factors = ['loadBalance', 'loadBalance']"), HasSubstr("names 'loadBalance' twice"));
  for (const char* id : {"speedup", "loadBalanceIn", "serializationPhaseEstimate", "deviceLoadBalance"}) {
    EXPECT_THAT(error_for("factors = '" + std::string(id) + "'"),
                HasSubstr("no model is fitted to '" + std::string(id)));
  }
  EXPECT_THAT(error_for("roles = ['core']"), HasSubstr("m.toml:4: unknown role 'core'"));
  EXPECT_THAT(error_for("roles = []"), HasSubstr("'roles' must not be empty"));
  EXPECT_THAT(error_for("factors = 'loadBalance'\nroles = 'losses'"),
              HasSubstr("m.toml:5: the role 'losses' needs factors = \"all\""));
  EXPECT_THAT(error_for("order = 0"), HasSubstr("m.toml:4: 'order' must be a whole number above 0"));
}

TEST(ScalingModel, PriorsOfRunTimes) {
  const std::string text = "id = 'm'\nname = 'M'\nformula = 'e0'\ndimensions = [1, 3]\nprior = [0.1, 0.3]\n";
  const ScalingModel usual = ParseModel(text + kParameter, "m.toml");
  const ScalingModel own = ParseModel(text + "prior_of_times = [0.5, 0.7]\n" + kParameter, "m.toml");
  for (const ScalingModel* model : {&usual, &own}) EXPECT_DOUBLE_EQ(model->PriorOf(3), 0.3);
  EXPECT_DOUBLE_EQ(usual.PriorOf(3, true), 0.3);
  EXPECT_DOUBLE_EQ(own.PriorOf(3, true), 0.7);
  EXPECT_DOUBLE_EQ(own.PriorOf(2, true), 0.6) << "the mean of the others";
  EXPECT_THAT(UsageErrorOf(text + "prior_of_times = [0.5]\n" + kParameter),
              HasSubstr("'prior_of_times' must have a number for each"));
  EXPECT_THAT(UsageErrorOf(text + "prior_of_times = [0.5, 0]\n" + kParameter), HasSubstr("must lie above 0"));
}

TEST(ScalingModel, PriorsOfParameters) {
  const std::string text = "id = 'm'\nname = 'M'\nformula = 'e0'\n" + kParameter;
  EXPECT_FALSE(ParseModel(text, "m.toml").parameters.front().prior_deviation);
  const ScalingModel model = ParseModel(text + "prior_mean = 0.9\nprior_deviation = 0.02\n", "m.toml");
  EXPECT_DOUBLE_EQ(model.parameters.front().prior_mean, 0.9);
  EXPECT_DOUBLE_EQ(*model.parameters.front().prior_deviation, 0.02);
  EXPECT_THAT(UsageErrorOf(text + "prior_mean = 0.9\n"), HasSubstr("go together"));
  EXPECT_THAT(UsageErrorOf(text + "prior_mean = 0.9\nprior_deviation = 0\n"), HasSubstr("must lie above 0"));
}

// x = P^(1/3): at 4096 cores 16. 0.9 / (0.5 + 0.5 · 16) = 0.9 / 8.5.
TEST(ScalingModel, DimensionOfTheDecomposition) {
  const ScalingModel amdahl = ParseModel(ReadFile(test::SourceFolder() + "/fits/amdahl.toml"), "amdahl.toml");
  EXPECT_THAT(amdahl.dimensions, ElementsAre(1, 2, 3));
  EXPECT_NEAR(amdahl.Evaluate(4096, 3, {0.9, 0.5}), 0.9 / 8.5, 1e-12);
}

TEST(ScalingModel, UserModelsMayUseCores) {
  const ScalingModel model =
      ParseModel("id = 'mine'\nname = 'Mine'\nformula = 'e0 - 0.01 * log2(P) / x'\n" + kParameter, "m.toml");
  EXPECT_DOUBLE_EQ(model.Evaluate(4, 2, {0.9}), 0.9 - 0.01 * 2 / 2);
}

TEST(ScalingModel, ErrorsNameFileAndLine) {
  const std::string head = "id = 'm'\nname = 'M'\n";
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\n"), HasSubstr("has no [parameters.NAME]"));
  EXPECT_THAT(UsageErrorOf(head + kParameter), HasSubstr("'formula' is missing"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0 * q'\n" + kParameter),
              HasSubstr("m.toml:3: 'e0 * q' is not a formula"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'x'\n" + kParameter), HasSubstr("does not use the parameter 'e0'"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\ncolour = 1\n" + kParameter), HasSubstr("unknown key 'colour'"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\n[parameters.e0]\nlower = 0\nupper = 'top'\nstarts = [1]\n"),
              HasSubstr("a number or \"limit\""));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = [2]\n"),
              HasSubstr("outside the bounds"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\n[parameters.e0]\nlower = 0\nupper = 1\nstarts = 'anywhere'\n"),
              HasSubstr("'starts' must be a list of numbers or \"between counts\""));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\n[parameters.e0]\nlower = 1\nupper = 0\nstarts = [0]\n"),
              HasSubstr("must lie above"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'x'\n[parameters.x]\nlower = 0\nupper = 1\nstarts = [0]\n"),
              HasSubstr("cannot be the name"));
  EXPECT_THAT(UsageErrorOf(head + "formula = 'e0'\ndimensions = [0]\n" + kParameter), HasSubstr("between 1 and 6"));
}

// Letters, digits and underscores, no digit first, and none of the names that formulas have of their own.
TEST(ScalingModel, NamesOfParameters) {
  const auto error_for = [](const std::string& name, const std::string& formula) {
    return UsageErrorOf("id = 'm'\nname = 'M'\nformula = '" + formula + "'\n[parameters.'" + name +
                        "']\nlower = 0\nupper = 1\nstarts = [0]\n");
  };
  for (const char* name : {"", "1a", "e-0", "e 0", "e.0", "P", "y", "a", "b"}) {
    EXPECT_THAT(error_for(name, "x"), HasSubstr("'" + std::string(name) + "' cannot be the name of a parameter"));
  }
  for (const char* name : {"e0", "_e0", "E_0", "e1"}) EXPECT_EQ(error_for(name, name), "no error");
}

TEST(ScalingModel, AWrongSelfCheckIsFound) {
  EXPECT_THAT(UsageErrorOf("id = 'm'\nname = 'M'\nformula = 'e0 * x'\n" + kParameter +
                           "[[checks]]\nparameters = { e0 = 0.5 }\nx = 3\ny = 1.6\n"),
              HasSubstr("the model gives 1.5 at x = 3, but its check says 1.6"));
}

TEST(ModelLibrary, ModelsWithoutAnOrderAreLast) {
  ModelLibrary library({});
  for (const char* id : {"d", "c", "b", "a"}) {
    const std::string order = *id == 'd' ? "order = 1\n" : *id == 'b' ? "order = 2\n" : "";
    library.Add(ParseModel(order + "id = '" + id + "'\nname = 'N'\nformula = 'e0'\n" + kParameter, "m.toml"));
  }
  std::string ids;
  for (const ScalingModel* model : library.InOrder()) ids += model->id;
  EXPECT_EQ(ids, "dbac");
}

TEST(ModelLibrary, UnknownModelsSuggestTheNearest) {
  ModelLibrary library({});
  library.Add(ParseModel("id = 'amdahl'\nname = 'A'\nformula = 'e0'\n" + kParameter, "a.toml"));
  try {
    library.Get("amdhal", "study.toml:3");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("study.toml:3: no model 'amdhal'; did you mean 'amdahl'?"));
  }
  EXPECT_THROW(library.Add(ParseModel("id = 'amdahl'\nname = 'A'\nformula = 'e0'\n" + kParameter, "b.toml")), Error);
}

}  // namespace
}  // namespace farscale
