// The ideal clock of a rank: how far it would be on a network that takes no time [Rosas14, eq. 3-4]. It advances with
// computation, and where a rank waits for others it becomes the latest of what the rank depends on. For that every
// message is followed by a short one with the sender's clock, and every collective by a reduction of clocks, on
// communicators of farscale's own. All messages count as eager, and collectives wait as under
// the rules `bsc`.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi_functions.h"

namespace farscale::collect {

// Of calls that wait for others, but carry no clock.
bool IsNotFollowed(CallId id);
// This rank has a clock from now on, that of its main thread. What other threads send carries it, too, so that nobody
// waits for it in vain; a run with any such call has no ideal time.
void StartIdealClock();
bool HasIdealClock();
// The clock of a run whose ranks began at different ticks and then came together: where the last one began, counted
// from the first. Ranks of several nodes, whose ticks do not compare, begin at 0. Collective.
std::uint64_t IdealStart(std::uint64_t begin, MPI_Comm world);
// Waits until the last clocks that were sent are on their way. Collective.
void StopIdealClock();

// A communicator for the clocks of the members of another; MPI_COMM_NULL without an ideal clock. Collective.
MPI_Comm MakeShadow(MPI_Comm of);

// After a message to `peer` is posted, and after one from `peer` has come.
void SendClock(int peer, int tag, std::uint64_t bytes, MPI_Comm shadow);
void ReceiveClock(int peer, int tag, MPI_Comm shadow);

// Whose clocks a rank of a collective depends on: on all, on those of ranks up to its own, or on none.
enum class ClockWait : std::uint8_t { kAll, kLower, kNothing };

// After a collective.
void ReduceClock(MPI_Comm shadow, ClockWait wait);

// After a non-blocking collective is posted, and after it has completed. The number names it in between.
std::uint64_t PostReduceClock(MPI_Comm shadow, ClockWait wait);
void CompleteReduceClock(std::uint64_t number, ClockWait wait);

}  // namespace farscale::collect
