// Meaning of names in traces: of MPI functions, and of counters. The trace formats record messages and collectives, but
// whether a send is synchronous or part of a sendrecv only the name of the call shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace farscale {

struct Counter;
struct Trace;

enum class MpiCall : std::uint8_t {
  kNone,  // not an MPI function
  kInit,
  kFinalize,
  kSend,  // standard or ready mode, blocking
  kBufferedSend,
  kSynchronousSend,
  kImmediateSend,  // standard or ready mode
  kImmediateBufferedSend,
  kImmediateSynchronousSend,
  kReceive,
  kImmediateReceive,
  kSendReceive,
  kStart,  // starts persistent requests
  kWait,   // and waitall, waitany, waitsome
  kTest,   // and testall, testany, testsome
  kProbe,
  kCollective,
  kImmediateCollective,
  // One-sided communication:
  kOneSided,        // put, get, accumulate and the like: done at the end of their epoch
  kWindowFence,     // and the end of a window: all its ranks
  kWindowPost,      // lets a group of ranks begin
  kWindowComplete,  // notifies a group of ranks that theirs is done
  kWindowWait,      // for them
  kWindowTest,
  kWindowLock,             // and unlock: of the window of one rank, which another may hold
  kWindowLockAll,          // and unlock_all, flush: waits for what operations do elsewhere, if there are any
  kWindowOther,            // start, creation, sync, names: waits for nobody beyond what is recorded
  kInputOutput,            // on files, by one rank alone
  kCollectiveInputOutput,  // all ranks of a file take part
  kOther,
};

bool IsOneSided(MpiCall call);
// Functions of one-sided communication that wait for, or release, whom only their records show.
bool IsWindowSynchronisation(MpiCall call);

// True if the function exchanges messages among neighbours in a topology; also by PMPI_ and Fortran names.
bool IsAmongNeighbours(std::string_view region_name);

// The function as named by C, by Fortran (any case, trailing underscores) or by its profiling name (PMPI_).
// kNone when the name does not begin like an MPI function.
MpiCall ClassifyMpiCall(std::string_view region_name);

enum class CollectiveKind : std::uint8_t {
  kBarrier,
  kBroadcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kAllreduce,
  kReduce,
  kReduceScatter,
  kScan,
  kExscan,
  kCreateHandle,   // communicators, windows, files: all members take part
  kDestroyHandle,  // the last one of MPI
  // Among the threads of a rank, in traces whose ranks are threads [trace/location_trace.h]; never replayed.
  kFork,             // a team's, by its root
  kThreadBarrier,    // written by the programmer
  kImplicitBarrier,  // at the end of a construct
};

std::string_view ToString(CollectiveKind kind);

// The kind of a collective function of MPI by its name, non-blocking ones included; nothing for other functions
// and for those among neighbours.
std::optional<CollectiveKind> CollectiveKindOf(std::string_view region_name);

// Names under which instructions, cycles and CPU time are recorded.

enum class CounterMeaning { kInstructions, kCycles, kCpuTime };

// Which counters of a trace mean what; names as recorded. Without a name, the usual ones are tried (PAPI_TOT_INS,
// PAPI_TOT_CYC, CPU_TIME, task-clock, ...).
struct CounterNames {
  std::string instructions;
  std::string cycles;
  std::string cpu_time;
};

// Index of the counter with this meaning; nothing when no name is given and no usual one is there. Throws a usage
// error that lists the counters when the name given is not in the trace.
std::optional<std::size_t> ChooseCounter(const Trace& trace, CounterMeaning meaning, const CounterNames& names);

// "cycles", "instructions", "CPU time".
std::string ToString(CounterMeaning meaning);

// The meaning of a counter by the usual names; nothing for others.
std::optional<CounterMeaning> UsualMeaning(const std::string& name);

// Counts of a CPU time counter in one second, by its unit and scale. Nanoseconds where the unit is none of
// time: clocks of PAPI and perf are recorded so, with "#" as unit.
double CountsPerSecond(const Counter& counter);

// Notices usual counters that are defined as levels, and names that are one flipped bit away from a usual one.
void CheckCounterName(const Counter& counter, Diagnostics& diagnostics);

// "it has PAPI_TOT_CYC, PAPI_TOT_INS" or "it has no counters": advice for whoever named another.
std::string ListCounters(const Trace& trace);

}  // namespace farscale
