// Persistent requests, and what completes requests.
#include <vector>

#include "collect/communicators.h"
#include "collect/requests.h"
#include "collect/traced_functions.h"
#include "mpi_functions.h"

namespace farscale::collect {
namespace {

template <typename Real, typename Count>
int SendInitWith(Real function, const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                 MPI_Request* handle) {
  const int code = function(buffer, count, type, peer, tag, in, handle);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code != MPI_SUCCESS || communicator == nullptr || peer == MPI_PROC_NULL) return code;
  int size = 0;
  PMPI_Type_size(type, &size);
  TracedRequest request;
  request.is_persistent = true;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  request.peer = peer;
  request.tag = tag;
  request.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  AddRequest(*handle, request);
  return code;
}

// Handles as they were before MPI changes them, and statuses where the caller wants none.
struct Before {
  Before(int count, const MPI_Request* all, MPI_Status* statuses)
      : handles(all, all + count), own(statuses == MPI_STATUSES_IGNORE ? handles.size() : 0) {
    used = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
  }
  std::vector<MPI_Request> handles;
  std::vector<MPI_Status> own;
  MPI_Status* used = nullptr;
};

// Where some failed, statuses say for each whether it has completed.
void CompleteAll(const Before& before, int code) {
  for (std::size_t i = 0; i < before.handles.size(); ++i) {
    const bool is_complete =
        code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && before.used[i].MPI_ERROR == MPI_SUCCESS);
    if (is_complete) CompleteRequest(before.handles[i], before.used[i]);
  }
}

void CompleteSome(const Before& before, int count, const int* indices) {
  if (count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; ++i) {
    CompleteRequest(before.handles[static_cast<std::size_t>(indices[i])], before.used[i]);
  }
}

}  // namespace

int TracedMPI_Send_init(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                        MPI_Request* handle) {
  return SendInitWith(real.MPI_Send_init, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Bsend_init(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                         MPI_Request* handle) {
  return SendInitWith(real.MPI_Bsend_init, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                         MPI_Request* handle) {
  return SendInitWith(real.MPI_Ssend_init, buffer, count, type, peer, tag, in, handle);
}
int TracedMPI_Rsend_init(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                         MPI_Request* handle) {
  return SendInitWith(real.MPI_Rsend_init, buffer, count, type, peer, tag, in, handle);
}

int TracedMPI_Recv_init(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm in,
                        MPI_Request* handle) {
  const int code = real.MPI_Recv_init(buffer, count, type, peer, tag, in, handle);
  const TracedCommunicator* communicator = FindCommunicator(in);
  if (code != MPI_SUCCESS || communicator == nullptr || peer == MPI_PROC_NULL) return code;
  TracedRequest request;
  request.kind = RequestKind::kReceive;
  request.is_persistent = true;
  request.communicator = communicator->id;
  request.shadow = communicator->shadow;
  AddRequest(*handle, request);
  return code;
}

int TracedMPI_Start(MPI_Request* handle) {
  StartRequest(*handle);
  return real.MPI_Start(handle);
}

int TracedMPI_Startall(int count, MPI_Request handles[]) {
  for (int i = 0; i < count; ++i) StartRequest(handles[i]);
  return real.MPI_Startall(count, handles);
}

int TracedMPI_Wait(MPI_Request* handle, MPI_Status* status) {
  MPI_Status own{};
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const MPI_Request before = *handle;
  const int code = real.MPI_Wait(handle, used);
  if (code == MPI_SUCCESS) CompleteRequest(before, *used);
  return code;
}

int TracedMPI_Test(MPI_Request* handle, int* flag, MPI_Status* status) {
  MPI_Status own{};
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const MPI_Request before = *handle;
  const int code = real.MPI_Test(handle, flag, used);
  if (code == MPI_SUCCESS && *flag != 0) CompleteRequest(before, *used);
  return code;
}

int TracedMPI_Waitall(int count, MPI_Request handles[], MPI_Status* statuses) {
  const Before before(count, handles, statuses);
  const int code = real.MPI_Waitall(count, handles, before.used);
  CompleteAll(before, code);
  return code;
}

int TracedMPI_Testall(int count, MPI_Request handles[], int* flag, MPI_Status* statuses) {
  const Before before(count, handles, statuses);
  const int code = real.MPI_Testall(count, handles, flag, before.used);
  if (code == MPI_SUCCESS && *flag != 0) CompleteAll(before, code);
  return code;
}

int TracedMPI_Waitany(int count, MPI_Request handles[], int* index, MPI_Status* status) {
  MPI_Status own{};
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const std::vector<MPI_Request> before(handles, handles + count);
  const int code = real.MPI_Waitany(count, handles, index, used);
  if (code == MPI_SUCCESS && *index != MPI_UNDEFINED) CompleteRequest(before[static_cast<std::size_t>(*index)], *used);
  return code;
}

int TracedMPI_Testany(int count, MPI_Request handles[], int* index, int* flag, MPI_Status* status) {
  MPI_Status own{};
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const std::vector<MPI_Request> before(handles, handles + count);
  const int code = real.MPI_Testany(count, handles, index, flag, used);
  const bool is_complete = code == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED;
  if (is_complete) CompleteRequest(before[static_cast<std::size_t>(*index)], *used);
  return code;
}

int TracedMPI_Waitsome(int count, MPI_Request handles[], int* done, int indices[], MPI_Status statuses[]) {
  const Before before(count, handles, statuses);
  const int code = real.MPI_Waitsome(count, handles, done, indices, before.used);
  if (code == MPI_SUCCESS) CompleteSome(before, *done, indices);
  return code;
}

int TracedMPI_Testsome(int count, MPI_Request handles[], int* done, int indices[], MPI_Status statuses[]) {
  const Before before(count, handles, statuses);
  const int code = real.MPI_Testsome(count, handles, done, indices, before.used);
  if (code == MPI_SUCCESS) CompleteSome(before, *done, indices);
  return code;
}

int TracedMPI_Request_free(MPI_Request* handle) {
  FreeRequest(*handle);
  return real.MPI_Request_free(handle);
}

// Generated: the same with counts of type MPI_Count, where the MPI has such functions.
#include "traced_requests_c.h"

}  // namespace farscale::collect
