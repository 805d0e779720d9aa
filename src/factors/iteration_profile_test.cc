// Iterations by themselves, worked out on paper; one tick is a second.

#include <gtest/gtest.h>

#include "base/files.h"
#include "factors/phase_factors.h"
#include "support/program.h"
#include "support/traces.h"

namespace farscale {
namespace {

PhaseFactors MeasureAll(const test::TextProgram& program) {
  return MeasurePhase(program.trace, MatchTrace(program.trace), test::CutOf(program), {});
}

test::TextProgram Published(const std::string& name) {
  for (test::TextProgram& program :
       test::ParsePrograms(ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt"))) {
    if (program.name.compare(0, name.size() + 1, name + " ") == 0) return std::move(program);
  }
  ADD_FAILURE() << "no program " << name;
  return {};
}

// T6: in every iteration of 6 s one rank computes for 5 s and two for 2 s, and the ideal network ends it after 5 s.
TEST(IterationProfile, RotatingImbalance) {
  const PhaseFactors factors = MeasureAll(Published("T6"));
  ASSERT_EQ(factors.profiles.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    const IterationProfile& profile = factors.profiles[k];
    EXPECT_DOUBLE_EQ(profile.begin, 6.0 * static_cast<double>(k));
    EXPECT_DOUBLE_EQ(profile.elapsed, 6);
    EXPECT_DOUBLE_EQ(profile.ideal, 5);
    EXPECT_DOUBLE_EQ(profile.average_useful, 3);
    EXPECT_DOUBLE_EQ(profile.largest_useful, 5);
    EXPECT_DOUBLE_EQ(profile.LoadBalance(), 0.6);
    EXPECT_DOUBLE_EQ(profile.Serialization(), 1);
    EXPECT_DOUBLE_EQ(profile.Transfer(), 5.0 / 6);
    EXPECT_DOUBLE_EQ(profile.ParallelEfficiency(), 0.5);
  }
}

// T10b: nobody waits between the iterations, 4 and 2 s on rank 0, 1 and 5 s on rank 1 (of which 1 s in the barrier that
// the ideal network spares both). The last rank is through after 4 and 6 s, on the ideal network after 4 and 5 s. The
// 4 s that rank 1 computes in the second iteration lie before that in part: such iterations have no factors of their
// own, but together they still take T and T_ideal.
TEST(IterationProfile, IterationsThatOverlap) {
  const PhaseFactors factors = MeasureAll(Published("T10b"));
  ASSERT_EQ(factors.profiles.size(), 2u);
  EXPECT_DOUBLE_EQ(factors.profiles[0].elapsed, 4);
  EXPECT_DOUBLE_EQ(factors.profiles[1].elapsed, 2);
  EXPECT_DOUBLE_EQ(factors.profiles[0].ideal, 4);
  EXPECT_DOUBLE_EQ(factors.profiles[1].ideal, 1);
  EXPECT_DOUBLE_EQ(factors.profiles[0].Serialization(), 1);
  EXPECT_DOUBLE_EQ(factors.profiles[1].Serialization(), 4);
  EXPECT_DOUBLE_EQ(factors.profiles[1].Transfer(), 0.5);
  EXPECT_DOUBLE_EQ(factors.profiles[1].ParallelEfficiency(), 2.5 / 2);
}

// A wavefront of two steps: rank 1 works on a step when rank 0 is through with it. Rank 0 needs 2 s a step, and 1 s for
// each send; rank 1 waits from 0 to 4 and from 6 to 7. The last rank is through after 6 and 9 s. Ideal, rank 0: 0-2-4;
// rank 1: 0-(2)-4-(4)-6, so after 4 and 6 s: in the first iteration the wave has to arrive.
TEST(IterationProfile, Wavefront) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-2 | Send>1#a 2-3 | comp 3-5 | Send>1#b 5-6\n"
      "r1: Recv<0#a 0-4 | comp 4-6 | Recv<0#b 6-7 | comp 7-9\n"
      "cuts: r0 3 6; r1 6 9");
  const PhaseFactors factors = MeasureAll(program);
  ASSERT_EQ(factors.profiles.size(), 2u);
  EXPECT_DOUBLE_EQ(factors.profiles[0].elapsed, 6);
  EXPECT_DOUBLE_EQ(factors.profiles[1].elapsed, 3);
  EXPECT_DOUBLE_EQ(factors.profiles[0].ideal, 4);
  EXPECT_DOUBLE_EQ(factors.profiles[1].ideal, 2);
  EXPECT_DOUBLE_EQ(factors.profiles[0].Serialization(), 0.5);
  EXPECT_DOUBLE_EQ(factors.profiles[1].Serialization(), 1);

  // By occurrences the longest counts: 6 s of rank 1, then 3 s of both; ideal 4, then 2 s.
  PhaseCut cut = test::CutOf(program);
  cut.span = Span::kEach;
  const auto each = MeasurePhase(program.trace, MatchTrace(program.trace), cut, {}).profiles;
  EXPECT_DOUBLE_EQ(each[0].elapsed, 6);
  EXPECT_DOUBLE_EQ(each[1].elapsed, 3);
  EXPECT_DOUBLE_EQ(each[0].ideal, 4);
  EXPECT_DOUBLE_EQ(each[1].ideal, 2);
}

// Ranks that wait at the begin of an iteration: computation of 2 and 4 s, then the next barrier. The last rank is
// through after 4, 9 and 14 s, rank 0 after 2, 7 and 12 s: by their mean lengths, 3, 5 and 5 s, equal iterations would
// differ. On the ideal network each takes 4 s, on rank 0 2, 4 and 4 s.
TEST(IterationProfile, WaitingAtTheBegin) {
  const PhaseFactors factors =
      MeasureAll(test::ParseProgram("r0: comp 0-2 | Barrier@1 2-5 | comp 5-7 | Barrier@2 7-10 | comp 10-12\n"
                                    "r1: comp 0-4 | Barrier@1 4-5 | comp 5-9 | Barrier@2 9-10 | comp 10-14\n"
                                    "cuts: r0 2 7 12; r1 4 9 14"));
  ASSERT_EQ(factors.profiles.size(), 3u);
  EXPECT_DOUBLE_EQ(factors.profiles[0].elapsed, 4);
  for (const IterationProfile& profile : factors.profiles) {
    EXPECT_DOUBLE_EQ(profile.ideal, 4);
    EXPECT_DOUBLE_EQ(profile.Serialization(), 1);
  }
  EXPECT_DOUBLE_EQ(factors.profiles[2].elapsed, 5);
}

// Iterations of 2 s with 1 s between them: in one window, too, they take 2 s.
TEST(IterationProfile, GapsAreNotPartOfIterations) {
  test::TextProgram program =
      test::ParseProgram("r0: comp 0-2 | Barrier@1 2-3 | comp 3-5\nr1: comp 0-2 | Barrier@1 2-3 | comp 3-5");
  PhaseCut cut = test::CutOf(program);
  for (RankCut& rank : cut.ranks) {
    const Interval whole = rank.window;
    rank.iterations = {{whole.begin, {2, 0, 1}}, {{3, 1, 2}, whole.end}};
  }
  cut.iterations = 2;
  const auto profiles = MeasurePhase(program.trace, MatchTrace(program.trace), cut, {}).profiles;
  ASSERT_EQ(profiles.size(), 2u);
  for (const IterationProfile& profile : profiles) {
    EXPECT_DOUBLE_EQ(profile.elapsed, 2);
    EXPECT_DOUBLE_EQ(profile.ideal, 2);
    EXPECT_DOUBLE_EQ(profile.average_useful, 2);
  }
  EXPECT_DOUBLE_EQ(profiles[1].begin, 3);
}

TEST(IterationProfile, WholeRunsHaveNone) {
  EXPECT_TRUE(
      MeasureAll(test::ParseProgram("r0: comp 0-4 | Barrier@1 4-5\nr1: comp 0-3 | Barrier@1 3-5")).profiles.empty());
}

}  // namespace
}  // namespace farscale
