// The matching [replay/matching.h] of a trace whose ranks lie with several processes, none of which has all calls. Each
// numbers the messages and operations of its own ranks; those that it shares with another process have an order that
// both know, so that they can tell each other of them.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/exchange.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// The ranks of one process.
struct TracePart {
  const Trace& trace;                  // with the timelines of its ranks; those of others are empty
  std::vector<std::uint32_t> members;  // which member of the exchange has every rank

  std::vector<std::size_t> OwnRanks(const Exchange& exchange) const;
};

// Messages between ranks of this process and those of another, in the order of their channels and within one in that of
// posting: the k-th that is sent here is the k-th that is received there.
struct MessageBlock {
  std::size_t member = 0;
  std::uint32_t first_sent = 0, end_sent = 0;
  std::uint32_t first_received = 0, end_received = 0;
};

// Operations of a communicator, one after the other.
struct OperationRange {
  std::uint32_t first = 0, end = 0;  // numbers here
  std::uint32_t first_of_all = 0;    // among those of all processes, numbered as in MatchTrace
};

struct PartMatching {
  Matching matching;                       // of ranks here; diagnostics of all, at the first member alone
  std::vector<MessageBlock> blocks;        // by member
  std::vector<OperationRange> operations;  // rising; behind those that other processes have ranks in, too, the others
  std::uint32_t shared_operations = 0;     // below: such in which other processes have ranks, too

  // Of a shared operation.
  std::uint32_t OfAll(std::uint32_t operation) const;
  // Nothing for one without ranks here.
  std::uint32_t Here(std::uint32_t of_all) const;
};

// Throws an input error, on all members, when one has more messages than can be numbered.
PartMatching MatchPart(const TracePart& part, Exchange& exchange);

}  // namespace farscale
