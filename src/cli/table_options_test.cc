// Options of commands that begin with a factor table.
#include "cli/table_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "results/results.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

using test::MessageOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TableOptions, CoreCountsAreSeparatedByCommas) {
  const auto parse = [](const std::string& text) {
    CLI::App app;
    std::vector<std::int64_t> targets;
    AddCoreCountsOption(&app, "--targets", targets, "");
    app.parse(text);
    return targets;
  };
  EXPECT_THAT(parse("--targets 64,1024"), ElementsAre(64, 1024));
  EXPECT_THAT(MessageOf([&] { parse("--targets 010"); }), HasSubstr("write 10"));
  EXPECT_THAT(MessageOf([&] { parse("--targets 64,,128"); }), HasSubstr("--targets"));
  EXPECT_THAT(MessageOf([&] { parse("--targets 0"); }), HasSubstr("--targets"));
}

TEST(TableOptions, OneCoreCount) {
  const auto why = [](std::string text) { return CoreCount()(text); };
  EXPECT_EQ(why("1024"), "");
  EXPECT_THAT(why("64,128"), HasSubstr("is more than one number of cores"));
  EXPECT_NE(why("many"), "");
}

TEST(TableOptions, Models) {
  TableOptions options;
  EXPECT_FALSE(options.AskForModels());
  options.choices = {"loadBalance=amdahl:3"};
  options.seed = 7;
  EXPECT_TRUE(options.AskForModels());
  const ProjectionOptions projection = ProjectionOptionsOf(options);
  EXPECT_EQ(projection.seed, 7u);
  EXPECT_EQ(projection.models.by_factor.count(Factor::kLoadBalance), 1u);
  options.choices = {"loadBallance=amdahl"};
  EXPECT_THAT(MessageOf([&] { ProjectionOptionsOf(options); }), HasSubstr("did you mean 'loadBalance'?"));
  options.choices = {"loadBalance"};
  EXPECT_THAT(MessageOf([&] { ProjectionOptionsOf(options); }), HasSubstr("no model after the factor"));
  options.choices.clear();
  options.preset = "nobody";
  EXPECT_THAT(MessageOf([&] { ProjectionOptionsOf(options); }), HasSubstr("no preset 'nobody'"));
}

TEST(TableOptions, TablesInTheTermsAskedFor) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "t.csv";
  WriteFile(file, "cores,runtime,parallelEfficiency\n4,10,0.9\n8,6,0.8\n");
  TableOptions options;
  options.table = file.string();
  options.scaling = "strong";
  options.reference = 8;
  const FactorTable table = ReadTable(options);
  EXPECT_EQ(table.scaling, Scaling::kStrong);
  EXPECT_EQ(table.reference, 8);
  options.reference = 16;
  EXPECT_THAT(MessageOf([&] { ReadTable(options); }), HasSubstr("there is no run at the reference of 16 cores"));
}

TEST(TableOptions, ResultsKnowTheirScaling) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "t.csv";
  WriteFile(file, "cores,runtime,parallelEfficiency\n4,10,0.9\n8,6,0.8\n16,4,0.7\n32,3,0.6\n");
  const Results results = ReadResults(file.string(), "", "strong");
  EXPECT_EQ(results.title, "t");
  EXPECT_EQ(results.table.scaling, Scaling::kStrong);
  EXPECT_EQ(results.projections.size(), 1u);
}

}  // namespace
}  // namespace farscale
