#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "support/temporary_folder.h"

namespace farscale {
namespace {

constexpr std::size_t kPage = 4096;

std::unique_ptr<MemoryFile> OpenFile() {
  auto file = MemoryFile::InTemporaryFolder();
  if (file == nullptr) std::cerr << "no folder for temporary files on a disk\n";
  return file;
}

TEST(MemoryFile, LeavesNoNameBehind) {
  const test::TemporaryFolder folder;
  const auto file = MemoryFile::In(folder.path().string());
  if (file == nullptr) GTEST_SKIP() << "temporary files are in memory";
  void* memory = file->Allocate(kPage);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 1, kPage);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MemoryFile, HasNoFileInAFolderThatIsNotThere) { EXPECT_EQ(MemoryFile::In("/nowhere/at/all"), nullptr); }

TEST(MemoryFile, UsesAgainWhatWasFreed) {
  const auto file = OpenFile();
  if (file == nullptr) GTEST_SKIP();
  void* first = file->Allocate(2 * kPage);
  void* second = file->Allocate(1);
  void* third = file->Allocate(kPage);
  EXPECT_EQ(static_cast<char*>(second) - static_cast<char*>(first), static_cast<std::ptrdiff_t>(2 * kPage));
  EXPECT_EQ(static_cast<char*>(third) - static_cast<char*>(second), static_cast<std::ptrdiff_t>(kPage));
  // What lies side by side becomes one range: three pages fit where two and one were.
  file->Free(first);
  file->Free(second);
  EXPECT_EQ(file->Allocate(3 * kPage), first);
  EXPECT_TRUE(file->Contains(third));
  EXPECT_FALSE(file->Contains(&file));
}

TEST(MemoryFile, RefusesWhatTheDiskHasNoRoomFor) {
  const auto file = OpenFile();
  if (file == nullptr) GTEST_SKIP();
  EXPECT_EQ(file->Allocate(std::size_t{1} << 43), nullptr);
  EXPECT_EQ(file->Allocate(~std::size_t{0}), nullptr);
  EXPECT_NE(file->Allocate(1), nullptr);
}

// Every piece keeps its content until it is freed, whatever is allocated and freed around it.
TEST(MemoryFile, KeepsPiecesApart) {
  const auto file = OpenFile();
  if (file == nullptr) GTEST_SKIP();
  struct Taken {
    unsigned char* memory;
    std::size_t size;
    unsigned char value;
  };
  std::vector<Taken> pieces;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    if (pieces.size() > 20 || (!pieces.empty() && random() % 3 == 0)) {
      const std::size_t k = random() % pieces.size();
      const Taken piece = pieces[k];
      for (std::size_t byte = 0; byte < piece.size; byte += 509) ASSERT_EQ(piece.memory[byte], piece.value);
      file->Free(piece.memory);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
      continue;
    }
    const std::size_t size = 1 + random() % (random() % 4 == 0 ? 600000 : 20000);
    auto* memory = static_cast<unsigned char*>(file->Allocate(size));
    ASSERT_NE(memory, nullptr);
    pieces.push_back({memory, size, static_cast<unsigned char>(i)});
    std::memset(memory, i, size);
  }
}

}  // namespace
}  // namespace farscale
