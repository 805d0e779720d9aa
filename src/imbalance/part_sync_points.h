// Where the ranks of this process last ran together with ranks of others before a wait for these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbalance/collective_waits.h"
#include "imbalance/interval_sides.h"
#include "imbalance/part_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

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
