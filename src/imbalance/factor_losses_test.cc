#include "imbalance/loss_record.h"

#include <gtest/gtest.h>

#include "imbalance/diagnosis.h"
#include "replay/replay.h"
#include "support/program.h"

namespace farscale {
namespace {

PathFactorLoss Of(const FactorLosses& losses, const std::string& path) {
  const PathFactorLoss* found = FindLoss(losses, path);
  return found == nullptr ? PathFactorLoss{} : *found;
}

PathFactorLoss TotalLoss(const FactorLosses& losses) {
  PathFactorLoss sum;
  for (const PathFactorLoss& loss : losses) {
    sum.load_balance += loss.load_balance;
    sum.serialization += loss.serialization;
  }
  return sum;
}

FactorLosses Split(const Trace& trace, const PhaseSpec& spec = PhaseSpec::WholeRun()) {
  const Matching matching = MatchTrace(trace);
  return SplitByFactor(trace, matching, CutPhase(trace, spec), {});
}

// Ticks are milliseconds here: that the network of the split takes one a message does not show.
Trace Fine(const std::string& text) {
  Trace trace = test::ParseTrace(text);
  trace.ticks_per_second = 1000;
  return trace;
}

// Rank 1 computes 900 in b, rank 0 300: load balance loses 900 - 600 in b, and nothing else is lost.
TEST(FactorLosses, OfAnUnbalancedPathAreLoadBalance) {
  const FactorLosses losses =
      Split(Fine("r0: a 0-100 | b 100-400 | Barrier@1 400-1000\n"
                 "r1: a 0-100 | b 100-1000 | Barrier@1 1000-1001\n"));
  EXPECT_NEAR(Of(losses, "b").load_balance, 0.3, 0.005);
  EXPECT_NEAR(Of(losses, "b").serialization, 0, 0.005);
  EXPECT_NEAR(TotalLoss(losses).load_balance, 0.3, 0.005);
  EXPECT_NEAR(TotalLoss(losses).serialization, 0, 0.005);
}

// Both compute 900, one after the other: the ideal time is 1500, and 600 are lost by a, which makes the other wait, and
// by b, for which the first waits at the end; each the half.
TEST(FactorLosses, OfAChainAreSerialization) {
  const FactorLosses losses =
      Split(Fine("r0: a 0-600 | Send>1#m 600-601 | c 601-901\n"
                 "r1: Recv<0#m 0-602 | b 602-1502\n"));
  EXPECT_NEAR(TotalLoss(losses).load_balance, 0, 0.005);
  EXPECT_NEAR(TotalLoss(losses).serialization, 0.6, 0.005);
  EXPECT_GT(Of(losses, "a").serialization + Of(losses, "b").serialization + Of(losses, "c").serialization, 0.55);
}

}  // namespace
}  // namespace farscale
