// Messages, non-blocking ones and what completes them, persistent requests. The functions are called in the place of
// the MPI's own one, which is their first argument, with its arguments; counts are of type int or MPI_Count.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"
#include "collect/trace/traced_collectives.h"

namespace farscale::collect {

// The status to use: the caller's, or one of our own where the caller ignores it.
class UsedStatus {
 public:
  explicit UsedStatus(MPI_Status* status) : used_(status == MPI_STATUS_IGNORE ? &own_ : status) {}
  operator MPI_Status*() { return used_; }
  const MPI_Status& operator*() const { return *used_; }

 private:
  MPI_Status own_{};
  MPI_Status* used_;
};

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
  UsedStatus used(status);
  const int code = function(buffer, count, type, peer, tag, in, used);
  RecordReceive(code, *used, peer, in);
  return code;
}

int TracedSendrecv(auto function, const void* out, auto out_count, MPI_Datatype out_type, int to, int out_tag,
                   void* buffer, auto count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Status* status) {
  UsedStatus used(status);
  RecordSend(out_count, out_type, to, out_tag, in);
  const int code = function(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, used);
  RecordReceive(code, *used, from, in);
  return code;
}

int TracedSendrecvReplace(auto function, void* buffer, auto count, MPI_Datatype type, int to, int out_tag, int from,
                          int tag, MPI_Comm in, MPI_Status* status) {
  UsedStatus used(status);
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
                      .peer = peer,
                      .tag = tag,
                      .bytes = Bytes(count, type),
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

// A send and a receive that complete together.
inline void AddSendAndReceive(std::uint64_t out_bytes, int to, int out_tag, std::uint64_t bytes, int from, int tag,
                              MPI_Comm in, MPI_Request handle) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr) return;
  AddRequest(handle, {.kind = RequestKind::kReceive,
                      .communicator = communicator->id,
                      .from = from,
                      .from_tag = tag,
                      .from_bytes = bytes,
                      .peer = to,
                      .tag = out_tag,
                      .bytes = out_bytes,
                      .shadow = communicator->shadow});
}

int TracedIsendrecv(auto function, const void* out, auto out_count, MPI_Datatype out_type, int to, int out_tag,
                    void* buffer, auto count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Request* handle) {
  const int code = function(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, handle);
  if (code != MPI_SUCCESS) return code;
  if (from == MPI_PROC_NULL) {
    AddSend(out_count, out_type, to, out_tag, in, *handle, false);
  } else {
    AddSendAndReceive(Bytes(out_count, out_type), to, out_tag, Bytes(count, type), from, tag, in, *handle);
  }
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
  UsedStatus used(status);
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
  UsedStatus used(status);
  const MPI_Request before = *handle;
  const int code = function(handle, used);
  if (code == MPI_SUCCESS) CompleteRequest(before, *used);
  return code;
}

int TracedTest(auto function, MPI_Request* handle, int* flag, MPI_Status* status) {
  UsedStatus used(status);
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
  UsedStatus used(status);
  const std::vector<MPI_Request> before(handles, handles + count);
  const int code = function(count, handles, index, used);
  if (code == MPI_SUCCESS && *index != MPI_UNDEFINED) CompleteRequest(before[static_cast<std::size_t>(*index)], *used);
  return code;
}

int TracedTestany(auto function, int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status) {
  UsedStatus used(status);
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
  if (code == MPI_SUCCESS) before.CompleteSome(*done, indices);
  return code;
}

int TracedRequestFree(auto function, MPI_Request* handle) {
  FreeRequest(*handle);
  return function(handle);
}

}  // namespace farscale::collect
