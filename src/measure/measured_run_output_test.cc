#include "measure/measured_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace farscale {
namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ResultFile : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/farscale-result-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& job, const std::string& more = "") {
    return WriteResult((folder_ / name).string(), job, "{\"job\": \"" + job + "\"" + more + "}", why_);
  }
  std::size_t Files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
  std::string why_;
};

TEST_F(ResultFile, OfAnotherJobStays) {
  EXPECT_EQ(Write("run.json", "a"), folder_ / "run.json");
  EXPECT_EQ(Write("run.json", "b"), folder_ / "run-2.json");
  EXPECT_EQ(Write("run.json", "c"), folder_ / "run-3.json");
  EXPECT_EQ(Read(folder_ / "run.json"), "{\"job\": \"a\"}");
  EXPECT_EQ(Files(), 3U);
}

TEST_F(ResultFile, OfTheSameJobIsRenewed) {
  Write("run.json", "a");
  Write("run.json", "b");
  EXPECT_EQ(Write("run.json", "b", ", \"more\": 1"), folder_ / "run-2.json");
  EXPECT_EQ(Read(folder_ / "run-2.json"), "{\"job\": \"b\", \"more\": 1}");
  EXPECT_EQ(Files(), 2U);
}

TEST_F(ResultFile, IsWrittenIntoAPipe) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Write("pipe", "a"), "");  // nobody reads
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(Write("pipe", "a"), pipe);
  char text[64];
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(read(reader, text, sizeof text))), "{\"job\": \"a\"}");
  close(reader);
  EXPECT_EQ(Files(), 1U);
}

TEST_F(ResultFile, WithoutAnEndingIsNumberedAtItsEnd) {
  fs::create_directory(folder_ / "v1.2");
  Write("v1.2/run", "a");
  EXPECT_EQ(Write("v1.2/run", "b"), folder_ / "v1.2/run-2");
}

TEST_F(ResultFile, SaysWhyItCannotBeWritten) {
  EXPECT_EQ(Write("no/such/folder.json", "a"), "");
  EXPECT_THAT(why_, testing::HasSubstr("cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace farscale
