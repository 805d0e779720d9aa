// Calibration gives back the network that a program was replayed on, and on real traces that of the machine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostics.h"
#include "base/random.h"
#include "replay/calibration.h"
#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "support/spmd_program.h"
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

// What is known of a link: the time of a message without bytes, from the call that sends it on, and the bandwidth.
struct TrueLink {
  double least, most;  // seconds, where it depends on the way or on the size
  double bandwidth;
};

struct StatedMachine {
  TrueLink local, remote;
};

// Those of the simulated runs [shared/data/README.md].
StatedMachine MachineOf(const std::string& path) {
  const auto is_in = [&](const char* folder) { return path.find(folder) != std::string::npos; };
  // A leaf or two switches between nodes, and a quarter of a microsecond for either of two calls.
  if (is_in("/machines/a-")) return {{0.3e-6, 0.8e-6, 9e9}, {0.8e-6, 2.1e-6, 12.5e9}};
  if (is_in("/machines/b-")) return {{0.25e-6, 0.55e-6, 12e9}, {0.5e-6, 1.5e-6, 25e9}};
  // Its latency is that of small messages; from 732 to 1426 bytes it is a fifth less.
  if (is_in("/machines/c-")) return {{0.4e-6, 0.9e-6, 6e9}, {19.3e-6, 24.2e-6, 1.25e9}};
  // Without nodes in mind, and 0.3 us a call.
  if (is_in("/diagnosis/")) return {{1.5e-6, 1.8e-6, 10e9}, {1.5e-6, 1.8e-6, 10e9}};
  return {{0.4e-6, 0.4e-6, 8e9}, {1.5e-6, 1.5e-6, 10e9}};
}

// What is stated is right, and what is not is bounded by what is right.
void ExpectTrue(const Link& link, const TrueLink& truth, const std::string& where) {
  EXPECT_GT(link.latency, 0) << where;
  if (link.latency_at_most) {
    EXPECT_GE(*link.latency_at_most + link.overhead, 0.99 * truth.least) << where;
    EXPECT_LE(link.latency, *link.latency_at_most) << where;
  } else {
    EXPECT_GE(link.latency + link.overhead, 0.95 * truth.least) << where;
    EXPECT_LE(link.latency + link.overhead, 1.05 * truth.most) << where;
  }
  if (link.bandwidth_at_least) {
    EXPECT_LE(*link.bandwidth_at_least, 1.01 * truth.bandwidth) << where;
    EXPECT_GE(link.bandwidth, *link.bandwidth_at_least) << where;
  } else {
    EXPECT_NEAR(link.bandwidth, truth.bandwidth, 0.03 * truth.bandwidth) << where;
  }
}

TEST(RealCalibration, SimulatedMachine) {
  int links = 0, known_latencies = 0, known_bandwidths = 0;
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
    const StatedMachine machine = MachineOf(path);
    for (const bool is_local : {false, true}) {
      const std::optional<LinkCalibration>& found = is_local ? calibration.local : calibration.remote;
      if (!found || (is_local && path.find("/machines/c-") != std::string::npos)) continue;  // nobody says
      ExpectTrue(found->link, is_local ? machine.local : machine.remote, path);
      ++links;
      known_latencies += found->link.latency_at_most ? 0 : 1;
      known_bandwidths += found->link.bandwidth_at_least ? 0 : 1;
    }
  }
  EXPECT_GT(links, 8);
  EXPECT_GT(2 * known_latencies, links);
  EXPECT_GT(3 * known_bandwidths, links);
}

// Every rank exchanges messages with some neighbours in a ring on either side, of one size or of several, on nodes
// whose link one transfer at a time may use.
Trace SharedLinkProgram(std::uint64_t seed) {
  Random random(seed);
  const auto reach = 1 + static_cast<std::int32_t>(seed % 4);
  const auto ranks = 2 * reach + 3 + static_cast<std::int32_t>(random.Index(8));
  const std::int32_t per_node = 1 + static_cast<std::int32_t>(seed / 4 % 4);
  const std::uint64_t largest = std::uint64_t{1000} << random.Index(9);
  std::vector<std::uint64_t> sizes(60, largest);
  for (std::uint64_t& size : sizes) size = seed % 3 == 0 ? largest : 8 + random.Index(largest);
  std::vector<Tick> loads(sizes.size() * static_cast<std::size_t>(ranks));
  for (Tick& load : loads) load = 1000 + static_cast<Tick>(random.Index(200000));
  Trace trace = test::RunSpmd(ranks, [&](test::SpmdRank& rank) {
    for (std::size_t step = 0; step < sizes.size(); ++step) {
      rank.Compute(loads[step * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank.rank())]);
      std::vector<std::int32_t> peers;
      for (std::int32_t away = 1; away <= reach; ++away) {
        for (const std::int32_t by : {away, ranks - away}) peers.push_back((rank.rank() + by) % ranks);
      }
      for (const std::int32_t peer : peers) rank.PostSend(peer, sizes[step]);
      for (const std::int32_t peer : peers) rank.Receive(peer, sizes[step]);
      rank.WaitAll();
    }
  });
  trace.nodes.clear();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    trace.ranks[static_cast<std::size_t>(rank)].node = rank / per_node;
    if (rank % per_node == 0) trace.nodes.push_back(fmt::format("node{}", rank / per_node));
  }
  return trace;
}

TEST(CalibrationProperty, SharedLinksAndSynchronousSendsGiveBoundsOrTheTruth) {
  std::size_t links = 0;
  for (std::uint64_t seed = 0; seed < test::Repeats(30u); ++seed) {
    const Trace program = SharedLinkProgram(seed);
    const Matching matching = MatchTrace(program);
    Network network = MakeNetwork(seed);
    const std::uint64_t eager_limit = seed % 4 < 2 ? 0 : 65536;
    network.local.eager_limit = network.remote.eager_limit = eager_limit;
    network.sending = network.receiving = 1;
    const ReplayRules rules{RuleSet::kCausal, eager_limit};
    const PhaseCut run = CutPhase(program, PhaseSpec::WholeRun());
    const Trace trace = ReplayedTrace(program, Replay(program, matching, run, {rules, true, &network}));
    Calibration calibration;
    try {
      calibration = Calibrate(trace, matching, rules);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNotEnoughData) << seed;
      continue;
    }
    for (const auto& [found, link] :
         {std::pair(calibration.local, network.local), {calibration.remote, network.remote}}) {
      if (!found) continue;
      const double latency = link.latency + link.overhead;
      ExpectTrue(found->link, {latency, latency, link.bandwidth}, fmt::format("seed {}", seed));
      ++links;
    }
  }
  EXPECT_GT(links, test::Repeats(20u));
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
        const Link& remote = calibration.network.remote;
        EXPECT_GT(remote.latency, 0) << path;
        EXPECT_TRUE(remote.latency_at_most || remote.latency < 1e-4) << path;
        EXPECT_TRUE(remote.bandwidth_at_least || remote.bandwidth > 1e9) << path;
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
