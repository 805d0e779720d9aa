// Command lines of measure and trace, and which MPI a program uses.
#include "cli/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/diagnostics.h"
#include "base/files.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

using test::OutputErrorOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

TEST(Launch, TheProgramBeginsBehindOptions) {
  Words line = {"-q", "measure", "-o", "run8.json", "--ideal", "./app", "-o", "its.txt"};
  EXPECT_THAT(TakeProgram(line), ElementsAre("./app", "-o", "its.txt"));
  EXPECT_THAT(line, ElementsAre("-q", "measure", "-o", "run8.json", "--ideal"));
}

TEST(Launch, TwoDashesEndOptions) {
  Words line = {"-j", "2", "trace", "--", "-strange"};
  EXPECT_THAT(TakeProgram(line), ElementsAre("-strange"));
  EXPECT_THAT(line, ElementsAre("-j", "2", "trace"));
}

TEST(Launch, OtherCommandLinesStay) {
  Words line = {"report", "results.json", "-o", "measure"};
  EXPECT_THAT(TakeProgram(line), IsEmpty());
  EXPECT_EQ(line.size(), 4u);
}

TEST(Launch, LibrariesTellTheMpi) {
  EXPECT_EQ(MpiOfLibraries({"libc.so.6", "libmpi.so.40"}), "openmpi");
  EXPECT_EQ(MpiOfLibraries({"libmpi_mpifh.so.40"}), "openmpi");
  EXPECT_EQ(MpiOfLibraries({"libmpich.so.12"}), "mpich");
  EXPECT_EQ(MpiOfLibraries({"libmpi.so.12"}), "mpich");
  EXPECT_EQ(MpiOfLibraries({"libc.so.6"}), std::nullopt);
}

TEST(Launch, LibrariesOfElfFilesAlone) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(NeededLibraries(OwnProgram()), Contains(HasSubstr("libstdc++")));
  // Without sections, as some programs are stripped: e_shoff, e_shnum and e_shstrndx are 0.
  std::string stripped = ReadFile(OwnProgram());
  std::fill_n(stripped.begin() + 0x28, 8, '\0');
  std::fill_n(stripped.begin() + 0x3C, 4, '\0');
  WriteFile(folder.path() / "stripped", stripped);
  EXPECT_EQ(NeededLibraries(folder.path() / "stripped"), NeededLibraries(OwnProgram()));
  WriteFile(folder.path() / "script", "#!/bin/sh\nexec ./app\n");
  EXPECT_THAT(NeededLibraries(folder.path() / "script"), IsEmpty());
  WriteFile(folder.path() / "cut", ReadFile(OwnProgram()).substr(0, 100));
  EXPECT_THAT(NeededLibraries(folder.path() / "cut"), IsEmpty());
  EXPECT_THAT(NeededLibraries(folder.path() / "nowhere"), IsEmpty());
}

class Environment : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }
  static void Clear() {
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMI_FD",
          "MPI_LOCALRANKID", "SLURM_PROCID", "SLURM_LOCALID", "PMIX_RANK", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"}) {
      unsetenv(name);
    }
  }
};

TEST_F(Environment, TellsTheLauncher) {
  EXPECT_EQ(MpiOfLauncher(), std::nullopt);
  setenv("PMI_RANK", "0", 1);
  EXPECT_EQ(MpiOfLauncher(), "mpich");
  setenv("SLURM_PROCID", "0", 1);  // whose own launcher sets PMI_RANK for any MPI
  EXPECT_EQ(MpiOfLauncher(), std::nullopt);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_EQ(MpiOfLauncher(), "openmpi");
}

// Ranks beside the first one repeat what it reports; those of other nodes see other files.
TEST_F(Environment, TellsWhichRanksRepeatTheFirst) {
  const Words line = {"measure", "./app"};
  EXPECT_TRUE(IsBesideFirstRank());
  EXPECT_FALSE(IsRepetition(line));
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  EXPECT_TRUE(IsRepetition(line));
  EXPECT_FALSE(IsRepetition({"report", "results.json"}));
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  EXPECT_FALSE(IsBesideFirstRank());
  EXPECT_FALSE(IsRepetition(line));
}

TEST_F(Environment, TellsRanksOfOtherLaunchers) {
  setenv("PMIX_RANK", "0", 1);
  EXPECT_TRUE(IsBesideFirstRank());
  setenv("PMIX_RANK", "5", 1);  // which does not say the node
  EXPECT_FALSE(IsBesideFirstRank());
  setenv("FLUX_TASK_RANK", "5", 1);
  setenv("FLUX_TASK_LOCAL_ID", "5", 1);
  EXPECT_TRUE(IsBesideFirstRank());
  EXPECT_TRUE(IsRepetition({"measure", "./app"}));
}

TEST(Launch, OptionsOfTracesTakeTheirValues) {
  Words line = {"trace", "--record-only", "step:1..3", "--flush", "60", "--estimate", "./app", "x"};
  EXPECT_THAT(TakeProgram(line), ElementsAre("./app", "x"));
}

TEST(LaunchCheck, ResultsNeedAFileInAFolderThatExists) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(OutputErrorOf([&] { CheckResultFile(path + "/run8.json"); }), "no error");
  EXPECT_THAT(OutputErrorOf([&] { CheckResultFile(path); }), HasSubstr("is a folder"));
  EXPECT_THAT(OutputErrorOf([&] { CheckResultFile(path + "/no/run8.json"); }), HasSubstr("does not exist"));
  EXPECT_THAT(OutputErrorOf([&] { CheckResultFile("/dev/null"); }), HasSubstr("is no ordinary file"));
  EXPECT_THAT(OutputErrorOf([&] { CheckResultFile(path + "/" + std::string(241, 'x')); }), HasSubstr("240 characters"));
  EXPECT_THAT(OutputErrorOf([] { CheckResultFile(""); }), HasSubstr("no file is named"));
}

TEST(LaunchCheck, TracesNeedAFolderWithoutOne) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(OutputErrorOf([&] { CheckTraceFolder(path + "/new/8"); }), "no error");
  WriteFile(folder.path() / "file", "");
  EXPECT_THAT(OutputErrorOf([&] { CheckTraceFolder(path + "/file"); }), HasSubstr("is a file"));
  WriteFile(folder.path() / "traces.otf2", "");
  EXPECT_THAT(OutputErrorOf([&] { CheckTraceFolder(path); }), HasSubstr("contains a trace already"));
}

}  // namespace
}  // namespace farscale
