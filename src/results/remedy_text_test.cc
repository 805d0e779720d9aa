#include "results/cause_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace farscale {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using Kind = Remedy::Kind;
using Doubt = Remedy::Doubt;

TEST(RemedyText, EveryKindHasItsOwn) {
  std::set<std::string> texts;
  const auto kinds = static_cast<std::size_t>(Kind::kRelieveDevices) + 1;
  for (std::size_t i = 0; i < kinds; ++i) texts.insert(TextOf({static_cast<Kind>(i)}));
  EXPECT_EQ(texts.size(), kinds);
  EXPECT_EQ(TextOf({}), "");
}

TEST(RemedyText, SaysHowOftenAndWhatIsInDoubt) {
  EXPECT_THAT(TextOf({Kind::kRepartition, Doubt::kNone, 12}), HasSubstr("every 12 iterations or more often"));
  EXPECT_THAT(TextOf({Kind::kRepartition}), HasSubstr("every so many iterations"));
  EXPECT_THAT(TextOf({Kind::kRelieveFew, Doubt::kFewIterations}), EndsWith("which these iterations do not show."));
  EXPECT_THAT(TextOf({Kind::kBreakChain, Doubt::kOneIteration}), EndsWith("as phase (--phase)."));
  EXPECT_THAT(TextOf({Kind::kBreakChain, Doubt::kTwoRanks}), HasSubstr("chain of dependencies"));
}

}  // namespace
}  // namespace farscale
