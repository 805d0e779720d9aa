#include "collect/windows.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "collect/communicators.h"
#include "collect/run.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

// Above the numbers of the groups of communicators, which the definitions count from 0.
constexpr std::uint32_t kFirstGroup = 1U << 28;

struct TracedWindow {
  std::uint32_t id = 0;
  std::optional<std::uint32_t> groups[2];  // of the open epochs
};

std::unordered_map<std::uint64_t, TracedWindow> windows;
std::vector<WindowDefinition> window_definitions;
std::vector<GroupDefinition> group_definitions;
std::map<std::vector<std::int32_t>, std::uint32_t> group_numbers;
std::uint32_t windows_named = 0;  // by this rank as rank 0 of them

TracedWindow* Find(MPI_Win window) {
  const auto found = windows.find(KeyOf(window));
  return found == windows.end() ? nullptr : &found->second;
}

std::uint32_t NumberOfGroup(std::vector<std::int32_t> members) {
  const auto [entry, is_new] = group_numbers.try_emplace(members, 0);
  if (is_new) {
    entry->second = kFirstGroup + NumberAmongRanks(static_cast<std::uint32_t>(group_definitions.size()));
    group_definitions.push_back({entry->second, std::move(members)});
  }
  return entry->second;
}

}  // namespace

void AddWindow(MPI_Win window, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr) return;
  unsigned id = NumberAmongRanks(windows_named);
  real.MPI_Bcast(&id, 1, MPI_UNSIGNED, 0, in);
  if (communicator->rank == 0) {
    ++windows_named;
    window_definitions.push_back({id, communicator->id});
  }
  windows[KeyOf(window)] = {id, {}};
}

void RemoveWindow(MPI_Win window) { windows.erase(KeyOf(window)); }

std::optional<std::uint32_t> FindWindow(MPI_Win window) {
  const TracedWindow* found = Find(window);
  return found == nullptr ? std::nullopt : std::optional(found->id);
}

std::optional<std::uint32_t> BeginEpoch(MPI_Win window, Epoch epoch, MPI_Group group) {
  TracedWindow* found = Find(window);
  if (found == nullptr) return std::nullopt;
  std::optional<std::uint32_t>& number = found->groups[static_cast<std::size_t>(epoch)];
  std::vector<std::int32_t> members = MembersOf(group);
  const bool has_strangers = std::find(members.begin(), members.end(), MPI_UNDEFINED) != members.end();
  number = has_strangers ? std::nullopt : std::optional(NumberOfGroup(std::move(members)));
  return number;
}

std::optional<std::uint32_t> EndEpoch(MPI_Win window, Epoch epoch) {
  TracedWindow* found = Find(window);
  if (found == nullptr) return std::nullopt;
  return std::exchange(found->groups[static_cast<std::size_t>(epoch)], std::nullopt);
}

const std::vector<WindowDefinition>& OwnWindows() { return window_definitions; }
const std::vector<GroupDefinition>& OwnGroups() { return group_definitions; }

}  // namespace farscale::collect
