#include "base/files.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace farscale {
namespace {

TEST(FilePieces, ReadsFromAnyByteToTheEnd) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "text").string();
  WriteFile(path, "0123456789");
  const FilePieces file(path);
  EXPECT_EQ(file.Size(), 10u);
  std::string bytes(4, '-');
  EXPECT_EQ(file.Read(3, bytes.data(), 4), 4u);
  EXPECT_EQ(bytes, "3456");
  EXPECT_EQ(file.Read(8, bytes.data(), 4), 2u) << "the file ends";
  EXPECT_EQ(bytes, "8956");
  EXPECT_EQ(file.Read(10, bytes.data(), 4), 0u);
}

TEST(FilePieces, WhatCannotBeRead) {
  const test::TemporaryFolder folder;
  char byte = 0;
  const FilePieces missing((folder.path() / "missing").string());
  EXPECT_FALSE(missing.Size());
  EXPECT_FALSE(missing.Read(0, &byte, 1));
  EXPECT_FALSE(FilePieces(folder.path().string()).Read(0, &byte, 1)) << "a folder";
}

}  // namespace
}  // namespace farscale
