// The windows of one-sided communication of a traced run, by numbers that all their ranks agree on, and the groups of
// ranks that access them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace farscale::collect {

// Kept by the rank that is rank 0 of the window until the definitions are written.
struct WindowDefinition {
  std::uint32_t id = 0;
  std::uint32_t communicator = 0;
};

// Kept by the rank that names the group; numbered apart from the groups of communicators.
struct GroupDefinition {
  std::uint32_t id = 0;
  std::vector<std::int32_t> members;  // ranks of MPI_COMM_WORLD
};

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
