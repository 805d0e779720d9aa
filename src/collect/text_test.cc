#include "collect/text.h"

#include <gmock/gmock.h>

#include <cstring>

#include "collect/page.h"

namespace farscale::collect {
namespace {

std::string Copied(const std::string& name) {
  char to[kNameBytes];
  std::memset(to, 'z', sizeof to);
  CopyName(name.c_str(), to);
  EXPECT_LT(std::strlen(to), kNameBytes);
  return to;
}

TEST(Names, ThatFitStayAsTheyAre) {
  for (const std::string& name : {std::string("solve"), std::string("l\u00f6se"), std::string(63, 'x')}) {
    EXPECT_EQ(Copied(name), name);
  }
}

// 54 bytes of the name, "~" and eight digits are 63.
TEST(Names, ThatAreTooLongStayDifferent) {
  const std::string common(70, 'x');
  EXPECT_EQ(Copied(common + "one").substr(0, 55), std::string(54, 'x') + "~");
  EXPECT_EQ(Copied(common + "one").size(), 63U);
  EXPECT_NE(Copied(common + "one"), Copied(common + "two"));
  EXPECT_NE(Copied(std::string(63, 'x')), Copied(std::string(64, 'x')));
  // Once copied it is its own copy, so whoever has the copy finds the region.
  EXPECT_EQ(Copied(Copied(common)), Copied(common));
}

// A character of two bytes at bytes 53 and 54, so the name is cut before it.
TEST(Names, AreCutBetweenCharacters) {
  EXPECT_EQ(Copied(std::string(53, 'x') + "\u00f6" + std::string(30, 'y')).substr(0, 54), std::string(53, 'x') + "~");
}

TEST(Names, HaveNoControlCharacters) {
  EXPECT_EQ(Copied("a\nb").substr(0, 4), "a?b~");
  EXPECT_NE(Copied("a\nb"), Copied("a\tb"));
  EXPECT_EQ(Printable("\x1b[31m"), "?[31m");
  EXPECT_EQ(Printable("\u0085\u2028x"), "?????x");
}

TEST(Names, AreUtf8) {
  EXPECT_EQ(Printable("\xff\xc3"), "??");
  EXPECT_EQ(Printable("\xc0\xaf"), "??");       // too long a way to write a slash
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???");  // half of a pair
  EXPECT_EQ(Printable("\u20ac \U0001f600"), "\u20ac \U0001f600");
  EXPECT_EQ(Width("l\u00f6se"), 4U);
}

TEST(Names, FindTheirRegion) {
  Page page{};
  page.regions = 3;
  CopyName((std::string(100, 'x') + "1").c_str(), page.region[1].name);
  CopyName((std::string(100, 'x') + "2").c_str(), page.region[2].name);
  EXPECT_EQ(FindRegion(page, (std::string(100, 'x') + "2").c_str()), 2);
  EXPECT_EQ(FindRegion(page, std::string(100, 'x').c_str()), -1);
}

TEST(Text, FormatsSeconds) {
  EXPECT_EQ(FormatSeconds(123.4), "123 s");
  EXPECT_EQ(FormatSeconds(1.234), "1.23 s");
  EXPECT_EQ(FormatSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(FormatSeconds(4.56e-6), "4.56 us");
}

}  // namespace
}  // namespace farscale::collect
