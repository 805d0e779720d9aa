#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using testing::ElementsAre;

class UsageTest : public testing::Test {
 protected:
  UsageTest() : app_("program", "farscale") {
    app_.add_option("-j,--jobs", jobs_);
    CLI::App* run = app_.add_subcommand("run");
    run->add_option("input", input_)->required();
    run->add_option("-o,--output", output_);
    app_.add_subcommand("report");
    app_.require_subcommand(1);
    app_.fallthrough();
  }

  std::string Say(const std::vector<std::string>& arguments) {
    try {
      app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
      return DescribeWrongUsage(app_, arguments, error);
    }
    return "";
  }

  CLI::App app_;
  int jobs_ = 0;
  std::string input_, output_;
};

TEST_F(UsageTest, NamesTheNearestCommand) {
  EXPECT_EQ(Say({"reprot", "x"}), "no command 'reprot'; did you mean 'report'?; farscale --help lists them");
  EXPECT_EQ(Say({"-j", "4", "runn"}), "no command 'runn'; did you mean 'run'?; farscale --help lists them");
  EXPECT_EQ(Say({"something"}), "no command 'something'; farscale --help lists them");
}

TEST_F(UsageTest, NamesTheNearestOption) {
  EXPECT_EQ(Say({"run", "x", "--outptu", "y"}),
            "run has no option --outptu; did you mean '--output'?; farscale run --help shows how");
  // Even where something else is wrong, too.
  EXPECT_EQ(Say({"run", "--jbos=3"}),
            "run has no option --jbos; did you mean '--jobs'?; farscale run --help shows how");
}

TEST_F(UsageTest, SaysWhereTheHelpIs) {
  EXPECT_EQ(Say({"run"}), "input is required; farscale run --help shows how");
  EXPECT_EQ(Say({}), "A subcommand is required; farscale --help shows how");
  EXPECT_EQ(Say({"run", "x"}), "");
}

TEST(HelpCommand, IsTheOption) {
  EXPECT_THAT(WithHelpAsOption({"help", "run"}), ElementsAre("run", "--help"));
  EXPECT_THAT(WithHelpAsOption({"help"}), ElementsAre("--help"));
  EXPECT_THAT(WithHelpAsOption({"run", "help"}), ElementsAre("run", "help"));
}

}  // namespace
}  // namespace farscale
