// The collectives of a task of a Paraver trace: which calls they are, on which communicator, and with which root.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/paraver_cursors.h"
#include "trace/trace_builder.h"

namespace farscale {

// The root of the k-th collective on a communicator, by its index and k. Only the root itself says so.
using ParaverRoots = std::map<std::pair<std::uint32_t, std::uint64_t>, std::int32_t>;

// What all ranks share of them.
struct ParaverCollectiveFacts {
  std::unordered_map<std::uint64_t, std::uint32_t> communicators;  // index by the number in the trace
  std::vector<std::optional<CollectiveKind>> collectives;          // by region; nothing for other functions
  ParaverRoots roots;
};

// Which collectives this task says it is the root of.
ParaverRoots ParaverRootsOf(const ParaverTaskParts& parts, const ParaverCollectiveFacts& facts, std::int32_t rank);

// Attributes of a collective call, as they come with it or beside it at the same time.
struct CollectiveAttributes {
  Tick tick = std::numeric_limits<Tick>::min();
  std::optional<std::uint64_t> communicator;
  std::uint64_t sent = 0, received = 0;
  bool is_root = false;

  void Take(const ParaverFact& fact);
};

// Numbers the collectives of a task on each communicator, and knows which call they belong to.
class CollectiveCalls {
 public:
  explicit CollectiveCalls(const ParaverCollectiveFacts& facts) : facts_(facts) {}

  // An event that may be an attribute of the call at hand, or of the one that is entered at the same time.
  void Attribute(Tick tick, const ParaverFact& fact);
  void Enter(Tick tick);

  struct Collective {
    CollectiveKind kind = CollectiveKind::kBarrier;
    std::uint32_t communicator = 0;
    std::uint64_t number = 0;  // on the communicator
    CollectiveAttributes attributes;
    bool is_known = true;  // the communicator
  };
  // The collective that the call was; nothing when it was none or does not say where.
  std::optional<Collective> Leave(std::uint32_t region);

 private:
  const ParaverCollectiveFacts& facts_;
  bool in_call_ = false;
  CollectiveAttributes attributes_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
};

// The same, recorded as collectives of a rank.
class RecordedCollectives : public CollectiveCalls {
 public:
  RecordedCollectives(const Trace& trace, const ParaverCollectiveFacts& facts, RankBuilder& rank)
      : CollectiveCalls(facts), trace_(trace), facts_(facts), rank_(rank) {}

  void Leave(std::uint32_t region);

 private:
  std::optional<std::uint32_t> RootOf(const Collective& collective, const Region& region);

  const Trace& trace_;
  const ParaverCollectiveFacts& facts_;
  RankBuilder& rank_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> local_roots_;
};

}  // namespace farscale
