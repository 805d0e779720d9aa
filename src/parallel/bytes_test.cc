#include "parallel/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace farscale {
namespace {

enum class Colour : std::uint8_t { kRed, kBlue };

struct Inner {
  double number = 0;
  std::optional<std::string> text;

  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  bool flag = false;
  Colour colour = Colour::kRed;
  std::vector<Inner> inner;
  std::map<std::string, std::vector<int>> map;
  std::set<std::int64_t> set;
  std::array<std::optional<double>, 3> array;
  std::vector<bool> bits;
  std::pair<int, std::string> pair;
  std::shared_ptr<const Inner> shared, nothing;

  bool operator==(const Outer& o) const {
    return std::tie(flag, colour, inner, map, set, array, bits, pair) ==
               std::tie(o.flag, o.colour, o.inner, o.map, o.set, o.array, o.bits, o.pair) &&
           *shared == *o.shared && nothing == o.nothing;
  }
};

TEST(Bytes, EveryMemberComesBack) {
  Outer outer;
  outer.flag = true;
  outer.colour = Colour::kBlue;
  outer.inner = {{1.5, "text"}, {-0.0, std::nullopt}};
  outer.map = {{"a", {1, 2}}, {"", {}}};
  outer.set = {-7, 3};
  outer.array = {1e300, std::nullopt, 0.1};
  outer.bits = {true, false, true};
  outer.pair = {4, std::string("\0x", 2)};
  outer.shared = std::make_shared<const Inner>(Inner{2, "shared"});
  Outer copy;
  copy.inner.resize(5);  // what was there before does not stay
  copy.array[1] = 3;
  FromBytes(ToBytes(outer), copy);
  EXPECT_EQ(copy, outer);
}

TEST(Bytes, StructsOfManyMembers) {
  struct Nine {
    int a = 1;
    std::string b;
    std::vector<std::string> c;
    std::optional<Inner> d;
    Inner e;
    char f = 0, g = 0, h = 0;
    std::array<int, 2> i{};
  } nine{2, "b", {"c", "d"}, Inner{4, "inner"}, {5, std::nullopt}, 'f', 'g', 'h', {8, 9}}, copy;
  FromBytes(ToBytes(nine), copy);
  const auto members = [](const Nine& n) { return std::tie(n.a, n.b, n.c, n.d, n.e, n.f, n.g, n.h, n.i); };
  EXPECT_EQ(members(copy), members(nine));
}

TEST(Bytes, ErrorsKeepKindPlaceAndText) {
  std::optional<Error> error = Error(ErrorKind::kNotEnoughData, "file:3", "is short", "add more"), copy, none;
  FromBytes(ToBytes(error), copy);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->kind(), ErrorKind::kNotEnoughData);
  EXPECT_EQ(copy->where(), "file:3");
  EXPECT_STREQ(copy->what(), "file:3: is short; add more");
  std::optional<Error> empty;
  FromBytes(ToBytes(none), empty);
  EXPECT_FALSE(empty);
}

}  // namespace
}  // namespace farscale
