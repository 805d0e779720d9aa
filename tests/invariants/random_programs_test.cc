// Invariants of the replay on random programs, and agreement with a plain second implementation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>

#include "factors/phase_factors.h"
#include "factors/spread.h"
#include "factors/useful_time.h"
#include "replay/replay.h"
#include "support/random_program.h"
#include "support/reference_replay.h"
#include "support/repeats.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

const std::uint64_t kRandomPrograms = test::Repeats(300u);

ReplayResult Replay(const Trace& trace, RuleSet set, const PhaseSpec& spec = PhaseSpec::WholeRun()) {
  return farscale::Replay(trace, MatchTrace(trace), CutPhase(trace, spec), {{set, 32768}, false});
}

TEST(ReplayProperty, AgreesWithThePlainImplementation) {
  for (std::uint64_t seed = 0; seed < kRandomPrograms; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const std::vector<Tick> reference = test::ReferenceReplay(trace, set);
      ASSERT_FALSE(reference.empty()) << "seed " << seed;
      ASSERT_EQ(Replay(trace, set).end, reference) << "seed " << seed << ", rules " << ToString(set);
    }
  }
}

// max t <= T_ideal <= T, and useful time plus MPI time is the window.
TEST(ReplayProperty, IdealTimeLiesBetweenComputationAndMeasurement) {
  for (std::uint64_t seed = 0; seed < kRandomPrograms; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const ReplayResult result = Replay(trace, set);
      for (std::size_t rank = 0; rank < trace.size(); ++rank) {
        const Tick useful = UsefulTicks(trace.timelines[rank], cut.ranks[rank].window);
        EXPECT_GE(result.end[rank] - result.begin[rank], useful) << "seed " << seed;
      }
      EXPECT_LE(result.Duration(), cut.end() - cut.begin()) << "seed " << seed;
    }
  }
}

// What `bsc` adds to `causal` is waiting (bcast, gather) and what it leaves out is waiting too (isend, ssend), so
// neither bounds the other; both are at least the longest computation.
TEST(ReplayProperty, AnyWindowReplays) {
  for (std::uint64_t seed = 0; seed < kRandomPrograms; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    PhaseSpec window;
    window.name = "window";
    window.kind = PhaseSpec::Kind::kTimeWindow;
    const double length = trace.Seconds(trace.end() - trace.begin());
    window.window_begin = length * static_cast<double>(seed % 10) / 20;
    window.window_end = window.window_begin + length * (0.1 + static_cast<double>(seed % 4) / 10);
    const PhaseCut cut = CutPhase(trace, window);
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const ReplayResult result = Replay(trace, set, window);
      for (std::size_t rank = 0; rank < trace.size(); ++rank) {
        if (!cut.ranks[rank].present) continue;
        EXPECT_GE(result.end[rank] - result.begin[rank], UsefulTicks(trace.timelines[rank], cut.ranks[rank].window));
      }
    }
  }
}

// On one thread and on many, every rank has the same time.
TEST(ReplayProperty, DoesNotDependOnThreads) {
  for (std::uint64_t seed = 0; seed < test::Repeats(50u); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    std::vector<std::vector<Tick>> ends;
    for (const std::size_t threads : {1u, 2u, 5u}) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      ends.push_back(Replay(trace, RuleSet::kBsc).end);
    }
    EXPECT_EQ(ends[0], ends[1]);
    EXPECT_EQ(ends[0], ends[2]);
  }
}

// Computation alone: without messages every rank ends after its own work.
TEST(ReplayProperty, ReplayWithEveryCallGivesTheSameEnds) {
  for (std::uint64_t seed = 0; seed < kRandomPrograms; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const Matching matching = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const ReplayResult few = farscale::Replay(trace, matching, cut, {{}, false});
    const ReplayResult all = farscale::Replay(trace, matching, cut, {{}, true});
    EXPECT_EQ(few.end, all.end);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      EXPECT_EQ(all.leave[rank].size(), trace.timelines[rank].calls());
      EXPECT_TRUE(std::is_sorted(all.leave[rank].begin(), all.leave[rank].end()));
    }
  }
}

// Whatever ranks run how often, iterations in one window never take longer together than the window.
TEST(IterationProperty, IterationsFitIntoTheirPhase) {
  int checked = 0, with_errors = 0;
  for (std::uint64_t seed = 0; seed < kRandomPrograms; ++seed) {
    test::RandomProgramOptions options = test::VariedOptions(seed);
    options.regions = true;
    const Trace trace = test::MakeRandomProgram(seed, options);
    PhaseSpec loop = PhaseSpec::Region("loop");
    loop.span = seed % 2 == 0 ? Span::kWhole : Span::kEach;
    const std::vector<std::string> names = trace.UserRegionNames();
    if (std::find(names.begin(), names.end(), "loop") == names.end()) continue;
    const PhaseFactors factors = MeasurePhase(trace, MatchTrace(trace), CutPhase(trace, loop), {});
    double elapsed = 0, ideal = 0;
    for (const IterationProfile& profile : factors.profiles) {
      EXPECT_GE(profile.elapsed, 0) << "seed " << seed;
      EXPECT_GE(profile.ideal, 0) << "seed " << seed;
      elapsed += profile.elapsed;
      ideal += profile.ideal;
    }
    if (loop.span == Span::kWhole) {
      EXPECT_LE(elapsed, factors.totals.elapsed * (1 + 1e-12)) << "seed " << seed;
      EXPECT_LE(ideal, factors.totals.ideal_elapsed * (1 + 1e-12)) << "seed " << seed;
    }
    if (factors.samples) {
      const FactorValues errors = ErrorsOf({*factors.samples}).front().first;
      for (const FactorType& type : AllFactors()) {
        EXPECT_GE(errors[type.factor].value_or(0), 0) << "seed " << seed;
      }
      ++with_errors;
    }
    ++checked;
  }
  EXPECT_GT(checked, test::Repeats(100));
  EXPECT_GE(with_errors, test::Repeats(20));
}

}  // namespace
}  // namespace farscale
