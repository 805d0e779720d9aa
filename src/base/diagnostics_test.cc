#include "base/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace farscale {
namespace {

using testing::HasSubstr;

TEST(Diagnostics, EveryAnomalyHasARowWithItsOwnId) {
  std::set<std::string_view> ids;
  for (const AnomalyType& type : AllAnomalies()) {
    EXPECT_TRUE(ids.insert(type.id).second) << type.id;
    EXPECT_FALSE(type.sentence.empty());
    EXPECT_EQ(&Describe(type.anomaly), &type);
  }
  EXPECT_EQ(static_cast<std::size_t>(Anomaly::kReferenceMoved) + 1, ids.size());
}

TEST(Diagnostics, CountsAndKeepsTheFirstExample) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  diagnostics.Add(Anomaly::kClockBackwards, 2, "on rank 1");
  diagnostics.Add(Anomaly::kClockBackwards, 1, "on rank 7");
  diagnostics.AddPopulation(Anomaly::kClockBackwards, 100);
  diagnostics.AddPopulation(Anomaly::kUnmatchedSend, 100);  // never occurred
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  const Finding finding = diagnostics.findings()[0];
  EXPECT_EQ(finding.id, "clockBackwards");
  EXPECT_EQ(finding.count, 3u);
  EXPECT_EQ(finding.population, 100u);
  EXPECT_EQ(finding.example, "on rank 1");
  EXPECT_THAT(ToSentence(finding), HasSubstr("counts as zero (3 of 100, first on rank 1)"));
}

TEST(Diagnostics, MergeAddsUp) {
  Diagnostics a, b;
  a.Add(Anomaly::kUnmatchedSend, 1, "a");
  a.AddPopulation(Anomaly::kUnmatchedSend, 10);
  b.Add(Anomaly::kUnmatchedSend, 2, "b");
  b.AddPopulation(Anomaly::kUnmatchedSend, 20);
  a.Merge(b);
  EXPECT_EQ(a.count(Anomaly::kUnmatchedSend), 3u);
  EXPECT_EQ(a.findings()[0].population, 30u);
  EXPECT_EQ(a.findings()[0].example, "a");
}

TEST(Diagnostics, WarningsOfRunsAreJoined) {
  Diagnostics a, b;
  a.Add(Anomaly::kUnmatchedSend, 1, "on rank 3");
  a.AddPopulation(Anomaly::kUnmatchedSend, 1000);
  a.Add(Anomaly::kCompletionUnknown, 5);  // a note
  b.Add(Anomaly::kUnmatchedSend, 2);
  b.AddPopulation(Anomaly::kUnmatchedSend, 2000);
  b.Add(Anomaly::kClockBackwards, 1);
  const std::vector<Finding> first = a.findings(), second = b.findings();
  std::vector<Finding> joined = JoinWarnings({{"2.otf2", &first}, {"4.otf2", &second}});
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].id, "unmatchedSend");
  EXPECT_EQ(joined[0].count, 3u);
  EXPECT_EQ(joined[0].population, 3000u);
  EXPECT_EQ(joined[0].example, "2.otf2: on rank 3");
  EXPECT_EQ(joined[1].id, "clockBackwards");
  EXPECT_EQ(joined[1].example, "4.otf2");
  std::vector<Finding> findings = {first.back()};
  AddMissing(joined, findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].example, "on rank 3");
  EXPECT_EQ(findings[1].id, "clockBackwards");
}

// The limit for unmatched sends is 1 %: one in a hundred passes, two do not.
TEST(Diagnostics, FailsPastTheThresholdOnly) {
  Diagnostics diagnostics;
  diagnostics.AddPopulation(Anomaly::kUnmatchedSend, 100);
  diagnostics.Add(Anomaly::kUnmatchedSend, 1);
  EXPECT_NO_THROW(diagnostics.FailPastThreshold("f"));
  diagnostics.Add(Anomaly::kUnmatchedSend, 1, "from rank 0");
  try {
    diagnostics.FailPastThreshold("f.otf2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 3);
    EXPECT_THAT(error.what(), HasSubstr("f.otf2: 2 of 100 messages"));
    EXPECT_THAT(error.what(), HasSubstr("from rank 0"));
  }
}

}  // namespace
}  // namespace farscale
