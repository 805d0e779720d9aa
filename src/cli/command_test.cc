// What commands share: forms of outputs by name, studies of inputs, dates, exit codes, and completion.
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/table_options.h"
#include "study/study.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

using test::OutputErrorOf;
using test::UsageErrorOf;
using testing::HasSubstr;
using testing::Not;

TEST(Command, FormOfAPageByTheNameOfItsOutput) {
  EXPECT_EQ(PageFormOf(""), PageForm::kText);
  EXPECT_EQ(PageFormOf("-"), PageForm::kJson);
  EXPECT_EQ(PageFormOf("a/b.json"), PageForm::kJson);
  EXPECT_EQ(PageFormOf("b.html"), PageForm::kHtml);
  EXPECT_EQ(PageFormOf("b.md"), PageForm::kMarkdown);
  EXPECT_EQ(PageFormOf("folder"), PageForm::kFolder);
  EXPECT_THAT(UsageErrorOf([] { PageFormOf("b.pdf"); }), HasSubstr("b.pdf: the name of the output must end in .html"));
}

TEST(Command, FormOfATableByTheNameOfItsOutput) {
  EXPECT_TRUE(IsJsonTable("f.json"));
  EXPECT_FALSE(IsJsonTable("f.csv"));
  EXPECT_THAT(UsageErrorOf([] { IsJsonTable("f.txt"); }), HasSubstr("must end in .json or .csv"));
  EXPECT_TRUE(IsFile("f.csv"));
  EXPECT_FALSE(IsFile("-"));
  EXPECT_FALSE(IsFile(""));
}

Study StudyOf(const std::vector<std::string>& inputs, int application = 0, const std::string& preset = "") {
  TraceOptions options;
  options.inputs = inputs;
  options.application = application;
  options.preset = preset;
  return StudyOfInputs(options);
}

TEST(Command, TracesMakeAStudyOfTheWholeRun) {
  const Study study = StudyOf({"runs/lu.otf2", "runs/lu16.otf2"}, 2);
  ASSERT_EQ(study.runs.size(), 2u);
  EXPECT_EQ(study.runs[1].trace, "runs/lu16.otf2");
  EXPECT_EQ(study.runs[1].application, 2);
  EXPECT_EQ(study.title, "lu");
  ASSERT_EQ(study.phases.size(), 1u);
  EXPECT_EQ(study.phases[0].kind, PhaseSpec::Kind::kWholeRun);
}

TEST(Command, InputsThatMakeNoStudy) {
  EXPECT_THAT(UsageErrorOf([] { StudyOf({"a.otf2", "a.otf2"}); }), HasSubstr("the trace is given twice"));
  EXPECT_THAT(UsageErrorOf([] { StudyOf({"a.otf2", "s.toml"}); }), HasSubstr("one study at a time"));
  EXPECT_THAT(UsageErrorOf([] { StudyOf({"s.toml", "t.toml"}); }), HasSubstr("t.toml: one study at a time"));
  EXPECT_THAT(UsageErrorOf([] { StudyOf({"s.toml"}, 2); }), HasSubstr("--application"));
  EXPECT_THAT(UsageErrorOf([] { StudyOf({"a.otf2"}, 0, "rosas14"); }), HasSubstr("--preset"));
}

TEST(Command, DatesComeFromTheOptionOrTheEnvironment) {
  EXPECT_EQ(DateGiven("2026-11-20"), "2026-11-20T00:00:00Z");
  EXPECT_THAT(UsageErrorOf([] { DateGiven("yesterday"); }), HasSubstr("'yesterday' is no date"));
  unsetenv("CI_COMMIT_TIMESTAMP");
  unsetenv("SOURCE_DATE_EPOCH");
  EXPECT_THAT(UsageErrorOf([] { DateGiven(""); }), HasSubstr("--date"));
  setenv("SOURCE_DATE_EPOCH", "86400", 1);
  EXPECT_EQ(DateGiven(""), "1970-01-02T00:00:00Z");
  setenv("CI_COMMIT_TIMESTAMP", "2026-11-20T13:00:00+01:00", 1);
  EXPECT_EQ(DateGiven(""), "2026-11-20T12:00:00Z");
  unsetenv("CI_COMMIT_TIMESTAMP");
  unsetenv("SOURCE_DATE_EPOCH");
}

TEST(Command, OutputsDoNotOverwrite) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.toml";
  WriteOutput(file.string(), "x");
  EXPECT_THAT(UsageErrorOf([&] { RefuseOverwriting(file, folder.path() / "." / "a.toml"); }), HasSubstr("overwrite"));
  EXPECT_NO_THROW(RefuseOverwriting(file, folder.path() / "b.toml"));
  EXPECT_THAT(UsageErrorOf([&] { RequireFree(file, ".otf2"); }), HasSubstr("must end in .otf2"));
  EXPECT_NO_THROW(RequireFree(folder.path() / "b.toml", ".toml"));
  EXPECT_NE(OutputErrorOf([&] { RequireFree(file, ".toml"); }), "no error");
}

TEST(Command, FailedRunsDecideTheExitCode) {
  RunRecord failed;
  failed.error = "is damaged";
  EXPECT_EQ(ReportFailures({}, std::nullopt), 0);
  EXPECT_EQ(ReportFailures({failed}, std::nullopt), 0);
  EXPECT_EQ(ReportFailures({failed}, Error(ErrorKind::kInput, "a.otf2", "is damaged")), 3);
  EXPECT_EQ(ReportFailures({}, Error(ErrorKind::kNotEnoughData, "", "nothing to say")), 4);
}

TEST(Command, NumbersThatOptionsTake) {
  const auto takes = [](const CLI::Validator& validator, std::string text) { return validator(text).empty(); };
  EXPECT_TRUE(takes(Share(), "1"));
  for (const char* text : {"0", "1.01", "75", "nan", "x", ""}) EXPECT_FALSE(takes(Share(), text)) << text;
  EXPECT_TRUE(takes(Positive(), "1e-3"));
  for (const char* text : {"0", "-1", "inf", "nan", "1 2"}) EXPECT_FALSE(takes(Positive(), text)) << text;
}

struct Greeting {
  std::string name = "nobody";
};

int Greet(const Greeting& greeting, const Common& common) { return greeting.name == "all" && common.quiet ? 7 : 8; }

// A command with a subcommand of its own, as history has: the inner one runs.
TEST(Command, TheOneOnTheCommandLineRuns) {
  const auto run = [](const std::string& text) {
    CLI::App app("", "farscale");
    Common common;
    common.quiet = true;
    std::function<int()> action = [] { return -1; };
    auto [command, options] = AddCommand<Greeting>({app, common, action}, "greet", "", Greet);
    command->add_option("name", options.name);
    AddCommand<Greeting>({*command, common, action}, "again", "", [](const Greeting&, const Common&) { return 9; });
    app.parse(text);
    return action();
  };
  EXPECT_EQ(run("greet all"), 7);
  EXPECT_EQ(run("greet"), 8);
  EXPECT_EQ(run("greet again"), 9);
  EXPECT_EQ(run(""), -1);
}

TEST(Command, OptionsOfAnAllocationNeedItsForm) {
  CLI::App app;
  AllocationFormOptions options;
  AddAllocationOptions(&app, options);
  app.parse("");
  EXPECT_NO_THROW(RefuseAllocationOptions(options));
  app.parse("--up-to 1024 --efficiency 0.8");
  EXPECT_THAT(UsageErrorOf([&] { RefuseAllocationOptions(options); }), HasSubstr("add --form allocation"));
  EXPECT_EQ(options.plan.up_to, 1024);
}

TEST(Completion, OffersCommandsOptionsAndValues) {
  CLI::App app("", "farscale");
  bool quiet = false;
  std::string span, file;
  app.add_flag("-q,--quiet", quiet, "No progress");
  CLI::App* command = app.add_subcommand("factors", "Measure: what [it] isn't");
  command->add_option("input", file);
  command->add_option("-s,--span", span, "One window")->check(CLI::IsMember({"whole", "each"}));
  command->add_option("--hidden", file)->group("");
  const std::string bash = CompletionScript(app, "bash");
  EXPECT_THAT(bash, HasSubstr("case $word in factors) command=$word; break ;; esac\n"));
  EXPECT_THAT(bash, HasSubstr("    factors:-s|factors:--span) words=\"whole each\" ;;\n"));
  EXPECT_THAT(bash, HasSubstr("-s --span "));
  EXPECT_THAT(bash, Not(HasSubstr("hidden")));
  const std::string zsh = CompletionScript(app, "zsh");
  EXPECT_THAT(zsh, HasSubstr("    'factors:Measure\\: what \\[it\\] isn'\\''t'\n"));
  EXPECT_THAT(zsh, HasSubstr("        '*--span[One window]:value:(whole each)' \\\n"));
  EXPECT_THAT(zsh, HasSubstr("        '*-q[No progress]' \\\n"));
  const std::string fish = CompletionScript(app, "fish");
  EXPECT_THAT(fish, HasSubstr("complete -c farscale -s q -l quiet -d 'No progress'\n"));
  EXPECT_THAT(fish, HasSubstr("complete -c farscale -n '__fish_seen_subcommand_from factors' -s s -l span -x "
                              "-a 'whole each' -d 'One window'\n"));
}

}  // namespace
}  // namespace farscale
