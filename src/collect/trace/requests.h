// Requests that are under way or persistent, by their handles. Both MPIs give the same handle to several requests when
// these complete at once, so a handle may stand for several.
#pragma once

#include <mpi.h>
#include <otf2/otf2.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collect/trace/communicators.h"

namespace farscale::collect {

// Bytes that one rank sends and receives in a collective.
using CollectiveSizes = std::pair<std::uint64_t, std::uint64_t>;

enum class RequestKind : std::uint8_t { kSend, kReceive, kCollective, kNeighbours };

struct Message {
  int peer = MPI_PROC_NULL;
  int tag = 0;
  std::uint64_t bytes = 0;
};

struct TracedRequest {
  RequestKind kind = RequestKind::kSend;
  bool is_persistent = false;
  bool is_active = true;
  bool is_recorded = false;  // its post is in the trace
  std::uint32_t communicator = 0;
  std::uint64_t number = 0;
  std::uint64_t sent_number = 0;  // the send of a receive that sends, too
  Message sent = {};
  Message received = {MPI_ANY_SOURCE, MPI_ANY_TAG, 0};  // likewise, since MPICH 4.0 leaves it out of the status
  OTF2_CollectiveOp operation = OTF2_COLLECTIVE_OP_BARRIER;
  std::uint32_t root = OTF2_COLLECTIVE_ROOT_NONE;
  CollectiveSizes sizes = {};
  MPI_Comm shadow = MPI_COMM_NULL;  // for ideal clocks
  std::uint64_t reduction = 0;      // for ideal clocks
  ClockWait wait = ClockWait::kAll;
  // The messages that a collective among neighbours stands for; their numbers go on from that of the request.
  std::vector<Message> all_sent = {}, all_received = {};
};

// Gives the request a number and records its post unless it is persistent.
void AddRequest(MPI_Request handle, TracedRequest request);
// A persistent request is started: its post is recorded.
void StartRequest(MPI_Request handle);
// A request has completed with this status; `handle` as it was before.
void CompleteRequest(MPI_Request handle, const MPI_Status& status);
void FreeRequest(MPI_Request handle);
// True if a request still needs the communicator of ideal clocks.
bool NeedsShadow(MPI_Comm shadow);

// Handles as they were before MPI changes them, and statuses where the caller wants none.
struct RequestsBefore {
  RequestsBefore(int count, const MPI_Request* all, MPI_Status* statuses);
  // Where some failed, statuses say for each whether it has completed.
  void CompleteAll(int code) const;

  std::vector<MPI_Request> handles;
  std::vector<MPI_Status> own;
  MPI_Status* used = nullptr;
};

// Messages that were found by MPI_Mprobe and not received yet, with their communicators.
void AddProbed(MPI_Message message, MPI_Comm in);
std::optional<TracedCommunicator> TakeProbed(MPI_Message message);

}  // namespace farscale::collect
