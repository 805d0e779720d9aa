// The steps of finding wait states.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

// Call that posts one end of a message; kNoCall outside of the phase. When it is entered stands here as well, because
// the calls of the other rank are anywhere in memory.
struct MessageEnd {
  Tick enter = 0;
  std::uint32_t call = kNoCall;
};

// Of every message. Senders write one table, receivers the other, so that ranks can be looked at in parallel.
struct MessageEnds {
  std::vector<MessageEnd> sent, received;
};
MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities);

// What diagnostics count of a rank.
struct SearchCounts {
  std::uint64_t needs = 0, violations = 0, flushes = 0;
};

// Fills in the waits for messages and collectives, and marks on the ranks that waited; one result a rank.
std::vector<SearchCounts> SearchRanks(const Trace& trace, const Matching& matching, const Activities& activities,
                                      const CollectiveWaits& collectives, const MessageEnds& ends, WaitStates& states);

// Calls of the phase in which the rank flushes a window that it shares.
std::uint64_t CountFlushes(const Trace& trace, const Activities& activities, std::size_t rank);

// Adds the waits for locks of windows, where the trace records these, and marks where they end [docs/formulas.md,
// wait states].
void AddLockWaits(const Trace& trace, const Activities& activities, WaitStates& states);

// Every mark on both of its ranks; then in their order.
void MirrorMarks(std::vector<std::vector<SyncMark>>& marks);
void SortMarks(std::vector<std::vector<SyncMark>>& marks);

// Where a rank was done with its operations in the epoch that it ends with a complete: it left the last one, or began
// the epoch.
Tick DoneBefore(const Trace& trace, const Activities& activities, std::uint32_t rank, std::uint32_t complete);

// Fills late_completes from the early waits. done_of(wait): DoneBefore of the late rank.
using DoneOf = std::function<Tick(const WaitState& wait)>;
void AddLateCompletes(const Activities& activities, const DoneOf& done_of, std::vector<RankWaits>& ranks);

// The rank that ends last, of equals the lowest, and the call that stands for its end.
struct LastRank {
  std::uint32_t rank = kNoCall;
  std::uint32_t call = 0;
};
LastRank FindLastRank(const Activities& activities);
// Every other rank waits for it at the end of the phase.
void AddWaitsAtEnd(const Activities& activities, const LastRank& last, std::vector<RankWaits>& ranks);

Diagnostics DiagnosticsOf(const Trace& trace, const std::vector<SearchCounts>& counts);

}  // namespace farscale
