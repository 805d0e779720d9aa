#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using testing::ElementsAre;

TEST(Text, NearestFindsTyposAndParts) {
  const std::vector<std::string> names = {"cycle", "LagrangeNodal", "TimeIncrement"};
  EXPECT_EQ(Nearest("cylce", names), "cycle");
  EXPECT_EQ(Nearest("lagrange", names), "LagrangeNodal");
  EXPECT_EQ(Nearest("CYCLE", names), "cycle");
  EXPECT_EQ(Nearest("zzzzzz", names), "");
  EXPECT_EQ(Nearest("x", {}), "");
  EXPECT_EQ(DidYouMean("cylce", names), "did you mean 'cycle'?");
}

TEST(Text, SplitJoinTrim) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Trim("  a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \t"), "");
}

TEST(Text, NumbersAreReadWhole) {
  double number = 0;
  long long whole = 0;
  EXPECT_TRUE(ParseNumber("1.5e3", number));
  EXPECT_EQ(number, 1500);
  EXPECT_FALSE(ParseNumber("1.5x", number));
  EXPECT_FALSE(ParseNumber("", number));
  EXPECT_TRUE(ParseInteger("-7", whole));
  EXPECT_EQ(whole, -7);
  EXPECT_FALSE(ParseInteger("7.0", whole));
  EXPECT_FALSE(ParseInteger("99999999999999999999", whole));
}

TEST(Text, Utf8) {
  EXPECT_TRUE(IsUtf8("Böhme – ×"));
  EXPECT_FALSE(IsUtf8("\xff"));
  EXPECT_FALSE(IsUtf8("\xc0\xaf"));      // too long a form
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));  // half of a surrogate pair
  EXPECT_FALSE(IsUtf8("\xe2\x82"));      // cut short
  EXPECT_EQ(ToUtf8("a\xff"
                   "b"),
            "a?b");
}

TEST(EscapeXml, HoldsInTextAndAttributes) {
  EXPECT_EQ(EscapeXml("<a b=\"c\" d='&'>\n\t\x01"), "&lt;a b=&quot;c&quot; d=&#39;&amp;&#39;&gt;\n\t ");
}

}  // namespace
}  // namespace farscale
