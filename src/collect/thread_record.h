// What the threads of a process's OpenMP teams spend their time on, in shared memory: part of a page (page.h), whose
// version covers this layout, too. Each record is written by its own thread alone, and read by others at any time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farscale::collect {

struct Page;

// Part of the format; chosen: more than the cores of a node.
inline constexpr std::size_t kMostThreads = 256;

// What a thread does in its team. Waiting for the others of the team is added to the sums when it is over: what it
// was is known only then.
enum class Activity : std::uint32_t {
  kOutside = 0,     // of teams
  kUseful = 1,      // computing
  kScheduling = 2,  // in the runtime
  kWaiting = 3,     // for others of the team
  kMpi = 4,         // of threads other than the main one, whose MPI calls the page has
  kDevice = 5,      // in the runtime of a device, likewise
};

// Ticks. A cache line of its own, so that threads do not slow each other down.
struct alignas(64) ThreadRecord {
  std::uint32_t version;  // odd while the record changes
  Activity activity;      // now
  std::uint64_t since;
  std::uint64_t useful;
  std::uint64_t scheduling;
  std::uint64_t imbalance;  // waiting while others of the team worked
  std::uint64_t mpi_wait;   // waiting while the main thread was in MPI
  std::uint64_t mpi;
  std::uint64_t device;  // in runtimes of devices
};

// Of the process. Written by threads that end a team.
struct alignas(64) TeamRecord {
  std::uint32_t records;      // of threads that are in use
  std::uint32_t active;       // threads in teams now beside the main thread
  std::uint32_t most;         // of these, at any time
  std::uint32_t unknown;      // threads beside these and the main one that computed, known when the run ends
  std::uint64_t unknown_cpu;  // their CPU time, ns, and that of threads that have ended
  std::uint64_t regions;      // parallel regions that ended
  // What others than the thread that ended a team did there last, ticks: from when they had no more work.
  std::uint64_t scheduling;
  std::uint64_t imbalance;
  std::uint64_t mpi_wait;
  std::uint64_t active_mpi;  // ticks of the main thread in MPI, times the other threads that were in teams then
};

static_assert(sizeof(ThreadRecord) == 64 && sizeof(TeamRecord) == 64);

// Of all threads of a process's teams; ticks.
struct ThreadSums {
  std::uint64_t worker_useful;    // of other threads than the main one
  std::uint64_t worker_mpi;       // of these
  std::uint64_t worker_device;    // of these
  std::uint64_t imbalance;        // of all
  std::uint64_t scheduling;       // of all
  std::uint64_t main_in_runtime;  // what of both is the main thread's
  std::uint64_t mpi_wait;         // threads in teams that waited while the main thread was in MPI
  std::uint64_t active_mpi;       // as in TeamRecord
  std::uint64_t regions;          // parallel regions
};

// Since the run of a page began, at a tick of its clock.
ThreadSums ThreadSumsOfPage(const Page& page, std::uint64_t now);

}  // namespace farscale::collect
