// Functions that make and free communicators and windows, and the synchronisation of windows as Score-P records it. Of
// locks the request is recorded and the release, not when they are got: MPI may put that off to any later call. The
// functions are called in the place of the MPI's own one, which is their first argument, with its arguments.
#pragma once

#include <mpi.h>

#include <tuple>

#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"

namespace farscale::collect {

// The argument that stands so many before the last one.
template <std::size_t kBeforeLast>
auto ArgumentBeforeLast(auto... arguments) {
  return std::get<sizeof...(arguments) - 1 - kBeforeLast>(std::tuple(arguments...));
}

// Making a communicator is a collective of the old one, for which ideal clocks do not wait [docs/formulas.md, rules].
int TracedMakeCommunicator(auto function, MPI_Comm old, auto... others) {
  const TracedCommunicator* communicator = FindCommunicator(old);
  const std::uint32_t id = communicator != nullptr ? communicator->id : 0;
  if (communicator != nullptr) Record(OTF2_EvtWriter_MpiCollectiveBegin);
  const int code = function(old, others...);
  if (communicator != nullptr) {
    Record(OTF2_EvtWriter_MpiCollectiveEnd, OTF2_COLLECTIVE_OP_CREATE_HANDLE, id, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
  }
  if (code == MPI_SUCCESS) AddCommunicator(*ArgumentBeforeLast<0>(others...));
  return code;
}

// Where not all members of the old one call, or those of two groups or of two runs.
int TracedMakeOfSome(auto function, auto... arguments) {
  const int code = function(arguments...);
  if (code == MPI_SUCCESS) AddCommunicator(*ArgumentBeforeLast<0>(arguments...));
  return code;
}

// Both MPIs know the handle of the copy at once, as its members do.
int TracedIdup(auto function, MPI_Comm old, auto... others) {
  const int code = function(old, others...);
  if (code == MPI_SUCCESS) AddCopy(old, *ArgumentBeforeLast<1>(others...));
  return code;
}

int TracedFreeCommunicator(auto function, MPI_Comm* communicator) {
  RemoveCommunicator(*communicator);
  return function(communicator);
}

inline void RecordWindowCollective(OTF2_CollectiveOp operation, std::uint32_t window) {
  constexpr OTF2_RmaSyncLevel kLevel = OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY;
  Record(OTF2_EvtWriter_RmaCollectiveBegin);
  Record(OTF2_EvtWriter_RmaCollectiveEnd, operation, kLevel, window, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
}

inline void RecordEpoch(MPI_Win window, std::optional<std::uint32_t> group) {
  if (group) Record(OTF2_EvtWriter_RmaGroupSync, OTF2_RMA_SYNC_LEVEL_PROCESS, *FindWindow(window), *group);
}

template <std::size_t kCommunicatorBeforeLast>
int TracedMakeWindow(auto function, auto... arguments) {
  const int code = function(arguments...);
  if (code != MPI_SUCCESS) return code;
  const MPI_Win window = *ArgumentBeforeLast<0>(arguments...);
  AddWindow(window, ArgumentBeforeLast<kCommunicatorBeforeLast>(arguments...));
  if (const auto id = FindWindow(window)) {
    Record(OTF2_EvtWriter_RmaWinCreate, *id);
    RecordWindowCollective(OTF2_COLLECTIVE_OP_CREATE_HANDLE, *id);
  }
  return code;
}

int TracedFreeWindow(auto function, MPI_Win* window) {
  const MPI_Win before = *window;
  const auto id = FindWindow(before);
  const int code = function(window);
  if (code != MPI_SUCCESS || !id) return code;
  Record(OTF2_EvtWriter_RmaWinDestroy, *id);
  RecordWindowCollective(OTF2_COLLECTIVE_OP_DESTROY_HANDLE, *id);
  RemoveWindow(before);
  return code;
}

int TracedFence(auto function, int assertion, MPI_Win window) {
  const int code = function(assertion, window);
  if (const auto id = FindWindow(window)) RecordWindowCollective(OTF2_COLLECTIVE_OP_BARRIER, *id);
  return code;
}

template <Epoch kEpoch>
int TracedBeginEpoch(auto function, MPI_Group group, int assertion, MPI_Win window) {
  RecordEpoch(window, BeginEpoch(window, kEpoch, group));
  return function(group, assertion, window);
}

template <Epoch kEpoch>
int TracedEndEpoch(auto function, MPI_Win window) {
  const int code = function(window);
  if (code == MPI_SUCCESS) RecordEpoch(window, EndEpoch(window, kEpoch));
  return code;
}

int TracedTestEpoch(auto function, MPI_Win window, int* flag) {
  const int code = function(window, flag);
  if (code == MPI_SUCCESS && *flag != 0) RecordEpoch(window, EndEpoch(window, Epoch::kExposure));
  return code;
}

// There is one lock for each rank of a window.
constexpr std::uint64_t kOnlyLock = 0;

int TracedLock(auto function, int type, int target, int assertion, MPI_Win window) {
  const OTF2_LockType kind = type == MPI_LOCK_EXCLUSIVE ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED;
  if (const auto id = FindWindow(window)) Record(OTF2_EvtWriter_RmaRequestLock, *id, target, kOnlyLock, kind);
  return function(type, target, assertion, window);
}

// Shared by all; as Score-P writes it.
int TracedLockAll(auto function, int assertion, MPI_Win window) {
  if (const auto id = FindWindow(window))
    Record(OTF2_EvtWriter_RmaRequestLock, *id, OTF2_UNDEFINED_UINT32, kOnlyLock, OTF2_LOCK_SHARED);
  return function(assertion, window);
}

int TracedUnlockAll(auto function, MPI_Win window) {
  const int code = function(window);
  if (const auto id = FindWindow(window)) Record(OTF2_EvtWriter_RmaReleaseLock, *id, OTF2_UNDEFINED_UINT32, kOnlyLock);
  return code;
}

int TracedUnlock(auto function, int target, MPI_Win window) {
  const int code = function(target, window);
  if (const auto id = FindWindow(window)) Record(OTF2_EvtWriter_RmaReleaseLock, *id, target, kOnlyLock);
  return code;
}

}  // namespace farscale::collect
