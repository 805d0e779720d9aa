#include "imbalance/loss_remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/loaded_program.h"

namespace farscale {
namespace {

using test::Movement;
using test::Synchronization;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kChain = "break the chain of dependencies";

LossRecord LossesOf(const Trace& trace, const PhaseSpec& phase = PhaseSpec::Region("step")) {
  const Matching matching = MatchTrace(trace);
  const PhaseCut cut = CutPhase(trace, phase);
  DiagnosisOptions options;
  options.shapes = 3;
  const Diagnosis diagnosis = Diagnose(trace, matching, cut, options);
  LossRecord losses = RecordOf(diagnosis, phase.name);
  losses.by_factor = SplitByFactor(trace, matching, cut);
  return losses;
}

// The call path in which ranks compute.
const PathRecord& Work(const LossRecord& losses) {
  return *std::find_if(losses.paths.begin(), losses.paths.end(),
                       [](const PathRecord& path) { return path.path.find("work") != std::string::npos; });
}

LossRecord LossesOf(Movement movement, Synchronization synchronization, std::uint64_t seed) {
  return LossesOf(test::MakeLoaded(test::MakeLoads(movement, 16, 32, seed), synchronization));
}

// Whoever has most to do waits for nobody, so whatever is lost is lost to loads, static or not: in an iteration the
// slowest has 2 where the average is 1.25. Over the run moving loads add up to nearly the same on all ranks: then load
// balance loses next to nothing and serialization all of it, without any chain of dependencies.
TEST(LossRemedy, IsThatOfTheShapeWhereLoadsExplainTheLoss) {
  for (const Movement movement :
       {Movement::kStatic, Movement::kDrifting, Movement::kAlternating, Movement::kRandomWalk}) {
    for (const auto synchronization :
         {Synchronization::kBarrier, Synchronization::kAllreduce, Synchronization::kHalo}) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(movement) << " " << static_cast<int>(synchronization));
        const LossRecord losses = LossesOf(movement, synchronization, seed);
        for (const std::string& told : {RemedyForAll(losses), RemedyForPath(losses, Work(losses))}) {
          EXPECT_THAT(told, Not(HasSubstr(kChain)));
          EXPECT_FALSE(told.empty());
          if (movement == Movement::kDrifting) {
            EXPECT_THAT(told, HasSubstr("Repartition"));
          }
          if (movement == Movement::kAlternating) {
            EXPECT_THAT(told, HasSubstr("o decomposition helps"));
          }
        }
      }
    }
  }
}

// Ranks with equally much to do, one after the other: loads explain nothing.
TEST(LossRemedy, IsToBreakTheChainWhereRanksWaitInTurn) {
  const LossRecord losses =
      LossesOf(test::MakeLoaded(test::Loads(16, std::vector<Tick>(8, 1000)), Synchronization::kChain));
  EXPECT_THAT(RemedyForAll(losses), HasSubstr(kChain));
  EXPECT_THAT(RemedyForPath(losses, Work(losses)), HasSubstr(kChain));
}

// The whole run is one iteration, in which loads that move cannot be seen: a barrier lets nobody wait indirectly, so it
// is no chain; a chain is told with the doubt.
TEST(LossRemedy, OfOneIterationSaysWhatItCannotKnow) {
  const PhaseSpec whole = PhaseSpec::WholeRun();
  const LossRecord moving =
      LossesOf(test::MakeLoaded(test::MakeLoads(Movement::kDrifting, 16, 32, 1), Synchronization::kBarrier), whole);
  EXPECT_THAT(RemedyForAll(moving), Not(HasSubstr(kChain)));
  EXPECT_THAT(RemedyForAll(moving), HasSubstr("others are slow at other times"));
  const LossRecord chain =
      LossesOf(test::MakeLoaded(test::Loads(16, std::vector<Tick>(8, 1000)), Synchronization::kChain), whole);
  EXPECT_THAT(RemedyForAll(chain), HasSubstr(kChain));
  EXPECT_THAT(RemedyForAll(chain), HasSubstr("as phase (--phase)"));
}

// All have the same to do: below 1 % of the run there is nothing to mend.
TEST(LossRemedy, IsEmptyWhereNothingIsLost) {
  const LossRecord losses =
      LossesOf(test::MakeLoaded(test::Loads(16, std::vector<Tick>(8, 1000)), Synchronization::kBarrier));
  EXPECT_EQ(RemedyForAll(losses), "");
}

// What the slowest has above the average is lost, iteration by iteration: 2 - 1.25 of 1000 us in 32 iterations, and
// noise.
TEST(LossRemedy, LoadsThatMoveAreLostToSerialization) {
  const LossRecord losses = LossesOf(Movement::kAlternating, Synchronization::kBarrier, 1);
  EXPECT_NEAR(losses.by_factor->load_balance + losses.by_factor->serialization, 32 * 0.75e-3, 1e-3);
  EXPECT_LT(losses.by_factor->load_balance, losses.by_factor->serialization);
}

}  // namespace
}  // namespace farscale
