#include "balance/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "balance/task_replay.h"
#include "support/ring_program.h"

namespace farscale {
namespace {

using testing::ElementsAre;

constexpr ReplayRules kMappingRules{RuleSet::kBsc, 32768};

class RingTasks {
 public:
  RingTasks(std::size_t ranks, std::size_t iterations)
      : trace_(test::MakeRing(ranks, iterations, 5)),
        matching_(MatchTrace(trace_)),
        cut_(CutPhase(trace_, PhaseSpec::Region("step"))) {}

  TaskProgram Compiled(const Network* network = nullptr) const {
    return CompileTasks(trace_, matching_, cut_, kMappingRules, network);
  }

 private:
  Trace trace_;
  Matching matching_;
  PhaseCut cut_;
};

Network SlowBetweenNodes() {
  Network network;
  network.name = "test";
  network.local = {1e-6, 1e10, 0, 65536};
  network.remote = {2e-6, 1e9, 0, 65536};
  network.sending = network.receiving = 1;
  network.collectives = StandardCollectives();
  return network;
}

// Neighbours in a ring: dealt out over the nodes, every message leaves its node. Nodes have equal loads then.
TEST(NodeMapping, RoundRobinSendsMoreBetweenNodes) {
  const Network network = SlowBetweenNodes();
  const RingTasks tasks(16, 4);
  std::vector<std::int32_t> nodes(16);
  for (std::size_t i = 0; i < 16; ++i) nodes[i] = static_cast<std::int32_t>(1 - i / 8);
  const std::vector<NodeMapping> mappings = TryMappings(tasks.Compiled(&network), nodes, &network);
  ASSERT_EQ(mappings.size(), 2u);  // as measured is in blocks already
  EXPECT_EQ(mappings[1].placement, Placement::kRoundRobin);
  EXPECT_DOUBLE_EQ(mappings[0].remote_share, 4.0 / 32);
  EXPECT_DOUBLE_EQ(mappings[1].remote_share, 1);
  EXPECT_GT(mappings[1].load_balance_out, mappings[0].load_balance_out);
  EXPECT_DOUBLE_EQ(mappings[1].gain.value, 1 - mappings[1].makespan / mappings[0].makespan);
  EXPECT_TRUE(TryMappings(tasks.Compiled(), std::vector<std::int32_t>(16, 0), nullptr).empty());
}

// Every second rank on the other node: all messages of the ring leave their node. In blocks four of 32 do, and nothing
// is better; the same halves of the ring are found from the messages, so that they are tried once.
TEST(NodeMapping, RanksThatSendEachOtherMostAreTogether) {
  const Network network = SlowBetweenNodes();
  const RingTasks tasks(16, 4);
  TaskProgram shuffled = tasks.Compiled(&network);
  std::vector<std::int32_t> nodes;
  for (std::int32_t i = 0; i < 16; ++i) nodes.push_back(i % 2);
  const std::vector<NodeMapping> mappings = TryMappings(shuffled, nodes, &network);
  ASSERT_GE(mappings.size(), 2u);
  EXPECT_DOUBLE_EQ(mappings[0].remote_share, 1);
  double least = 1;
  for (const NodeMapping& mapping : mappings) least = std::min(least, mapping.remote_share);
  EXPECT_DOUBLE_EQ(least, 4.0 / 32);
}

// Ranks i and i + 8 alone exchange messages: neither blocks nor round robin over four nodes keeps them together.
TEST(NodeMapping, ByMessagesWhereRanksFarApartExchange) {
  const Network network = SlowBetweenNodes();
  const RingTasks tasks(16, 4);
  TaskProgram pairs = tasks.Compiled(&network);
  pairs.edges.clear();
  for (std::uint32_t i = 0; i < 8; ++i) pairs.edges.push_back({i, i + 8, 1e6});
  std::vector<std::int32_t> nodes;
  for (std::int32_t i = 0; i < 16; ++i) nodes.push_back(i / 4);
  const std::vector<NodeMapping> mappings = TryMappings(pairs, nodes, &network);
  const auto found = std::ranges::find(mappings, Placement::kByMessages, &NodeMapping::placement);
  ASSERT_NE(found, mappings.end());
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(found->node_of_rank[i], found->node_of_rank[i + 8]) << i;
  std::vector<int> ranks(4);
  for (const std::int32_t node : found->node_of_rank) ++ranks[static_cast<std::size_t>(node)];
  EXPECT_THAT(ranks, ElementsAre(4, 4, 4, 4));
}

// Whatever is exchanged, no node gets more ranks than the fullest had.
TEST(NodeMapping, NeverFillsANodeMoreThanMeasured) {
  const Network network = SlowBetweenNodes();
  const RingTasks tasks(23, 1);
  const TaskProgram ring = tasks.Compiled(&network);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    TaskProgram program = ring;
    program.edges.clear();
    for (std::uint32_t first = 0; first < 23; ++first) {
      for (std::uint32_t second = first + 1; second < 23; ++second) {
        if (random() % 5 == 0) program.edges.push_back({first, second, static_cast<double>(random() % 1000)});
      }
    }
    const std::int32_t per_node = 2 + i % 6;
    std::vector<std::int32_t> nodes;
    for (std::int32_t rank = 0; rank < 23; ++rank) nodes.push_back(rank / per_node);
    for (const NodeMapping& mapping : TryMappings(program, nodes, &network)) {
      std::map<std::int32_t, std::int32_t> ranks;
      for (const std::int32_t node : mapping.node_of_rank) ++ranks[node];
      for (const auto& [node, count] : ranks) EXPECT_LE(count, per_node) << i;
    }
  }
}

}  // namespace
}  // namespace farscale
