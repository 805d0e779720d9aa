// What a replay is asked for: its rules, of which there are two named sets by which published numbers differ
// [docs/formulas.md, replay], its network and computation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/network.h"
#include "trace/mpi_call.h"
#include "trace/trace.h"

namespace farscale {

enum class RuleSet {
  kBsc,     // what Dimemas does with the ideal configuration of the BSC tools, so that numbers compare
  kCausal,  // what the data dependencies of the program force
};

struct ReplayRules {
  static constexpr std::uint64_t kBscEagerLimit = 32768;  // of the ideal configuration of the BSC tools

  RuleSet set = RuleSet::kBsc;
  std::uint64_t eager_limit = kBscEagerLimit;  // messages of this many bytes and more rendezvous; kBsc fixes it

  // Whether a message posted by this call waits for its receiver, by the limit of the rules or of a network.
  bool IsRendezvous(MpiCall call, std::uint64_t bytes) const { return IsRendezvous(call, bytes, Limit()); }
  bool IsRendezvous(MpiCall call, std::uint64_t bytes, std::uint64_t limit) const;
  // Whether the completion of a non-blocking rendezvous send waits for its receiver.
  bool SendCompletionWaits() const { return set == RuleSet::kCausal; }
  std::uint64_t Limit() const { return set == RuleSet::kBsc ? kBscEagerLimit : eager_limit; }
  bool FinalizeSynchronises() const { return set == RuleSet::kCausal; }
};

// What a rank waits for before it leaves a collective.
enum class CollectiveWait {
  kNothing,
  kRoot,   // the arrival of the root
  kLower,  // the arrivals of all ranks up to itself, in the order of the communicator
  kAll,    // the latest arrival
};

CollectiveWait WaitOf(CollectiveKind kind, bool has_root, bool is_root, RuleSet set);

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

  // The network whose times count; nothing when none does.
  const Network* TimedNetwork() const { return network != nullptr && !network->IsIdeal() ? network : nullptr; }
};

}  // namespace farscale
