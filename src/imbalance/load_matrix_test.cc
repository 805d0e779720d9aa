#include "imbalance/causes/load_matrix.h"

#include <gtest/gtest.h>

#include "imbalance/waits/wait_states.h"
#include "imbalance/diagnosis.h"
#include "support/program.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

struct Parts {
  Parts(const Trace& trace, const PhaseCut& cut)
      : matching(MatchTrace(trace)), states(FindWaitStates(trace, matching, CollectActivities(trace, cut))) {}

  PathId Find(const std::string& name) const {
    PathId path = 0;
    while (path < states.activities.paths.size() && states.activities.paths.region_name(path) != name) ++path;
    return path;
  }

  Matching matching;
  WaitStates states;
};

// Iterations end at 6, 12 and 18. Rank 0 computes 3 and 4 in the first, but 1 of the 4 lies behind the edge; of the
// barrier 8-12 it waits until 10, and 2 remain. Rank 1 computes 5; 4; 2.
TEST(LoadMatrix, WorkedOutByHand) {
  const test::TextProgram program = test::ParseProgram(
      "r0: A 0-3 | B 3-7 | A 7-8 | Barrier@1 8-12 | A 12-13 | Barrier@2 13-18\n"
      "r1: A 0-5 | Barrier@3:one 5-6 | B 6-10 | Barrier@1 10-12 | A 12-14 | Barrier@2 14-18\n"
      "comm one: 1\n"
      "cuts: all 6 12 18\n");
  const PhaseCut cut = test::CutOf(program);
  const Parts parts(program.trace, cut);
  const LoadMatrix useful = FindLoad(program.trace, cut, parts.states);
  EXPECT_EQ(useful.ranks, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(useful.iterations, 3u);
  EXPECT_EQ(useful.seconds, (std::vector<double>{6, 2, 1, 5, 4, 2}));
  EXPECT_EQ(useful.Sums(), (std::vector<double>{9, 11}));
  const auto of = [&](const std::string& name) {
    return FindLoad(program.trace, cut, parts.states, parts.Find(name)).seconds;
  };
  EXPECT_EQ(of("A"), (std::vector<double>{3, 1, 1, 5, 0, 2}));
  EXPECT_EQ(of("B"), (std::vector<double>{3, 1, 0, 0, 4, 0}));
  EXPECT_EQ(of("MPI_Barrier"), (std::vector<double>{0, 2, 4, 1, 2, 4}));
}

TEST(LoadMatrix, DifferentNumbersOfIterationsAreOne) {
  const test::TextProgram program = test::ParseProgram(
      "r0: A 0-3 | A 3-7 | Barrier@1 7-8\n"
      "r1: A 0-5 | Barrier@1 5-8\n"
      "cuts: r0 3 8; r1 8\n");
  const PhaseCut cut = test::CutOf(program);
  const Parts parts(program.trace, cut);
  const LoadMatrix useful = FindLoad(program.trace, cut, parts.states);
  EXPECT_EQ(useful.iterations, 1u);
  EXPECT_EQ(useful.seconds, (std::vector<double>{7, 5}));
}

// Of every path the sums are its execution times in the diagnosis.
TEST(LoadMatrix, AddsUpToTheDiagnosis) {
  for (const std::string& path : test::SampleTraces()) {
    const Trace trace = ReadTrace(path);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
    const Parts parts(trace, cut);
    const Diagnosis diagnosis = Diagnose(trace, parts.matching, cut);
    for (PathId id = 0; id < diagnosis.paths.size(); ++id) {
      const LoadMatrix load = FindLoad(trace, cut, parts.states, id);
      const std::vector<double> sums = load.Sums();
      for (std::size_t row = 0; row < sums.size(); ++row) {
        const PathLosses* losses = diagnosis.ranks[load.ranks[row]].Find(id);
        EXPECT_NEAR(sums[row], losses == nullptr ? 0 : losses->Execution(), 1e-9) << path;
      }
    }
  }
}

}  // namespace
}  // namespace farscale
