// The replay [replay/replay.h] of a phase whose ranks lie with several processes, with the times of one process.
//
// It goes in rounds. In each, every process runs its ranks as far as they get. Then all tell each other what was done
// to the messages that they share, and agree on the collective operations that they share. A process does to its copy
// of a shared message what the other one did, so that both copies come to the same times.
//
// The end is a round in which nobody had anything to tell. No process gets anything in it, and what was told before has
// been worked in before its ranks ran: so no rank of any process can move, nothing is under way, and further rounds
// would be like this one. Since times do not depend on the order of running, that is the state in which one process
// with all ranks would stop, too. There large sends that wait for each other are released, in all processes at once, as
// one process does; where there are none, the replay is over.
#pragma once

#include <cstdint>

#include "parallel/exchange.h"
#include "replay/part_program.h"
#include "replay/replay.h"

namespace farscale {

struct PartReplayResult {
  ReplayResult replay;       // of own ranks, without unknown waits; calls and diagnostics of all, at the first member
  std::uint64_t rounds = 0;  // the same on all members
};

// On networks without contention: that needs the order of time of all transfers. Throws the error of Replay, on all
// members, when the calls of some rank cannot complete.
PartReplayResult ReplayPart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                            const ReplayOptions& options, Exchange& exchange);

}  // namespace farscale
