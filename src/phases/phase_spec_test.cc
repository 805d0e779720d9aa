#include "phases/phase_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(PhaseId, PartsAreComparedNotTexts) {
  const PhaseId phase("step / pme"), group("step", "pme");
  EXPECT_NE(phase, group);
  EXPECT_FALSE(phase.IsGroup());
  EXPECT_TRUE(group.IsGroup());
}

TEST(PhaseId, NoTwoReadTheSame) {
  EXPECT_EQ(PhaseId("step", "pme").Text(), "step / pme");
  EXPECT_EQ(PhaseId("step / pme").Text(), "\"step / pme\"");
  EXPECT_EQ(PhaseId("a / b", "pme").Text(), "\"a / b\" / pme");
  // The group pme" of "step would read like the phase step / pme, were it not for the marks of its own.
  EXPECT_EQ(PhaseId("\"step", "pme\"").Text(), "\"\"step\" / pme\"");
  EXPECT_EQ(PhaseId("a/b").Text(), "a/b");
}

TEST(PhaseId, TextMeansThePhaseFirst) {
  const std::vector<PhaseId> both = {"step", {"step", "pme"}, "step / pme"}, grouped = {"step", {"step", "pme"}};
  EXPECT_EQ(PhaseByText(both, "step / pme"), PhaseId("step / pme"));
  EXPECT_EQ(PhaseByText(grouped, "step / pme"), PhaseId("step", "pme"));
  EXPECT_EQ(PhaseByText(grouped, "step"), PhaseId("step"));
  EXPECT_EQ(PhaseByText(grouped, "pme"), std::nullopt);
  EXPECT_EQ(PhaseByText(both, "\"step / pme\""), PhaseId("step / pme"));
  const PhaseId nested("a / b", "pme");
  for (const char* text : {"a / b / pme", "\"a / b\" / pme"}) EXPECT_EQ(PhaseByText({"a", nested}, text), nested);
}

TEST(PhaseId, OldTextsAreTakenApartAtTheLastSeparator) {
  EXPECT_EQ(GroupInOldText("step / pme"), PhaseId("step", "pme"));
  EXPECT_EQ(GroupInOldText("a / b / pme"), PhaseId("a / b", "pme"));
  EXPECT_EQ(GroupInOldText("a/b"), std::nullopt);
  EXPECT_EQ(GroupInOldText("a / "), std::nullopt);
}

}  // namespace
}  // namespace farscale
