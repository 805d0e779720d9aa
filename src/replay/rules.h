// The two named rule sets of the replay [docs/formulas.md, replay]. Published numbers differ by them.
#pragma once

#include <cstdint>
#include <string>

#include "trace/mpi_call.h"

namespace farscale {

enum class RuleSet {
  kBsc,     // what Dimemas does with the ideal configuration of the BSC tools, so that numbers compare
  kCausal,  // what the data dependencies of the program force
};

struct ReplayRules {
  static constexpr std::uint64_t kBscEagerLimit = 32768;

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

}  // namespace farscale
