// The network of a machine, as the replay simulates it [docs/formulas.md, nominal network]. Read from TOML files, of
// which configs/networks/ holds some.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// The costs of a message between two ranks.
struct Link {
  double latency = 0;                                          // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes a second
  double overhead = 0;                                         // seconds of the processor's time for every call
  std::uint64_t eager_limit = 32768;                           // messages of this many bytes and more rendezvous
  // An eager message starts when its receive is posted, too; its sender still does not wait.
  bool starts_at_receive = false;
  // Bounds of values that are not known; the value above is then assumed. An infinite latency or overhead and a
  // bandwidth of 0 are no bounds at all.
  std::optional<double> latency_at_most{}, bandwidth_at_least{}, overhead_at_most{};

  bool IsKnown() const { return !latency_at_most && !bandwidth_at_least && !overhead_at_most; }
  double TransferSeconds(double bytes) const { return bytes / bandwidth; }

  friend bool operator==(const Link&, const Link&) = default;
};

// Growth of the time of one half of a collective with the number n of ranks.
enum class CollectiveGrowth : std::uint8_t {
  kNone,         // no time
  kConstant,     // L + S/B
  kLinear,       // (n - 1) (L + S/B)
  kLogarithmic,  // ceil(log2 n) (L + S/B)
};

// The meaning of S, over the ranks that take part. A rank's bytes are what it sends or receives, whichever is less but
// not nothing: tracers differ in whether the root of a broadcast sends its data once or once for every rank.
enum class CollectiveSize : std::uint8_t {
  kMin,
  kMean,
  kMax,
  kTwiceMax,
  kSendPlusReceive,  // the largest sum of what a rank sends and receives
};

struct CollectiveHalf {
  CollectiveGrowth growth = CollectiveGrowth::kNone;
  CollectiveSize size = CollectiveSize::kMax;

  friend bool operator==(const CollectiveHalf&, const CollectiveHalf&) = default;
};

// Time of a collective after its last arrival: fan-in plus fan-out.
struct CollectiveCost {
  CollectiveHalf fan_in;
  CollectiveHalf fan_out;

  friend bool operator==(const CollectiveCost&, const CollectiveCost&) = default;
};

inline constexpr std::size_t kCollectiveKinds = static_cast<std::size_t>(CollectiveKind::kDestroyHandle) + 1;

struct Network {
  std::string id;      // name of the file
  std::string name;    // for reports
  std::string source;  // where the numbers come from
  Link local;          // between ranks of one node
  Link remote;         // between nodes
  std::array<CollectiveCost, kCollectiveKinds> collectives{};
  // The number of transfers between nodes that a node can send, and receive, at once; nothing: any number.
  std::optional<int> sending, receiving;

  // Neither messages nor calls take time, and nothing has to wait for a link.
  bool IsIdeal() const;
  bool HasContention() const { return sending || receiving; }
  const CollectiveCost& CostOf(CollectiveKind kind) const { return collectives[static_cast<std::size_t>(kind)]; }

  friend bool operator==(const Network&, const Network&) = default;
};

// The network if its times count; else nothing.
inline const Network* TimedNetwork(const Network* network) {
  return network != nullptr && !network->IsIdeal() ? network : nullptr;
}

// The unknown values of a link, "latency at most 1.84 µs (460 ns assumed), overhead at most 1.84 µs (0 s assumed)";
// empty when all is.
std::string DescribeUnknown(const Link& link);

// The ideal network: no latency, no end of bandwidth, calls cost nothing.
Network IdealNetwork();

// Reads a network [docs/network-files.md]. `id` is the name of the file without its ending. Throws a usage error with
// file and line.
Network ParseNetwork(const std::string& text, const std::string& file, const std::string& id);

// The text of a file that ParseNetwork reads back as the same network, numbers to their last bit where a file can say
// them. An infinite bandwidth is left out, or written as inf where leaving it out would mean that of the other link.
std::string WriteNetworkToml(const Network& network);

// The costs of collectives when nothing better is known, as in most of configs/networks: both halves along a tree,
// except where every rank gives something to every other one.
std::array<CollectiveCost, kCollectiveKinds> StandardCollectives();

// The same network with latency and bandwidth of both links multiplied.
Network Scaled(Network network, double latency, double bandwidth);

// Bytes of one collective operation, over the ranks that take part.
struct CollectiveBytes {
  std::size_t ranks = 0;
  double smallest = 0, largest = 0, sum = 0;
  double largest_sum = 0;  // sent and received by one rank

  void Add(double sent, double received);
};

// Seconds from the last arrival at a collective until it is over. Where several ranks share a processor, trees have one
// place for each of the `processors`, while every rank still gives its own to every other.
double CollectiveSeconds(const Network& network, CollectiveKind kind, bool is_local, const CollectiveBytes& bytes,
                         std::size_t processors);
inline double CollectiveSeconds(const Network& network, CollectiveKind kind, bool is_local,
                                const CollectiveBytes& bytes) {
  return CollectiveSeconds(network, kind, is_local, bytes, bytes.ranks);
}

// The options of a replay: its rules, of which there are two named sets by which published numbers differ
// [docs/formulas.md, replay], its network and computation.

enum class RuleSet {
  kBsc,     // as Dimemas does with the ideal configuration of the BSC tools, so that numbers compare
  kCausal,  // only what the data dependencies of the program force
};

struct ReplayRules {
  static constexpr std::uint64_t kBscEagerLimit = 32768;  // in the ideal configuration of the BSC tools

  RuleSet set = RuleSet::kBsc;
  std::uint64_t eager_limit = kBscEagerLimit;  // messages of this many bytes and more rendezvous; kBsc fixes it

  // A message posted by this call waits for its receiver, by the limit of the rules or of a network.
  bool IsRendezvous(MpiCall call, std::uint64_t bytes) const { return IsRendezvous(call, bytes, Limit()); }
  bool IsRendezvous(MpiCall call, std::uint64_t bytes, std::uint64_t limit) const;
  // The completion of a non-blocking rendezvous send waits for its receiver.
  bool SendCompletionWaits() const { return set == RuleSet::kCausal; }
  std::uint64_t Limit() const { return set == RuleSet::kBsc ? kBscEagerLimit : eager_limit; }
  bool FinalizeSynchronises() const { return set == RuleSet::kCausal; }
};

std::string ToString(RuleSet set);

// Lengths of the computation of a whole run: of every rank, what comes before each call (from leaving the one before),
// and what follows the last one.
using BurstLengths = std::vector<std::vector<Tick>>;

struct ReplayOptions {
  ReplayRules rules;
  bool keep_calls = false;               // say when every call was left
  const Network* network = nullptr;      // nothing: the ideal one; else its eager limits hold instead of the rules' own
  const BurstLengths* bursts = nullptr;  // nothing: as measured; for whole runs only
  // Ranks are tasks that may lie on any node, and move: what depends on that is left open in the program, which also
  // says where iterations end. Not for Replay, but for the engine of tasks [balance/task_replay.h].
  bool as_tasks = false;
};

}  // namespace farscale
