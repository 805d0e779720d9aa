#include "collect/trace/requests.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "collect/trace/recorder.h"

namespace farscale::collect {
namespace {

std::unordered_multimap<std::uint64_t, TracedRequest> requests;
std::unordered_map<std::uint64_t, TracedCommunicator> probed;
std::uint64_t numbers = 0;

void RecordPost(TracedRequest& request) {
  request.is_recorded = IsWriting();
  std::uint64_t number = request.number;
  const auto record_send = [&](const Message& message, std::uint64_t of_message) {
    Record(OTF2_EvtWriter_MpiIsend, message.peer, request.communicator, message.tag, message.bytes, of_message);
  };
  if (request.sent_number != 0) record_send(request.sent, request.sent_number);
  switch (request.kind) {
    case RequestKind::kSend: record_send(request.sent, number); break;
    case RequestKind::kReceive: Record(OTF2_EvtWriter_MpiIrecvRequest, number); break;
    case RequestKind::kCollective: Record(OTF2_EvtWriter_NonBlockingCollectiveRequest, number); break;
    case RequestKind::kNeighbours:
      for (const Message& message : request.all_sent) record_send(message, number++);
      for (std::size_t i = 0; i < request.all_received.size(); ++i) Record(OTF2_EvtWriter_MpiIrecvRequest, number++);
  }
}

void Post(TracedRequest& request) {
  const auto held = HoldSharedState();
  request.number = ++numbers;
  numbers += request.all_sent.size() + request.all_received.size();
  request.is_active = true;
  const bool sends = request.sent.peer != MPI_PROC_NULL;
  if (request.kind == RequestKind::kReceive && sends) request.sent_number = ++numbers;
  if (sends) SendClock(request.sent.peer, request.sent.tag, request.sent.bytes, request.shadow);
  if (request.kind == RequestKind::kCollective) request.reduction = PostReduceClock(request.shadow, request.wait);
  RecordPost(request);
}

Message Arrival(const TracedRequest& request, const MPI_Status& status) {
  const bool is_known = request.received.peer != MPI_ANY_SOURCE && request.received.tag != MPI_ANY_TAG;
  if (is_known) return request.received;
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

// It is not under way any more; nothing where no active request has the handle.
std::optional<TracedRequest> TakeCompleted(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return std::nullopt;
  const auto held = HoldSharedState();
  const auto found = requests.equal_range(KeyOf(handle)).first;  // among equals the one that was added first
  if (found == requests.end() || found->first != KeyOf(handle) || !found->second.is_active) return std::nullopt;
  TracedRequest request = found->second;
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
  const auto held = HoldSharedState();
  requests.emplace(KeyOf(handle), std::move(request));
}

void StartRequest(MPI_Request handle) {
  const auto held = HoldSharedState();
  const auto found = requests.find(KeyOf(handle));
  if (found != requests.end()) Post(found->second);
}

void CompleteRequest(MPI_Request handle, const MPI_Status& status) {
  std::optional<TracedRequest> taken = TakeCompleted(handle);
  if (!taken) return;
  TracedRequest& request = *taken;
  if (request.kind == RequestKind::kReceive && !IsCancelled(request, status)) {
    const Message arrival = Arrival(request, status);
    ReceiveClock(arrival.peer, arrival.tag, request.shadow);
  }
  if (request.kind == RequestKind::kCollective) CompleteReduceClock(request.reduction, request.wait);
  // A request posted while nothing was recorded that completes now is in the trace as if posted now, since its other
  // half may be there.
  if (!request.is_recorded && IsWriting()) RecordPost(request);
  if (!request.is_recorded) return;
  if (request.sent_number != 0) Record(OTF2_EvtWriter_MpiIsendComplete, request.sent_number);
  if (request.kind == RequestKind::kCollective) {
    Record(OTF2_EvtWriter_NonBlockingCollectiveComplete, request.operation, request.communicator, request.root,
           request.sizes.first, request.sizes.second, request.number);
  } else if (request.kind == RequestKind::kNeighbours) {
    std::uint64_t number = request.number;
    for (std::size_t i = 0; i < request.all_sent.size(); ++i) Record(OTF2_EvtWriter_MpiIsendComplete, number++);
    for (const Message& message : request.all_received)
      Record(OTF2_EvtWriter_MpiIrecv, message.peer, request.communicator, message.tag, message.bytes, number++);
  } else if (IsCancelled(request, status)) {
    Record(OTF2_EvtWriter_MpiRequestCancelled, request.number);
  } else if (request.kind == RequestKind::kSend) {
    Record(OTF2_EvtWriter_MpiIsendComplete, request.number);
  } else {
    const Message arrival = Arrival(request, status);
    Record(OTF2_EvtWriter_MpiIrecv, arrival.peer, request.communicator, arrival.tag, arrival.bytes, request.number);
  }
}

bool NeedsShadow(MPI_Comm shadow) {
  const auto held = HoldSharedState();
  return std::ranges::any_of(requests, [&](const auto& entry) { return entry.second.shadow == shadow; });
}

void FreeRequest(MPI_Request handle) {
  const auto held = HoldSharedState();
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

void AddProbed(MPI_Message message, MPI_Comm in) {
  const TracedCommunicator* communicator = FindCommunicator(in);
  const bool is_message = message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC;
  const auto held = HoldSharedState();
  if (communicator != nullptr && is_message) probed[KeyOf(message)] = *communicator;
}

std::optional<TracedCommunicator> TakeProbed(MPI_Message message) {
  const auto held = HoldSharedState();
  const auto found = probed.extract(KeyOf(message));
  return found ? std::optional(found.mapped()) : std::nullopt;
}

}  // namespace farscale::collect
