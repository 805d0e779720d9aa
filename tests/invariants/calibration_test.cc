// Calibration gives back the network that a program was replayed on, and on real traces that of the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "replay/calibration.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Ranks on three nodes in turn.
Trace CalibratedProgram(std::uint64_t seed) {
  test::RandomProgramOptions options;
  options.ranks = 4 + static_cast<int>(seed % 5);
  options.steps = 1500;
  Trace trace = test::MakeRandomProgram(seed, options);
  trace.nodes = {"a", "b", "c"};
  for (std::size_t rank = 0; rank < trace.size(); ++rank) trace.ranks[rank].node = static_cast<std::int32_t>(rank % 3);
  return trace;
}

Network MakeNetwork(std::uint64_t seed) {
  const auto varied = [&](double value, std::uint64_t step) {
    return value * (1 + static_cast<double>(seed * step % 7));
  };
  Network network;
  network.remote = {varied(0.7e-6, 1), varied(1e9, 3), varied(0.05e-6, 5), 32768};
  network.local = {varied(0.2e-6, 2), varied(3e9, 5), 0.02e-6, 32768};
  network.collectives = StandardCollectives();
  return network;
}

TEST(CalibrationProperty, GivesBackTheNetworkOfAReplay) {
  for (std::uint64_t seed = 0; seed < test::Repeats(40u); ++seed) {
    const Trace program = CalibratedProgram(seed);
    const Matching matching = MatchTrace(program);
    const Network network = MakeNetwork(seed);
    const ReplayRules rules{seed % 2 == 0 ? RuleSet::kBsc : RuleSet::kCausal, 32768};
    const PhaseCut run = CutPhase(program, PhaseSpec::WholeRun());
    const Trace trace = ReplayedTrace(program, Replay(program, matching, run, {rules, true, &network}));
    const Calibration calibration = Calibrate(trace, matching, rules);
    for (const auto& [found, link] :
         {std::pair(calibration.local, network.local), {calibration.remote, network.remote}}) {
      ASSERT_TRUE(found) << "seed " << seed;
      EXPECT_NEAR(found->link.latency, link.latency, 0.03 * link.latency + 5e-9) << "seed " << seed;
      EXPECT_NEAR(found->link.bandwidth, link.bandwidth, 0.03 * link.bandwidth) << "seed " << seed;
      EXPECT_NEAR(found->link.overhead, link.overhead, 1e-9) << "seed " << seed;
    }
    EXPECT_NEAR(calibration.Deviation(), 0, 0.02) << "seed " << seed;
  }
}

// What is told is right, and what is not is bounded by what is right. Where ranks of a node send at once, each has its
// share of the bandwidth only, so that of the link is no less than what is found.
void ExpectTrue(const Link& link, double latency, double bandwidth, const std::string& path) {
  if (link.latency_at_most) {
    EXPECT_GE(*link.latency_at_most, 0.99 * latency) << path;
    EXPECT_LE(link.latency, *link.latency_at_most) << path;
    EXPECT_GT(link.latency, 0) << path;
  } else {
    EXPECT_NEAR(link.latency, latency, 0.05 * latency) << path;
  }
  EXPECT_LE(link.bandwidth_at_least.value_or(link.bandwidth), 1.01 * bandwidth) << path;
  EXPECT_GT(link.bandwidth, 2e9) << path;
  EXPECT_EQ(link.overhead, 0) << path;
}

// The machine of the simulated runs: between hosts 1.5 us and 10 GB/s, within one 0.4 us and 8 GB/s.
TEST(RealCalibration, SimulatedMachine) {
  int links = 0, told = 0;
  for (const std::string& path : test::TracesToTry()) {
    if (path.find("/others/") != std::string::npos || path.find("-real/") != std::string::npos) continue;
    const Trace trace = ReadTrace(path);
    Calibration calibration;
    try {
      calibration = Calibrate(trace, MatchTrace(trace), {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData) << path;
      continue;
    }
    for (const bool is_local : {false, true}) {
      const std::optional<LinkCalibration>& link = is_local ? calibration.local : calibration.remote;
      if (!link) continue;
      ExpectTrue(link->link, is_local ? 0.4e-6 : 1.5e-6, is_local ? 8e9 : 10e9, path);
      ++links;
      if (!link->link.latency_at_most) ++told;
    }
  }
  EXPECT_GT(links, 8);
  EXPECT_GT(2 * told, links);
}

TEST(RealCalibration, SampleRunsTakeTheirTime) {
  int traces = 0;
  for (const std::string& path : test::SampleTraces()) {
    const Trace trace = ReadTrace(path);
    EXPECT_NEAR(Calibrate(trace, MatchTrace(trace), {}).Deviation(), 0, 0.05) << path;
    ++traces;
  }
  EXPECT_GT(traces, 8);
}

// Every trace gives a network that reads back, or says that it cannot.
TEST(RealCalibration, EveryTrace) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const Matching matching = MatchTrace(trace);
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      try {
        const Calibration calibration = Calibrate(trace, matching, {set, 32768});
        EXPECT_EQ(ParseNetwork(WriteNetworkToml(calibration.network), path, "calibrated"), calibration.network) << path;
        EXPECT_GT(calibration.network.remote.latency, 0) << path;
        EXPECT_LT(calibration.network.remote.latency, 1e-4) << path;
        EXPECT_GT(calibration.network.remote.bandwidth, 1e9) << path;
        if (!calibration.remote) {
          EXPECT_TRUE(calibration.network.remote.latency_at_most) << path;
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace farscale
