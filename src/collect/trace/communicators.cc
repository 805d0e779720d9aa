#include "collect/trace/communicators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "collect/trace/ideal_clock.h"
#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"
#include "collect/preload/run.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

std::unordered_map<std::uint64_t, TracedCommunicator> communicators;
std::vector<CommunicatorDefinition> definitions;
std::uint64_t last_key = 0;
const TracedCommunicator* last_found = nullptr;
constexpr int kCopies = 3;        // numbers kept for copies by MPI_Comm_idup; chosen: few programs make more
std::uint32_t numbers_given = 0;  // by this rank as rank 0 of the communicator
std::uint64_t unknown = 0;

TracedCommunicator Describe(MPI_Comm communicator, std::uint32_t id) {
  TracedCommunicator described;
  described.id = id;
  PMPI_Comm_size(communicator, &described.size);
  PMPI_Comm_rank(communicator, &described.rank);
  return described;
}

CommunicatorDefinition DefinitionOf(MPI_Comm communicator, bool is_inter) {
  CommunicatorDefinition definition;
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(communicator, &group);
  definition.members = MembersOf(group);
  PMPI_Group_free(&group);
  if (!is_inter) return definition;
  PMPI_Comm_remote_group(communicator, &group);
  definition.remote = MembersOf(group);
  PMPI_Group_free(&group);
  return definition;
}

// The following also say it to a trace of a run that does not come to its end.
void Define(CommunicatorDefinition&& definition) {
  const SharedState held;
  RankDefinitions added;
  added.communicators.push_back(definition);
  NoteDefinitions(added);
  definitions.push_back(std::move(definition));
}

bool HasForeignRanks(const std::vector<std::int32_t>& members) {
  return std::find(members.begin(), members.end(), MPI_UNDEFINED) != members.end();
}

// Of two groups the one with the lowest rank gives the number; its rank 0 sends it to the other group, and rank 0 of
// that one to the rest of the first.
void AgreeBetweenGroups(unsigned& id, bool names, int rank, MPI_Comm communicator) {
  const int from_here = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  real.MPI_Bcast(&id, 1, MPI_UNSIGNED, names ? from_here : 0, communicator);
  real.MPI_Bcast(&id, 1, MPI_UNSIGNED, names ? 0 : from_here, communicator);
}

std::uint32_t WorldSize() {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return static_cast<std::uint32_t>(size);
}

void KeepNumbersForCopies(TracedCommunicator& communicator, std::uint32_t first) {
  communicator.next_copy = first;
  communicator.copies_left = kCopies;
}

// Numbers of communicators follow those of MPI_COMM_WORLD and MPI_COMM_SELF.
std::uint32_t TakeNumbers(std::uint32_t count) {
  const SharedState held;
  return 2U + NumberAmongRanks(std::exchange(numbers_given, numbers_given + count));
}

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

std::uint32_t TakeNumberOfWindow() {
  const SharedState held;
  return NumberAmongRanks(windows_named++);
}

TracedWindow* Find(MPI_Win window) {
  const auto found = windows.find(KeyOf(window));
  return found == windows.end() ? nullptr : &found->second;
}

std::uint32_t NumberOfGroup(std::vector<std::int32_t> members) {
  const auto [entry, is_new] = group_numbers.try_emplace(members, 0);
  if (is_new) {
    entry->second = kFirstGroup + NumberAmongRanks(static_cast<std::uint32_t>(group_definitions.size()));
    group_definitions.push_back({entry->second, std::move(members)});
    RankDefinitions added;
    added.groups.push_back(group_definitions.back());
    NoteDefinitions(added);
  }
  return entry->second;
}

}  // namespace

std::uint32_t NumberAmongRanks(std::uint32_t own) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<std::uint32_t>(rank) + own * WorldSize();
}

std::vector<std::int32_t> MembersOf(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Group_size(group, &size);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> here(static_cast<std::size_t>(size)), there(here.size());
  std::iota(here.begin(), here.end(), 0);
  PMPI_Group_translate_ranks(group, size, here.data(), world, there.data());
  PMPI_Group_free(&world);
  return {there.begin(), there.end()};
}

void StartCommunicators() {
  TracedCommunicator& world = communicators[KeyOf(MPI_COMM_WORLD)] = Describe(MPI_COMM_WORLD, kWorldId);
  world.shadow = MakeShadow(MPI_COMM_WORLD);
  KeepNumbersForCopies(world, 2);
  if (world.rank == 0) numbers_given = kCopies;
  communicators[KeyOf(MPI_COMM_SELF)] = Describe(MPI_COMM_SELF, kSelfId);
}

const TracedCommunicator* FindCommunicator(MPI_Comm communicator) {
  const SharedState held;
  const std::uint64_t key = KeyOf(communicator);
  if (last_found != nullptr && key == last_key) return last_found;
  const auto found = communicators.find(key);
  if (found == communicators.end()) {
    ++unknown;
    return nullptr;
  }
  last_key = key;
  last_found = &found->second;
  return last_found;
}

const TracedCommunicator* FindForCollective(MPI_Comm communicator, bool has_root) {
  const TracedCommunicator* found = FindCommunicator(communicator);
  if (found == nullptr || !found->is_inter || !has_root) return found;
  ++unknown;
  return nullptr;
}

void AddCommunicator(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return;
  int is_inter = 0;
  PMPI_Comm_test_inter(communicator, &is_inter);
  CommunicatorDefinition definition = DefinitionOf(communicator, is_inter != 0);
  // Ranks that were started later belong to a run of their own. All members see some, so all leave here.
  if (HasForeignRanks(definition.members) || HasForeignRanks(definition.remote)) return;
  TracedCommunicator added = Describe(communicator, 0);
  added.is_inter = is_inter != 0;
  if (added.is_inter) added.size = static_cast<int>(definition.remote.size());
  const bool names = !added.is_inter || *std::min_element(definition.members.begin(), definition.members.end()) <
                                            *std::min_element(definition.remote.begin(), definition.remote.end());
  unsigned id = names && added.rank == 0 ? TakeNumbers(1 + kCopies) : 0;  // its rank 0 names it
  if (added.is_inter) {
    AgreeBetweenGroups(id, names, added.rank, communicator);
  } else {
    real.MPI_Bcast(&id, 1, MPI_UNSIGNED, 0, communicator);
  }
  added.id = definition.id = id;
  if (!added.is_inter) KeepNumbersForCopies(added, id + WorldSize());
  if (names && added.rank == 0) Define(std::move(definition));
  added.shadow = MakeShadow(communicator);
  const SharedState held;
  last_found = nullptr;
  communicators[KeyOf(communicator)] = added;
}

void AddCopy(MPI_Comm old, MPI_Comm copy) {
  const SharedState held;
  const auto found = communicators.find(KeyOf(old));
  if (found == communicators.end()) return;
  TracedCommunicator& original = found->second;
  TracedCommunicator added = original;
  added.shadow = MPI_COMM_NULL;
  added.copies_left = 0;
  if (original.id == kSelfId) {
    added.id = TakeNumbers(1);
  } else if (original.copies_left > 0) {
    added.id = original.next_copy;
    original.next_copy += WorldSize();
    --original.copies_left;
  } else {
    return;
  }
  if (added.rank == 0) {
    CommunicatorDefinition definition = DefinitionOf(old, false);
    definition.id = added.id;
    Define(std::move(definition));
  }
  last_found = nullptr;
  communicators[KeyOf(copy)] = added;
}

void RemoveCommunicator(MPI_Comm communicator) {
  const SharedState held;
  const auto found = communicators.find(KeyOf(communicator));
  if (found == communicators.end()) return;
  last_found = nullptr;
  MPI_Comm shadow = found->second.shadow;
  communicators.erase(found);
  if (shadow != MPI_COMM_NULL && !NeedsShadow(shadow)) real.MPI_Comm_free(&shadow);
}

const std::vector<CommunicatorDefinition>& OwnDefinitions() { return definitions; }

std::uint64_t UnknownCommunicators() { return unknown; }

void AddWindow(MPI_Win window, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr) return;
  unsigned id = communicator->rank == 0 ? TakeNumberOfWindow() : 0;
  real.MPI_Bcast(&id, 1, MPI_UNSIGNED, 0, in);
  const SharedState held;
  if (communicator->rank == 0) {
    window_definitions.push_back({id, communicator->id});
    RankDefinitions added;
    added.windows.push_back(window_definitions.back());
    NoteDefinitions(added);
  }
  windows[KeyOf(window)] = {id, {}};
}

void RemoveWindow(MPI_Win window) {
  const SharedState held;
  windows.erase(KeyOf(window));
}

std::optional<std::uint32_t> FindWindow(MPI_Win window) {
  const SharedState held;
  const TracedWindow* found = Find(window);
  return found == nullptr ? std::nullopt : std::optional(found->id);
}

std::optional<std::uint32_t> BeginEpoch(MPI_Win window, Epoch epoch, MPI_Group group) {
  const SharedState held;
  TracedWindow* found = Find(window);
  if (found == nullptr) return std::nullopt;
  std::optional<std::uint32_t>& number = found->groups[static_cast<std::size_t>(epoch)];
  std::vector<std::int32_t> members = MembersOf(group);
  number = HasForeignRanks(members) ? std::nullopt : std::optional(NumberOfGroup(std::move(members)));
  return number;
}

std::optional<std::uint32_t> EndEpoch(MPI_Win window, Epoch epoch) {
  const SharedState held;
  TracedWindow* found = Find(window);
  if (found == nullptr) return std::nullopt;
  return std::exchange(found->groups[static_cast<std::size_t>(epoch)], std::nullopt);
}

const std::vector<WindowDefinition>& OwnWindows() { return window_definitions; }
const std::vector<GroupDefinition>& OwnGroups() { return group_definitions; }

}  // namespace farscale::collect
