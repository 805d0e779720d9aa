// Messages and the posts of non-blocking ones.
#include <cstring>
#include <unordered_map>

#include "collect/collective_sizes.h"
#include "collect/communicators.h"
#include "collect/ideal_clock.h"
#include "collect/requests.h"
#include "collect/traced_functions.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

void Send(std::int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr || peer == MPI_PROC_NULL) return;
  RecordSend(peer, communicator->id, tag, Bytes(count, type));
  SendClock(peer, tag, communicator->shadow);
}

void Receive(const MPI_Status& status, const TracedCommunicator& communicator) {
  MPI_Count bytes = 0;
  ReceiveClock(status.MPI_SOURCE, status.MPI_TAG, communicator.shadow);
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  RecordReceive(status.MPI_SOURCE, communicator.id, status.MPI_TAG, static_cast<std::uint64_t>(bytes));
}

// The status to receive with: the caller's, or one of our own.
MPI_Status* StatusOr(MPI_Status* status, MPI_Status& own) { return status == MPI_STATUS_IGNORE ? &own : status; }

void PostSend(std::int64_t count, MPI_Datatype type, int peer, int tag, MPI_Comm in, const MPI_Request* handle) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr || peer == MPI_PROC_NULL) return;
  TracedRequest request;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  request.peer = peer;
  request.tag = tag;
  request.bytes = Bytes(count, type);
  AddRequest(*handle, request);
}

template <typename Real, typename Count>
int SendWith(Real function, const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  Send(count, type, peer, tag, in);
  return function(buffer, count, type, peer, tag, in);
}

template <typename Real, typename Count>
int PostSendWith(Real function, const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                 MPI_Request* handle) {
  const int code = function(buffer, count, type, peer, tag, in, handle);
  if (code == MPI_SUCCESS) PostSend(count, type, peer, tag, in, handle);
  return code;
}

struct Part {
  std::int64_t count;
  MPI_Datatype type;
  int peer;
  int tag;
};

// A send and a receive that complete together.
[[maybe_unused]] void PostBoth(const Part& out, const Part& back, MPI_Comm in, const MPI_Request* handle) {
  if (back.peer == MPI_PROC_NULL) return PostSend(out.count, out.type, out.peer, out.tag, in, handle);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (communicator == nullptr) return;
  TracedRequest request;
  request.kind = RequestKind::kReceive;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  request.peer = out.peer;
  request.tag = out.tag;
  request.bytes = Bytes(out.count, out.type);
  request.from = back.peer;
  request.from_tag = back.tag;
  request.from_bytes = Bytes(back.count, back.type);
  AddRequest(*handle, request);
}

// Messages that were found by Mprobe and not received yet, with their communicator.
std::unordered_map<std::uint64_t, TracedCommunicator> probed;

std::uint64_t KeyOf(MPI_Message message) {
  std::uint64_t key = 0;
  std::memcpy(&key, &message, sizeof message);
  return key;
}

void Probed(MPI_Message message, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  const bool is_message = message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC;
  if (communicator != nullptr && is_message) probed[KeyOf(message)] = *communicator;
}

// The communicator of a message that is received now.
bool TakeProbed(std::uint64_t key, TracedCommunicator& communicator) {
  const auto found = probed.find(key);
  if (found == probed.end()) return false;
  communicator = found->second;
  probed.erase(found);
  return true;
}

}  // namespace

int TracedMPI_Send(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  return SendWith(real.MPI_Send, buffer, count, type, peer, tag, in);
}
int TracedMPI_Bsend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  return SendWith(real.MPI_Bsend, buffer, count, type, peer, tag, in);
}
int TracedMPI_Ssend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  return SendWith(real.MPI_Ssend, buffer, count, type, peer, tag, in);
}
int TracedMPI_Rsend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in) {
  return SendWith(real.MPI_Rsend, buffer, count, type, peer, tag, in);
}

int TracedMPI_Recv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* used = StatusOr(status, own);
  const int code = real.MPI_Recv(buffer, count, type, peer, tag, in, used);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code == MPI_SUCCESS && communicator != nullptr && peer != MPI_PROC_NULL) Receive(*used, *communicator);
  return code;
}

int TracedMPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* buffer,
                       int count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* used = StatusOr(status, own);
  Send(out_count, out_type, to, out_tag, in);
  const int code = real.MPI_Sendrecv(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, used);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code == MPI_SUCCESS && communicator != nullptr && from != MPI_PROC_NULL) Receive(*used, *communicator);
  return code;
}

int TracedMPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int out_tag, int from, int tag,
                               MPI_Comm in, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* used = StatusOr(status, own);
  Send(count, type, to, out_tag, in);
  const int code = real.MPI_Sendrecv_replace(buffer, count, type, to, out_tag, from, tag, in, used);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code == MPI_SUCCESS && communicator != nullptr && from != MPI_PROC_NULL) Receive(*used, *communicator);
  return code;
}

int TracedMPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                    MPI_Request* handle) {
  return PostSendWith(real.MPI_Isend, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Ibsend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                     MPI_Request* handle) {
  return PostSendWith(real.MPI_Ibsend, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Issend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                     MPI_Request* handle) {
  return PostSendWith(real.MPI_Issend, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Irsend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                     MPI_Request* handle) {
  return PostSendWith(real.MPI_Irsend, buffer, count, type, peer, tag, in, handle);
}

int TracedMPI_Irecv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in, MPI_Request* handle) {
  const int code = real.MPI_Irecv(buffer, count, type, peer, tag, in, handle);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code != MPI_SUCCESS || communicator == nullptr || peer == MPI_PROC_NULL) return code;
  TracedRequest request;
  request.kind = RequestKind::kReceive;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  AddRequest(*handle, request);
  return code;
}

#if MPI_VERSION >= 4
int TracedMPI_Isendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* buffer,
                        int count, MPI_Datatype type, int from, int tag, MPI_Comm in, MPI_Request* handle) {
  const int code =
      real.MPI_Isendrecv(out, out_count, out_type, to, out_tag, buffer, count, type, from, tag, in, handle);
  if (code == MPI_SUCCESS) PostBoth({out_count, out_type, to, out_tag}, {count, type, from, tag}, in, handle);
  return code;
}

int TracedMPI_Isendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int out_tag, int from, int tag,
                                MPI_Comm in, MPI_Request* handle) {
  const int code = real.MPI_Isendrecv_replace(buffer, count, type, to, out_tag, from, tag, in, handle);
  if (code == MPI_SUCCESS) PostBoth({count, type, to, out_tag}, {count, type, from, tag}, in, handle);
  return code;
}
#endif

int TracedMPI_Mprobe(int peer, int tag, MPI_Comm in, MPI_Message* message, MPI_Status* status) {
  const int code = real.MPI_Mprobe(peer, tag, in, message, status);
  if (code == MPI_SUCCESS) Probed(*message, in);
  return code;
}

int TracedMPI_Improbe(int peer, int tag, MPI_Comm in, int* flag, MPI_Message* message, MPI_Status* status) {
  const int code = real.MPI_Improbe(peer, tag, in, flag, message, status);
  if (code == MPI_SUCCESS && *flag != 0) Probed(*message, in);
  return code;
}

int TracedMPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* used = StatusOr(status, own);
  const std::uint64_t key = KeyOf(*message);
  TracedCommunicator communicator;
  const int code = real.MPI_Mrecv(buffer, count, type, message, used);
  if (TakeProbed(key, communicator) && code == MPI_SUCCESS) Receive(*used, communicator);
  return code;
}

int TracedMPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* handle) {
  const std::uint64_t key = KeyOf(*message);
  TracedRequest request;
  request.kind = RequestKind::kReceive;
  const int code = real.MPI_Imrecv(buffer, count, type, message, handle);
  TracedCommunicator communicator;
  if (!TakeProbed(key, communicator) || code != MPI_SUCCESS) return code;
  request.communicator = communicator.id;
  request.shadow = communicator.shadow;
  AddRequest(*handle, request);
  return code;
}

// Generated: the same with counts of type MPI_Count, where the MPI has such functions.
#include "traced_messages_c.h"

}  // namespace farscale::collect
