// Messages, non-blocking ones and what completes them, persistent requests; functions that make and free communicators
// and windows, and the synchronisation of windows. The functions are called in the place of the MPI's own one, which is
// their first argument, with its arguments; counts are of type int or MPI_Count.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"
#include "collect/trace/traced_collectives.h"

namespace farscale::collect {

// The status to use: the caller's, or `own` where the caller ignores it.
inline MPI_Status* Used(MPI_Status* status, MPI_Status& own) { return status == MPI_STATUS_IGNORE ? &own : status; }

// The communicator of a message, unless the message is none or the communicator unknown.
inline const TracedCommunicator* FindForMessage(int peer, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  return peer == MPI_PROC_NULL ? nullptr : communicator;
}

inline void RecordSend(std::int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  const TracedCommunicator* communicator = FindForMessage(peer, in);
  if (communicator == nullptr) return;
  const std::uint64_t bytes = Bytes(count, type);
  Record(OTF2_EvtWriter_MpiSend, peer, communicator->id, tag, bytes);
  SendClock(peer, tag, bytes, communicator->shadow);
}

inline void RecordReceive(const MPI_Status& status, const TracedCommunicator& communicator) {
  MPI_Count bytes = 0;
  ReceiveClock(status.MPI_SOURCE, status.MPI_TAG, communicator.shadow);
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  Record(OTF2_EvtWriter_MpiRecv, status.MPI_SOURCE, communicator.id, status.MPI_TAG, bytes);
}

inline void RecordReceive(int code, const MPI_Status& status, int peer, MPI_Comm in) {
  const TracedCommunicator* communicator = FindForMessage(peer, in);
  if (code == MPI_SUCCESS && communicator != nullptr) RecordReceive(status, *communicator);
}

// MPI_Send in all modes.
int TracedSend(auto function, const void* buffer, auto count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  RecordSend(count, type, peer, tag, in);
  return function(buffer, count, type, peer, tag, in);
}

int TracedRecv(auto function, void* buffer, auto count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
               MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const int code = function(buffer, count, type, peer, tag, in, used);
  RecordReceive(code, *used, peer, in);
  return code;
}

int TracedSendrecv(auto function, const void* out, auto out_count, MPI_Datatype out_type, int to, int out_tag,
                   void* buffer, auto count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  RecordSend(out_count, out_type, to, out_tag, in);
  const int code = function(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, used);
  RecordReceive(code, *used, from, in);
  return code;
}

int TracedSendrecvReplace(auto function, void* buffer, auto count, MPI_Datatype type, int to, int out_tag, int from,
                          int tag, MPI_Comm in, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  RecordSend(count, type, to, out_tag, in);
  const int code = function(buffer, count, type, to, out_tag, from, tag, in, used);
  RecordReceive(code, *used, from, in);
  return code;
}

// A non-blocking or persistent send.
inline void AddSend(std::int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm in, MPI_Request handle,
                    bool is_persistent) {
  const TracedCommunicator* communicator = FindForMessage(peer, in);
  if (communicator == nullptr) return;
  AddRequest(handle, {.is_persistent = is_persistent,
                      .communicator = communicator->id,
                      .sent = {peer, tag, Bytes(count, type)},
                      .shadow = communicator->shadow});
}

// MPI_Isend in all modes; MPI_Send_init in all modes.
template <bool kIsPersistent>
int TracedIsend(auto function, const void* buffer, auto count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                MPI_Request* handle) {
  const int code = function(buffer, count, type, peer, tag, in, handle);
  if (code == MPI_SUCCESS) AddSend(count, type, peer, tag, in, *handle, kIsPersistent);
  return code;
}

// MPI_Irecv and MPI_Recv_init.
template <bool kIsPersistent>
int TracedIrecv(auto function, void* buffer, auto count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                MPI_Request* handle) {
  const int code = function(buffer, count, type, peer, tag, in, handle);
  const TracedCommunicator* communicator = FindForMessage(peer, in);
  if (code != MPI_SUCCESS || communicator == nullptr) return code;
  AddRequest(*handle, {.kind = RequestKind::kReceive,
                       .is_persistent = kIsPersistent,
                       .communicator = communicator->id,
                       .shadow = communicator->shadow});
  return code;
}

int TracedIsendrecv(auto function, const void* out, auto out_count, MPI_Datatype out_type, int to, int out_tag,
                    void* buffer, auto count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Request* handle) {
  const int code = function(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, handle);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code != MPI_SUCCESS || communicator == nullptr) return code;
  if (from == MPI_PROC_NULL) {
    AddSend(out_count, out_type, to, out_tag, in, *handle, false);
    return code;
  }
  AddRequest(*handle, {.kind = RequestKind::kReceive,
                       .communicator = communicator->id,
                       .sent = {to, out_tag, Bytes(out_count, out_type)},
                       .received = {from, tag, Bytes(count, type)},
                       .shadow = communicator->shadow});
  return code;
}

int TracedIsendrecvReplace(auto function, void* buffer, auto count, MPI_Datatype type, int to, int out_tag, int from,
                           int tag, MPI_Comm in, MPI_Request* handle) {
  const auto replace = [&](auto...) { return function(buffer, count, type, to, out_tag, from, tag, in, handle); };
  return TracedIsendrecv(replace, buffer, count, type, to, out_tag, buffer, count, type, from, tag, in, handle);
}

int TracedMprobe(auto function, int peer, int tag, MPI_Comm in, MPI_Message* message, MPI_Status* status) {
  const int code = function(peer, tag, in, message, status);
  if (code == MPI_SUCCESS) AddProbed(*message, in);
  return code;
}

int TracedImprobe(auto function, int peer, int tag, MPI_Comm in, int* flag, MPI_Message* message, MPI_Status* status) {
  const int code = function(peer, tag, in, flag, message, status);
  if (code == MPI_SUCCESS && *flag != 0) AddProbed(*message, in);
  return code;
}

int TracedMrecv(auto function, void* buffer, auto count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const MPI_Message before = *message;
  const int code = function(buffer, count, type, message, used);
  const std::optional<TracedCommunicator> communicator = TakeProbed(before);
  if (code == MPI_SUCCESS && communicator) RecordReceive(*used, *communicator);
  return code;
}

int TracedImrecv(auto function, void* buffer, auto count, MPI_Datatype type, MPI_Message* message,
                 MPI_Request* handle) {
  const MPI_Message before = *message;
  const int code = function(buffer, count, type, message, handle);
  const std::optional<TracedCommunicator> communicator = TakeProbed(before);
  if (code != MPI_SUCCESS || !communicator) return code;
  AddRequest(*handle,
             {.kind = RequestKind::kReceive, .communicator = communicator->id, .shadow = communicator->shadow});
  return code;
}

int TracedStart(auto function, MPI_Request* handle) {
  StartRequest(*handle);
  return function(handle);
}

int TracedStartall(auto function, int count, MPI_Request* handles) {
  for (int i = 0; i < count; ++i) StartRequest(handles[i]);
  return function(count, handles);
}

int TracedWait(auto function, MPI_Request* handle, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const MPI_Request before = *handle;
  const int code = function(handle, used);
  if (code == MPI_SUCCESS) CompleteRequest(before, *used);
  return code;
}

int TracedTest(auto function, MPI_Request* handle, int* flag, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const MPI_Request before = *handle;
  const int code = function(handle, flag, used);
  if (code == MPI_SUCCESS && *flag != 0) CompleteRequest(before, *used);
  return code;
}

int TracedWaitall(auto function, int count, MPI_Request* handles, MPI_Status* statuses) {
  const RequestsBefore before(count, handles, statuses);
  const int code = function(count, handles, before.used);
  before.CompleteAll(code);
  return code;
}

int TracedTestall(auto function, int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
  const RequestsBefore before(count, handles, statuses);
  const int code = function(count, handles, flag, before.used);
  if (code == MPI_SUCCESS && *flag != 0) before.CompleteAll(code);
  return code;
}

int TracedWaitany(auto function, int count, MPI_Request* handles, int* index, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const std::vector<MPI_Request> before(handles, handles + count);
  const int code = function(count, handles, index, used);
  if (code == MPI_SUCCESS && *index != MPI_UNDEFINED) CompleteRequest(before[static_cast<std::size_t>(*index)], *used);
  return code;
}

int TracedTestany(auto function, int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status) {
  MPI_Status own{}, *const used = Used(status, own);
  const std::vector<MPI_Request> before(handles, handles + count);
  const int code = function(count, handles, index, flag, used);
  const bool is_complete = code == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED;
  if (is_complete) CompleteRequest(before[static_cast<std::size_t>(*index)], *used);
  return code;
}

// MPI_Waitsome and MPI_Testsome.
int TracedSome(auto function, int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
  const RequestsBefore before(count, handles, statuses);
  const int code = function(count, handles, done, indices, before.used);
  const int completed = code == MPI_SUCCESS && *done != MPI_UNDEFINED ? *done : 0;
  for (int i = 0; i < completed; ++i) {
    CompleteRequest(before.handles[static_cast<std::size_t>(indices[i])], before.used[i]);
  }
  return code;
}

int TracedRequestFree(auto function, MPI_Request* handle) {
  FreeRequest(*handle);
  return function(handle);
}

// Windows are recorded as Score-P does it: of locks the request and the release, not when they are got, for MPI may put
// that off to any later call.

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
