#include "results/results_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "factors/factor_table.h"
#include "support/errors.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

FactorTable TableOf(const std::string& results) {
  const Json json = Json::parse("{\"results\": [" + results + "]}");
  EXPECT_TRUE(IsHyperfineJson(json));
  return TableOfHyperfine(json, "h.json");
}

std::string HyperfineError(const std::string& results) {
  return test::ErrorOf(ErrorKind::kInput, [&] { TableOf(results); });
}

TEST(HyperfineJson, EveryTimeIsARun) {
  const FactorTable table = TableOf(R"({"command": "a", "mean": 2, "times": [1.5, 2.5], "parameters": {"cores": "4"}},
                 {"command": "a", "mean": 1, "parameters": {"cores": 8}})");
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0].cores, 4);
  EXPECT_EQ(table.rows[0].runtime, 1.5);
  EXPECT_EQ(table.rows[1].runtime, 2.5);
  EXPECT_EQ(table.rows[1].repeat, 1);
  EXPECT_EQ(table.rows[2].runtime, 1) << "the mean, without times";
}

TEST(HyperfineJson, ThreadsAndSeries) {
  const FactorTable table =
      TableOf(R"({"command": "a", "mean": 2, "parameters": {"np": "4", "threads": "2", "input": "big", "v": "1"}},
                 {"command": "a", "mean": 3, "parameters": {"np": "4", "threads": "2", "input": "small", "v": "1"}})");
  EXPECT_EQ(table.rows[0].cores, 8);
  EXPECT_EQ(table.rows[0].ranks, 4);
  EXPECT_EQ(table.rows[0].threads, 2);
  EXPECT_EQ(table.rows[0].series, "input=big, v=1");
  EXPECT_EQ(table.rows[1].repeat, 0) << "of another series";
}

TEST(HyperfineJson, ErrorsNameTheCommand) {
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 2})"),
              HasSubstr("h.json: results[0]: has no parameter that says on how many cores it ran; measure with"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 2, "parameters": {"n": "x"}})"), HasSubstr("has 'x' as n"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 2, "parameters": {"n": "0"}})"), HasSubstr("has '0' as n"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 2, "parameters": {"n": 1, "np": 2}})"),
              HasSubstr("two parameters"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "parameters": {"n": 1}})"), HasSubstr("has no times"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "times": [1, null], "parameters": {"n": 1}})"),
              HasSubstr("has no times"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 1, "parameters": 3})"), HasSubstr("no object"));
  EXPECT_THAT(HyperfineError(R"({"command": "a", "mean": 1, "parameters": {"n": 1}}, 7)"),
              HasSubstr("results[1]: is no"));
}

TEST(HyperfineJson, OtherFilesAreNone) {
  for (const char* text : {"[]", "{}", R"({"results": []})", R"({"results": [{"x": 1}]})",
                           R"({"format": "other", "results": [{"command": "a"}]})"})
    EXPECT_FALSE(IsHyperfineJson(Json::parse(text))) << text;
}

}  // namespace
}  // namespace farscale
