#include "imbalance/loss_remedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "imbalance/diagnosis.h"
#include "support/loaded_program.h"

namespace farscale {
namespace {

using test::Movement;
using test::Synchronization;
using testing::AnyOf;

using Kind = Remedy::Kind;
using Doubt = Remedy::Doubt;

LossRecord LossesOf(const Trace& trace, const PhaseCut& cut) {
  const Matching matching = MatchTrace(trace);
  DiagnosisOptions options;
  options.shapes = 3;
  const Diagnosis diagnosis = Diagnose(trace, matching, cut, options);
  LossRecord losses = RecordOf(diagnosis, cut.spec.name);
  losses.by_factor = SplitByFactor(trace, matching, cut, {});
  return losses;
}

LossRecord LossesOf(const Trace& trace, const PhaseSpec& phase = PhaseSpec::Region("step")) {
  return LossesOf(trace, CutPhase(trace, phase));
}

// The call path in which ranks compute.
const PathRecord& Work(const LossRecord& losses) {
  return *std::find_if(losses.paths.begin(), losses.paths.end(),
                       [](const PathRecord& path) { return path.path.find("work") != std::string::npos; });
}

LossRecord LossesOf(Movement movement, Synchronization synchronization, std::uint64_t seed) {
  return LossesOf(test::MakeLoaded(test::MakeLoads(movement, 16, 32, seed), synchronization));
}

TEST(LossRemedy, OfEveryShapeButTheBalanced) {
  std::set<std::pair<Kind, Doubt>> remedies;
  for (std::size_t over_time = 0; over_time < kShapesOverTime; ++over_time) {
    for (std::size_t over_ranks = 0; over_ranks < kShapesOverRanks; ++over_ranks) {
      LoadShape shape;
      shape.over_time = static_cast<ShapeOverTime>(over_time);
      shape.over_ranks = static_cast<ShapeOverRanks>(over_ranks);
      const Remedy remedy = RemedyFor(shape);
      const bool is_known = shape.over_time == ShapeOverTime::kStatic || shape.over_time == ShapeOverTime::kDrifting ||
                            shape.over_time == ShapeOverTime::kAlternating;
      if (is_known && shape.over_ranks != ShapeOverRanks::kBalanced) {
        EXPECT_NE(remedy.kind, Kind::kNone);
      }
      remedies.emplace(remedy.kind, remedy.doubt);
    }
  }
  EXPECT_GT(remedies.size(), 12u);
  LoadShape moving;
  moving.over_time = ShapeOverTime::kDrifting;
  moving.lasts = 12;
  EXPECT_EQ(RemedyFor(moving), (Remedy{Kind::kRepartition, Doubt::kNone, 12}));
  LoadShape balanced;
  balanced.over_ranks = ShapeOverRanks::kBalanced;
  balanced.over_time = ShapeOverTime::kBalanced;
  EXPECT_EQ(RemedyFor(balanced), Remedy{});
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
        for (const Remedy& remedy : {RemedyForAll(losses), RemedyForPath(losses, Work(losses))}) {
          EXPECT_NE(remedy.kind, Kind::kBreakChain);
          EXPECT_NE(remedy.kind, Kind::kNone);
          if (movement == Movement::kDrifting) {
            EXPECT_THAT(remedy.kind, AnyOf(Kind::kRepartition, Kind::kRepartitionAndRegroup));
          }
          if (movement == Movement::kAlternating) {
            EXPECT_THAT(remedy.kind, AnyOf(Kind::kBalanceWithinIteration, Kind::kSynchronizeLess));
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
  EXPECT_EQ(RemedyForAll(losses).kind, Kind::kBreakChain);
  EXPECT_EQ(RemedyForPath(losses, Work(losses)).kind, Kind::kBreakChain);
}

// The second of two ranks waits for the first alone, which waits for nobody: all of the waiting is direct, and still it
// is a chain. Of three, the third waits for both in turn.
TEST(LossRemedy, AChainMayHaveTwoRanks) {
  for (const std::size_t ranks : {2u, 3u}) {
    const LossRecord losses =
        LossesOf(test::MakeLoaded(test::Loads(ranks, std::vector<Tick>(2, 1000)), Synchronization::kChain));
    EXPECT_EQ(RemedyForAll(losses).kind, Kind::kBreakChain) << ranks;
    LossRecord unknown = losses;  // from a file without steps, or of ranks that make more steps than others
    unknown.shape->imbalance_in_step.reset();
    EXPECT_EQ(RemedyForAll(losses).doubt, Doubt::kNone) << ranks;
    EXPECT_EQ(RemedyForAll(unknown).kind, Kind::kBreakChain) << ranks;
    EXPECT_EQ(RemedyForAll(unknown).doubt, ranks == 2 ? Doubt::kTwoRanks : Doubt::kNone) << ranks;
  }
}

// Steps two by two.
PhaseCut InPairs(PhaseCut cut) {
  cut.iterations /= 2;
  for (RankCut& rank : cut.ranks) {
    std::vector<Interval> pairs;
    for (std::size_t i = 0; i + 1 < rank.iterations.size(); i += 2) {
      pairs.push_back({rank.iterations[i].begin, rank.iterations[i + 1].end});
    }
    rank.iterations = pairs;
  }
  return cut;
}

// In the first half of an iteration one half of the ranks has 2000, in the second half the other: each has 3000 in
// all, and waits 1000 of 4000. With a barrier nobody waits for a rank that waits itself; with messages to neighbours
// three quarters of the waiting are indirect, and still it is no chain.
TEST(LossRemedy, IsToBalanceStepsWhereLoadsMoveWithinIterations) {
  test::Loads loads(16, std::vector<Tick>(24, 1000));
  for (std::size_t rank = 0; rank < 16; ++rank) {
    for (std::size_t step = 0; step < 24; ++step) loads[rank][step] += (rank < 8) == (step % 2 == 0) ? 1000 : 0;
  }
  for (const auto synchronization : {Synchronization::kBarrier, Synchronization::kAllreduce, Synchronization::kHalo}) {
    const Trace trace = test::MakeLoaded(loads, synchronization);
    const LossRecord losses = LossesOf(trace, InPairs(CutPhase(trace, PhaseSpec::Region("step"))));
    ASSERT_EQ(losses.iterations, 12u);
    for (const Remedy& remedy : {RemedyForAll(losses), RemedyForPath(losses, Work(losses))}) {
      EXPECT_EQ(remedy.kind, Kind::kBalanceSteps);
      EXPECT_NE(remedy.kind, Kind::kBreakChain);
    }
  }
}

// Rank 0 enters the phase 4000 late, so that the others wait for it one after the other. In the phase rank 3 computes
// 1300 in every step and all others 1000: that is what to mend in it.
TEST(LossRemedy, OfComputationIsNotThatOfLateEntries) {
  test::Loads loads(16, std::vector<Tick>(12, 1000));
  loads[0][0] += 4000;
  for (std::size_t step = 1; step < 12; ++step) loads[3][step] = 1300;
  const Trace trace = test::MakeLoaded(loads, Synchronization::kHalo);
  PhaseSpec spec = PhaseSpec::Region("step");
  spec.skip = 1;
  const LossRecord losses = LossesOf(trace, CutPhase(trace, spec));
  ASSERT_TRUE(std::any_of(losses.paths.begin(), losses.paths.end(),
                          [](const PathRecord& path) { return path.IsOutside() && path.total.Costs() > 0; }));
  EXPECT_EQ(RemedyForAll(losses).kind, Kind::kRelieveFew);
}

// The whole run is one iteration, in which loads that move cannot be seen: a barrier lets nobody wait indirectly, so it
// is no chain; a chain comes with the doubt.
TEST(LossRemedy, OfOneIterationSaysWhatItCannotKnow) {
  const PhaseSpec whole = PhaseSpec::WholeRun();
  const LossRecord moving =
      LossesOf(test::MakeLoaded(test::MakeLoads(Movement::kDrifting, 16, 32, 1), Synchronization::kBarrier), whole);
  EXPECT_EQ(RemedyForAll(moving), Remedy{Kind::kFindWhenRanksSlow});
  const LossRecord chain =
      LossesOf(test::MakeLoaded(test::Loads(16, std::vector<Tick>(8, 1000)), Synchronization::kChain), whole);
  EXPECT_EQ(RemedyForAll(chain).kind, Kind::kBreakChain);
  EXPECT_EQ(RemedyForAll(chain).doubt, Doubt::kOneIteration);
}

// All have the same to do: below 1 % of the run there is nothing to mend.
TEST(LossRemedy, IsEmptyWhereNothingIsLost) {
  const LossRecord losses =
      LossesOf(test::MakeLoaded(test::Loads(16, std::vector<Tick>(8, 1000)), Synchronization::kBarrier));
  EXPECT_EQ(RemedyForAll(losses), Remedy{});
}

// What the slowest has above the average is lost, iteration by iteration: 2 - 1.25 of 1000 us in 32 iterations, and
// noise.
TEST(LossRemedy, LoadsThatMoveAreLostToSerialization) {
  const LossRecord losses = LossesOf(Movement::kAlternating, Synchronization::kBarrier, 1);
  double load_balance = 0, serialization = 0;
  for (const PathFactorLoss& loss : *losses.by_factor) {
    load_balance += loss.load_balance;
    serialization += loss.serialization;
  }
  EXPECT_NEAR(load_balance + serialization, 32 * 0.75e-3, 1e-3);
  EXPECT_LT(load_balance, serialization);
}

}  // namespace
}  // namespace farscale
