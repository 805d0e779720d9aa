// Invariants of the replay on timed networks, on random programs and real traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "replay/replay.h"
#include "replay/replayed_trace.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

const std::uint64_t kNodePrograms = test::Repeats(150u);

// Ranks on three nodes in turn.
Trace ProgramOnThreeNodes(std::uint64_t seed) {
  test::RandomProgramOptions options;
  options.ranks = 2 + static_cast<int>(seed % 9);
  options.steps = 20 + static_cast<int>(seed % 7) * 30;
  options.large_messages = seed % 3 != 0;
  options.collectives = seed % 5 != 0;
  Trace trace = test::MakeRandomProgram(seed, options);
  trace.nodes = {"a", "b", "c"};
  for (std::size_t rank = 0; rank < trace.size(); ++rank) trace.ranks[rank].node = static_cast<std::int32_t>(rank % 3);
  return trace;
}

// Latency in ticks of the trace; a tick for every hundred bytes.
Network MakeNetwork(const Trace& trace, double latency) {
  Network network;
  network.remote = {latency / trace.ticks_per_second, 100 * trace.ticks_per_second, 0, 32768};
  network.local = {latency / 4 / trace.ticks_per_second, 400 * trace.ticks_per_second, 0, 32768};
  for (CollectiveCost& cost : network.collectives) {
    cost = {{CollectiveGrowth::kLogarithmic, CollectiveSize::kMax}, {}};
  }
  return network;
}

ReplayResult ReplayOn(const Trace& trace, const Network* network, RuleSet set = RuleSet::kBsc,
                      bool keep_calls = false) {
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {{set, 32768}, keep_calls, network});
}

// Without limits on transfers every time is a maximum of sums, so more latency makes nothing earlier, and the ideal
// network is the fastest.
TEST(NetworkProperty, MoreLatencyMakesNothingEarlier) {
  for (std::uint64_t seed = 0; seed < kNodePrograms; ++seed) {
    const Trace trace = ProgramOnThreeNodes(seed);
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      std::vector<Tick> before = ReplayOn(trace, nullptr, set).end;
      for (const double latency : {0.0, 1.0, 8.0, 50.0, 1000.0}) {
        const Network network = MakeNetwork(trace, latency);
        const std::vector<Tick> now = ReplayOn(trace, &network, set).end;
        for (std::size_t rank = 0; rank < trace.size(); ++rank) {
          ASSERT_GE(now[rank], before[rank]) << "seed " << seed << ", latency " << latency;
        }
        before = now;
      }
    }
  }
}

// With so many places nothing queues; with one, a message can only start later, and nothing gets earlier by that.
TEST(NetworkProperty, PlentyOfPlacesAreNone) {
  for (std::uint64_t seed = 0; seed < kNodePrograms; ++seed) {
    const Trace trace = ProgramOnThreeNodes(seed);
    const Network free = MakeNetwork(trace, 8);
    Network shared = free;
    shared.sending = shared.receiving = 1000;
    const std::vector<Tick> alone = ReplayOn(trace, &free).end;
    ASSERT_EQ(ReplayOn(trace, &shared).end, alone) << "seed " << seed;
    shared.sending = shared.receiving = 1;
    const std::vector<Tick> narrow = ReplayOn(trace, &shared).end;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) ASSERT_GE(narrow[rank], alone[rank]) << "seed " << seed;
  }
}

// What was replayed on the ideal network is measured there: replaying it again changes nothing.
TEST(NetworkProperty, ReplayOfAReplayedTraceIsAFixedPoint) {
  for (std::uint64_t seed = 0; seed < kNodePrograms; ++seed) {
    const Trace trace = ProgramOnThreeNodes(seed);
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const ReplayResult once = ReplayOn(trace, nullptr, set, true);
      const Trace replayed = ReplayedTrace(trace, once);
      ASSERT_EQ(replayed.begin(), trace.begin());
      const ReplayResult twice = ReplayOn(replayed, nullptr, set, true);
      ASSERT_EQ(twice.end, once.end) << "seed " << seed;
      ASSERT_EQ(twice.leave, once.leave) << "seed " << seed;
    }
  }
}

// On a timed network the calls of a replayed trace begin and end when the replay says.
TEST(NetworkProperty, ReplayedTraceHasTheTimesOfTheReplay) {
  for (std::uint64_t seed = 0; seed < kNodePrograms; ++seed) {
    const Trace trace = ProgramOnThreeNodes(seed);
    const Network network = MakeNetwork(trace, 20);
    const ReplayResult result = ReplayOn(trace, &network, RuleSet::kBsc, true);
    const Trace replayed = ReplayedTrace(trace, result);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const RankTimeline& old = trace.timelines[rank];
      const RankTimeline& now = replayed.timelines[rank];
      for (std::size_t call = 0; call < now.calls(); ++call) {
        ASSERT_EQ(now.leave(call), trace.begin() + result.leave[rank][call]) << "seed " << seed;
        ASSERT_GE(now.leave(call), now.enter(call));
        const Tick burst = call == 0 ? now.enter(0) - now.begin() : now.enter(call) - now.leave(call - 1);
        const Tick old_burst = call == 0 ? old.enter(0) - old.begin() : old.enter(call) - old.leave(call - 1);
        ASSERT_EQ(burst, old_burst) << "seed " << seed << ", call " << call;
      }
      for (std::size_t event = 1; event < now.region_events(); ++event) {
        ASSERT_GE(now.event_tick(event), now.event_tick(event - 1)) << "seed " << seed;
      }
    }
  }
}

TEST(NetworkProperty, SameAtAnyThreadCount) {
  for (std::uint64_t seed = 0; seed < test::Repeats(20u); ++seed) {
    const Trace trace = ProgramOnThreeNodes(seed);
    Network network = MakeNetwork(trace, 20);
    network.sending = network.receiving = 1;
    const std::vector<Tick> many = ReplayOn(trace, &network).end;
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
    ASSERT_EQ(ReplayOn(trace, &network).end, many);
  }
}

TEST(RealNetworks, EveryRealTraceReplays) {
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    Network network = MakeNetwork(trace, 1e-6 * trace.ticks_per_second);
    const ReplayResult ideal = ReplayOn(trace, nullptr);
    const ReplayResult timed = ReplayOn(trace, &network);
    EXPECT_GE(timed.Duration(), ideal.Duration()) << path;
    network.sending = network.receiving = 2;
    EXPECT_GE(ReplayOn(trace, &network).Duration(), ideal.Duration()) << path;
  }
}

}  // namespace
}  // namespace farscale
