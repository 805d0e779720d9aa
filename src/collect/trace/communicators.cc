#include "collect/trace/communicators.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"
#include "collect/preload/run.h"
#include "collect/preload/call.h"

namespace farscale::collect {
namespace {

std::unordered_map<std::uint64_t, TracedCommunicator> communicators;
std::uint64_t last_key = 0;
const TracedCommunicator* last_found = nullptr;
constexpr int kCopies = 3;        // numbers kept for copies by MPI_Comm_idup; chosen: few programs make more
std::uint32_t numbers_given = 0;  // those that this rank gave as rank 0 of the communicator
std::uint64_t unknown = 0;

std::uint32_t world_rank = 0, world_size = 1;

// A number that no other rank gives; `own` counts those that this one has given.
std::uint32_t NumberAmongRanks(std::uint32_t own) { return world_rank + own * world_size; }

// The ranks of a group in MPI_COMM_WORLD; MPI_UNDEFINED for those of another run.
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

TracedCommunicator Describe(MPI_Comm communicator, std::uint32_t id) {
  TracedCommunicator described;
  described.id = id;
  PMPI_Comm_size(communicator, &described.size);
  PMPI_Comm_rank(communicator, &described.rank);
  return described;
}

GroupDefinition DefinitionOf(MPI_Comm communicator, bool is_inter) {
  GroupDefinition definition;
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

bool HasForeignRanks(const std::vector<std::int32_t>& members) {
  return std::find(members.begin(), members.end(), MPI_UNDEFINED) != members.end();
}

// Numbers of communicators follow those of MPI_COMM_WORLD and MPI_COMM_SELF.
std::uint32_t TakeNumbers(std::uint32_t count) {
  const auto held = HoldSharedState();
  return 2U + NumberAmongRanks(std::exchange(numbers_given, numbers_given + count));
}

// Above the numbers of the groups of communicators, which the definitions count from 0.
constexpr std::uint32_t kFirstGroup = 1U << 28;

std::unordered_map<std::uint64_t, std::uint32_t> windows;                   // numbers by handle
std::map<std::pair<std::uint64_t, Epoch>, std::uint32_t> groups_of_epochs;  // while they are open
std::map<std::vector<std::int32_t>, std::uint32_t> group_numbers;
std::uint32_t windows_named = 0;  // those that this rank named as their rank 0

struct ClockOnTheWay {
  std::uint64_t own = 0;
  std::uint64_t latest = 0;  // result of a reduction
  MPI_Request request = MPI_REQUEST_NULL;
};

bool has_clock = false;
bool is_not_followed[static_cast<std::size_t>(CallId::kCount)];
std::deque<ClockOnTheWay> sent;  // elements stay where they are while both ends change
std::unordered_map<std::uint64_t, std::unique_ptr<ClockOnTheWay>> reductions;
std::uint64_t numbered_reductions = 0;

void Become(std::uint64_t value) {
  if (IsMainThread()) Store(page->ideal, std::max(page->ideal, value));
}

}  // namespace

void StartCommunicators() {
  TracedCommunicator& world = communicators[KeyOf(MPI_COMM_WORLD)] = Describe(MPI_COMM_WORLD, kWorldId);
  world.shadow = MakeShadow(MPI_COMM_WORLD);
  world.next_copy = 2;
  world.copies_left = kCopies;
  world_rank = static_cast<std::uint32_t>(world.rank);
  world_size = static_cast<std::uint32_t>(world.size);
  if (world.rank == 0) numbers_given = kCopies;
  communicators[KeyOf(MPI_COMM_SELF)] = Describe(MPI_COMM_SELF, kSelfId);
}

const TracedCommunicator* FindCommunicator(MPI_Comm communicator) {
  const auto held = HoldSharedState();
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
  GroupDefinition definition = DefinitionOf(communicator, is_inter != 0);
  // Ranks that were started later belong to a run of their own. All members see some, so all leave here.
  if (HasForeignRanks(definition.members) || HasForeignRanks(definition.remote)) return;
  TracedCommunicator added = Describe(communicator, 0);
  added.is_inter = is_inter != 0;
  if (added.is_inter) added.size = static_cast<int>(definition.remote.size());
  const bool names = !added.is_inter || *std::min_element(definition.members.begin(), definition.members.end()) <
                                            *std::min_element(definition.remote.begin(), definition.remote.end());
  unsigned id = names && added.rank == 0 ? TakeNumbers(1 + kCopies) : 0;  // its rank 0 names it
  if (added.is_inter) {
    // Among two groups the one with the lowest rank gives the number; its rank 0 sends it to the other group, and rank
    // 0 of that one to the rest of the first.
    const int from_here = added.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    real.MPI_Bcast(&id, 1, MPI_UNSIGNED, names ? from_here : 0, communicator);
    real.MPI_Bcast(&id, 1, MPI_UNSIGNED, names ? 0 : from_here, communicator);
  } else {
    real.MPI_Bcast(&id, 1, MPI_UNSIGNED, 0, communicator);
  }
  added.id = definition.id = id;
  added.next_copy = id + world_size;
  added.copies_left = added.is_inter ? 0 : kCopies;
  if (names && added.rank == 0) Define(&RankDefinitions::communicators, definition);
  added.shadow = MakeShadow(communicator);
  const auto held = HoldSharedState();
  last_found = nullptr;
  communicators[KeyOf(communicator)] = added;
}

void AddCopy(MPI_Comm old, MPI_Comm copy) {
  const auto held = HoldSharedState();
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
    original.next_copy += world_size;
    --original.copies_left;
  } else {
    return;
  }
  if (added.rank == 0) {
    GroupDefinition definition = DefinitionOf(old, false);
    definition.id = added.id;
    Define(&RankDefinitions::communicators, definition);
  }
  last_found = nullptr;
  communicators[KeyOf(copy)] = added;
}

void RemoveCommunicator(MPI_Comm communicator) {
  const auto held = HoldSharedState();
  const auto found = communicators.find(KeyOf(communicator));
  if (found == communicators.end()) return;
  last_found = nullptr;
  MPI_Comm shadow = found->second.shadow;
  communicators.erase(found);
  if (shadow != MPI_COMM_NULL && !NeedsShadow(shadow)) real.MPI_Comm_free(&shadow);
}

std::uint64_t UnknownCommunicators() { return unknown; }

void AddWindow(MPI_Win window, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr) return;
  unsigned id = 0;
  if (communicator->rank == 0) {
    const auto held = HoldSharedState();
    id = NumberAmongRanks(windows_named++);
  }
  real.MPI_Bcast(&id, 1, MPI_UNSIGNED, 0, in);
  const auto held = HoldSharedState();
  if (communicator->rank == 0) Define(&RankDefinitions::windows, std::pair(std::uint32_t{id}, communicator->id));
  windows[KeyOf(window)] = id;
  for (const Epoch epoch : {Epoch::kAccess, Epoch::kExposure}) groups_of_epochs.erase({KeyOf(window), epoch});
}

void RemoveWindow(MPI_Win window) {
  const auto held = HoldSharedState();
  windows.erase(KeyOf(window));
  for (const Epoch epoch : {Epoch::kAccess, Epoch::kExposure}) groups_of_epochs.erase({KeyOf(window), epoch});
}

std::optional<std::uint32_t> FindWindow(MPI_Win window) {
  const auto held = HoldSharedState();
  const auto found = windows.find(KeyOf(window));
  return found == windows.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> BeginEpoch(MPI_Win window, Epoch epoch, MPI_Group group) {
  const auto held = HoldSharedState();
  if (windows.count(KeyOf(window)) == 0) return std::nullopt;
  groups_of_epochs.erase({KeyOf(window), epoch});
  std::vector<std::int32_t> members = MembersOf(group);
  if (HasForeignRanks(members)) return std::nullopt;
  const auto [entry, is_new] = group_numbers.try_emplace(members, 0);
  if (is_new) {
    entry->second = kFirstGroup + NumberAmongRanks(static_cast<std::uint32_t>(group_numbers.size() - 1));
    Define(&RankDefinitions::groups, GroupDefinition{entry->second, std::move(members), {}});
  }
  groups_of_epochs[{KeyOf(window), epoch}] = entry->second;
  return entry->second;
}

std::optional<std::uint32_t> EndEpoch(MPI_Win window, Epoch epoch) {
  const auto held = HoldSharedState();
  const auto ended = groups_of_epochs.extract({KeyOf(window), epoch});
  return ended ? std::optional(ended.mapped()) : std::nullopt;
}

void StartIdealClock() {
  has_clock = true;
  for (std::size_t i = 0; i < std::size(kCallNames); ++i) {
    const std::string_view name = kCallNames[i];
    const auto contains = [&](std::string_view text) { return name.find(text) != std::string_view::npos; };
    const bool is_collective_file = contains("MPI_File_") && (contains("_all") || contains("_ordered"));
    const bool is_persistent = contains("_init") && !contains("end_init") && !contains("Recv_init");
    is_not_followed[i] = contains("MPI_Win_") || contains("eighbor_") || is_collective_file || contains("_idup") ||
                         (is_persistent && !contains("MPI_Init")) || contains("MPI_Psend") || contains("MPI_Precv");
  }
}

bool IsNotFollowed(CallId id) { return is_not_followed[static_cast<std::size_t>(id)]; }

bool HasIdealClock() { return has_clock; }

std::uint64_t IdealStart(std::uint64_t begin, MPI_Comm world) {
  const std::uint64_t node = std::hash<std::string>()(HostName());
  // The smallest as the complement of the largest.
  const std::uint64_t own[] = {begin, ~begin, node, ~node};
  std::uint64_t largest[4] = {};
  real.MPI_Allreduce(own, largest, 4, MPI_UINT64_T, MPI_MAX, world);
  return largest[2] == ~largest[3] ? largest[0] - ~largest[1] : 0;
}

void StopIdealClock() {
  for (ClockOnTheWay& clock : sent) real.MPI_Wait(&clock.request, MPI_STATUS_IGNORE);
  sent.clear();
  has_clock = false;
}

MPI_Comm MakeShadow(MPI_Comm of) {
  MPI_Comm shadow = MPI_COMM_NULL;
  if (!has_clock) return shadow;
  real.MPI_Comm_dup(of, &shadow);
  PMPI_Comm_set_errhandler(shadow, MPI_ERRORS_RETURN);  // the program has set no handler for it
  return shadow;
}

void SendClock(int peer, int tag, std::uint64_t bytes, MPI_Comm shadow) {
  constexpr std::uint64_t kRendezvous = 32768;  // [docs/formulas.md, rules bsc]
  if (shadow == MPI_COMM_NULL) return;
  const auto held = HoldSharedState();
  if (bytes >= kRendezvous) ++page->large_messages;
  while (!sent.empty()) {
    int is_done = 0;
    real.MPI_Test(&sent.front().request, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) break;
    sent.pop_front();
  }
  ClockOnTheWay& clock = sent.emplace_back();
  clock.own = page->ideal;
  real.MPI_Isend(&clock.own, 1, MPI_UINT64_T, peer, tag, shadow, &clock.request);
}

void ReceiveClock(int peer, int tag, MPI_Comm shadow) {
  if (shadow == MPI_COMM_NULL) return;
  std::uint64_t value = 0;
  real.MPI_Recv(&value, 1, MPI_UINT64_T, peer, tag, shadow, MPI_STATUS_IGNORE);
  Become(value);
}

void ReduceClock(MPI_Comm shadow, ClockWait wait) {
  if (shadow == MPI_COMM_NULL) return;
  const std::uint64_t own = page->ideal;
  std::uint64_t latest = 0;
  const auto reduce = wait == ClockWait::kLower ? real.MPI_Scan : real.MPI_Allreduce;
  reduce(&own, &latest, 1, MPI_UINT64_T, MPI_MAX, shadow);
  if (wait != ClockWait::kNothing) Become(latest);
}

std::uint64_t PostReduceClock(MPI_Comm shadow, ClockWait wait) {
  if (shadow == MPI_COMM_NULL) return 0;
  auto reduction = std::make_unique<ClockOnTheWay>();
  reduction->own = page->ideal;
  ClockOnTheWay& r = *reduction;
  const auto reduce = wait == ClockWait::kLower ? real.MPI_Iscan : real.MPI_Iallreduce;
  reduce(&r.own, &r.latest, 1, MPI_UINT64_T, MPI_MAX, shadow, &r.request);
  const auto held = HoldSharedState();
  reductions[++numbered_reductions] = std::move(reduction);
  return numbered_reductions;
}

void CompleteReduceClock(std::uint64_t number, ClockWait wait) {
  const auto found = [&] {
    const auto held = HoldSharedState();
    return reductions.extract(number);
  }();
  if (!found) return;
  real.MPI_Wait(&found.mapped()->request, MPI_STATUS_IGNORE);
  if (wait != ClockWait::kNothing) Become(found.mapped()->latest);
}

}  // namespace farscale::collect
