#include "base/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

using testing::HasSubstr;

constexpr Anomaly kJump{"clockBackwards", Severity::kWarning, "time counts as zero", 0.001};
constexpr Anomaly kUnmatched{"unmatchedSend", Severity::kWarning, "messages were sent that no rank received", 0.01};
constexpr Anomaly kOpen{"completionUnknown", Severity::kNote, "sends do not say where they complete"};

TEST(Diagnostics, CountsAndKeepsTheFirstExample) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  diagnostics.Add(kJump, 2, "on rank 1");
  diagnostics.Add(kJump, 1, "on rank 7");
  diagnostics.AddPopulation(kJump, 100);
  diagnostics.AddPopulation(kUnmatched, 100);  // never occurred
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  const Finding finding = diagnostics.findings()[0];
  EXPECT_EQ(finding.id, "clockBackwards");
  EXPECT_EQ(finding.count, 3u);
  EXPECT_EQ(finding.population, 100u);
  EXPECT_EQ(finding.example, "on rank 1");
  EXPECT_THAT(ToSentence(finding), HasSubstr("3 of 100 time counts as zero (first on rank 1)"));
}

TEST(Diagnostics, MergeAddsUp) {
  Diagnostics a, b;
  a.Add(kUnmatched, 1, "a");
  a.AddPopulation(kUnmatched, 10);
  b.Add(kUnmatched, 2, "b");
  b.AddPopulation(kUnmatched, 20);
  a.Merge(b);
  EXPECT_EQ(a.count(kUnmatched), 3u);
  EXPECT_EQ(a.findings()[0].population, 30u);
  EXPECT_EQ(a.findings()[0].example, "a");
}

TEST(Diagnostics, ListsWarningsFirstThenById) {
  Diagnostics diagnostics;
  diagnostics.Add(kOpen);
  diagnostics.Add(kUnmatched);
  diagnostics.Add(kJump);
  std::vector<std::string> ids;
  for (const Finding& finding : diagnostics.findings()) ids.push_back(finding.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"clockBackwards", "unmatchedSend", "completionUnknown"}));
}

TEST(Diagnostics, MergesFindingsOfOneIdAndNamesTheSourceOfTheExample) {
  Diagnostics a, b;
  a.Add(kUnmatched, 1, "on rank 3");
  a.AddPopulation(kUnmatched, 1000);
  b.Add(kUnmatched, 2);
  b.AddPopulation(kUnmatched, 2000);
  b.Add(kJump, 1);
  std::vector<Finding> merged;
  MergeFindings(a.findings(), merged, "2.otf2");
  MergeFindings(b.findings(), merged, "4.otf2");
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].id, "unmatchedSend");
  EXPECT_EQ(merged[0].count, 3u);
  EXPECT_EQ(merged[0].population, 3000u);
  EXPECT_EQ(merged[0].example, "2.otf2: on rank 3");
  EXPECT_EQ(merged[1].id, "clockBackwards");
  EXPECT_EQ(merged[1].example, "4.otf2");
  std::vector<Finding> plain;
  MergeFindings(a.findings(), plain);
  EXPECT_EQ(plain, a.findings());
}

// The limit for unmatched sends is 1 %: one in a hundred passes, two do not.
TEST(Diagnostics, FailsPastTheThresholdOnly) {
  Diagnostics diagnostics;
  diagnostics.AddPopulation(kUnmatched, 100);
  diagnostics.Add(kUnmatched, 1);
  EXPECT_NO_THROW(diagnostics.FailPastThreshold("f"));
  diagnostics.Add(kUnmatched, 1, "from rank 0");
  try {
    diagnostics.FailPastThreshold("f.otf2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
    EXPECT_THAT(error.what(), HasSubstr("f.otf2: 2 of 100 messages"));
    EXPECT_THAT(error.what(), HasSubstr("from rank 0"));
  }
}

// Many small jumps of a clock are no damage, a long one is: by time, where it is known.
// Of 80 columns: 2 · 80 less a margin.
TEST(Diagnostics, FitIntoTwoLines) {
  Finding finding;
  finding.id = "someKind";
  finding.severity = Severity::kWarning;
  finding.sentence = std::string(100, 'x');
  finding.count = 3;
  finding.population = 400;
  finding.example = std::string(60, 'y');
  EXPECT_EQ(ToSentence(finding, "a/b/traces.otf2", 1000),
            "a/b/traces.otf2: someKind: 3 of 400 " + finding.sentence + " (first " + finding.example + ")");
  EXPECT_EQ(ToSentence(finding, "a/b/traces.otf2", 80), "a/b/traces.otf2: someKind: 3 of 400 " + finding.sentence);
  EXPECT_EQ(ToSentence(finding, "long/names/of/folders/b/traces.otf2", 80),
            "…/b/traces.otf2: someKind: 3 of 400 " + finding.sentence);
  EXPECT_EQ(ToSentence(finding, "", 80), "someKind: 3 of 400 " + finding.sentence);
}

TEST(Diagnostics, SharesAreOfTimeWhereItIsKnown) {
  Diagnostics diagnostics;
  diagnostics.AddPopulation(kUnmatched, 100);
  diagnostics.Add(kUnmatched, 50);
  diagnostics.AddTime(kUnmatched, 1, 1000);
  EXPECT_NO_THROW(diagnostics.FailPastThreshold("f"));
  diagnostics.AddTime(kUnmatched, 20, 1000);
  try {
    diagnostics.FailPastThreshold("f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("50 of 100 messages"));
    EXPECT_THAT(error.what(), HasSubstr("1.1 % of the time"));
    EXPECT_THAT(error.what(), HasSubstr("--accept unmatchedSend"));
  }
}

TEST(Diagnostics, AcceptedKindsAreSaid) {
  Diagnostics diagnostics, matching;
  diagnostics.Accept({"unmatchedSend"});
  matching.AddPopulation(kUnmatched, 100);
  matching.Add(kUnmatched, 50);
  EXPECT_THROW(matching.FailPastThreshold("f"), Error);
  diagnostics.Merge(matching);
  EXPECT_NO_THROW(diagnostics.FailPastThreshold("f"));
  EXPECT_THAT(diagnostics.findings()[0].sentence, HasSubstr("accepted with --accept"));
}

}  // namespace
}  // namespace farscale
