// Which phase is simulated, of runs written as archives.
#include "study/run_balance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planning/balance_json.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "study/study.h"
#include "support/errors.h"
#include "support/loaded_program.h"
#include "support/models.h"
#include "support/spmd_program.h"
#include "support/temporary_folder.h"
#include "trace/trace_reader.h"

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

  WhatIf Balance() { return RunBalance(study_, balance_, test::AllModels(), nullptr).first; }

  WhatIf BalanceOf(const std::string& phase) {
    study_.phases = {PhaseSpec::Region(phase)};
    balance_.phase_is_given = true;
    return Balance();
  }

  // Eight ranks that send eight bytes to their neighbour in each of 24 steps, on a network with this latency.
  void WriteRing(double latency) {
    const std::filesystem::path anchor = folder_ / fmt::format("ring-{}.otf2", latency);
    Trace trace = test::RunSpmd(8, [](test::SpmdRank& rank) {
      for (int step = 0; step < 24; ++step) {
        rank.Compute(rank.rank() < 2 ? 2000 : 1000);
        rank.PostSend((rank.rank() + 1) % 8, 8);
        rank.Receive((rank.rank() + 7) % 8, 8);
        rank.WaitAll();
      }
    });
    Network network;
    network.remote = network.local = {latency, 1e9, 1e-7, 32768};
    const PhaseCut whole = CutPhase(trace, PhaseSpec::WholeRun());
    const Matching matching = MatchTrace(trace);
    WriteOtf2(ReplayedTrace(trace, Replay(trace, matching, whole, {{}, true, &network})), anchor);
    study_.runs.front().trace = anchor.string();
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

// Ranks that meet in barriers alone do not show their network: all named ones stand for it, the slowest is simulated,
// and on each of them the gain of what leads is known.
TEST_F(RunBalanceTest, AnUnknownNetworkGivesARangeOfGains) {
  balance_.network.reset();
  const WhatIf what_if = Balance();
  EXPECT_NE(what_if.network.find("the network of the runs is unknown"), std::string::npos);
  EXPECT_TRUE(std::ranges::any_of(what_if.findings, [](const Finding& one) { return one.id == "networkUnknown"; }));
  ASSERT_EQ(what_if.network_gains.size(), 4u);  // one case, and the ideal network is none
  std::set<std::string> networks;
  for (const NetworkGain& gain : what_if.network_gains) {
    networks.insert(gain.network);
    EXPECT_GT(gain.iteration, 0);
    EXPECT_NEAR(gain.gain.value, 1 - gain.iteration / gain.reference, 1e-12);
    EXPECT_LE(what_if.network_gains.front().gain.value, gain.gain.value);
  }
  EXPECT_EQ(networks.size(), 4u);
  balance_.network = "ethernet-25g";
  EXPECT_TRUE(Balance().network_gains.empty());
}

// Messages of eight bytes say nothing of a bandwidth; that of states of tasks is then not taken as infinite.
TEST_F(RunBalanceTest, ANetworkWithoutABandwidthIsUnknown) {
  WriteRing(2e-6);
  balance_.network = "calibrated";
  EXPECT_NE(test::ErrorOf(ErrorKind::kNotEnoughData, [&] { Balance(); }).find("show no bandwidth"), std::string::npos);
  balance_.network.reset();
  EXPECT_NE(Balance().network.find("the network of the runs is unknown"), std::string::npos);
}

// Messages that take a millisecond, which no named network explains: the replay is judged where it is of the run as it
// was, and not on a network that is only tried.
TEST_F(RunBalanceTest, AReplayThatIsTooShortIsUnexplained) {
  WriteRing(1e-3);
  EXPECT_FALSE(Balance().runs.front().is_unexplained);  // the ideal network was asked for
  balance_.network.reset();
  EXPECT_TRUE(Balance().runs.front().is_unexplained);
  balance_.clean_computation = true;
  balance_.source = ComputationSource::kIterations;
  EXPECT_FALSE(Balance().runs.front().is_unexplained);
  balance_.clean_computation = false;
  WriteRing(1e-8);  // shorter than on the slow network that is assumed
  EXPECT_FALSE(Balance().runs.front().is_unexplained);
}

}  // namespace
}  // namespace farscale
