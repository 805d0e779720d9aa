#include "base/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/diagnostics.h"
#include "support/temporary_folder.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

void WriteText(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Memory, SystemSaysWhatIsAvailable) {
  EXPECT_GT(AvailableMemory(), 1u << 20);
  EXPECT_LT(AvailableMemory(), kNoLimit);
}

TEST(Memory, GroupsOfVersion2LimitWhatTheyContain) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  WriteText(root / "job/memory.max", "1000\n");
  WriteText(root / "job/memory.current", "700\n");
  WriteText(root / "job/memory.stat", "anon 400\nactive_file 100\ninactive_file 50\n");
  WriteText(root / "job/step/memory.max", "max\n");
  WriteText(root / "job/step/memory.current", "600\n");
  // 1000 - (700 - 150 of files that the kernel can drop)
  EXPECT_EQ(MemoryLeftInGroups("0::/job/step\n", root), 450u);
  EXPECT_EQ(MemoryLeftInGroups("0::/job\n", root), 450u);
  EXPECT_EQ(MemoryLeftInGroups("0::/\n", root), kNoLimit);
}

TEST(Memory, GroupsOfVersion1HaveAFolderOfTheirOwn) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  WriteText(root / "memory/memory.limit_in_bytes", "9223372036854771712\n");
  WriteText(root / "memory/job/memory.limit_in_bytes", "5000\n");
  WriteText(root / "memory/job/memory.usage_in_bytes", "2000\n");
  EXPECT_EQ(MemoryLeftInGroups("5:cpu,cpuacct:/other\n4:memory:/job\n", root), 3000u);
  // A container sees its own group as the root, under a path that is not there.
  WriteText(root / "memory/memory.limit_in_bytes", "4000\n");
  WriteText(root / "memory/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(MemoryLeftInGroups("4:memory:/of/the/host\n", root), 0u);
}

TEST(Memory, SizesAreInGibibytesOrWithAUnit) {
  EXPECT_EQ(ParseMemory("2", "--memory"), 2ull << 30);
  EXPECT_EQ(ParseMemory("1.5G", "--memory"), 3ull << 29);
  EXPECT_EQ(ParseMemory("800M", "--memory"), 800ull << 20);
  EXPECT_EQ(ParseMemory("800MiB", "--memory"), 800ull << 20);
  EXPECT_EQ(ParseMemory("64k", "--memory"), 64ull << 10);
  EXPECT_EQ(ParseMemory("1TB", "--memory"), 1ull << 40);
  for (const char* wrong : {"", "0", "-1", "G", "1X", "1e99", "nan", "1 G", "1GG", "B", "3i", "inf"}) {
    EXPECT_THROW(ParseMemory(wrong, "--memory"), Error) << wrong;
  }
}

}  // namespace
}  // namespace farscale
