// Calibration on traces with known links. One tick is a nanosecond. Messages take 1000 ticks and half a tick for every
// byte, so L = 1 us and B = 2000 MB/s, unless a test says otherwise.
#include "replay/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include <cmath>

#include "support/errors.h"
#include "support/program.h"
#include "support/replay_rules.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using test::kBsc;
using test::kCausal;

// One message. Its receive is posted `wait` ticks before its send; the sender is in its call for `sending` ticks.
struct Message {
  std::int32_t from, to;
  std::uint64_t bytes;
  Tick ticks;
  Tick wait = 20000;
  Tick sending = 0;
};

Tick Expected(std::uint64_t bytes) { return 1000 + static_cast<Tick>(bytes) / 2; }

// Messages one after the other, 100,000 ticks apart, by ranks whose clocks are ahead by `clocks`.
Trace MakeTrace(const std::vector<Message>& messages, const std::vector<std::int32_t>& nodes,
                const std::vector<Tick>& clocks = {}) {
  TraceBuilder builder;
  const std::uint32_t send = builder.AddRegion("MPI_Send"), receive = builder.AddRegion("MPI_Recv");
  const std::uint32_t world = builder.AddWorld(static_cast<std::int32_t>(nodes.size()));
  builder.trace().path = "test.otf2";
  builder.trace().nodes = {"a", "b", "c"};
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) builder.trace().ranks[rank].node = nodes[rank];
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    RankBuilder timeline(builder.definitions(), static_cast<std::int32_t>(rank));
    Tick time = clocks.empty() ? 0 : clocks[rank];
    for (const Message& message : messages) {
      time += 100000;
      if (message.from == timeline.rank()) {
        timeline.Enter(time, send);
        timeline.Send(static_cast<std::uint32_t>(message.to), world, 0, message.bytes);
        timeline.Leave(time + message.sending, send);
      } else if (message.to == timeline.rank()) {
        timeline.Enter(time - message.wait, receive);
        timeline.Receive(static_cast<std::uint32_t>(message.from), world, 0, message.bytes);
        timeline.Leave(time + message.ticks, receive);
      }
    }
    builder.SetTimeline(timeline);
  }
  return std::move(builder).Finish();
}

Calibration CalibrateTrace(const Trace& trace, const ReplayRules& rules = kBsc) {
  return Calibrate(trace, MatchTrace(trace), rules);
}

// Ten messages of every size, to and fro between ranks 0 and 1.
std::vector<Message> PingPong(const std::vector<std::uint64_t>& sizes) {
  std::vector<Message> messages;
  for (int i = 0; i < 10; ++i) {
    for (const std::uint64_t bytes : sizes) messages.push_back({i % 2, 1 - i % 2, bytes, Expected(bytes)});
  }
  return messages;
}

TEST(Calibration, LatencyAndBandwidth) {
  const Calibration calibration = CalibrateTrace(MakeTrace(PingPong({100, 2000, 10000}), {0, 1}));
  ASSERT_TRUE(calibration.remote);
  EXPECT_FALSE(calibration.local);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
  EXPECT_EQ(calibration.network.remote.overhead, 0);
  EXPECT_EQ(calibration.network.remote.eager_limit, 32768u);
  EXPECT_EQ(calibration.network.local.latency, calibration.network.remote.latency);
  EXPECT_TRUE(std::isinf(calibration.network.local.latency_at_most.value_or(0)));  // not a single message
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("there are no messages within nodes")));
  EXPECT_EQ(calibration.remote->messages, 30u);
  EXPECT_EQ(calibration.remote->all, 30u);
  EXPECT_EQ(calibration.remote->smallest, 100u);
  EXPECT_EQ(calibration.remote->largest, 10000u);
  EXPECT_EQ(calibration.remote->spread, 0);
  EXPECT_NEAR(calibration.measured_seconds, calibration.replayed_seconds, 1e-9);
  EXPECT_THAT(calibration.network.source, HasSubstr("calibrated from test.otf2, 2 ranks on 3 nodes"));
  EXPECT_THAT(calibration.network.source, HasSubstr("30 of 30 messages"));
}

// Every sending call takes 300 ticks before its message leaves: overhead 0.3 us, and the rest of the time is latency.
// Receives that are posted 5000 ticks after the send are over at once where messages move by themselves, and after the
// whole time of the message where they wait for their receive.
TEST(Calibration, MessagesThatMoveOnceTheirReceiveIsPosted) {
  for (const bool starts_at_receive : {false, true}) {
    std::vector<Message> messages = PingPong({100, 1000, 10000});
    for (int i = 0; i < 20; ++i) {
      messages.push_back({0, 1, 1000, 5000 + (starts_at_receive ? Expected(1000) : 10), -5000});
    }
    const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
    EXPECT_EQ(calibration.network.remote.starts_at_receive, starts_at_receive);
    EXPECT_EQ(calibration.remote->late_posts, 20u);
  }
  // Nine say too little.
  std::vector<Message> messages = PingPong({100, 1000, 10000});
  for (int i = 0; i < 9; ++i) messages.push_back({0, 1, 1000, 5000 + Expected(1000), -5000});
  EXPECT_FALSE(CalibrateTrace(MakeTrace(messages, {0, 1})).network.remote.starts_at_receive);
}

TEST(Calibration, OverheadOfCalls) {
  std::vector<Message> messages = PingPong({100, 2000});
  for (Message& message : messages) {
    message.sending = 300;
    message.ticks += 300;
  }
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_DOUBLE_EQ(calibration.network.remote.overhead, 0.3e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
}

// Two of five messages are late by up to 20 times their time: three of five still are at their time.
TEST(Calibration, NoiseAddsTime) {
  std::vector<Message> messages = PingPong({100, 2000, 10000});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i % 5 < 2) messages[i].ticks += static_cast<Tick>(i) * 700;
  }
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
}

// A size of which every message is late by the same does not move the line through the four others.
TEST(Calibration, OddSizeDoesNotMoveTheLine) {
  std::vector<Message> messages = PingPong({100, 2000, 5000, 10000, 20000});
  for (Message& message : messages) message.ticks += message.bytes == 5000 ? 9000 : 0;
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
}

// The clock of rank 1 is 5 us ahead: messages to it seem to take 5000 ticks more, those from it to arrive before they
// are sent, 1050 - 5000 < 0.
TEST(Calibration, ClocksThatDiffer) {
  const Calibration calibration = CalibrateTrace(MakeTrace(PingPong({100, 2000, 10000}), {0, 1}, {0, 5000}));
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
  EXPECT_DOUBLE_EQ(calibration.remote->clock_difference, 5e-6);
  EXPECT_EQ(calibration.remote->messages, 30u);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("clocks of ranks differ by up to 5.00 µs")));
}

// The same with messages of which four of ten are 40 ticks late and two 80. The median of all is 40 ticks above the
// line through the fast ones, and 40 of 6000 ticks, those of the largest size, relative to it.
TEST(Calibration, ClocksThatDifferUnderNoise) {
  std::vector<Message> messages = PingPong({100, 2000, 10000});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].ticks += std::array<Tick, 5>{0, 0, 40, 40, 80}[i / 6];
  }
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}, {0, 5000}));
  EXPECT_DOUBLE_EQ(calibration.remote->clock_difference, 5e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
  EXPECT_DOUBLE_EQ(calibration.remote->spread, 40e-9);
  EXPECT_NEAR(calibration.remote->relative_spread, 40.0 / 6000, 1e-12);
}

// Messages of 20 and 40 kB, as quick as the line says or slower by up to 4000 ticks: of either size seven of 28 take
// 3000 ticks less than their median. Line through fast ones: slope ((40000 / 2 + 1000) - (20000 / 2 + 1000)) / 20000 =
// 1/2, tilted by 3000 either way 1/2 ± 6000 / 20000, so that L lies between 8000 - 0.8 · 20000 < 0 and 14000 - 0.2 ·
// 20000 = 10000. Neither is told.
std::vector<Message> LargeAndNoisy() {
  std::vector<Message> messages;
  for (int i = 0; i < 56; ++i) {
    const std::uint64_t bytes = i % 2 == 0 ? 20000 : 40000;
    const Tick late = i / 2 < 8 ? 0 : i / 2 < 20 ? 3000 : 4000;
    messages.push_back({i / 2 % 2, 1 - i / 2 % 2, bytes, Expected(bytes) + late});
  }
  return messages;
}

TEST(Calibration, LatencyThatLargeMessagesDoNotTell) {
  const Calibration calibration = CalibrateTrace(MakeTrace(LargeAndNoisy(), {0, 1}));
  const Link& link = calibration.network.remote;
  ASSERT_TRUE(link.latency_at_most);
  EXPECT_NEAR(*link.latency_at_most, 10e-6, 1e-9);
  EXPECT_NEAR(link.latency, 2.5e-6, 1e-9);  // no nearer to the ends of 0 to 10 us than a quarter
  ASSERT_TRUE(link.bandwidth_at_least);
  EXPECT_NEAR(*link.bandwidth_at_least, 1e9 / 0.8, 1e6);
  EXPECT_THAT(calibration.notes,
              Contains(HasSubstr("not known between nodes: latency at most 10.0 µs (2.50 µs assumed), "
                                 "bandwidth at least 1250 MB/s")));
  EXPECT_EQ(ParseNetwork(WriteNetworkToml(calibration.network), "n.toml", "calibrated"), calibration.network);
}

// Without that noise both are told to the digit, though no message is small.
TEST(Calibration, LatencyThatLargeMessagesTell) {
  const Calibration calibration = CalibrateTrace(MakeTrace(PingPong({20000, 40000}), {0, 1}));
  EXPECT_FALSE(calibration.network.remote.latency_at_most);
  EXPECT_FALSE(calibration.network.remote.bandwidth_at_least);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 1e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth, 2e9);
}

// Messages of 30 and 60 kB, larger ones slower than in proportion: the line meets no byte at 14000 - 2 · 9000 < 0. The
// fast ones of 30 kB are all that bounds the latency.
TEST(Calibration, LatencyIsNeverNothing) {
  std::vector<Message> messages;
  for (int i = 0; i < 40; ++i) messages.push_back({i % 2, 1 - i % 2, i < 20 ? 30000u : 60000u, i < 20 ? 9000 : 23000});
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_GT(calibration.network.remote.latency, 0);
  ASSERT_TRUE(calibration.network.remote.latency_at_most);
  EXPECT_LE(*calibration.network.remote.latency_at_most, 9e-6);
}

// Calls that only post take 3000 ticks, whole messages of 100 bytes 1050: the time without bytes is halved.
TEST(Calibration, OverheadAboveWholeMessages) {
  std::vector<Message> messages = PingPong({100, 2000});
  for (Message& message : messages) message.sending = 3000;
  const Link& link = CalibrateTrace(MakeTrace(messages, {0, 1})).network.remote;
  EXPECT_DOUBLE_EQ(link.latency, 0.5e-6);
  EXPECT_DOUBLE_EQ(link.overhead, 0.5e-6);
  EXPECT_DOUBLE_EQ(link.latency_at_most.value_or(0), 1e-6);
  EXPECT_DOUBLE_EQ(link.overhead_at_most.value_or(0), 1e-6);
}

TEST(Calibration, OneSizeTellsNoBandwidth) {
  const Calibration calibration = CalibrateTrace(MakeTrace(PingPong({2000}), {0, 1}));
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency_at_most.value_or(0), 2e-6);
  EXPECT_DOUBLE_EQ(calibration.network.remote.bandwidth_at_least.value_or(0), 1e9);  // 2000 bytes in 2 us
  EXPECT_FALSE(calibration.remote->has_bandwidth);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency, 2e-6);
  EXPECT_TRUE(std::isinf(calibration.network.remote.bandwidth));
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("between nodes do not show a bandwidth")));
}

// As much of a large message's time is taken to be latency as a small message has of its bytes: 4096 of 100,000 in 51
// us.
TEST(Calibration, OneLargeSizeIsTakenToTransferMostOfItsTime) {
  const Link& link = CalibrateTrace(MakeTrace(PingPong({100000}), {0, 1})).network.remote;
  EXPECT_DOUBLE_EQ(link.latency, 2.089e-6);
  EXPECT_DOUBLE_EQ(link.latency_at_most.value_or(0), 51e-6);
  EXPECT_DOUBLE_EQ(link.bandwidth, 2.045e9);
  EXPECT_DOUBLE_EQ(link.bandwidth_at_least.value_or(0), 1.961e9);
}

// The bytes of the largest message take 50 of 1050 ticks, by a clock that may be off by one.
TEST(Calibration, SmallMessagesOnlyBoundTheBandwidth) {
  const Link& link = CalibrateTrace(MakeTrace(PingPong({10, 100}), {0, 1})).network.remote;
  EXPECT_FALSE(link.latency_at_most);
  EXPECT_DOUBLE_EQ(link.latency, 1e-6);
  EXPECT_DOUBLE_EQ(link.bandwidth, 2e9);
  EXPECT_DOUBLE_EQ(link.bandwidth_at_least.value_or(0), 1.961e9);
}

// Sizes differ, but times only by noise.
TEST(Calibration, NoiseTellsNoBandwidth) {
  std::vector<Message> messages;
  for (int i = 0; i < 40; ++i) {
    const auto bytes = static_cast<std::uint64_t>(1000 + i);
    messages.push_back({i % 2, 1 - i % 2, bytes, 1000 + (i * 7919) % 500});
  }
  EXPECT_FALSE(CalibrateTrace(MakeTrace(messages, {0, 1})).remote->has_bandwidth);
}

// Ranks 0 and 1 share a node. Their messages of one size take 1300 ticks; at the bandwidth between nodes 2000 bytes
// take 1000 of them.
TEST(Calibration, BandwidthOfTheOtherLink) {
  std::vector<Message> messages;
  for (const Message& message : PingPong({100, 2000})) messages.push_back({0, 2, message.bytes, message.ticks});
  for (int i = 0; i < 12; ++i) messages.push_back({i % 2, 1 - i % 2, 2000, 1300});
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 0, 1}));
  EXPECT_DOUBLE_EQ(calibration.network.local.latency, 0.3e-6);
  EXPECT_DOUBLE_EQ(calibration.network.local.bandwidth, 2e9);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("that between nodes is taken")));

  // Messages of 800 ticks are faster than that bandwidth.
  for (Message& message : messages) message.ticks = message.to == 2 ? message.ticks : 800;
  const Calibration faster = CalibrateTrace(MakeTrace(messages, {0, 0, 1}));
  EXPECT_DOUBLE_EQ(faster.network.local.latency, 0.8e-6);
  EXPECT_TRUE(std::isinf(faster.network.local.bandwidth));
}

TEST(Calibration, TooFewMessagesOnOneLink) {
  std::vector<Message> messages = PingPong({100, 2000});
  for (int i = 0; i < 9; ++i) messages.push_back({0, 2, 2000, 5000});
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 0, 1}));
  EXPECT_FALSE(calibration.remote);
  EXPECT_EQ(calibration.network.remote.latency, calibration.network.local.latency);
  EXPECT_DOUBLE_EQ(calibration.network.remote.latency_at_most.value_or(0), 5e-6);  // nine that take 5000 ticks
  EXPECT_THAT(calibration.notes,
              Contains(HasSubstr("not enough data between nodes: 9 of 9 messages can be used, at "
                                 "least 10 are needed; the numbers within nodes are taken for both")));
}

// All receives are posted after their sends.
TEST(Calibration, NothingUsable) {
  std::vector<Message> messages = PingPong({100, 2000});
  for (Message& message : messages) message.wait = -500;
  const auto calibrate = [&] { CalibrateTrace(MakeTrace(messages, {0, 1})); };
  EXPECT_THAT(test::ErrorOf(ErrorKind::kNotEnoughData, calibrate),
              HasSubstr("test.otf2: not enough data to calibrate a network: of 20 messages 0 can be used, at least 10 "
                        "are needed"));
}

// Receives are posted 5000 ticks after their sends. Senders of 8 kB and more leave only then.
TEST(Calibration, EagerLimitAsSeen) {
  std::vector<Message> messages = PingPong({100, 2000, 10000});
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t bytes = i % 2 == 0 ? 4000 : 8000;
    messages.push_back({0, 1, bytes, 5000 + Expected(bytes), -5000, bytes == 8000 ? 6000 : 0});
  }
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_EQ(calibration.network.remote.eager_limit, 8000u);
  EXPECT_TRUE(calibration.remote->found_eager_limit);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("wait for their receiver from 8,000 B on")));
}

// No sender of 60 kB waits, so the limit is above.
TEST(Calibration, EagerLimitAboveThatOfTheRules) {
  std::vector<Message> messages = PingPong({100, 2000, 10000});
  for (int i = 0; i < 12; ++i) messages.push_back({0, 1, 60000, 5000 + Expected(60000), -5000, 0});
  const Calibration calibration = CalibrateTrace(MakeTrace(messages, {0, 1}));
  EXPECT_EQ(calibration.network.remote.eager_limit, 60001u);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("no send between nodes waits for its receiver, up to 60,000 B")));
}

std::vector<Tick> Transfers(const std::string& program, const ReplayRules& rules = kBsc) {
  const Trace trace = test::ParseTrace(program);
  std::vector<Tick> ticks;
  for (const TransferTime& transfer : Observe(trace, MatchTrace(trace), rules)[0].transfers) {
    ticks.push_back(transfer.ticks);
  }
  return ticks;
}

// a: the wait begins at 1, the send at 5, done at 9. b: is waited for from 9 on, sent at 7.
TEST(TransferTimes, OnlyReceiversThatAlreadyWait) {
  EXPECT_THAT(Transfers("r0: comp 0-5 | Send>1#a*10 5-6 | comp 6-7 | Send>1#b*20 7-8\n"
                        "r1: Irecv<0#a*10 0-0 | Irecv<0#b*20 0-0 | comp 0-1 | Wait~a 1-9 | Wait~b 9-12"),
              ElementsAre(4));
  EXPECT_THAT(Transfers("r0: comp 0-5 | Send>1#a*10 5-6\nr1: Recv<0#a*10 0-8"), ElementsAre(3));
}

// Which of the two ended the call, nobody knows.
TEST(TransferTimes, NotSeveralReceivesOfOneCall) {
  EXPECT_THAT(Transfers("r0: comp 0-5 | Send>1#a*10 5-6 | comp 6-7 | Send>1#b*20 7-8\n"
                        "r1: Irecv<0#a*10 0-0 | Irecv<0#b*20 0-0 | comp 0-1 | Waitall~a,b 1-12"),
              IsEmpty());
}

// Both exchange 40000 bytes. Rank 0 waits since 1; what it sends itself starts with rank 1 at 4, together with what it
// gets, and is as large. What rank 1 gets was sent before it came.
TEST(TransferTimes, SendsOfTheSameCall) {
  EXPECT_THAT(Transfers("r0: comp 0-1 | Sendrecv>1#a*40000<1#b*40000 1-9\n"
                        "r1: comp 0-4 | Sendrecv>0#b*40000<0#a*40000 4-9"),
              ElementsAre(5));
  // A larger one may take longer, unless it is small and waits for nobody.
  EXPECT_THAT(Transfers("r0: comp 0-1 | Sendrecv>1#a*50000<1#b*40000 1-9\n"
                        "r1: comp 0-4 | Sendrecv>0#b*40000<0#a*50000 4-9"),
              IsEmpty());
  EXPECT_THAT(Transfers("r0: comp 0-1 | Sendrecv>1#a*50<1#b*40 1-9\nr1: comp 0-4 | Sendrecv>0#b*40<0#a*50 4-9"),
              ElementsAre(5));
}

// Nothing is received from oneself over a link, and a successful test does not say since when.
TEST(TransferTimes, NotToOneselfAndNotByTests) {
  EXPECT_THAT(Transfers("r0: Irecv<0#a*10 0-0 | Isend>0#a*10 1-1 | Wait~a 2-3"), IsEmpty());
  EXPECT_THAT(Transfers("r0: comp 0-5 | Send>1#a*10 5-6\nr1: Irecv<0#a*10 0-0 | Test~a 1-9"), IsEmpty());
}

// Rank 0 sends to rank 2 while rank 1, on the same node, sends 500 bytes to rank 3, whose receive ends at 30. Later
// rank 0 sends alone.
TEST(TransferTimes, BytesOfOthersOnTheLinkOfANode) {
  Trace trace = test::ParseTrace(
      "r0: comp 0-5 | Send>2#a*1000 5-6 | comp 6-50 | Send>2#b*2000 50-51\n"
      "r1: comp 0-8 | Send>3#c*500 8-9\n"
      "r2: Recv<0#a*1000 0-20 | Recv<0#b*2000 20-60\n"
      "r3: comp 0-25 | Recv<1#c*500 25-30");
  trace.nodes = {"a", "b", "c"};
  for (std::size_t rank = 0; rank < trace.size(); ++rank) trace.ranks[rank].node = rank < 2 ? 0 : rank < 3 ? 1 : 2;
  const auto [within, between] = Observe(trace, MatchTrace(trace), kBsc);
  ASSERT_EQ(between.transfers.size(), 2u);
  EXPECT_EQ(between.transfers[0].competing_bytes, 500u);
  EXPECT_EQ(between.transfers[1].competing_bytes, 0u);
}

// The wait of a send tells of the eager limit only under rules by which it waits: from 5 to 9, for a receive at 8.
TEST(TransferTimes, WaitsOfSends) {
  const Trace trace = test::ParseTrace(
      "r0: Isend>1#a*40000 0-1 | comp 1-5 | Wait~a 5-9\n"
      "r1: comp 0-8 | Recv<0#a*40000 8-9");
  const Matching matching = MatchTrace(trace);
  EXPECT_THAT(Observe(trace, matching, kBsc)[0].late, IsEmpty());
  EXPECT_THAT(Observe(trace, matching, kCausal)[0].late, ElementsAre(Pair(40000, Pair(0, 1))));
}

}  // namespace
}  // namespace farscale
