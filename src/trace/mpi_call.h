// Meaning of MPI functions, by name. The trace formats record messages and collectives, but whether a send is
// synchronous or part of a sendrecv only the name of the call shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace farscale {

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
bool IsInputOutput(MpiCall call);
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

}  // namespace farscale
