#include "collect/requests.h"

#include <cstring>
#include <unordered_map>

namespace farscale::collect {
namespace {

std::unordered_multimap<std::uint64_t, TracedRequest> requests;
std::uint64_t numbers = 0;

std::uint64_t KeyOf(MPI_Request handle) {
  std::uint64_t key = 0;
  std::memcpy(&key, &handle, sizeof handle);
  return key;
}

void RecordPost(TracedRequest& request) {
  request.is_recorded = IsWriting();
  if (request.sent_number != 0) {
    RecordSendPost(request.peer, request.communicator, request.tag, request.bytes, request.sent_number);
  }
  switch (request.kind) {
    case RequestKind::kSend:
      RecordSendPost(request.peer, request.communicator, request.tag, request.bytes, request.number);
      break;
    case RequestKind::kReceive: RecordReceivePost(request.number); break;
    case RequestKind::kCollective: RecordCollectivePost(request.number); break;
  }
}

void Post(TracedRequest& request) {
  request.number = ++numbers;
  request.is_active = true;
  const bool sends = request.peer != MPI_PROC_NULL;
  if (request.kind == RequestKind::kReceive && sends) request.sent_number = ++numbers;
  if (sends) SendClock(request.peer, request.tag, request.shadow);
  if (request.kind == RequestKind::kCollective) request.reduction = PostReduceClock(request.shadow, request.wait);
  RecordPost(request);
}

struct Arrival {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  std::uint64_t bytes = 0;
};

Arrival ArrivalOf(const TracedRequest& request, const MPI_Status& status) {
  const bool is_known = request.from != MPI_ANY_SOURCE && request.from_tag != MPI_ANY_TAG;
  if (is_known) return {request.from, request.from_tag, request.from_bytes};
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return {status.MPI_SOURCE, status.MPI_TAG, static_cast<std::uint64_t>(bytes)};
}

// What sends and receives in one cannot be cancelled, and its status may say anything.
int IsCancelled(const TracedRequest& request, const MPI_Status& status) {
  int is_cancelled = 0;
  if (request.sent_number == 0) PMPI_Test_cancelled(&status, &is_cancelled);
  return is_cancelled;
}

void TakeClock(const TracedRequest& request, const MPI_Status& status) {
  int is_cancelled = 0;
  if (request.kind == RequestKind::kReceive) is_cancelled = IsCancelled(request, status);
  if (request.kind == RequestKind::kReceive && is_cancelled == 0) {
    const Arrival arrival = ArrivalOf(request, status);
    ReceiveClock(arrival.source, arrival.tag, request.shadow);
  }
  if (request.kind == RequestKind::kCollective) CompleteReduceClock(request.reduction, request.wait);
}

// What was posted while nothing was recorded and completes now is in the trace as if posted now, since its other half
// may be there.
void RecordCompletion(TracedRequest& request, const MPI_Status& status) {
  if (!request.is_recorded && IsWriting()) RecordPost(request);
  if (!request.is_recorded) return;
  if (request.sent_number != 0) RecordSendComplete(request.sent_number);
  int is_cancelled = 0;
  switch (request.kind) {
    case RequestKind::kSend:
    case RequestKind::kReceive:
      is_cancelled = IsCancelled(request, status);
      if (is_cancelled != 0) {
        RecordCancelled(request.number);
      } else if (request.kind == RequestKind::kSend) {
        RecordSendComplete(request.number);
      } else {
        const Arrival arrival = ArrivalOf(request, status);
        RecordReceiveComplete(arrival.source, request.communicator, arrival.tag, arrival.bytes, request.number);
      }
      break;
    case RequestKind::kCollective:
      RecordCollectiveComplete(request.operation, request.communicator, request.root, request.sizes, request.number);
      break;
  }
}

}  // namespace

void AddRequest(MPI_Request handle, TracedRequest request) {
  if (handle == MPI_REQUEST_NULL) return;
  if (request.is_persistent) {
    request.is_active = false;
  } else {
    Post(request);
  }
  requests.emplace(KeyOf(handle), request);
}

void StartRequest(MPI_Request handle) {
  const auto found = requests.find(KeyOf(handle));
  if (found != requests.end()) Post(found->second);
}

void CompleteRequest(MPI_Request handle, const MPI_Status& status) {
  if (handle == MPI_REQUEST_NULL) return;
  const auto found = requests.equal_range(KeyOf(handle)).first;  // of equals the one that was added first
  if (found == requests.end() || found->first != KeyOf(handle) || !found->second.is_active) return;
  TakeClock(found->second, status);
  RecordCompletion(found->second, status);
  found->second.is_active = false;
  if (!found->second.is_persistent) requests.erase(found);
}

bool NeedsShadow(MPI_Comm shadow) {
  for (const auto& [key, request] : requests) {
    if (request.shadow == shadow) return true;
  }
  return false;
}

void FreeRequest(MPI_Request handle) {
  const auto found = requests.find(KeyOf(handle));
  if (found != requests.end()) requests.erase(found);
}

}  // namespace farscale::collect
