// Blocks of a Paraver text: every line is handed out once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/temporary_folder.h"
#include "trace/paraver_text.h"

namespace farscale {
namespace {

constexpr const char* kHead = "#Paraver\n";

struct WholeText {
  std::string text;
  std::uint64_t lines = 0;
  bool is_cut = false, is_endless = false;
};

// Behind the header.
WholeText ReadWhole(const std::string& path) {
  ParaverText text(path);
  std::string head;
  EXPECT_TRUE(text.NextLine(head));
  WholeText whole;
  for (TextBlock block; text.NextBlock(block);) {
    EXPECT_EQ(block.first_line, whole.lines + 2);
    if (block.is_cut) block.text.pop_back();  // the newline that is not in the file
    whole.text += block.text;
    whole.is_cut |= block.is_cut;
    whole.is_endless |= block.is_endless;
    whole.lines = text.lines() - 1;
  }
  return whole;
}

std::string RandomLines(std::uint64_t seed, std::size_t bytes, int longest) {
  std::mt19937_64 random(seed);
  std::string text = kHead;
  while (text.size() < bytes) text += std::string(random() % static_cast<std::uint64_t>(longest), 'x') + "\n";
  if (seed % 3 == 0) text += "the end";
  return text;
}

// Lines longer and shorter than blocks.
TEST(ParaverText, BlocksMakeTheText) {
  const test::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::size_t bytes = seed < 6 ? 60 : 5 * ParaverText::kBlockBytes;
    const std::string text = RandomLines(seed, bytes, seed < 6 ? 12 : seed % 2 == 0 ? 700 : 700'000);
    const WholeText whole = ReadWhole(folder.Write("t.prv", text));
    ASSERT_EQ(kHead + whole.text, text);
    EXPECT_EQ(whole.lines + 1, static_cast<std::uint64_t>(std::ranges::count(text, '\n')));
    EXPECT_EQ(whole.is_cut, text.back() != '\n');
    EXPECT_FALSE(whole.is_endless);
  }
}

TEST(ParaverText, EndlessLines) {
  const test::TemporaryFolder folder;
  const std::string text = kHead + std::string("a\nb\n") + std::string(6'000'000, 'x') + "\nc\n";
  const WholeText whole = ReadWhole(folder.Write("t.prv", text));
  EXPECT_EQ(whole.text, "a\nb\n");
  EXPECT_TRUE(whole.is_endless);
}

}  // namespace
}  // namespace farscale
