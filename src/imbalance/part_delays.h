// Delay costs and the critical path [imbalance/delay_costs.h, imbalance/critical_path.h] of a phase whose ranks lie
// with several processes: a pass from the last wait to the first, in rounds [Boehme13, section 4.3.3].
//
// A process settles a wait of its rank once all waits caused by it have been charged. It then sends what the rank did
// in the interval to the process of the late rank, which compares and charges. Which waits are charged to a rank, and
// in which order, is sent beforehand: the order of one process, so that all sums have its bits. Charges between the
// same two waits of the late rank are made together, as nothing else happens to its account meanwhile.
//
// Each round, every process settles and charges what it can, then tells the others. A wait is settled after those that
// end later and were caused by its rank, and no others: a wait ends when the late rank enters the call that is waited
// for, and the waits that this rank passes on lie in calls before, which it has left by then. So whatever is left, what
// ends last among it can be done, or has been told of in this round; every round does some, and there is no circle. The
// end is a round behind which no process has anything left to settle or to charge, or was told of a piece of the path.
//
// The critical path goes from the end of the phase to a wait, and from there to the rank that was late, which may be
// one of another process: whoever has that rank goes on in the next round. It takes no rounds of its own, since it
// passes only through waits that are charged, and behind each of them no later than the charge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/critical_path.h"
#include "imbalance/delay_costs.h"
#include "imbalance/interval_sides.h"
#include "imbalance/part_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

// A stretch of the critical path; they are numbered from the end of the phase.
struct NumberedSegment {
  std::uint64_t number = 0;
  PathSegment segment;
};

struct PartDelays {
  DelayCosts costs;                       // of own ranks; rasters of what they cost, to be added up
  std::vector<NumberedSegment> critical;  // on own ranks
  std::uint64_t rounds = 0;               // the same on all members
};

PartDelays FindPartDelays(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives,
                          std::size_t iterations, const DelayOptions& options);

// The synchronization points before the waits of ranks here. Where the late rank lies elsewhere, its process is asked
// about operations that both may have taken part in, from the last to the first, and twice as many of them each time.
class PartSyncPoints {
 public:
  PartSyncPoints(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives);

  SyncPoint Of(std::uint32_t rank, std::uint32_t index) const;

 private:
  struct Open;

  void AskAbout(std::vector<Open> open);
  bool MayTakePart(std::uint32_t operation, std::uint32_t rank);

  const PhasePart& phase_;
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  std::vector<std::vector<char>> members_;          // by communicator, then rank; empty: not asked for so far
  std::vector<std::vector<SyncPoint>> elsewhere_;   // of the waits of every rank for ranks elsewhere, in their order
  std::vector<std::vector<std::uint32_t>> places_;  // of these, among the waits of the rank
};

}  // namespace farscale
