// Parts common to readers and writers of OTF2 archives: the errors of the OTF2 library as ours, and names.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "trace/names.h"

namespace farscale {

// Makes the library silent, which prints to stderr otherwise, and keeps its messages for the error the user gets. Call
// before anything else of it. Safe to call often and from any thread.
void CaptureOtf2Errors();

// Throws an input error at `where` when `code` is not success: "`doing` failed: the library's message".
void CheckOtf2(OTF2_ErrorCode code, const std::string& where, const std::string& doing);

// The library's message about its last error on this thread, cleared by the call.
std::string TakeOtf2Message();

// Runs the action of a callback on `user`, a Reader. Nothing may be thrown through the library, so an exception is kept
// as the reader's `failure`, and reading stops.
template <typename Reader, typename Action>
OTF2_CallbackCode StopOnFailure(void* user, Action action) {
  auto& reader = *static_cast<Reader*>(user);
  try {
    action(reader);
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    reader.failure = std::current_exception();
    return OTF2_CALLBACK_INTERRUPT;
  }
}

// Collective operations of OTF2; the first one of a kind is written.
using Otf2Collective = std::pair<OTF2_CollectiveOp, CollectiveKind>;
inline constexpr Otf2Collective kOtf2Collectives[] = {
    {OTF2_COLLECTIVE_OP_BARRIER, CollectiveKind::kBarrier},
    {OTF2_COLLECTIVE_OP_BCAST, CollectiveKind::kBroadcast},
    {OTF2_COLLECTIVE_OP_BCAST, CollectiveKind::kFork},
    {OTF2_COLLECTIVE_OP_GATHER, CollectiveKind::kGather},
    {OTF2_COLLECTIVE_OP_GATHERV, CollectiveKind::kGather},
    {OTF2_COLLECTIVE_OP_SCATTER, CollectiveKind::kScatter},
    {OTF2_COLLECTIVE_OP_SCATTERV, CollectiveKind::kScatter},
    {OTF2_COLLECTIVE_OP_ALLGATHER, CollectiveKind::kAllgather},
    {OTF2_COLLECTIVE_OP_ALLGATHERV, CollectiveKind::kAllgather},
    {OTF2_COLLECTIVE_OP_ALLTOALL, CollectiveKind::kAlltoall},
    {OTF2_COLLECTIVE_OP_ALLTOALLV, CollectiveKind::kAlltoall},
    {OTF2_COLLECTIVE_OP_ALLTOALLW, CollectiveKind::kAlltoall},
    {OTF2_COLLECTIVE_OP_ALLREDUCE, CollectiveKind::kAllreduce},
    {OTF2_COLLECTIVE_OP_REDUCE, CollectiveKind::kReduce},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER, CollectiveKind::kReduceScatter},
    {OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, CollectiveKind::kReduceScatter},
    {OTF2_COLLECTIVE_OP_SCAN, CollectiveKind::kScan},
    {OTF2_COLLECTIVE_OP_EXSCAN, CollectiveKind::kExscan},
    {OTF2_COLLECTIVE_OP_CREATE_HANDLE, CollectiveKind::kCreateHandle},
    {OTF2_COLLECTIVE_OP_ALLOCATE, CollectiveKind::kCreateHandle},
    {OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE, CollectiveKind::kCreateHandle},
    {OTF2_COLLECTIVE_OP_DESTROY_HANDLE, CollectiveKind::kDestroyHandle},
    {OTF2_COLLECTIVE_OP_DEALLOCATE, CollectiveKind::kDestroyHandle},
    {OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE, CollectiveKind::kDestroyHandle}};

// Properties of archives for data that is not in them, as farscale trace and farscale cut write them. The first three
// are also in collect/trace/trace_definitions.h.
inline constexpr const char* kPropertyOfOtherThreads = "FARSCALE::CALLS_OF_OTHER_THREADS";  // MPI calls not recorded
inline constexpr const char* kPropertyOfEnd = "FARSCALE::ENDS_EARLY";  // the end of a run that was stopped
inline constexpr const char* kPropertyOfThreadedRanks = "FARSCALE::RANKS_WITH_THREADS";  // with threads not recorded
inline constexpr const char* kPropertyOfRegions = "FARSCALE::REGIONS_ALONE";             // regions alone were recorded
// In a part of a run: the MPI calls of all threads of the whole run, in which those of other threads were counted.
inline constexpr const char* kPropertyOfAllThreads = "FARSCALE::CALLS_OF_ALL_THREADS";

// Checks of an OTF2 archive before the library gets it: on sizes and counts that cannot be, it would search or allocate
// for hours; a file that does not say where it ends keeps it reading for ever.

// The other files as the anchor describes them.
struct Otf2Layout {
  std::uint64_t event_chunk = 0;       // bytes
  std::uint64_t definition_chunk = 0;  // bytes
  bool is_plain = false;               // one file a location, not compressed
};

// Throws an input error saying which field is damaged. `definition_bytes` is the size of the definitions file, in
// which everything that the anchor counts must fit.
Otf2Layout RequireSoundAnchor(const std::string& path, std::uintmax_t definition_bytes);

// Walks the records of the last chunk of a file that was written in chunks of `chunk_size` bytes. Throws an input
// error at `where` when they do not end in the mark of the end of the file. A file that cannot be opened is left to
// the library, which says why. `has_events`: else definitions.
void RequireEndOfFile(const std::string& path, bool has_events, std::uint64_t chunk_size, const std::string& where);

// The same for the definitions of a location. Returns whether they may change its events; they do not when they are
// clock offsets of 0 alone, or nothing. Then the library need not read them: it would clear a whole chunk for each of
// these small files.
bool RequireEndOfLocalDefinitions(const std::string& path, std::uint64_t chunk_size, const std::string& where);

}  // namespace farscale
