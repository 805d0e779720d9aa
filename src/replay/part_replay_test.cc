// Several processes replay to the tick what one does, whoever has which ranks.
#include "replay/part_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "replay/anomalies.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/replay_rules.h"
#include "support/trace_parts.h"

namespace farscale {
namespace {

using test::Sharing;
using testing::ElementsAre;

constexpr Sharing kSharings[] = {Sharing::kInTurn, Sharing::kBlocks, Sharing::kDrawn, Sharing::kOneHasMost};

Network Timed(std::uint64_t seed) {
  Network network;
  network.remote = {3e-9 * static_cast<double>(seed % 5), 1e9, 1e-9, seed % 3 == 0 ? 1000u : 32768u};
  network.remote.starts_at_receive = seed % 4 == 1;
  network.local = network.remote;
  network.collectives = StandardCollectives();
  return network;
}

void ExpectSame(const ReplayResult& parts, const ReplayResult& whole, const std::string& what) {
  ASSERT_EQ(parts.begin, whole.begin) << what;
  ASSERT_EQ(parts.end, whole.end) << what;
  ASSERT_EQ(parts.leave, whole.leave) << what;
  ASSERT_EQ(parts.calls, whole.calls) << what;
  ASSERT_EQ(parts.diagnostics.findings(), whole.diagnostics.findings()) << what;
}

void Compare(const Trace& trace, const PhaseCut& cut, const ReplayOptions& options, std::size_t processes,
             std::uint64_t seed) {
  const ReplayResult whole = Replay(trace, MatchTrace(trace), cut, options);
  for (const Sharing sharing : kSharings) {
    if (processes > trace.size() && sharing != Sharing::kDrawn) continue;  // some have nothing then
    const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, seed);
    ExpectSame(test::ReplayInParts(trace, cut, options, members, processes), whole,
               "seed " + std::to_string(seed) + ", processes " + std::to_string(processes));
  }
}

TEST(PartReplay, HasTheTimesOfOneProcessOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(50); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const Network network = Timed(seed);
    for (const std::size_t processes : {1, 2, 3, 7, 16}) {
      for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
        const ReplayRules rules = {set, seed % 2 == 0 ? 32768u : 100u};
        Compare(trace, cut, {rules, true}, processes, seed);
        Compare(trace, cut, {rules, seed % 2 == 0, &network}, processes, seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Messages and collectives that cross the edges of a window, and ranks that do not enter a region.
TEST(PartReplay, HasTheTimesOfOneProcessInWindows) {
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(50); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    const double length = trace.Seconds(trace.end() - trace.begin());
    const PhaseSpec window = PhaseSpec::TimeWindow(0.3 * length, 0.8 * length);
    const Network network = Timed(seed);
    const ReplayRules rules = {RuleSet::kCausal, 100};
    for (const std::size_t processes : {2, 3, 7}) {
      Compare(trace, CutPhase(trace, window), {rules, true}, processes, seed);
      Compare(trace, CutPhase(trace, window), {rules, true, &network}, processes, seed);
      if (HasFatalFailure()) return;
    }
  }
}

// Both send before they receive, which the trace shows to have completed: they are released where nobody gets on. Rank
// 2 waits for rank 0, rank 3 for rank 1, so that releasing one before the other would be another program.
TEST(PartReplay, ReleasesSendersAtTheSameState) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-1 | Send>1#a*100000 1-6 | Recv<1#b*100000 6-7 | Send>2#c*100000 7-8\n"
      "r1: comp 0-3 | Send>0#b*100000 3-6 | Recv<0#a*100000 6-7 | Send>3#d*100000 7-9\n"
      "r2: comp 0-2 | Send>3#e*100000 2-7 | Recv<0#c*100000 7-8 | Recv<3#f*100000 8-9\n"
      "r3: comp 0-4 | Send>2#f*100000 4-7 | Recv<1#d*100000 7-9 | Recv<2#e*100000 9-10");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  // A message that its receiver started would arrive later than one that is released.
  Network network = Timed(2);
  network.remote.latency = network.local.latency = 2;
  for (const Network* on : {static_cast<const Network*>(nullptr), static_cast<const Network*>(&network)}) {
    for (const RuleSet set : {RuleSet::kBsc, RuleSet::kCausal}) {
      const ReplayOptions options = {{set, 32768}, true, on};
      EXPECT_GT(Replay(trace, MatchTrace(trace), cut, options).diagnostics.count(anomaly::kRendezvousReleased), 0u);
      for (const std::size_t processes : {2, 3, 4, 7}) Compare(trace, cut, options, processes, processes);
    }
  }
}

// Pairs of ranks that send large messages to each other before they receive, one pair after the other.
std::string RandomExchanges(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> programs(5);
  std::vector<int> clocks(5);
  const auto add = [&](std::size_t rank, const std::string& call, int length) {
    programs[rank] += (programs[rank].empty() ? "" : " | ") + call + " " + std::to_string(clocks[rank]) + "-" +
                      std::to_string(clocks[rank] + length);
    clocks[rank] += length;
  };
  for (int step = 0; step < 12; ++step) {
    const std::size_t a = random() % 5, b = (a + 1 + random() % 4) % 5;
    for (const auto& [own, other] : {std::pair(a, b), std::pair(b, a)}) {
      add(own, "comp", 1 + static_cast<int>(random() % 6));
      add(own, "Send>" + std::to_string(other) + "#a*100000", 1);
      add(own, "Recv<" + std::to_string(other) + "#a*100000", 1);
    }
  }
  std::string text;
  for (std::size_t rank = 0; rank < 5; ++rank) {
    if (programs[rank].empty()) add(rank, "comp", 1);
    text += "r" + std::to_string(rank) + ": " + programs[rank] + "\n";
  }
  return text;
}

TEST(PartReplay, ReleasesSendersOfRandomExchanges) {
  Network network = Timed(2);
  network.remote.latency = network.local.latency = 2;
  for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(100); ++seed) {
    const Trace trace = test::ParseTrace(RandomExchanges(seed));
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    for (const std::size_t processes : {2, 3, 5}) {
      Compare(trace, cut, {test::kCausal, true}, processes, seed);
      Compare(trace, cut, {test::kBsc, true, &network}, processes, seed);
      if (HasFatalFailure()) return;
    }
  }
}

// One prefix waits for another across processes; places of one process lie apart.
TEST(PartReplay, ScansGoOnBeforeAllHaveCome) {
  const Trace trace = test::ParseTrace(
      "comm c: 2 0 1 3\n"
      "r0: Scan@1:c 0-3 | comp 3-4 | Send>1#a 4-5\n"
      "r1: Recv<0#a 0-5 | comp 5-6 | Scan@1:c 6-7\n"
      "r2: comp 0-2 | Scan@1:c 2-3\n"
      "r3: comp 0-1 | Scan@1:c 1-7");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  for (const std::vector<std::uint32_t>& members :
       {std::vector<std::uint32_t>{0, 1, 0, 1}, {0, 1, 1, 0}, {0, 1, 2, 3}, {2, 2, 0, 2}, {0, 0, 0, 0}}) {
    EXPECT_THAT(test::ReplayInParts(trace, cut, {test::kCausal}, members, 4).end, ElementsAre(3, 4, 2, 4));
  }
}

// The root of a broadcast frees those who wait before all have come.
TEST(PartReplay, RootsAreKnownBeforeAllHaveCome) {
  const Trace trace = test::ParseTrace(
      "r0: Bcast@1/2 0-3 | comp 3-4 | Send>1#a 4-5\n"
      "r1: Recv<0#a 0-5 | comp 5-6 | Bcast@1/2 6-7\n"
      "r2: comp 0-2 | Bcast@1/2 2-3");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  for (const std::vector<std::uint32_t>& members :
       {std::vector<std::uint32_t>{0, 1, 2}, {0, 0, 1}, {1, 0, 1}, {1, 0, 0}}) {
    EXPECT_THAT(test::ReplayInParts(trace, cut, {test::kCausal}, members, 3).end, ElementsAre(3, 4, 2));
  }
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Every rank waits for the one before it.
TEST(PartReplay, SaysWhoWaitsAsOneProcessDoes) {
  std::string program;
  for (int rank = 0; rank < 6; ++rank) {
    program += "r" + std::to_string(rank) + ": Recv<" + std::to_string((rank + 5) % 6) + "#a*8 0-2 | Send>" +
               std::to_string((rank + 1) % 6) + "#a*8 2-3\n";
  }
  const Trace trace = test::ParseTrace(program);
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  const std::string whole = ErrorOf([&] { Replay(trace, MatchTrace(trace), cut, {}); });
  EXPECT_THAT(whole, testing::HasSubstr("6 of 6 ranks wait: rank 0 in MPI_Recv"));
  for (const std::size_t processes : {1, 2, 3, 7}) {
    const auto members = test::ShareRanks(6, processes, Sharing::kDrawn, processes);
    EXPECT_EQ(ErrorOf([&] { test::ReplayInParts(trace, cut, {}, members, processes); }), whole);
  }
  Network slow = Timed(1);
  slow.remote.latency = slow.local.latency = 1e18;
  const ReplayOptions options = {{}, false, &slow};
  const std::string too_slow = ErrorOf([&] { Replay(trace, MatchTrace(trace), cut, options); });
  EXPECT_THAT(too_slow, testing::HasSubstr("exceed the clock"));
  EXPECT_EQ(ErrorOf([&] { test::ReplayInParts(trace, cut, options, {0, 1, 0, 1, 0, 1}, 2); }), too_slow);
}

// A round a hop: each rank gets on one round after the one before it, and in the last round nobody has anything to
// tell.
TEST(PartReplay, EndsAfterARoundWithoutNews) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-1 | Send>1#a*8 1-2\n"
      "r1: Recv<0#a*8 0-2 | comp 2-3 | Send>2#a*8 3-4\n"
      "r2: Recv<1#a*8 0-4 | comp 4-5 | Send>3#a*8 5-6\n"
      "r3: Recv<2#a*8 0-6");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  std::vector<std::uint64_t> rounds(4);
  test::InParts(trace, {0, 1, 2, 3}, 4, [&](const TracePart& part, Exchange& exchange) {
    const PartMatching matching = MatchPart(part, exchange);
    rounds[exchange.own()] = ReplayPart(part, matching, CutOfPart(part, exchange, cut), {}, exchange).rounds;
  });
  EXPECT_THAT(rounds, ElementsAre(4, 4, 4, 4));
}

}  // namespace
}  // namespace farscale
