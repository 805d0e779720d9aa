#include "collect/trace/requests.h"

#include <algorithm>
#include <unordered_map>

#include "collect/trace/recorder.h"

namespace farscale::collect {
namespace {

std::unordered_multimap<std::uint64_t, TracedRequest> requests;
std::unordered_map<std::uint64_t, TracedCommunicator> probed;
std::uint64_t numbers = 0;

void RecordNeighboursPost(const TracedRequest& request) {
  std::uint64_t number = request.number;
  for (const NeighbourMessage& message : request.neighbours->sent)
    Record(OTF2_EvtWriter_MpiIsend, message.peer, request.communicator, message.tag, message.bytes, number++);
  for (std::size_t i = 0; i < request.neighbours->received.size(); ++i)
    Record(OTF2_EvtWriter_MpiIrecvRequest, number++);
}

void RecordNeighboursCompletion(const TracedRequest& request) {
  std::uint64_t number = request.number;
  for (std::size_t i = 0; i < request.neighbours->sent.size(); ++i) Record(OTF2_EvtWriter_MpiIsendComplete, number++);
  for (const NeighbourMessage& message : request.neighbours->received)
    Record(OTF2_EvtWriter_MpiIrecv, message.peer, request.communicator, message.tag, message.bytes, number++);
}

void RecordPost(TracedRequest& request) {
  request.is_recorded = IsWriting();
  const auto record_send = [&](std::uint64_t number) {
    Record(OTF2_EvtWriter_MpiIsend, request.peer, request.communicator, request.tag, request.bytes, number);
  };
  if (request.sent_number != 0) record_send(request.sent_number);
  switch (request.kind) {
    case RequestKind::kSend: record_send(request.number); break;
    case RequestKind::kReceive: Record(OTF2_EvtWriter_MpiIrecvRequest, request.number); break;
    case RequestKind::kCollective: Record(OTF2_EvtWriter_NonBlockingCollectiveRequest, request.number); break;
    case RequestKind::kNeighbours: RecordNeighboursPost(request); break;
  }
}

void Post(TracedRequest& request) {
  const SharedState held;
  request.number = ++numbers;
  if (request.neighbours) numbers += request.neighbours->sent.size() + request.neighbours->received.size();
  request.is_active = true;
  const bool sends = request.peer != MPI_PROC_NULL;
  if (request.kind == RequestKind::kReceive && sends) request.sent_number = ++numbers;
  if (sends) SendClock(request.peer, request.tag, request.bytes, request.shadow);
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

// Requests that send and receive in one cannot be cancelled, and their status may say anything.
bool IsCancelled(const TracedRequest& request, const MPI_Status& status) {
  int is_cancelled = 0;
  if (request.sent_number == 0) PMPI_Test_cancelled(&status, &is_cancelled);
  return is_cancelled != 0;
}

void TakeClock(const TracedRequest& request, const MPI_Status& status) {
  if (request.kind == RequestKind::kReceive && !IsCancelled(request, status)) {
    const Arrival arrival = ArrivalOf(request, status);
    ReceiveClock(arrival.source, arrival.tag, request.shadow);
  }
  if (request.kind == RequestKind::kCollective) CompleteReduceClock(request.reduction, request.wait);
}

// A request posted while nothing was recorded that completes now is in the trace as if posted now, since its other half
// may be there.
void RecordCompletion(TracedRequest& request, const MPI_Status& status) {
  if (!request.is_recorded && IsWriting()) RecordPost(request);
  if (!request.is_recorded) return;
  if (request.sent_number != 0) Record(OTF2_EvtWriter_MpiIsendComplete, request.sent_number);
  if (request.kind == RequestKind::kCollective) {
    Record(OTF2_EvtWriter_NonBlockingCollectiveComplete, request.operation, request.communicator, request.root,
           request.sizes.sent, request.sizes.received, request.number);
  } else if (request.kind == RequestKind::kNeighbours) {
    RecordNeighboursCompletion(request);
  } else if (IsCancelled(request, status)) {
    Record(OTF2_EvtWriter_MpiRequestCancelled, request.number);
  } else if (request.kind == RequestKind::kSend) {
    Record(OTF2_EvtWriter_MpiIsendComplete, request.number);
  } else {
    const Arrival arrival = ArrivalOf(request, status);
    Record(OTF2_EvtWriter_MpiIrecv, arrival.source, request.communicator, arrival.tag, arrival.bytes, request.number);
  }
}

// It is not under way any more; nothing where no active request has the handle.
std::optional<TracedRequest> TakeCompleted(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return std::nullopt;
  const SharedState held;
  const auto found = requests.equal_range(KeyOf(handle)).first;  // among equals the one that was added first
  if (found == requests.end() || found->first != KeyOf(handle) || !found->second.is_active) return std::nullopt;
  const TracedRequest request = found->second;
  found->second.is_active = false;
  if (!request.is_persistent) requests.erase(found);
  return request;
}

}  // namespace

void AddRequest(MPI_Request handle, TracedRequest request) {
  if (handle == MPI_REQUEST_NULL) return;
  if (request.is_persistent) {
    request.is_active = false;
  } else {
    Post(request);
  }
  const SharedState held;
  requests.emplace(KeyOf(handle), request);
}

void StartRequest(MPI_Request handle) {
  const SharedState held;
  const auto found = requests.find(KeyOf(handle));
  if (found != requests.end()) Post(found->second);
}

void CompleteRequest(MPI_Request handle, const MPI_Status& status) {
  std::optional<TracedRequest> request = TakeCompleted(handle);
  if (!request) return;
  TakeClock(*request, status);
  RecordCompletion(*request, status);
}

bool NeedsShadow(MPI_Comm shadow) {
  const SharedState held;
  return std::ranges::any_of(requests, [&](const auto& entry) { return entry.second.shadow == shadow; });
}

void FreeRequest(MPI_Request handle) {
  const SharedState held;
  const auto found = requests.find(KeyOf(handle));
  if (found != requests.end()) requests.erase(found);
}

RequestsBefore::RequestsBefore(int count, const MPI_Request* all, MPI_Status* statuses)
    : handles(all, all + count), own(statuses == MPI_STATUSES_IGNORE ? handles.size() : 0) {
  used = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
}

void RequestsBefore::CompleteAll(int code) const {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const bool is_complete = code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && used[i].MPI_ERROR == MPI_SUCCESS);
    if (is_complete) CompleteRequest(handles[i], used[i]);
  }
}

void RequestsBefore::CompleteSome(int count, const int* indices) const {
  if (count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; ++i) CompleteRequest(handles[static_cast<std::size_t>(indices[i])], used[i]);
}

void AddProbed(MPI_Message message, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  const bool is_message = message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC;
  const SharedState held;
  if (communicator != nullptr && is_message) probed[KeyOf(message)] = *communicator;
}

std::optional<TracedCommunicator> TakeProbed(MPI_Message message) {
  const SharedState held;
  const auto found = probed.extract(KeyOf(message));
  return found ? std::optional(found.mapped()) : std::nullopt;
}

}  // namespace farscale::collect
