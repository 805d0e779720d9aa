#include "study/study_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/config.h"
#include "base/text.h"
#include "study/input_files.h"
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
  StudyDraft draft = {.traces = {}, .application = 0, .folder = "r", .title = "a \"b\""};
  draft.measured = {"r/8.json", "16.json"};
  draft.scaling = Scaling::kWeak;
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

std::string Measured(int ranks) {
  return "{\"format\": \"farscale-measured-run\", \"ranks\": " + std::to_string(ranks) + "}";
}

// farscale trace puts farscale.json beside traces.otf2. Ten layouts of folders and ranks: each run counts once.
TEST_F(InputFilesTest, OfARunCountOnce) {
  std::mt19937 random(47);
  for (int layout = 0; layout < 10; ++layout) {
    std::size_t runs = 0, traced = 0;
    const std::string top = std::to_string(layout) + "/";
    for (unsigned i = 0; i < 2 + random() % 5; ++i) {
      const std::string folder = top + "run" + std::to_string(i) + "/";
      const int ranks = 1 + static_cast<int>(random() % 9);
      const unsigned kind = random() % 4;
      if (kind == 0) {
        Write(
            folder + "out.prv", "#Paraver (27/11/2026 at 01:59):1000_ns:1(" + std::to_string(ranks) +
                                    "):1:" + std::to_string(ranks) + "(" +
                                    [&] {
                                      std::string tasks;
                                      for (int task = 0; task < ranks; ++task) tasks += task > 0 ? ",1:1" : "1:1";
                                      return tasks;
                                    }() +
                                    ")\n");
      } else if (kind < 3) {
        Write(folder + "traces.otf2", "\x01\x02OTF2, and so on, as an anchor");
        for (int rank = 0; rank < ranks; ++rank) Write(folder + "traces/" + std::to_string(rank) + ".evt");
        Write(folder + "traces/" + std::to_string((std::uint64_t{1} << 32U) + 1) + ".evt");  // a thread
      }
      Write(folder + "farscale.json", Measured(ranks));
      ++runs;
      traced += kind < 3 ? 1 : 0;
      if (kind < 3 && random() % 2 == 0) {  // another run, on more ranks
        Write(folder + "other.json", Measured(ranks + 1));
        ++runs;
      }
    }
    const InputFiles files = FindInputFiles({Path(top)});
    EXPECT_EQ(files.traces.size(), traced) << layout;
    EXPECT_EQ(files.traces.size() + files.measured.size(), runs) << layout;
    EXPECT_EQ(files.traced.size(), traced) << layout;
    std::vector<std::string> all = files.traces;  // as a glob would name them
    all.insert(all.end(), files.measured.begin(), files.measured.end());
    all.insert(all.begin(), files.traced.begin(), files.traced.end());
    EXPECT_EQ(FindInputFiles(all).measured.size(), files.measured.size()) << layout;
  }
}

// Of two repeats on as many ranks, of which one was traced, one is left.
TEST_F(InputFilesTest, ATraceStandsForOneMeasuredRun) {
  Write("traces.otf2", "\x01\x02OTF2, and so on, as an anchor");
  Write("traces/0.evt");
  Write("farscale.json", Measured(1));
  Write("later.json", Measured(1));
  EXPECT_EQ(FindInputFiles({folder_.string()}).measured.size(), 1u);
}

// What stands in a study reads back as it was, whatever bytes a name has.
TEST(DraftedStudy, NamesReadBack) {
  std::mt19937 random(12);
  for (int number = 0; number < 50; ++number) {
    std::string name = "n";
    for (unsigned i = 0; i < 1 + random() % 40; ++i) {
      char c = static_cast<char>(random() % 255 + 1);
      if (c == '/') c = '_';
      name += c;
    }
    StudyDraft draft = {.traces = {}, .application = 0, .folder = "r", .title = ToUtf8(name)};
    draft.measured = {"r/" + name + "/a.json"};
    draft.left_out = {name};
    draft.regions = {ToUtf8(name)};
    const Study study = ParseStudy(draft.Text(), "r/study.toml", [](const std::string&) { return std::nullopt; });
    EXPECT_EQ(study.runs.at(0).trace, "r/" + name + "/a.json");
    EXPECT_EQ(study.phases.at(1).region, ToUtf8(name));
    EXPECT_EQ(study.title, ToUtf8(name));
  }
}

TEST(PathText, ReadsBack) {
  for (const std::string path :
       {"", "a/b", "caf\xc3\xa9", "caf\xe9", "\xff\xfe", "\xf4\x8f\xba\x80", "\xf4\x8f\xbb\xbf\xf4", "\xed\xa0\x80"}) {
    EXPECT_TRUE(IsUtf8(TextOfPath(path)));
    EXPECT_EQ(PathOfText(TextOfPath(path)), path);
  }
  EXPECT_EQ(TextOfPath("caf\xc3\xa9"), "caf\xc3\xa9");
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
