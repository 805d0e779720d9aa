#include "collect/trace/ideal_clock.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collect/preload/call.h"
#include "collect/preload/run.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

struct SentClock {
  std::uint64_t value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Reduction {
  std::uint64_t own = 0;
  std::uint64_t latest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

bool has_clock = false;
bool is_not_followed[static_cast<std::size_t>(CallId::kCount)];
std::deque<SentClock> sent;  // elements stay where they are while both ends change
std::unordered_map<std::uint64_t, std::unique_ptr<Reduction>> reductions;
std::uint64_t numbers = 0;

void Become(std::uint64_t value) {
  if (IsMainThread()) Store(page->ideal, std::max(page->ideal, value));
}

// Forgets what has been sent.
void Sweep() {
  while (!sent.empty()) {
    int is_done = 0;
    real.MPI_Test(&sent.front().request, &is_done, MPI_STATUS_IGNORE);
    if (is_done == 0) return;
    sent.pop_front();
  }
}

std::unique_ptr<Reduction> Take(std::uint64_t number) {
  const SharedState held;
  auto found = reductions.extract(number);
  return found ? std::move(found.mapped()) : nullptr;
}

}  // namespace

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
  for (SentClock& clock : sent) real.MPI_Wait(&clock.request, MPI_STATUS_IGNORE);
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
  const SharedState held;
  if (bytes >= kRendezvous) ++page->large_messages;
  Sweep();
  SentClock& clock = sent.emplace_back();
  clock.value = page->ideal;
  real.MPI_Isend(&clock.value, 1, MPI_UINT64_T, peer, tag, shadow, &clock.request);
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
  if (wait == ClockWait::kLower) {
    real.MPI_Scan(&own, &latest, 1, MPI_UINT64_T, MPI_MAX, shadow);
  } else {
    real.MPI_Allreduce(&own, &latest, 1, MPI_UINT64_T, MPI_MAX, shadow);
  }
  if (wait != ClockWait::kNothing) Become(latest);
}

std::uint64_t PostReduceClock(MPI_Comm shadow, ClockWait wait) {
  if (shadow == MPI_COMM_NULL) return 0;
  auto reduction = std::make_unique<Reduction>();
  reduction->own = page->ideal;
  Reduction& r = *reduction;
  if (wait == ClockWait::kLower) {
    real.MPI_Iscan(&r.own, &r.latest, 1, MPI_UINT64_T, MPI_MAX, shadow, &r.request);
  } else {
    real.MPI_Iallreduce(&r.own, &r.latest, 1, MPI_UINT64_T, MPI_MAX, shadow, &r.request);
  }
  const SharedState held;
  reductions[++numbers] = std::move(reduction);
  return numbers;
}

void CompleteReduceClock(std::uint64_t number, ClockWait wait) {
  std::unique_ptr<Reduction> reduction = Take(number);
  if (reduction == nullptr) return;
  real.MPI_Wait(&reduction->request, MPI_STATUS_IGNORE);
  if (wait != ClockWait::kNothing) Become(reduction->latest);
}

}  // namespace farscale::collect
