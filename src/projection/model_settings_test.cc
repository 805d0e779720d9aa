#include "projection/model_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "models/ensemble.h"
#include "support/models.h"

namespace farscale {
namespace {

TEST(ModelChoice, IsParsed) {
  const ModelChoice choice = ParseModelChoice("pipeline:3", "w");
  EXPECT_EQ(choice.options[0].first, "pipeline");
  EXPECT_THAT(choice.options[0].second, testing::ElementsAre(3));
  EXPECT_TRUE(ParseModelChoice("amdahl", "w").options[0].second.empty());
  EXPECT_THROW(ParseModelChoice("amdahl:x", "w"), Error);
  EXPECT_THROW(ParseModelChoice(":3", "w"), Error);
}

TEST(ModelChoice, IsDescribed) {
  EXPECT_EQ(Describe(ParseModelChoice("amdahl", "")), "amdahl");
  EXPECT_EQ(Describe(ParseModelChoice("pipeline:3", "")), "pipeline in dimension 3");
  EXPECT_EQ(Describe(ParseModelChoice("pipeline:1,2", "")), "pipeline in dimensions 1, 2");
}

std::string Ids(const std::vector<Candidate>& candidates) {
  std::vector<std::string> ids;
  for (const Candidate& candidate : candidates) ids.push_back(candidate.model->id);
  return testing::PrintToString(ids);
}

// A file in fits/ is all that a new model takes.
TEST(ModelChoice, ModelsSayWhatTheyServe) {
  ModelLibrary library = test::AllModels();
  const std::size_t count = library.Ids().size();
  library.Add(
      ParseModel("id = 'mine'\nname = 'M'\nformula = 'e0'\nfactors = 'transferEfficiency'\nroles = 'cores'\n"
                 "[parameters.e0]\nupper = 1\nstarts = [0.5]\n",
                 "mine.toml"));
  const auto ids = [&](ModelRole role, std::optional<Factor> factor) {
    const std::vector<Candidate> candidates = Candidates({}, library, role, factor);
    EXPECT_GE(candidates.size(), count);
    return Ids(candidates);
  };
  EXPECT_THAT(ids(ModelRole::kCores, Factor::kTransfer), testing::HasSubstr("\"mine\""));
  const std::string others = ids(ModelRole::kCores, Factor::kLoadBalance);
  EXPECT_THAT(others,
              testing::StartsWith(R"({ "constant", "logarithm", "amdahl", "pipeline", "saturation", "quadratic",)"
                                  R"( "linlog", "extremes", "power", "universal", "boundary", "growing")"));
  EXPECT_EQ(ids(ModelRole::kSplits, Factor::kTransfer), others);
  EXPECT_EQ(ids(ModelRole::kLosses, std::nullopt), others);
  EXPECT_THAT(others, testing::Not(testing::HasSubstr("mine")));
  EXPECT_THAT(Describe(ModelSettings(), library), testing::EndsWith("; mine for transferEfficiency"));
  EXPECT_EQ(Candidates(ParseModelChoice("amdahl", "w"), library, ModelRole::kCores, Factor::kTransfer).size(), 1u);
}

}  // namespace
}  // namespace farscale
