// Which phase is simulated, of runs written as archives.
#include "study/run_balance.h"

#include <gtest/gtest.h>

#include "support/loaded_program.h"
#include "support/temporary_folder.h"
#include "trace/otf2_writer.h"

namespace farscale {
namespace {

class RunBalanceTest : public testing::Test {
 protected:
  // 8 ranks in 24 iterations, the first two with twice the load of the others; behind the loop all compute again.
  RunBalanceTest() {
    const std::filesystem::path anchor = folder_ / "traces.otf2";
    WriteOtf2(test::MakeLoaded(test::MakeLoads(test::Movement::kStatic, 8, 24, 1), test::Synchronization::kBarrier,
                               true, 500),
              anchor);
    study_.runs.push_back({anchor.string(), std::nullopt, std::nullopt, "test"});
    study_.phases = {PhaseSpec::WholeRun()};
    balance_.network = "ideal";
    balance_.sweep.processors = {4};
    balance_.sweep.strategies = {"greedy"};
    balance_.sweep.replicas = 0;
  }

  WhatIf Balance() { return RunBalance(study_, balance_, nullptr).what_if; }

  WhatIf BalanceOf(const std::string& phase) {
    study_.phases = {PhaseSpec::Region(phase)};
    balance_.phase_is_given = true;
    return Balance();
  }

  test::TemporaryFolder folder_;
  Study study_;
  BalanceStudy balance_;
};

// The region "step" marks the loop, which the calls show as well. Where nobody names a phase, the region is simulated,
// and every configuration takes as long as where it is named.
TEST_F(RunBalanceTest, MarkedLoopsComeBeforeFoundOnes) {
  const WhatIf automatic = Balance(), marked = BalanceOf("step"), found = BalanceOf("found");
  EXPECT_EQ(automatic.phase, "step");
  EXPECT_EQ(found.phase, "iteration");  // it is there to be preferred
  ASSERT_EQ(automatic.outcomes.size(), marked.outcomes.size());
  ASSERT_FALSE(marked.outcomes.empty());
  for (std::size_t i = 0; i < marked.outcomes.size(); ++i) {
    EXPECT_EQ(automatic.outcomes[i].configuration, marked.outcomes[i].configuration);
    EXPECT_EQ(automatic.outcomes[i].makespan, marked.outcomes[i].makespan);
  }
}

}  // namespace
}  // namespace farscale
