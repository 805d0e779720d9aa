// What the order of arrivals at collective operations may and may not change, on programs worked out by hand. One tick
// is a second.
#include "replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/replay_rules.h"

namespace farscale {
namespace {

using testing::ElementsAre;

using test::kCausal;

// When each rank ends.
std::vector<Tick> CausalEnds(const std::string& program, const Network* network = nullptr) {
  const Trace trace = test::ParseTrace(program);
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {kCausal, false, network}).end;
}

// Every half of the collectives takes a step of 2 + 8/10 s for the 8 bytes that they have in these texts: 3 ticks.
Network OneStep(CollectiveKind kind) {
  Network network;
  network.remote = network.local = {2, 10, 0, 100};
  network.collectives[static_cast<std::size_t>(kind)] = {{}, {CollectiveGrowth::kConstant, CollectiveSize::kMax}};
  return network;
}

std::string ArriveAt1And5And3(const std::string& call) {
  return "r0: comp 0-1 | " + call + " 1-6\nr1: comp 0-5 | " + call + " 5-6\nr2: comp 0-3 | " + call + " 3-6";
}

// The data leave the root at once and take 3 s, so that rank 2, there at 3, has them from rank 0 at 1 + 3 = 4 and from
// rank 1 at 5 + 3 = 8. Rank 1, there at 5, does not wait for what rank 0 sent at 1.
TEST(Engine, BroadcastTakesItsTimeFromTheRootOn) {
  for (const char* name : {"Bcast", "Scatter"}) {
    const Network network = OneStep(*name == 'B' ? CollectiveKind::kBroadcast : CollectiveKind::kScatter);
    const std::string call = std::string(name) + "@1/";
    EXPECT_THAT(CausalEnds(ArriveAt1And5And3(call + "0"), &network), ElementsAre(1, 5, 4)) << name;
    EXPECT_THAT(CausalEnds(ArriveAt1And5And3(call + "1"), &network), ElementsAre(8, 5, 8)) << name;
  }
}

// 3 s after the last arrival among the ranks up to one's own: 1 + 3, 5 + 3, 5 + 3.
TEST(Engine, ScanTakesItsTimeFromTheLastOfThoseBeforeOn) {
  const Network network = OneStep(CollectiveKind::kScan);
  EXPECT_THAT(CausalEnds(ArriveAt1And5And3("Scan@1"), &network), ElementsAre(4, 8, 8));
}

// Only the root needs the others: it leaves at 5 + 3, they when they have given what they have.
TEST(Engine, ReduceTakesItsTimeAtTheRoot) {
  const Network network = OneStep(CollectiveKind::kReduce);
  EXPECT_THAT(CausalEnds(ArriveAt1And5And3("Reduce@1/2"), &network), ElementsAre(1, 5, 8));
}

// Rank 0 waits for the root, which comes at 2, and sends at 3. Rank 1 has that at 3 and comes to the broadcast at 4:
// were rank 0 to wait until all have come, nobody would ever get on.
TEST(Engine, TheRootFreesThoseWhoWaitBeforeTheOthersCome) {
  for (const char* name : {"Bcast", "Scatter"}) {
    const std::string call = std::string(name) + "@1/2";
    EXPECT_THAT(CausalEnds("r0: " + call + " 0-3 | comp 3-4 | Send>1#a 4-5\n" +  //
                           "r1: Recv<0#a 0-5 | comp 5-6 | " + call + " 6-7\n" +  //
                           "r2: comp 0-2 | " + call + " 2-3"),
                ElementsAre(3, 4, 2))
        << name;
  }
}

// The same with a prefix in the order of the communicator, rank 2 first: it frees rank 0 at 2 without rank 1.
TEST(Engine, ThePrefixFreesThoseWhoWaitBeforeTheOthersCome) {
  EXPECT_THAT(CausalEnds("comm c: 2 0 1\n"
                         "r0: Scan@1:c 0-3 | comp 3-4 | Send>1#a 4-5\n"
                         "r1: Recv<0#a 0-5 | comp 5-6 | Scan@1:c 6-7\n"
                         "r2: comp 0-2 | Scan@1:c 2-3"),
              ElementsAre(3, 4, 2));
}

// Ranks 0 and 1 are free at 2, when the root comes, whichever of them waits behind the other; rank 3 comes at 4.
TEST(Engine, AllWhoWaitForTheRootAreFreed) {
  EXPECT_THAT(CausalEnds("r0: Bcast@1/2 0-3 | comp 3-4\n"
                         "r1: comp 0-1 | Bcast@1/2 1-3 | comp 3-5\n"
                         "r2: comp 0-2 | Bcast@1/2 2-3\n"
                         "r3: comp 0-4 | Bcast@1/2 4-5"),
              ElementsAre(3, 4, 2, 4));
}

}  // namespace
}  // namespace farscale
