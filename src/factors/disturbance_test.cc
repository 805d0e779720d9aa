// Programs of two ranks whose iterations take 100 s when nothing disturbs them: 87 s of computation, an allreduce,
// 10 s, a barrier; the calls take 1 and 2 s after the last rank has come.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/diagnostics.h"
#include "factors/phase_factors.h"
#include "replay/matching.h"
#include "support/program.h"

namespace farscale {
namespace {

using testing::HasSubstr;

struct TimedStep {
  std::array<int, 2> compute = {87, 87};
  int barrier = 2;
  int write = 0;  // before the rest in a call that others do not make, as output does
};

struct SteppedProgram {
  Trace trace;
  PhaseCut cut;  // the steps
};

SteppedProgram MakeSteps(const std::vector<TimedStep>& steps) {
  std::vector<int> begins;
  std::string ranks[2] = {"r0: ", "r1: "};
  int now = 0, number = 0;
  const auto add = [&](int rank, const std::string& name, int begin, int end) {
    if (end > begin) ranks[rank] += fmt::format("{}{} {}-{}", begin > 0 ? " | " : "", name, begin, end);
  };
  for (const TimedStep& step : steps) {
    ++number;
    begins.push_back(now);
    const int begin = now + step.write;
    const int met = begin + std::max(step.compute[0], step.compute[1]) + 1;
    const int end = met + 10 + step.barrier;
    for (int rank = 0; rank < 2; ++rank) {
      add(rank, "Probe", now, begin);
      add(rank, "comp", begin, begin + step.compute[static_cast<std::size_t>(rank)]);
      add(rank, fmt::format("Allreduce@{}", 2 * number), begin + step.compute[static_cast<std::size_t>(rank)], met);
      add(rank, "comp", met, met + 10);
      add(rank, fmt::format("Barrier@{}", 2 * number + 1), met + 10, end);
    }
    now = end;
  }
  SteppedProgram program{test::ParseTrace(ranks[0] + "\n" + ranks[1] + "\n"), {}};
  begins.push_back(now);
  program.cut.spec = PhaseSpec::Region("step");
  program.cut.iterations = steps.size();
  for (const RankTimeline& timeline : program.trace.timelines) {
    RankCut rank;
    rank.present = true;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      rank.iterations.push_back({EdgeAtTick(timeline, begins[k], true), EdgeAtTick(timeline, begins[k + 1], false)});
    }
    rank.window = {rank.iterations.front().begin, rank.iterations.back().end};
    program.cut.ranks.push_back(rank);
  }
  return program;
}

struct Judged {
  PhaseCut cut;
  CleanChoice choice;
  std::vector<std::size_t> Kept() const {
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < choice.kept.size(); ++k) {
      if (choice.kept[k]) kept.push_back(k);
    }
    return kept;
  }
};

Judged Judge(const std::vector<TimedStep>& steps, std::size_t clean = kLongestRun) {
  SteppedProgram program = MakeSteps(steps);
  program.cut.spec.clean = clean;
  Judged judged{program.cut, {}};
  judged.choice = ChooseClean(program.trace, MatchTrace(program.trace), program.cut, {});
  return judged;
}

// 50 s more on rank 1, of a median iteration of 100 s.
TEST(Disturbance, LongBurst) {
  std::vector<TimedStep> steps(10);
  steps[3].compute[1] = 137;
  const Judged judged = Judge(steps);
  ASSERT_EQ(judged.cut.iterations, 10u);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[3].bursts, 0.5);
  EXPECT_EQ(judged.choice.iterations[3].bursts_rank, 1u);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[3].calls, 0);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[4].bursts, 0);
  EXPECT_EQ(judged.choice.reasons[3], "rank 1 computes 50.0 % of an iteration longer than usual");
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{4, 5, 6, 7, 8, 9}));
}

// Both ranks compute twice as much in every fourth iteration, which is no disturbance; in one of those rank 1 takes 20
// s longer than in the others.
TEST(Disturbance, WorkThatRecursIsTheProgram) {
  std::vector<TimedStep> steps(16);
  for (const std::size_t k : {3, 7, 11, 15}) steps[k].compute = {174, 174};
  EXPECT_EQ(Judge(steps).Kept().size(), 16u);
  EXPECT_DOUBLE_EQ(Judge(steps).choice.iterations[7].bursts, 0);
  steps[7].compute[1] = 194;
  const Judged judged = Judge(steps);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[7].bursts, 0.2);
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{8, 9, 10, 11, 12, 13, 14, 15}));
}

// The barrier takes 20 s more, while the ideal one takes none.
TEST(Disturbance, LongCall) {
  std::vector<TimedStep> steps(10);
  steps[7].barrier = 22;
  const Judged judged = Judge(steps);
  EXPECT_NEAR(judged.choice.iterations[7].calls, 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[7].bursts, 0);
  EXPECT_THAT(judged.choice.reasons[7], HasSubstr("MPI takes 20.0 % of an iteration longer"));
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
}

// Rank 1 computes 100 s more, and rank 0 waits for it: the iteration takes as much longer on both.
TEST(Disturbance, LongerIterations) {
  std::vector<TimedStep> steps(8);
  steps[0].compute = {87, 187};
  const Judged judged = Judge(steps);
  EXPECT_DOUBLE_EQ(judged.choice.iterations[0].longer, 1);
  EXPECT_EQ(judged.choice.reasons[0], "rank 1 computes 100.0 % of an iteration longer than usual");
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7}));
}

// Iterations with calls of their own cannot be compared, so they are not the cleanest.
TEST(Disturbance, TheCleanestAreComparedWithOthers) {
  std::vector<TimedStep> steps(8);
  steps[1].write = steps[5].write = 40;
  for (TimedStep& step : steps) step.compute[1] += &step == &steps[3] ? 0 : static_cast<int>(&step - steps.data());
  const Judged judged = Judge(steps, 3);
  EXPECT_FALSE(judged.choice.kept[1]);
  EXPECT_FALSE(judged.choice.kept[5]);
}

TEST(Disturbance, WarmUp) {
  std::vector<TimedStep> steps(6);
  steps[0].compute = {140, 150};
  EXPECT_EQ(Judge(steps).Kept(), (std::vector<std::size_t>{1, 2, 3, 4, 5}));
}

// The barrier of the second of three takes far longer, which leaves two runs of one iteration each: the last, as the
// first computes a little longer than usual.
TEST(Disturbance, OfRunsOfOneIterationTheLeastDisturbed) {
  std::vector<TimedStep> steps(3);
  steps[0].compute = {88, 88};
  steps[1].barrier = 60;
  const Judged judged = Judge(steps);
  EXPECT_GT(judged.choice.iterations[0].Total(), judged.choice.iterations[2].Total());
  EXPECT_EQ(judged.choice.reasons[0], "");
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{2}));
}

TEST(Disturbance, SetUpWithCallsOfItsOwn) {
  std::vector<TimedStep> steps(6);
  steps[0].write = 60;
  const Judged judged = Judge(steps);
  EXPECT_THAT(judged.choice.reasons[0],
              HasSubstr("makes calls that no other iteration makes, and differs by 60.0 % from"));
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{1, 2, 3, 4, 5}));
}

// What comes back is how the program is.
TEST(Disturbance, PeriodicOutputStays) {
  std::vector<TimedStep> steps(20);
  for (std::size_t k = 4; k < steps.size(); k += 5) steps[k].write = 30;
  const Judged judged = Judge(steps);
  ASSERT_EQ(judged.cut.iterations, 20u);
  EXPECT_TRUE(judged.choice.KeepsAll());
}

// The work grows by 4 % of the first iteration each; one iteration takes half as long again.
TEST(Disturbance, GrowingWork) {
  std::vector<TimedStep> steps(12);
  for (std::size_t k = 0; k < steps.size(); ++k)
    steps[k].compute = {80 + 4 * static_cast<int>(k), 80 + 4 * static_cast<int>(k)};
  EXPECT_TRUE(Judge(steps).choice.KeepsAll());
  steps[6].compute[0] += 50;
  EXPECT_EQ(Judge(steps).Kept(), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Disturbance, AlternatingWorkIsTheProgram) {
  std::vector<TimedStep> steps(12);
  for (std::size_t k = 0; k < steps.size(); k += 2) steps[k].compute = {187, 187};
  EXPECT_TRUE(Judge(steps).choice.KeepsAll());
}

// Four of nine.
TEST(Disturbance, WhenTooManyStandOutNoneDoes) {
  std::vector<TimedStep> steps(9);
  steps[1].compute[0] += 90;
  steps[4].compute[0] += 40;
  steps[6].compute[0] += 100;
  steps[8].compute[0] += 50;
  const Judged judged = Judge(steps);
  EXPECT_TRUE(judged.choice.too_many_differ);
  EXPECT_TRUE(judged.choice.KeepsAll());
}

TEST(Disturbance, TheCleanest) {
  std::vector<TimedStep> steps(8);
  const std::array<int, 8> more = {0, 1, 3, 2, 2, 3, 1, 0};  // the median is 1.5
  for (std::size_t k = 0; k < steps.size(); ++k) steps[k].compute[1] += more[k];
  const Judged judged = Judge(steps, 3);
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{0, 1, 6}));
  const Judged all = Judge(steps, 30);
  EXPECT_TRUE(all.choice.KeepsAll());
}

// Nine iterations of 100 s, one of which takes 50 s more by noise: the eight others do the same work.
TEST(Disturbance, NoiseIsNoWork) {
  std::vector<TimedStep> steps(9);
  steps[2].compute[1] = 137;
  const Judged judged = Judge(steps);
  EXPECT_EQ(judged.choice.Kept(), 6u);
  EXPECT_NEAR(judged.choice.RegularWorkLost(), 0, 1e-12);
}

// The first of ten iterations makes a call of its own for 61 s, so all take (9 * 100 + 161) / 10 = 106.1 s on average,
// and those kept 100 s. The fourth takes 20 s more by noise, which does not count.
TEST(Disturbance, CallsOfItsOwnAreWork) {
  std::vector<TimedStep> steps(10);
  steps[0].write = 61;
  steps[3].barrier = 22;
  const Judged judged = Judge(steps);
  EXPECT_EQ(judged.Kept(), (std::vector<std::size_t>{4, 5, 6, 7, 8, 9}));
  EXPECT_NEAR(judged.choice.RegularWorkLost(), 1 - 100 / 106.1, 1e-12);
}

// Iterations kept count each by itself: 3 of 100 s, 97 s of which are useful.
TEST(Disturbance, KeptIterationsCountEach) {
  std::vector<TimedStep> steps(8);
  steps[2].compute[0] = 150;
  const auto [trace, cut] = MakeSteps(steps);
  const PhaseCut kept = KeepIterations(trace, cut, {false, true, false, true, false, false, true, false});
  EXPECT_EQ(kept.span, Span::kEach);
  EXPECT_EQ(kept.iterations, 3u);
  const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), kept, {});
  EXPECT_DOUBLE_EQ(factors.totals.elapsed, 300);
  EXPECT_DOUBLE_EQ(factors.totals.largest_useful, 291);
  EXPECT_DOUBLE_EQ(factors.totals.ideal_elapsed, 291);
  EXPECT_DOUBLE_EQ(*factors.values[Factor::kLoadBalance], 1);
}

TEST(Disturbance, OneWindowNeedsConsecutiveIterations) {
  auto [trace, cut] = MakeSteps(std::vector<TimedStep>(6));
  cut.spec.span = Span::kWhole;
  EXPECT_EQ(KeepIterations(trace, cut, {false, true, true, false, false, false}).span, Span::kWhole);
  EXPECT_THROW(KeepIterations(trace, cut, {true, false, true, false, false, false}), Error);
}

TEST(Disturbance, TwoIterationsAreNotJudged) {
  const Judged judged = Judge(std::vector<TimedStep>(2));
  EXPECT_TRUE(judged.choice.iterations.empty());
  EXPECT_TRUE(judged.choice.KeepsAll());
}

}  // namespace
}  // namespace farscale
