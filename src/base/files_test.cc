#include "base/files.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/diagnostics.h"
#include "support/repeats.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

std::size_t FilesIn(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

int ExitCodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.exit_code();
  }
  return 0;
}

// Devices and pipes that never end, files that are too large: refused with the size, not read until memory ends.
TEST(Files, InputWithoutAnEndIsRefused) {
  const test::TemporaryFolder folder;
  const fs::path large = folder / "large.json";
  WriteFile(large, "{}");
  fs::resize_file(large, (std::uintmax_t{256} << 20U) + 1);  // without blocks on the disk
  const fs::path endless = folder / "endless.csv";
  fs::create_symlink("/dev/zero", endless);
  std::vector<fs::path> paths{large, endless, "/dev/zero"};
  if (test::IsDaily()) paths.pop_back();
  for (const fs::path& path : paths) {
    try {
      ReadFile(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_NE(std::string(error.what()).find("has no end within 256 MiB"), std::string::npos) << error.what();
    }
  }
  fs::resize_file(large, 1U << 20U);
  EXPECT_EQ(ReadFile(large).size(), 1U << 20U);
  WriteFile(folder / "empty", "");
  EXPECT_EQ(ReadFile(folder / "empty"), "");
}

TEST(Files, WriteThenReadGivesTheSameBytes) {
  const test::TemporaryFolder folder;
  const std::string content("a\0b\n", 4);
  WriteFile(folder / "new" / "f.txt", content);
  EXPECT_EQ(ReadFile(folder / "new" / "f.txt"), content);
  EXPECT_EQ(FilesIn(folder / "new"), 1u);  // no temporary file is left
}

TEST(Files, NoFolderIsTheCurrentOne) {
  const test::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(ExitCodeOf([] { WriteFiles("", {{"f.txt", "x"}, {"figures/g.svg", "y"}}); }), 0);
  fs::current_path(before);
  EXPECT_EQ(ReadFile(folder / "f.txt"), "x");
  EXPECT_EQ(ReadFile(folder / "figures" / "g.svg"), "y");
}

TEST(Files, WritingReplaces) {
  const test::TemporaryFolder folder;
  WriteFile(folder / "f", "long content");
  WriteFile(folder / "f", "x");
  EXPECT_EQ(ReadFile(folder / "f"), "x");
}

TEST(Files, MissingFileAndFolderAreInputErrors) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(ExitCodeOf([&] { ReadFile(folder / "none"); }), 3);
  EXPECT_EQ(ExitCodeOf([&] { ReadFile(folder.path()); }), 3);
}

// The link stays, and what it points to is written, here through another link to a file that is not there yet.
TEST(Files, LinksStay) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "target");
  fs::create_symlink("target/second", folder / "first");
  fs::create_symlink("file", folder / "target" / "second");
  for (const char* content : {"a", "b"}) {
    WriteFile(folder / "first", content);
    EXPECT_TRUE(fs::is_symlink(folder / "first"));
    EXPECT_TRUE(fs::is_symlink(folder / "target" / "second"));
    EXPECT_EQ(ReadFile(folder / "target" / "file"), content);
  }
  EXPECT_EQ(FilesIn(folder / "target"), 2u);
}

TEST(Files, DevicesAreWrittenTo) {
  WriteFile("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(Files, WhatCannotBeWrittenLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  const std::string file = folder.Write("file", "");
  EXPECT_EQ(ExitCodeOf([&] { WriteFile(fs::path(file) / "f", "x"); }), 5);  // a file where a folder must be
  EXPECT_EQ(ExitCodeOf([&] { CreateFolder(file); }), 5);
  fs::create_directory(folder / "taken");
  EXPECT_EQ(ExitCodeOf([&] { WriteFile(folder / "taken", "x"); }), 5);
  EXPECT_EQ(FilesIn(folder.path()), 2u);
}

}  // namespace
}  // namespace farscale
