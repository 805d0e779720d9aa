#include "study/drafted_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/config.h"
#include "study/study.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(DraftedStudy, IsRecognisedUntilItIsEdited) {
  const std::string text = SealDraft("[study]\ntitle = \"a\"\n", "farscale run r/study.toml");
  EXPECT_TRUE(IsUnchangedDraft(text));
  EXPECT_FALSE(IsUnchangedDraft(text + "scaling = \"weak\"\n"));
  EXPECT_FALSE(IsUnchangedDraft("[study]\ntitle = \"a\"\n"));
  EXPECT_FALSE(IsUnchangedDraft(""));
  EXPECT_EQ(ConfigTable::Parse(text, "r/study.toml").Table("study")->String("title"), "a");
}

TEST(DraftedStudy, OfMeasuredRunsIsAStudy) {
  DraftedStudy draft;
  draft.draft = {.traces = {}, .application = 0, .folder = "r", .title = "a \"b\""};
  draft.draft.measured = {"r/8.json", "16.json"};
  draft.draft.scaling = Scaling::kWeak;
  draft.regions = {"solve"};
  const Study study = ParseStudy(draft.Text(), "r/study.toml", [](const std::string&) { return std::nullopt; });
  EXPECT_EQ(study.title, "a \"b\"");
  EXPECT_EQ(study.scaling, Scaling::kWeak);
  ASSERT_EQ(study.runs.size(), 2u);
  EXPECT_EQ(study.runs[0].trace, "r/8.json");
  EXPECT_EQ(study.runs[1].trace, "16.json");
  EXPECT_TRUE(study.runs[1].is_measured);
  ASSERT_EQ(study.phases.size(), 2u);
  EXPECT_EQ(study.phases[1].region, "solve");
}

class InputFilesTest : public testing::Test {
 protected:
  InputFilesTest() : folder_(fs::temp_directory_path() / ("farscale-inputs-" + std::to_string(getpid()))) {}
  ~InputFilesTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text = "x") const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(InputFilesTest, AreFoundInFolders) {
  Write("8/traces.otf2");
  Write("8/traces/0.evt");
  Write("16.prv.gz");
  Write(".hidden/traces.otf2");
  Write("report/results.json");
  Write("report/study.toml", "[[runs]]\ntrace = 'x'\n");
  Write("notes.json", "{}");
  Write("network.toml", "latency = 1\n");
  const InputFiles files = FindInputFiles({folder_.string(), Path("16.prv.gz")});
  EXPECT_THAT(files.traces, ElementsAre(Path("16.prv.gz"), Path("8/traces.otf2")));
  EXPECT_THAT(files.studies, IsEmpty());
  EXPECT_THAT(files.measured, IsEmpty());
}

TEST_F(InputFilesTest, BelongToTheStudyAboveThem) {
  Write("a/study.toml", "[[runs]]\ntrace = 'traces/2.prv'\n");
  Write("a/traces/2.prv");
  Write("b/2.prv");
  const InputFiles files = FindInputFiles({folder_.string()});
  EXPECT_THAT(files.studies, ElementsAre(Path("a/study.toml")));
  EXPECT_THAT(files.traces, ElementsAre(Path("b/2.prv")));
}

TEST_F(InputFilesTest, AreNamedWhereThereAreNone) {
  Write("a/readme.md");
  Write("b.json", "{\"format\": \"other\"}");
  EXPECT_THROW(FindInputFiles({Path("a")}), Error);
  EXPECT_THROW(FindInputFiles({Path("b.json")}), Error);
  EXPECT_THROW(FindInputFiles({Path("none.json")}), Error);
}

}  // namespace
}  // namespace farscale
