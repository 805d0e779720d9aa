// The timed networks on programs worked out by hand. One tick is a second; links have a latency of 2 s and carry 10
// bytes a second, so a message of 30 bytes takes 2 + 3 = 5 s.
#include "replay/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "replay/replay.h"
#include "support/errors.h"
#include "support/program.h"
#include "support/replay_rules.h"
#include "support/traces.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using test::kBsc;
using test::kCausal;

Network TestNetwork() {
  Network network;
  network.remote = {2, 10, 0, 100};
  network.local = network.remote;
  return network;
}

std::vector<Tick> Ends(const Trace& trace, const Network& network, const ReplayRules& rules = kBsc) {
  return Replay(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), {rules, false, &network}).end;
}

std::vector<Tick> Ends(const std::string& program, const Network& network, const ReplayRules& rules = kBsc) {
  return Ends(test::ParseTrace(program), network, rules);
}

// Every rank on a node of its own.
Trace Apart(const std::string& program) {
  Trace trace = test::ParseTrace(program);
  trace.nodes.clear();
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    trace.nodes.push_back("n" + std::to_string(rank));
    trace.ranks[rank].node = static_cast<std::int32_t>(rank);
  }
  return trace;
}

// Sent at 4, there at 4 + 5; the sender does not wait.
TEST(Network, EagerMessage) {
  EXPECT_THAT(Ends("r0: comp 0-4 | Send>1#a*30 4-5 | comp 5-6\n"
                   "r1: comp 0-1 | Recv<0#a*30 1-5 | comp 5-7",
                   TestNetwork()),
              ElementsAre(5, 11));
}

// Already there when it is asked for at 20.
TEST(Network, EagerMessageInTime) {
  EXPECT_THAT(Ends("r0: Send>1#a*30 0-1\nr1: comp 0-20 | Recv<0#a*30 20-21", TestNetwork()), ElementsAre(0, 20));
}

// The same where messages move only once their receive is posted: there at 20 + 2 + 3. The sender does not wait.
TEST(Network, EagerMessageThatStartsAtItsReceive) {
  Network network = TestNetwork();
  network.local.starts_at_receive = network.remote.starts_at_receive = true;
  EXPECT_THAT(Ends("r0: Send>1#a*30 0-1\nr1: comp 0-20 | Recv<0#a*30 20-21", network), ElementsAre(0, 25));
  // Posted before it is sent, it starts when it is sent.
  EXPECT_THAT(Ends("r0: comp 0-4 | Send>1#a*30 4-5 | comp 5-6\n"
                   "r1: comp 0-1 | Recv<0#a*30 1-5 | comp 5-7",
                   network),
              ElementsAre(5, 11));
}

TEST(Network, FilesSayWhenMessagesStart) {
  const std::string text = "[remote]\nlatency_us = 1\nstarts = \"receive\"\n[local]\nstarts = \"send\"\n";
  const Network network = ParseNetwork(text, "n.toml", "n");
  EXPECT_TRUE(network.remote.starts_at_receive);
  EXPECT_FALSE(network.local.starts_at_receive);
  EXPECT_EQ(ParseNetwork(WriteNetworkToml(network), "n.toml", "n").remote, network.remote);
  EXPECT_EQ(ParseNetwork(WriteNetworkToml(network), "n.toml", "n").local, network.local);
  EXPECT_THAT(test::MessageOf([] { ParseNetwork("[remote]\nstarts = \"now\"\n", "n.toml", "n"); }),
              testing::HasSubstr("'starts' must be \"send\" or \"receive\""));
}

// 100 bytes rendezvous: both posted at max(4, 6), there at 6 + 2 + 10 = 18; the sender is free then too.
TEST(Network, RendezvousStartsWhenBothSidesArePosted) {
  const std::string program =
      "r0: comp 0-4 | Send>1#a*100 4-9 | comp 9-10\n"
      "r1: comp 0-6 | Recv<0#a*100 6-9 | comp 9-11";
  EXPECT_THAT(Ends(program, TestNetwork()), ElementsAre(19, 20));
  // One byte less is eager: there at 4 + 2 + 9.9 = 16 (rounded to ticks).
  const std::string smaller =
      "r0: comp 0-4 | Send>1#a*99 4-9 | comp 9-10\n"
      "r1: comp 0-6 | Recv<0#a*99 6-9 | comp 9-11";
  EXPECT_THAT(Ends(smaller, TestNetwork()), ElementsAre(5, 18));
}

// The receive is posted at 1 and waited for at 10; the send is posted at 4. There at 4 + 12 = 16. The wait of the
// sender at 5 ends with the message under `causal`, at once under `bsc`.
TEST(Network, NonBlockingRendezvous) {
  const std::string program =
      "r0: comp 0-4 | Isend>1#a*100 4-4 | comp 4-5 | Wait~a 5-12\n"
      "r1: comp 0-1 | Irecv<0#a*100 1-1 | comp 1-10 | Wait~a 10-12";
  EXPECT_THAT(Ends(program, TestNetwork(), kCausal), ElementsAre(16, 16));
  EXPECT_THAT(Ends(program, TestNetwork(), kBsc), ElementsAre(5, 16));
}

// Messages within a node have their own latency, bandwidth and eager limit: 1 + 30/30 = 2.
TEST(Network, WithinANode) {
  Network network = TestNetwork();
  network.local = {1, 30, 0, 1000};
  const std::string program = "r0: Send>1#a*30 0-1\nr1: Recv<0#a*30 0-1";
  EXPECT_THAT(Ends(program, network), ElementsAre(0, 2));
  EXPECT_THAT(Ends(Apart(program), network), ElementsAre(0, 5));
}

// A second of the processor for every call that communicates: sent at 1, there at 1 + 5; the receiver is in its call
// since 1 and leaves at 6. Calls that do not communicate cost nothing.
TEST(Network, OverheadOfCalls) {
  Network network = TestNetwork();
  network.local.overhead = 1;
  EXPECT_THAT(Ends("r0: Send>1#a*30 0-1 | comp 1-2 | Comm_rank 2-3\nr1: Recv<0#a*30 0-1", network), ElementsAre(2, 6));
}

// Last arrival at 5. In: log, 3 ranks: 2 steps of 2 + 30/10 = 5 each; out: constant, one step of 5. 5 + 10 + 5 = 20.
TEST(Network, CollectiveOfTwoHalves) {
  Network network = TestNetwork();
  network.collectives[static_cast<std::size_t>(CollectiveKind::kAllreduce)] = {
      {CollectiveGrowth::kLogarithmic, CollectiveSize::kMax}, {CollectiveGrowth::kConstant, CollectiveSize::kMax}};
  const CollectiveBytes bytes{3, 10, 30, 60, 60};
  EXPECT_DOUBLE_EQ(CollectiveSeconds(network, CollectiveKind::kAllreduce, false, bytes), 15);
  // Linear: 2 steps; twice the largest 2 + 6, the smallest 2 + 1, the mean 2 + 2, send plus receive 2 + 6.
  const auto seconds = [&](CollectiveSize size) {
    network.collectives[static_cast<std::size_t>(CollectiveKind::kBarrier)] = {{CollectiveGrowth::kLinear, size}, {}};
    return CollectiveSeconds(network, CollectiveKind::kBarrier, false, bytes);
  };
  EXPECT_DOUBLE_EQ(seconds(CollectiveSize::kTwiceMax), 16);
  EXPECT_DOUBLE_EQ(seconds(CollectiveSize::kMin), 6);
  EXPECT_DOUBLE_EQ(seconds(CollectiveSize::kMean), 8);
  EXPECT_DOUBLE_EQ(seconds(CollectiveSize::kSendPlusReceive), 16);
  EXPECT_DOUBLE_EQ(CollectiveSeconds(network, CollectiveKind::kBarrier, false, {1, 10, 30, 60, 60}), 0);
}

// Every rank gives 8 bytes to the collectives of these texts. 4 ranks, log: 2 steps of 2 + 0.8 after the last arrival
// at 5, rounded to ticks.
TEST(Network, CollectiveInAProgram) {
  Network network = TestNetwork();
  network.collectives[static_cast<std::size_t>(CollectiveKind::kBarrier)] = {
      {CollectiveGrowth::kLogarithmic, CollectiveSize::kMax}, {}};
  EXPECT_THAT(Ends("r0: comp 0-1 | Barrier@1 1-6\nr1: comp 0-5 | Barrier@1 5-6\n"
                   "r2: comp 0-2 | Barrier@1 2-6\nr3: comp 0-3 | Barrier@1 3-6",
                   network),
              ElementsAre(11, 11, 11, 11));
}

// One transfer out of a node at a time. Messages of 30 bytes are ready at 0 and 1; the link carries the first from 0 to
// 3, the second from 3 to 6. With 2 s of latency they are there at 5 and 8.
TEST(Network, TransfersQueueForTheSender) {
  Network network = TestNetwork();
  network.sending = 1;
  const std::string program =
      "r0: Send>1#a*30 0-0 | comp 0-1 | Send>2#a*30 1-1\n"
      "r1: Recv<0#a*30 0-1\nr2: Recv<0#a*30 0-1";
  EXPECT_THAT(Ends(Apart(program), network), ElementsAre(1, 5, 8));
  network.sending = 2;
  EXPECT_THAT(Ends(Apart(program), network), ElementsAre(1, 5, 6));
}

// One transfer into a node at a time: from rank 1 at 0, from rank 0 ready at 1 but started at 3.
TEST(Network, TransfersQueueForTheReceiver) {
  Network network = TestNetwork();
  network.receiving = 1;
  EXPECT_THAT(Ends(Apart("r0: comp 0-1 | Send>2#a*30 1-1\nr1: Send>2#a*30 0-0\n"
                         "r2: Recv<0#a*30 0-9 | Recv<1#a*30 9-10"),
                   network),
              ElementsAre(1, 0, 8));
}

// Within a node nothing queues.
TEST(Network, TransfersWithinANodeDoNotQueue) {
  Network network = TestNetwork();
  network.sending = network.receiving = 1;
  EXPECT_THAT(Ends("r0: Send>1#a*30 0-0 | Send>2#a*30 0-0\nr1: Recv<0#a*30 0-1\nr2: Recv<0#a*30 0-1", network),
              ElementsAre(0, 5, 5));
}

// Large sends that wait for each other are let go as eager ones: sent at 0, there at 12.
TEST(Network, SendersThatWaitForEachOther) {
  EXPECT_THAT(Ends("r0: Send>1#a*100 0-1 | Recv<1#b*100 1-2\nr1: Send>0#b*100 0-1 | Recv<0#a*100 1-2", TestNetwork()),
              ElementsAre(12, 12));
}

// Three messages of 4e17 ticks each, one after the other, would pass the end of 64 bits with what follows.
TEST(Network, TooSlowForTheClock) {
  Network network = TestNetwork();
  network.local.latency = 4e17;
  const std::string sends = "Send>1#a 0-1 | Send>1#b 1-2 | Send>1#c 2-3";
  const std::string receives = "Recv<0#a 0-1 | Recv<0#b 1-2 | Recv<0#c 2-3";
  EXPECT_THROW(Ends("r0: " + sends + "\nr1: " + receives, network), Error);
}

std::string UsageErrorOf(const std::string& text) {
  return test::ErrorOf(ErrorKind::kUsage, [&] { ParseNetwork(text, "n.toml", "n"); });
}

TEST(NetworkFile, EveryKey) {
  const Network network = ParseNetwork(R"(
name = "N"
source = "S"
[remote]
latency_us = 1.5
bandwidth_MBps = 10000
overhead_us = 0.2
eager_limit = 16384
[local]
latency_us = 0.4
[collectives]
bcast = { in = ["none"], out = ["log", "mean"] }
[contention]
sending = 2
receiving = 3
)",
                                       "n.toml", "n");
  EXPECT_EQ(network.id, "n");
  EXPECT_EQ(network.name, "N");
  EXPECT_DOUBLE_EQ(network.remote.latency, 1.5e-6);
  EXPECT_DOUBLE_EQ(network.remote.bandwidth, 1e10);
  EXPECT_DOUBLE_EQ(network.local.latency, 0.4e-6);
  EXPECT_DOUBLE_EQ(network.local.bandwidth, 1e10);  // what [local] leaves out is that of [remote]
  EXPECT_EQ(network.local.eager_limit, 16384u);
  EXPECT_EQ(network.CostOf(CollectiveKind::kBroadcast).fan_out,
            (CollectiveHalf{CollectiveGrowth::kLogarithmic, CollectiveSize::kMean}));
  EXPECT_EQ(network.sending, 2);
  EXPECT_FALSE(network.IsIdeal());
  EXPECT_TRUE(ParseNetwork("", "n.toml", "n").IsIdeal());
}

TEST(NetworkFile, Errors) {
  EXPECT_THAT(UsageErrorOf("[remote]\nlatency = 1\n"), HasSubstr("n.toml:2"));
  EXPECT_THAT(UsageErrorOf("[remote]\nlatency_us = -1\n"), HasSubstr("must lie between 0 and 1e9"));
  EXPECT_THAT(UsageErrorOf("[remote]\nbandwidth_MBps = 0\n"), HasSubstr("must be positive"));
  EXPECT_THAT(UsageErrorOf("[collectives]\nbroadcast = { in = ['log'], out = ['log'] }\n"), HasSubstr("bcast"));
  EXPECT_THAT(UsageErrorOf("[collectives]\nbcast = { in = ['exp'], out = ['log'] }\n"), HasSubstr("unknown 'exp'"));
  for (const char* half : {"[]", "['log', 'max', 'min']", "'log'", "'max'", "1"}) {
    EXPECT_THAT(UsageErrorOf("[collectives]\nbcast = { in = " + std::string(half) + ", out = ['log'] }\n"),
                HasSubstr("n.toml:2"))
        << half;
  }
  EXPECT_THAT(UsageErrorOf("[contention]\nsending = 0\n"), HasSubstr("positive number of transfers"));
}

void ExpectReadsBack(Network network) {
  const std::string text = WriteNetworkToml(network);
  network.id = "n";
  EXPECT_EQ(ParseNetwork(text, "n.toml", "n"), network) << text;
}

TEST(NetworkFile, WrittenOnesReadBack) {
  Network network = IdealNetwork();
  ExpectReadsBack(network);
  EXPECT_THAT(WriteNetworkToml(network), Not(HasSubstr("bandwidth_MBps")));
  network.name = "quotes \" and \\, a line\nand a tab\t";
  network.remote = {1.523 * 1e-6, 9876.5 * 1e6, 0.1 * 1e-6, 12288};
  network.local = {0.3 * 1e-6, std::numeric_limits<double>::infinity(), 0, 0};
  network.collectives = StandardCollectives();
  network.collectives[static_cast<std::size_t>(CollectiveKind::kScan)] = {
      {CollectiveGrowth::kNone, CollectiveSize::kSendPlusReceive}, {CollectiveGrowth::kLinear, CollectiveSize::kMin}};
  network.sending = 3;
  ExpectReadsBack(network);
  EXPECT_THAT(WriteNetworkToml(network), HasSubstr("latency_us = 1.523\n"));
  EXPECT_THAT(WriteNetworkToml(network), HasSubstr("bandwidth_MBps = inf\n"));
  network.receiving = 1;
  network.sending.reset();
  ExpectReadsBack(network);
  ExpectReadsBack(Scaled(network, 0.1, 7));
}

TEST(NetworkFile, PresetsReadBack) {
  for (const std::string name : {"ethernet-25g", "ideal", "infiniband-ddr", "infiniband-hdr", "omni-path-100"}) {
    const std::string file = test::SourceFolder() + "/configs/networks/" + name + ".toml";
    const Network network = ParseNetwork(ReadFile(file), file, name);
    ExpectReadsBack(network);
    if (name == "ideal") continue;
    EXPECT_EQ(network.collectives, StandardCollectives()) << name;
  }
}

TEST(Network, Scaled) {
  const Network network = Scaled(TestNetwork(), 0.5, 4);
  EXPECT_DOUBLE_EQ(network.remote.latency, 1);
  EXPECT_DOUBLE_EQ(network.local.bandwidth, 40);
}

}  // namespace
}  // namespace farscale
