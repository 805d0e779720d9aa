// The communicators and the windows of one-sided communication of a traced run, by numbers that all their members agree
// on, and the groups of ranks that access windows.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "collect/trace/trace_definitions.h"
#include "mpi_functions.h"

namespace farscale::collect {

// Handles are numbers in one MPI and pointers in the other.
template <typename Handle>
std::uint64_t KeyOf(Handle handle) {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

struct TracedCommunicator {
  std::uint32_t id = 0;
  int size = 0;  // size of the group that messages go to
  int rank = 0;
  bool is_inter = false;  // between two groups
  bool is_root = false;   // in a copy for one collective; arguments that only the root needs may be anything elsewhere
  // Copies made by MPI_Comm_idup, whose members cannot wait to agree on a number: some are kept for them.
  std::uint32_t next_copy = 0;
  int copies_left = 0;
  MPI_Comm shadow = MPI_COMM_NULL;  // for ideal clocks
};

void StartCommunicators();

// Nothing for communicators with ranks of another run, and those made where farscale did not see it.
const TracedCommunicator* FindCommunicator(MPI_Comm communicator);
// The same for a collective with a root or without; nothing for those with a root between two groups, which are not
// recorded.
const TracedCommunicator* FindForCollective(MPI_Comm communicator, bool has_root);

// A communicator was made; all its members call, so that they agree on its number. MPI_COMM_NULL is ignored.
void AddCommunicator(MPI_Comm communicator);
// The same of a copy that will be there when a request has completed. Its messages carry no ideal clocks.
void AddCopy(MPI_Comm old, MPI_Comm copy);
void RemoveCommunicator(MPI_Comm communicator);

// Calls that could not be recorded because their communicator is not known.
std::uint64_t UnknownCommunicators();

// A window was made; all ranks of `in` call, so that they agree on its number. Nothing for communicators that are not
// known.
void AddWindow(MPI_Win window, MPI_Comm in);
void RemoveWindow(MPI_Win window);
std::optional<std::uint32_t> FindWindow(MPI_Win window);

// The purpose of an epoch: a start and its complete, or a post and its wait.
enum class Epoch : std::uint8_t { kAccess, kExposure };

// An epoch begins: its group, which EndEpoch gives again. Nothing where the window is not known, or where a group has
// ranks of another run.
std::optional<std::uint32_t> BeginEpoch(MPI_Win window, Epoch epoch, MPI_Group group);
std::optional<std::uint32_t> EndEpoch(MPI_Win window, Epoch epoch);

// The ideal clock of a rank: how far it would be on a network that takes no time [Rosas14, eq. 3-4]. It advances with
// computation, and where a rank waits for others it becomes the latest of what the rank depends on. For that every
// message is followed by a short one with the sender's clock, and every collective by a reduction of clocks, on
// communicators of farscale's own. All messages count as eager, and collectives wait as under
// the rules `bsc`.

// True for calls that wait for others, but carry no clock.
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
