#include "report/factor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Not;

GrowthRecordRow GrownRow(std::int64_t ranks, GrowthSource source, double balance, double serialization) {
  GrowthRecordRow row{.ranks = ranks, .layout = {ranks}, .source = source, .iteration = 0.002};
  if (source == GrowthSource::kGrown) row.learned_up_to = 16;
  row.factors[Factor::kLoadBalance] = balance;
  row.factors[Factor::kSerialization] = serialization;
  row.factors[Factor::kTransfer] = 1;
  row.factors[Factor::kParallelEfficiency] = balance * serialization;
  return row;
}

// 0.9 x 0.8 = 0.72 was measured on 32 ranks, 0.9 x 0.84 = 0.756 was foreseen: 5.0 % more.
GrowthRecord Chain() {
  GrowthRecord record{.phase = "chain", .refusal = "", .learned = LearnedRecord{}, .rows = {}, .left_out = {"why"}};
  record.learned->explained = 0.996;
  record.learned->partners = {{"x+1", 0.75}, {"x-1", 0.25}};
  record.learned->computation = "P^-1";
  record.learned->classes = {{"first in x", 1, 0.001}};
  record.rows = {GrownRow(32, GrowthSource::kMeasured, 0.9, 0.8), GrownRow(32, GrowthSource::kGrown, 0.9, 0.84),
                 GrownRow(64, GrowthSource::kGrown, 0.9, 0.7), GrownRow(128, GrowthSource::kGrown, 1, 1)};
  record.rows[2].iterations = 10;
  record.rows[2].replayed = 4;
  return record;
}

TEST(GrownRunsText, OpensWithTheAnswer) {
  const std::string text = FormatGrownRuns(Chain(), "", false, test::OwnTexts());
  EXPECT_THAT(text,
              HasSubstr("Phase chain\nOn 64 ranks parallel efficiency will be 0.630; most is lost to serialization "
                        "(0.700).\nOn 128 ranks parallel efficiency will be 1.000.\nThe measured run that could be "
                        "grown from smaller ones comes out within 5.0 % of what was measured.\n"));
  EXPECT_THAT(text, HasSubstr("99.6 % of the messages follow rules: x+1 75.0 %, x-1 25.0 %.\n"));
  EXPECT_THAT(text, HasSubstr("64 ranks: 4 of 10 iterations are replayed"));
  EXPECT_THAT(text, HasSubstr("Left out: why.\n"));
  EXPECT_THAT(text, Not(HasSubstr("first in x")));
  EXPECT_THAT(FormatGrownRuns(Chain(), "", true, test::OwnTexts()), HasSubstr("first in x"));
}

TEST(GrownRunsText, SaysWhyNothingGrows) {
  GrowthRecord record{.phase = "mesh", .refusal = "why", .learned = std::nullopt, .rows = {}, .left_out = {"why"}};
  record.rows = {GrownRow(8, GrowthSource::kMeasured, 0.9, 0.8)};
  const std::string text = FormatGrownRuns(record, "", true, test::OwnTexts());
  EXPECT_THAT(text, HasSubstr("Phase mesh\nNot grown: why.\n"));
  EXPECT_THAT(text, Not(HasSubstr("Left out"))) << "said once";
  EXPECT_THAT(text, Not(HasSubstr("rules")));
}

// Copied ranks have no rules to show, but a reason.
TEST(GrownRunsText, SaysWhenRanksAreCopied) {
  GrowthRecord record = Chain();
  record.learned->partners.clear();
  record.learned->classes.clear();
  record.learned->copied = StatisticalGrowth{"40 % of the messages follow no rule", 0, 0, 64, 3, 8, 14, 20.5};
  const std::string text = FormatGrownRuns(record, "", false, test::OwnTexts());
  EXPECT_THAT(text, HasSubstr("Grown statistically: 40 % of the messages follow no rule. Ranks are copies of the 64 of "
                              "the largest run, which send 20.5 messages an iteration to 3 to 14 partners (median 8); "
                              "which copies are partners is drawn.\n"));
  EXPECT_THAT(text, Not(HasSubstr("of the messages follow rules")));
  EXPECT_THAT(text, HasSubstr(" Ranks differ by "));
}

// Of ten rules the eight most frequent are named.
TEST(GrownRunsText, NamesTheMostFrequentRules) {
  GrowthRecord record = Chain();
  record.learned->partners.clear();
  for (int i = 0; i < 10; ++i) record.learned->partners.push_back({"x+" + std::to_string(i), 0.1});
  EXPECT_THAT(FormatGrownRuns(record, "", false, test::OwnTexts()), HasSubstr("x+7 10.0 %, 2 others 20.0 %."));
}

}  // namespace
}  // namespace farscale
