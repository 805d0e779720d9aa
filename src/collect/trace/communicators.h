// The communicators and the windows of one-sided communication of a traced run, by numbers that all their members agree
// on, and the groups of ranks that access windows.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "collect/trace/trace_definitions.h"

namespace farscale::collect {

// Handles are numbers in one MPI and pointers in the other.
template <typename Handle>
std::uint64_t KeyOf(Handle handle) {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

// A number that no other rank gives; `own` counts those that this one has given.
std::uint32_t NumberAmongRanks(std::uint32_t own);

struct TracedCommunicator {
  std::uint32_t id = 0;
  int size = 0;  // of the group that messages go to
  int rank = 0;
  bool is_inter = false;  // between two groups
  // Copies made by MPI_Comm_idup, whose members cannot wait to agree on a number: some are kept for them.
  std::uint32_t next_copy = 0;
  int copies_left = 0;
  MPI_Comm shadow = MPI_COMM_NULL;  // for ideal clocks
};

void StartCommunicators();

// The ranks of a group in MPI_COMM_WORLD; MPI_UNDEFINED for those of another run.
std::vector<std::int32_t> MembersOf(MPI_Group group);

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

const std::vector<CommunicatorDefinition>& OwnDefinitions();

// Calls that could not be recorded because their communicator is not known.
std::uint64_t UnknownCommunicators();

// What an epoch is for: a start and its complete, or a post and its wait.
enum class Epoch : std::uint8_t { kAccess, kExposure };

// A window was made; all ranks of `in` call, so that they agree on its number. Nothing for communicators that are not
// known.
void AddWindow(MPI_Win window, MPI_Comm in);
void RemoveWindow(MPI_Win window);
std::optional<std::uint32_t> FindWindow(MPI_Win window);

// An epoch begins: its group, which EndEpoch gives again. Nothing where the window is not known, or where a group has
// ranks of another run.
std::optional<std::uint32_t> BeginEpoch(MPI_Win window, Epoch epoch, MPI_Group group);
std::optional<std::uint32_t> EndEpoch(MPI_Win window, Epoch epoch);

const std::vector<WindowDefinition>& OwnWindows();
const std::vector<GroupDefinition>& OwnGroups();

}  // namespace farscale::collect
