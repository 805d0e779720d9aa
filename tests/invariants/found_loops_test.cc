// Loops found in the MPI calls alone, against the regions that mark them, on every real trace at hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "factors/iteration_profile.h"
#include "factors/phase_factors.h"
#include "factors/useful_time.h"
#include "phases/found_loop.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Loops of the programs, where a run has three iterations or more.
constexpr const char* kLoops[] = {"cycle", "ssor_iter", "outer_iter", "inner_iter", "timestep", "step"};

struct Marked {
  PhaseCut cut;
  bool found = false;
};

Marked MarkedLoop(const Trace& trace) {
  for (const RegionSummary& region : SummarizeRegions(trace)) {
    for (const char* loop : kLoops) {
      if (region.name != loop || region.fewest < 3 || region.ranks < trace.size()) continue;
      PhaseSpec spec = PhaseSpec::Region(loop);
      spec.span = Span::kWhole;
      return {CutPhase(trace, spec), true};
    }
  }
  return {};
}

TEST(FoundLoops, AreThoseThatTheProgramsMark) {
  std::size_t compared = 0;
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const Marked marked = MarkedLoop(trace);
    if (!marked.found) continue;
    const auto loop = FindLoopOfRun(trace);
    ASSERT_TRUE(loop) << path;
    ASSERT_EQ(loop->iterations(), marked.cut.iterations) << path;
    std::size_t near = 0, all = 0;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      for (std::size_t k = 0; k < loop->iterations(); ++k, ++all) {
        const auto found = static_cast<std::int64_t>(loop->borders[rank][k]);
        const auto truth = static_cast<std::int64_t>(marked.cut.ranks[rank].iterations[k].begin.call);
        near += std::abs(found - truth) <= 1 ? 1 : 0;
      }
    }
    EXPECT_GE(static_cast<double>(near), 0.95 * static_cast<double>(all)) << path;

    const Matching matching = MatchTrace(trace);
    const PhaseFactors from_marks = MeasurePhase(trace, matching, marked.cut, {});
    const PhaseFactors from_calls = MeasurePhase(trace, matching, CutPhase(trace, PhaseSpec::FoundLoop()), {});
    for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
      EXPECT_NEAR(*from_calls.values[factor], *from_marks.values[factor], 0.01) << path << " " << Describe(factor).id;
    }
    // With the shape of its own iterations the run shows the same ones.
    PhaseSpec own = PhaseSpec::FoundLoop();
    own.shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, own));
    EXPECT_EQ(CutPhase(trace, own).iterations, marked.cut.iterations) << path;
    ++compared;
  }
  EXPECT_GE(compared, 3u);
}

// The sum of the iterations' largest useful times is the ideal time that phase profiles estimate.
TEST(FoundLoops, ProfilesOfIterationsAddUp) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
    double largest = 0;
    for (const IterationProfile& profile : MeasurePhase(trace, MatchTrace(trace), cut, {}).profiles) {
      EXPECT_LE(profile.average_useful, profile.largest_useful * (1 + 1e-12)) << path;
      EXPECT_LE(profile.ParallelEfficiency(), 1 + 1e-12) << path;
      largest += profile.largest_useful;
    }
    EXPECT_NEAR(largest, trace.Seconds(EstimateIdealFromIterations(trace, cut)), 1e-9 * largest) << path;
  }
}

}  // namespace
}  // namespace farscale
