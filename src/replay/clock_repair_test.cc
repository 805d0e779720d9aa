// Repair of clocks, on programs whose true times are known.
#include "replay/clock_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/diagnostics.h"
#include "replay/anomalies.h"
#include "support/repeats.h"
#include "support/wrong_clocks.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

using test::ByClocks;
using test::ClockErrors;
using test::DrawClocks;

// Ranks on nodes of their own that compute for 8 to 12 ms and then exchange messages in a ring, one way or both, some
// with a barrier. A message takes 2 µs, a barrier 5. One tick is a nanosecond.
struct RingExchange {
  std::int32_t ranks = 4;
  int steps = 20;
  bool both_ways = true;
  bool has_barriers = false;
};

class ExchangeProgram {
 public:
  ExchangeProgram(const RingExchange& exchange, std::uint32_t seed) : exchange_(exchange), random_(seed) {
    send_ = builder_.AddRegion("MPI_Send");
    receive_ = builder_.AddRegion("MPI_Recv");
    barrier_ = builder_.AddRegion("MPI_Barrier");
    Communicator world;
    world.name = "MPI_COMM_WORLD";
    for (std::int32_t rank = 0; rank < exchange.ranks; ++rank) {
      const auto node = static_cast<std::int32_t>(builder_.AddNode("node" + std::to_string(rank)));
      builder_.AddRank({node, 1, "rank"});
      world.members.push_back(rank);
    }
    world_ = builder_.AddCommunicator(std::move(world));
    for (std::int32_t rank = 0; rank < exchange.ranks; ++rank) ranks_.emplace_back(builder_.definitions(), rank);
    now_.assign(ranks_.size(), 0);
  }

  Trace Make() {
    std::uniform_int_distribution<Tick> burst(8000000, 12000000);
    for (int step = 0; step < exchange_.steps; ++step) {
      for (Tick& now : now_) now += burst(random_);
      Shift(1);
      if (exchange_.both_ways) Shift(static_cast<std::int32_t>(ranks_.size()) - 1);
      if (exchange_.has_barriers) Barrier();
    }
    for (RankBuilder& rank : ranks_) builder_.SetTimeline(rank);
    return std::move(builder_).Finish();
  }

 private:
  // Everybody sends to the rank so many further on and receives from the one as many before.
  void Shift(std::int32_t by) {
    const auto size = static_cast<std::int32_t>(ranks_.size());
    std::vector<Tick> sent;
    for (std::int32_t rank = 0; rank < size; ++rank) {
      RankBuilder& builder = ranks_[static_cast<std::size_t>(rank)];
      Tick& now = now_[static_cast<std::size_t>(rank)];
      sent.push_back(now);
      builder.Enter(now, send_);
      builder.Send(static_cast<std::uint32_t>((rank + by) % size), world_, 0, 8);
      builder.Leave(now += 100, send_);
    }
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const std::int32_t from = (rank - by + size) % size;
      RankBuilder& builder = ranks_[static_cast<std::size_t>(rank)];
      Tick& now = now_[static_cast<std::size_t>(rank)];
      builder.Enter(now, receive_);
      builder.Receive(static_cast<std::uint32_t>(from), world_, 0, 8);
      now = std::max(now + 100, sent[static_cast<std::size_t>(from)] + 2000);
      builder.Leave(now, receive_);
    }
  }

  void Barrier() {
    const Tick last = *std::max_element(now_.begin(), now_.end());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].Enter(now_[rank], barrier_);
      ranks_[rank].Collective(CollectiveKind::kBarrier, world_, std::nullopt, 0, 0);
      ranks_[rank].Leave(now_[rank] = last + 5000, barrier_);
    }
  }

  const RingExchange exchange_;
  std::mt19937 random_;
  TraceBuilder builder_;
  std::uint32_t send_ = 0, receive_ = 0, barrier_ = 0, world_ = 0;
  std::vector<RankBuilder> ranks_;
  std::vector<Tick> now_;
};

Trace MakeExchange(const RingExchange& exchange, std::uint32_t seed) { return ExchangeProgram(exchange, seed).Make(); }

// How far calls end from their true times, but for what all of them are moved by.
Tick LargestError(const Trace& truth, const Trace& repaired) {
  const Tick shift = repaired.timelines[0].begin() - truth.timelines[0].begin();
  Tick largest = 0;
  for (std::size_t rank = 0; rank < truth.size(); ++rank) {
    for (std::size_t call = 0; call < truth.timelines[rank].calls(); ++call) {
      largest =
          std::max(largest, std::abs(repaired.timelines[rank].leave(call) - shift - truth.timelines[rank].leave(call)));
    }
  }
  return largest;
}

TEST(ClockRepair, LeavesTrueClocksAsTheyAre) {
  for (std::uint32_t seed = 0; seed < test::Repeats(20u); ++seed) {
    const Trace truth = MakeExchange({4, 10, seed % 2 == 0, seed % 3 == 0}, seed);
    Trace trace = truth;
    const Matching matching = MatchSynchronised(trace);
    EXPECT_TRUE(matching.diagnostics.empty());
    EXPECT_EQ(LargestError(truth, trace), 0);
    EXPECT_TRUE(ClocksAgree(truth));
  }
}

// Whatever the offsets and drifts, calls end where they did, within twice the time of a message.
TEST(ClockRepair, FindsOffsetsAndDrifts) {
  for (std::uint32_t seed = 0; seed < test::Repeats(40u); ++seed) {
    RingExchange exchange;
    exchange.ranks = 2 + static_cast<std::int32_t>(seed % 7);
    exchange.has_barriers = seed % 2 == 1;
    const Trace truth = MakeExchange(exchange, seed);
    ClockErrors errors;
    errors.offset = seed % 3 == 0 ? 60 : seed % 3 == 1 ? 1 : 0.005;
    errors.drift = seed % 4 == 0 ? 0 : 50e-6;
    std::vector<ClockCorrection> clocks = DrawClocks(truth, errors, seed);
    clocks[0].drift = 0;  // all others are measured by it
    Trace trace = ByClocks(truth, clocks);
    const Matching matching = MatchSynchronised(trace);
    EXPECT_EQ(matching.diagnostics.count(anomaly::kClocksContradict), 0u) << seed;
    EXPECT_GT(matching.diagnostics.count(anomaly::kClocksCorrected), 0u) << seed;
    EXPECT_LE(LargestError(truth, trace), 4000 + (errors.drift > 0 ? 4000 : 0)) << seed;
    EXPECT_TRUE(ClocksAgree(trace)) << seed;
  }
}

// Several ranks of a node that share its clock, and a clock for every rank.
TEST(ClockRepair, TellsClocksOfNodesFromThoseOfRanks) {
  for (std::uint32_t seed = 0; seed < test::Repeats(20u); ++seed) {
    Trace truth = MakeExchange({8, 10, true, false}, seed);
    truth.nodes.resize(2);
    for (std::size_t rank = 0; rank < truth.size(); ++rank) truth.ranks[rank].node = rank < 4 ? 0 : 1;
    ClockErrors errors;
    errors.drift = 0;
    errors.of_nodes = seed % 2 == 0;
    Trace trace = ByClocks(truth, DrawClocks(truth, errors, seed));
    MatchSynchronised(trace);
    EXPECT_LE(LargestError(truth, trace), 4000) << seed;
  }
}

// Every rank hears from the one before alone, and nothing goes round.
Trace MakeChain() {
  TraceBuilder builder;
  const auto send = builder.AddRegion("MPI_Send"), receive = builder.AddRegion("MPI_Recv");
  const auto world = builder.AddWorld(2);
  RankBuilder first(builder.definitions(), 0), second(builder.definitions(), 1);
  for (Tick step = 0; step < 5; ++step) {
    first.Enter(100 * step + 90, send);
    first.Send(1, world, 0, 8);
    first.Leave(100 * step + 95, send);
    second.Enter(100 * step + 50, receive);
    second.Receive(0, world, 0, 8);
    second.Leave(100 * step + 100, receive);
  }
  builder.SetTimeline(first);
  builder.SetTimeline(second);
  return std::move(builder).Finish();
}

TEST(ClockRepair, SaysWhenMessagesGoOneWayAlone) {
  const Trace truth = MakeChain();
  Trace trace = ByClocks(truth, {{0, 0, 0}, {-1000, 0, 0}});
  const Trace before = trace;
  const Matching matching = MatchSynchronised(trace);
  ASSERT_TRUE(matching.clocks_unknown);
  EXPECT_EQ(matching.diagnostics.count(anomaly::kClocksContradict), 5u);
  EXPECT_THAT(*matching.clocks_unknown, testing::HasSubstr("both directions"));
  EXPECT_EQ(LargestError(before, trace), 0);
  EXPECT_THROW(RequireClocks(trace, matching), Error);
}

// One call of one rank takes place long before the others think so: no clock runs like that.
TEST(ClockRepair, RefusesWhatNoClockExplains) {
  for (std::uint32_t seed = 0; seed < test::Repeats(10u); ++seed) {
    const Trace truth = MakeExchange({4, 20, true, false}, seed);
    std::vector<NewTimes> times(truth.size());
    Trace trace = truth;
    const RankTimeline& timeline = truth.timelines[1];
    NewTimes moved;
    const std::size_t jump = timeline.calls() / 2 + seed;
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      const Tick by = call < jump ? 0 : 30000000 + 1000000 * static_cast<Tick>(seed);
      moved.enter.push_back(timeline.enter(call) + by);
      moved.leave.push_back(timeline.leave(call) + by);
    }
    trace.timelines[1] = Retime(timeline, moved);
    const Matching matching = MatchSynchronised(trace);
    EXPECT_TRUE(matching.clocks_unknown) << seed;
    EXPECT_GT(matching.diagnostics.count(anomaly::kClocksContradict), 0u);
  }
}

// A record is missing, so that every later message is taken for the one before: that says nothing of clocks.
TEST(ClockRepair, TrustsNoChannelThatLacksRecords) {
  TraceBuilder builder;
  const auto send = builder.AddRegion("MPI_Send"), receive = builder.AddRegion("MPI_Recv");
  const auto world = builder.AddWorld(2);
  RankBuilder first(builder.definitions(), 0), second(builder.definitions(), 1);
  for (Tick step = 0; step < 5; ++step) {
    first.Enter(100 * step, send);
    if (step > 0) first.Send(1, world, 0, 8);
    first.Leave(100 * step + 5, send);
    second.Enter(100 * step, receive);
    second.Receive(0, world, 0, 8);
    second.Leave(100 * step + 10, receive);
  }
  builder.SetTimeline(first);
  builder.SetTimeline(second);
  Trace trace = std::move(builder).Finish();
  const Matching matching = MatchSynchronised(trace);
  EXPECT_EQ(matching.diagnostics.count(anomaly::kClocksContradict), 0u);
  EXPECT_EQ(matching.diagnostics.count(anomaly::kClocksCorrected), 0u);
}

// Messages wait in buffers for 10 ms and barriers take 15, so that clocks 2 to 8 ms apart contradict nothing.
Trace MakeSlackProgram(std::uint32_t seed) {
  TraceBuilder builder;
  const auto send = builder.AddRegion("MPI_Send"), receive = builder.AddRegion("MPI_Recv");
  const auto barrier = builder.AddRegion("MPI_Barrier");
  std::mt19937 random(seed);
  std::uniform_int_distribution<Tick> burst(8000000, 12000000);
  const auto ranks = static_cast<std::int32_t>(4 + seed % 5);
  Communicator world;
  world.name = "MPI_COMM_WORLD";
  const auto first = static_cast<std::int32_t>(builder.AddNode("a")),
             second = static_cast<std::int32_t>(builder.AddNode("b"));
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    builder.AddRank({rank < ranks / 2 ? first : second, 1, "rank"});
    world.members.push_back(rank);
  }
  const auto all = builder.AddCommunicator(std::move(world));
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    RankBuilder of(builder.definitions(), rank);
    for (Tick begin = 0; begin < 6 * 40000000; begin += 40000000) {
      of.Enter(begin, send);
      of.Send(static_cast<std::uint32_t>((rank + 1) % ranks), all, 0, 8);
      of.Leave(begin + 1000, send);
      const Tick computed = begin + burst(random);
      of.Enter(computed, receive);
      of.Receive(static_cast<std::uint32_t>((rank + ranks - 1) % ranks), all, 0, 8);
      of.Leave(computed + 1000, receive);
      of.Enter(computed + 1000, barrier);
      of.Collective(CollectiveKind::kBarrier, all, std::nullopt, 0, 0);
      of.Leave(begin + 27000000, barrier);
    }
    builder.SetTimeline(of);
  }
  return std::move(builder).Finish();
}

TEST(ClockRepair, FindsOffsetsThatContradictNothing) {
  for (std::uint32_t seed = 0; seed < test::Repeats(20u); ++seed) {
    const Trace truth = MakeSlackProgram(seed);
    EXPECT_TRUE(ClocksAgree(truth));
    std::vector<ClockCorrection> clocks(truth.size());
    for (std::size_t rank = truth.size() / 2; rank < truth.size(); ++rank) {
      clocks[rank].offset = (seed % 2 == 0 ? 1 : -1) * (2e6 + 3e5 * seed);
    }
    Trace trace = ByClocks(truth, clocks);
    const Matching matching = MatchSynchronised(trace);
    EXPECT_EQ(matching.diagnostics.count(anomaly::kClocksSkewed), 6u) << seed;
    EXPECT_LE(LargestError(truth, trace), 10) << seed;
  }
}

// What a clock that does not run evenly leaves: no message arrives early afterwards, and computation keeps its length
// but for a hundredth of what follows a jump.
TEST(ClockRepair, LogicalClockTakesWhatIsLeft) {
  for (std::uint32_t seed = 0; seed < test::Repeats(10u); ++seed) {
    const Trace truth = MakeExchange({4, 40, true, true}, seed);
    Trace trace = truth;
    std::mt19937 random(seed);
    std::uniform_int_distribution<Tick> jitter(-20000, 20000);
    NewTimes moved;
    const RankTimeline& timeline = truth.timelines[2];
    Tick by = 0;
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      if (call % 10 == 0) by = jitter(random);
      moved.enter.push_back(timeline.enter(call) + by);
      moved.leave.push_back(timeline.leave(call) + by);
    }
    trace.timelines[2] = Retime(timeline, moved);
    ASSERT_FALSE(ClocksAgree(trace));
    const Matching matching = MatchSynchronised(trace);
    ASSERT_FALSE(matching.clocks_unknown) << *matching.clocks_unknown;
    EXPECT_TRUE(ClocksAgree(trace)) << seed;
    EXPECT_LE(LargestError(truth, trace), 60000) << seed;
  }
}

}  // namespace
}  // namespace farscale
