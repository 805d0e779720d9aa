// From where on two ranks run apart: synchronization points and the intervals between them [Boehme13, section 4.3;
// docs/formulas.md, delay costs].
#pragma once

#include <cstddef>
#include <cstdint>

#include "imbalance/collective_waits.h"
#include "imbalance/wait_states.h"

namespace farscale {

// Calls of a waiter and its delayer at their synchronization point before a wait state; kNoCall: there is none, the
// interval begins with the phase.
struct SyncPoint {
  std::uint32_t call = kNoCall;
  std::uint32_t delayer_call = kNoCall;
};

// The last one before the wait state, in either direction and of any kind. Of several that cross, which non-blocking
// calls allow, the one latest on the waiter.
SyncPoint PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                      const WaitState& wait);

}  // namespace farscale
