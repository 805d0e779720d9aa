#include "base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Config, ReadsEveryType) {
  const ConfigTable table = ConfigTable::Parse(
      "text = 'a'\nwhole = 3\nreal = 2.5\nyes = true\nlist = [1, 2]\nwords = ['x', 'y']\n[inner]\nkey = 1\n"
      "[[many]]\nn = 1\n[[many]]\nn = 2\n",
      "f.toml");
  EXPECT_EQ(table.String("text"), "a");
  EXPECT_EQ(table.Integer("whole"), 3);
  EXPECT_EQ(table.Number("whole"), 3.0);
  EXPECT_EQ(table.Number("real"), 2.5);
  EXPECT_EQ(table.Bool("yes"), true);
  EXPECT_THAT(*table.Integers("list"), ElementsAre(1, 2));
  EXPECT_THAT(*table.Numbers("list"), ElementsAre(1.0, 2.0));
  EXPECT_THAT(*table.Strings("words"), ElementsAre("x", "y"));
  EXPECT_EQ(table.Table("inner")->Integer("key"), 1);
  EXPECT_EQ(table.Tables("many").size(), 2u);
  EXPECT_EQ(table.Tables("many")[1].Integer("n"), 2);
  EXPECT_FALSE(table.String("absent"));
  EXPECT_FALSE(table.Table("absent"));
}

TEST(Config, SingleValueIsAListOfOne) {
  const ConfigTable table = ConfigTable::Parse("a = 7\nb = 'x'\n", "f.toml");
  EXPECT_THAT(*table.Integers("a"), ElementsAre(7));
  EXPECT_THAT(*table.Strings("b"), ElementsAre("x"));
}

TEST(Config, ListsOfIntegers) {
  const ConfigTable table = ConfigTable::Parse("a = [4, 2]\nb = [[4, 2], [8]]\nc = [[1], 2]\nd = [[1.5]]\n", "f.toml");
  EXPECT_THAT(table.IntegerLists("a"), ElementsAre(ElementsAre(4, 2)));
  EXPECT_THAT(table.IntegerLists("b"), ElementsAre(ElementsAre(4, 2), ElementsAre(8)));
  EXPECT_TRUE(table.IntegerLists("absent").empty());
  EXPECT_EQ(MessageOf([&] { table.IntegerLists("c"); }),
            "f.toml:3: 'c' must be a list of lists, but contains an integer");
  EXPECT_THAT(MessageOf([&] { table.IntegerLists("d"); }), HasSubstr("f.toml:4: 'd' must contain lists of integers"));
}

TEST(Config, SyntaxErrorNamesTheLine) {
  EXPECT_THAT(MessageOf([] { ConfigTable::Parse("a = 1\nb = \n", "f.toml"); }), HasSubstr("f.toml:2"));
}

TEST(Config, WrongTypeNamesTheLineAndBothTypes) {
  const ConfigTable table = ConfigTable::Parse("\na = 'x'\n", "f.toml");
  EXPECT_EQ(MessageOf([&] { table.Integer("a"); }), "f.toml:2: 'a' must be an integer, not a text");
}

TEST(Config, UnknownKeysAreRefusedWithTheNearestKnownOne) {
  const ConfigTable table = ConfigTable::Parse("reference = 1\nrefernce = 2\n", "f.toml");
  table.Integer("reference");
  EXPECT_EQ(MessageOf([&] { table.RefuseUnknownKeys(); }),
            "f.toml:2: unknown key 'refernce'; did you mean 'reference'?");
}

TEST(Config, FallbackAnswersForMissingKeysInsideTables) {
  const ConfigTable preset = ConfigTable::Parse("a = 1\nb = 1\n[t]\nx = 1\ny = 1\n", "preset.toml");
  const ConfigTable own = ConfigTable::Parse("b = 2\n[t]\ny = 2\n", "own.toml").WithFallback(preset);
  EXPECT_EQ(own.Integer("a"), 1);
  EXPECT_EQ(own.Integer("b"), 2);
  EXPECT_EQ(own.Table("t")->Integer("x"), 1);
  EXPECT_EQ(own.Table("t")->Integer("y"), 2);
  EXPECT_THAT(own.Keys(), ElementsAre("a", "b", "t"));
  own.RefuseUnknownKeys();
}

TEST(Config, UnknownKeyOfAFallbackIsRefusedWhereItStands) {
  const ConfigTable preset = ConfigTable::Parse("known = 1\nodd = 1\n", "preset.toml");
  const ConfigTable own = ConfigTable::Parse("", "own.toml").WithFallback(preset);
  own.Integer("known");
  EXPECT_THAT(MessageOf([&] { own.RefuseUnknownKeys(); }), HasSubstr("preset.toml:2"));
}

TEST(Config, RequiredKeyThatIsMissing) {
  const ConfigTable table = ConfigTable::Parse("\n[t]\n", "f.toml");
  EXPECT_EQ(MessageOf([&] { table.Table("t")->RequiredString("name"); }), "f.toml:2: 'name' is missing");
}

}  // namespace
}  // namespace farscale
