// Damaged and missing input: one clear sentence, never a crash [the fuzzer in tests/fuzz goes further].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "support/errors.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    test::Otf2Archive archive(folder_.path() / "a", "traces");
    archive.AddWorld(2);
    for (const std::uint64_t rank : {0u, 1u}) {
      auto events = archive.Location(rank);
      events.Enter(0, "main");
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t t = 10 * i + 1;
        events.Enter(t, "MPI_Barrier")
            .Collective(t, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 0, 0)
            .Leave(t + 2, "MPI_Barrier");
      }
      events.Leave(2000, "main");
    }
    anchor_ = archive.Close();
  }

  // The sentence of the input error that reading must end in.
  std::string Read(const std::string& path) {
    return test::ErrorOf(ErrorKind::kInput, [&] { ReadTrace(path); });
  }

  void Truncate(const fs::path& file, std::uintmax_t size) { fs::resize_file(file, size); }

  test::TemporaryFolder folder_;
  std::string anchor_;
};

TEST_F(DamageTest, IntactIsRead) { EXPECT_EQ(ReadTrace(anchor_).size(), 2u); }

TEST_F(DamageTest, MissingFile) {
  EXPECT_EQ(Read((folder_ / "none.otf2").string()), (folder_ / "none.otf2").string() + ": no such trace");
}

TEST_F(DamageTest, FolderInsteadOfAnchorNamesTheAnchor) {
  EXPECT_THAT(Read((folder_ / "a").string()), HasSubstr("is a folder, not a trace; name the trace: "));
  EXPECT_THAT(Read((folder_ / "a").string()), HasSubstr("traces.otf2"));
  EXPECT_THAT(Read(folder_.path().string()), HasSubstr("which ends in .otf2"));
}

TEST_F(DamageTest, OtherFiles) {
  EXPECT_THAT(Read(folder_.Write("empty.otf2", "")), HasSubstr("is empty"));
  EXPECT_THAT(Read(folder_.Write("text.otf2", "hello, world, this is text")),
              HasSubstr("is neither the anchor file of an OTF2 archive nor a Paraver trace"));
  EXPECT_THAT(Read(folder_.Write("x.prv", "#Paraver (01/01/2020 at 10:00):")),
              HasSubstr("the header gives no sound duration"));
}

TEST_F(DamageTest, MissingEventFilesAreListed) {
  fs::remove(folder_ / "a" / "traces" / "1.evt");
  const std::string sentence = Read(anchor_);
  EXPECT_THAT(sentence, HasSubstr("1 of 4 files are missing"));
  EXPECT_THAT(sentence, HasSubstr("1.evt (rank 1)"));
}

TEST_F(DamageTest, MissingDefinitions) {
  fs::remove(folder_ / "a" / "traces.def");
  EXPECT_THAT(Read(anchor_), HasSubstr("definitions"));
}

TEST_F(DamageTest, TruncatedAnywhere) {
  const fs::path event_file = folder_ / "a" / "traces" / "0.evt";
  const std::string content = ReadFile(event_file);
  for (const std::size_t size : {0u, 1u, 20u, 100u, 500u}) {
    WriteFile(event_file, content.substr(0, size));
    EXPECT_THAT(Read(anchor_), HasSubstr("rank 0")) << size;
  }
  WriteFile(event_file, content.substr(0, content.size() - 20));
  EXPECT_THAT(Read(anchor_), HasSubstr("rank 0"));
}

// The library would read the last chunk again and again: it ends in the mark of a chunk that has a successor.
TEST_F(DamageTest, FileWithoutAnEnd) {
  constexpr char kEndOfFile = 2, kEndOfChunk = 0;
  for (const char* name : {"traces.def", "traces/0.def", "traces/0.evt"}) {
    const fs::path file = folder_ / "a" / name;
    const std::string content = ReadFile(file);
    const std::size_t end = content.rfind(kEndOfFile);
    ASSERT_GE(end, content.size() - 2) << name;
    std::string damaged = content;
    damaged[end] = kEndOfChunk;
    WriteFile(file, damaged);
    EXPECT_THAT(Read(anchor_), HasSubstr(std::string(name) + " stop at byte " + std::to_string(end))) << name;
    WriteFile(file, content.substr(0, end));
    EXPECT_THAT(Read(anchor_), HasSubstr(std::string(name) + " ends in the middle of its records")) << name;
    WriteFile(file, content);
  }
  EXPECT_EQ(ReadTrace(anchor_).size(), 2u);
}

TEST_F(DamageTest, TruncatedDefinitionsAndAnchor) {
  for (const fs::path& file : {folder_ / "a" / "traces.def", folder_ / "a" / "traces.otf2"}) {
    const std::string content = ReadFile(file);
    for (std::size_t size = 0; size < content.size(); size += 13) {
      WriteFile(file, content.substr(0, size));
      EXPECT_NE(Read(anchor_), "no error") << file << " " << size;
    }
    WriteFile(file, content);
  }
}

// Bytes may be wrong anywhere. What still reads is read; the rest ends in a sentence.
TEST_F(DamageTest, FlippedBytes) {
  for (const char* name : {"traces.otf2", "traces.def", "traces/0.def", "traces/0.evt"}) {
    const fs::path file = folder_ / "a" / name;
    const std::string content = ReadFile(file);
    for (std::size_t i = 0; i < content.size(); i += 11) {
      for (const int value : {0xFF, content[i] ^ 0x10}) {
        std::string damaged = content;
        damaged[i] = static_cast<char>(value);
        WriteFile(file, damaged);
        EXPECT_FALSE(Read(anchor_).empty());
      }
    }
    WriteFile(file, content);
  }
}

TEST(Damage, NoRanks) {
  const test::TemporaryFolder folder;
  test::Otf2Archive archive(folder.path() / "a", "traces");
  archive.Region("main");
  const std::string anchor = archive.Close();
  EXPECT_THAT(test::ErrorOf(ErrorKind::kInput, [&] { ReadTrace(anchor); }), HasSubstr("the trace has no ranks"));
}

TEST(Damage, WrongNumberOfEvents) {
  const test::TemporaryFolder folder;
  for (const char* name : {"short", "long"}) {
    test::Otf2Archive archive(folder.path() / name, "traces");
    archive.AddWorld(1);
    auto rank = archive.Location(0);
    rank.Enter(0, "main");
    if (std::string(name) == "long") rank.Enter(1, "solve").Leave(2, "solve");
    rank.Leave(9, "main");
    archive.Close();
  }
  fs::copy_file(folder / "long/traces/0.evt", folder / "short/traces/0.evt", fs::copy_options::overwrite_existing);
  const auto read = [&] { ReadTrace((folder / "short/traces.otf2").string()); };
  EXPECT_THAT(test::ErrorOf(ErrorKind::kInput, read), HasSubstr("rank 0"));
}

}  // namespace
}  // namespace farscale
