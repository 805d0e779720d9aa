// Slack [imbalance/critical_path.h] of a phase whose ranks lie with several processes: a pass from the last moment to
// the first, in rounds.
//
// A moment is when a rank enters or leaves a call. Each takes the slack of its rank from the moment behind it; where
// the call posts something, also from moments of other ranks at which that is needed, as far as those come later in the
// order of one process: by time, then by rank. Which moments are needed is told beforehand. So every process goes back
// on each of its ranks until it gets to a moment for which it has not been told all, and tells the others each round
// what it has found out.
//
// The order has no circles: of all moments that are left anywhere, the last one needs only such that are done, whose
// slack has been told by the end of the round. So every round does some, and the end is a round behind which none is
// left. What is taken is the least of some whole ticks, and does not depend on when it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/critical_path.h"
#include "imbalance/part_waits.h"
#include "imbalance/wait_states.h"
#include "replay/operation_runs.h"

namespace farscale {

struct PartSlack {
  Slack slack;               // of own ranks; of paths as far as they are on own ranks
  std::uint64_t rounds = 0;  // the same on all members
};

PartSlack FindPartSlack(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives);

// Of the same paths on other ranks.
void MergeSlack(Slack& into, const Slack& other);

// Up to when something may be put off that nobody needs.
inline constexpr Tick kNeverNeeded = std::numeric_limits<Tick>::max() / 4;

// A moment at which one rank leaves a call.
struct LeaveMoment {
  Tick tick = 0;
  std::uint32_t rank = 0;

  // Whether the pass comes to it before another rank's entering a call.
  bool IsBehind(Tick enter, std::uint32_t of_rank) const { return tick != enter ? tick > enter : rank < of_rank; }
};

// A send that waited for its receiver, at the moment when that was over.
struct LateSend {
  std::uint32_t message = 0;
  LeaveMoment moment;
  Tick needed = 0;
  bool is_known = false;
};

// A rank that needs an operation, where not all come behind whoever posts it.
struct OperationNeed {
  std::uint32_t operation = 0;
  LeaveMoment moment;
  Tick needed = 0;
  bool is_known = false;
};

struct NumberRange {
  std::uint32_t first = 0, end = 0;
};

// Which moments of other ranks the slack of a rank depends on, and what is known of them.
class SlackNeeds {
 public:
  SlackNeeds(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives);

  // What is needed of a message when it is sent, and when its receive is posted; of an operation when a rank posts it.
  // Nothing: that is not known yet.
  std::optional<Tick> OfSend(std::uint32_t message) const;
  std::optional<Tick> OfReceive(std::uint32_t message, Tick enter, std::uint32_t rank) const;
  std::optional<Tick> OfOperation(std::uint32_t operation, Tick enter, std::uint32_t rank) const;

  // Up to when the receiver can do without a message, the sender without a receive that it waited for, and a rank that
  // has left it without an operation.
  void SetReceived(std::uint32_t message, Tick latest);
  void SetLateSend(std::uint32_t message, Tick latest);
  // Returns what became known of it [WaitedFor].
  NumberRange SetNeed(std::uint32_t operation, const LeaveMoment& moment, Tick latest);
  // Of a shared one by all ranks of all processes.
  void SetOfAll(std::uint32_t operation, Tick latest);
  // Of all ranks here: nothing as long as some are not known.
  std::optional<Tick> NeededHere(std::uint32_t operation) const;
  // What a rank waits to become known where OfOperation knows nothing.
  std::uint32_t WaitedFor(std::uint32_t operation, Tick enter, std::uint32_t rank) const;

  bool IsNeeded(std::uint32_t operation, std::uint32_t rank) const;
  // Whether what ranks need is told one by one.
  bool IsMixed(std::uint32_t operation) const { return operations_[operation].is_mixed; }
  // At the first member: how many processes have ranks that need an operation, by its number among those of all.
  const OperationRuns<std::uint32_t>& processes() const { return processes_; }

 private:
  struct Operation {
    Tick needed = kNeverNeeded;
    Tick first_left = kNeverNeeded, last_entered = std::numeric_limits<Tick>::min();
    std::uint32_t missing = 0;  // ranks here that need it and are not known
    bool awaits_others = false;
    bool is_mixed = false;
  };

  // Of needs of an operation, in the order of the pass.
  struct MixedRange {
    std::uint32_t first = 0, end = 0;
    std::uint32_t known = 0;  // up to here all are, and each has the least of those before and its own
  };

  bool Gives(std::uint32_t operation, std::uint32_t rank) const;
  std::uint32_t FirstNotBehind(const MixedRange& range, Tick enter, std::uint32_t rank) const;
  RankRecords Records(std::size_t rank) const;
  void Collect(std::size_t rank);
  void FlagSends(std::size_t rank);
  void ShareMessages();
  void ShareOperations();
  void FindMixed();

  const PhasePart& phase_;
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  // Of messages: when the receiver leaves the call that gets it; then what it needs.
  std::vector<Tick> received_;
  std::vector<std::uint8_t> flags_;
  std::vector<LateSend> late_sends_;  // by message
  std::vector<Operation> operations_;
  std::vector<OperationNeed> mixed_;
  std::unordered_map<std::uint32_t, MixedRange> mixed_ranges_;  // by operation
  OperationRuns<std::uint32_t> processes_;
};

}  // namespace farscale
