// Blocks of a Paraver text, and pieces of it: every line is handed out once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/temporary_folder.h"
#include "trace/paraver_text.h"

namespace farscale {
namespace {

constexpr const char* kHead = "#Paraver\n";

// What a process that reads a piece gets.
struct TextPiece {
  std::string text;
  std::uint64_t lines = 0;
  bool is_cut = false, is_endless = false;
};

TextPiece ReadPiece(const std::string& path, std::uint64_t begin, std::uint64_t end) {
  ParaverText text(path);
  text.Confine(begin, end);
  TextPiece piece;
  for (TextBlock block; text.NextBlock(block);) {
    EXPECT_EQ(block.first_line, piece.lines + 1);
    if (block.is_cut) block.text.pop_back();  // the newline that is not in the file
    piece.text += block.text;
    piece.is_cut |= block.is_cut;
    piece.is_endless |= block.is_endless;
    piece.lines = text.lines();
  }
  return piece;
}

std::string RandomLines(std::uint64_t seed, std::size_t bytes, int longest) {
  std::mt19937_64 random(seed);
  std::string text = kHead;
  while (text.size() < bytes) text += std::string(random() % static_cast<std::uint64_t>(longest), 'x') + "\n";
  if (seed % 3 == 0) text += "the end";
  return text;
}

void ExpectPiecesMakeTheText(const std::string& path, const std::string& text,
                             const std::vector<std::uint64_t>& edges) {
  std::string together = kHead;
  std::uint64_t lines = 1;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const TextPiece piece = ReadPiece(path, edges[i], edges[i + 1]);
    // The line that is cut is the last one of all.
    EXPECT_TRUE(!piece.is_cut || together.size() + piece.text.size() == text.size());
    together += piece.text;
    lines += piece.lines;
  }
  ASSERT_EQ(together, text);
  ASSERT_EQ(lines, static_cast<std::uint64_t>(std::ranges::count(text, '\n')));
}

TEST(ParaverText, PiecesAtEveryByte) {
  const test::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::string text = RandomLines(seed, 60, 12);
    const std::string path = folder.Write("t.prv", text);
    const std::uint64_t begin = std::string(kHead).size();
    for (std::uint64_t a = begin; a <= text.size(); ++a) {
      for (std::uint64_t b = a; b <= text.size(); ++b) {
        ExpectPiecesMakeTheText(path, text, {begin, a, b, text.size()});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Pieces and lines longer and shorter than blocks.
TEST(ParaverText, PiecesOfManyBlocks) {
  const test::TemporaryFolder folder;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::string text = RandomLines(seed, 5 * ParaverText::kBlockBytes, seed % 2 == 0 ? 700 : 700'000);
    const std::string path = folder.Write("t.prv", text);
    std::mt19937_64 random(seed);
    for (const std::size_t pieces : {1, 2, 7, 40}) {
      std::vector<std::uint64_t> edges = {std::string(kHead).size(), text.size()};
      while (edges.size() <= pieces) edges.push_back(edges[0] + random() % (text.size() - edges[0]));
      std::ranges::sort(edges);
      ExpectPiecesMakeTheText(path, text, edges);
    }
  }
}

TEST(ParaverText, EndlessLines) {
  const test::TemporaryFolder folder;
  const std::string text = kHead + std::string("a\nb\n") + std::string(6'000'000, 'x') + "\nc\n";
  const std::string path = folder.Write("t.prv", text);
  const TextPiece before = ReadPiece(path, 9, 13), at = ReadPiece(path, 13, 14),
                  within = ReadPiece(path, 14, 4'000'000);
  EXPECT_EQ(before.text, "a\nb\n");
  EXPECT_FALSE(before.is_endless);
  EXPECT_TRUE(at.is_endless);
  EXPECT_EQ(within.text, "");
  EXPECT_FALSE(within.is_endless);
  EXPECT_EQ(ReadPiece(path, 4'000'000, text.size()).text, "c\n");
}

TEST(ParaverText, PlainTextsAloneHaveASize) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(ParaverText(folder.Write("t.prv", kHead)).PlainSize(), 9u);
  EXPECT_EQ(ParaverText(folder.Write("t.prv.gz", "\x1F\x8B")).PlainSize(), std::nullopt);
}

}  // namespace
}  // namespace farscale
