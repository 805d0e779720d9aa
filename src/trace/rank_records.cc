// RankBuilder's records of messages and collectives.
#include <fmt/format.h>

#include <algorithm>

#include "trace/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Messages between the calls of a window's access epochs: from post to complete, and from complete to wait.
constexpr std::uint32_t kPostTag = 0, kCompleteTag = 1;

}  // namespace

bool RankBuilder::InCall() {
  ++messages_;
  if (call_depth_ > 0) return true;
  diagnostics_.Add(anomaly::kRecordOutsideMpi, 1, Place());
  return false;
}

std::size_t RankBuilder::EndpointHash::operator()(const Endpoint& endpoint) const {
  std::uint64_t hash = static_cast<std::uint32_t>(endpoint.peer) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ endpoint.communicator) * 0xC2B2AE3D27D4EB4Fu;
  hash = (hash ^ endpoint.tag) * 0x165667B19E3779F9u;
  return hash ^ (hash >> 32);
}

std::optional<std::uint32_t> RankBuilder::EndpointOf(std::uint32_t peer, std::uint32_t communicator,
                                                     std::uint32_t tag) {
  if (!InCall()) return std::nullopt;
  const Communicator& group = trace_.communicators[communicator];
  std::int32_t world_peer = rank_;
  if (!group.is_self) {
    const bool in_members =
        group.remote.empty() || std::find(group.members.begin(), group.members.end(), rank_) == group.members.end();
    const std::vector<std::int32_t>& peers = in_members ? group.members : group.remote;
    if (peer >= peers.size()) {
      diagnostics_.Add(anomaly::kPeerOutsideCommunicator, 1, fmt::format("peer {} {}", peer, Place()));
      return std::nullopt;
    }
    world_peer = peers[peer];
  }
  const Endpoint endpoint{world_peer, communicator, tag};
  const std::size_t hash = EndpointHash()(endpoint);
  std::uint32_t& cached = endpoint_cache_[hash % endpoint_cache_.size()];
  if (cached != kNoEndpoint && timeline_.endpoints_[cached] == endpoint) return cached;
  const auto [entry, is_new] =
      endpoint_index_.try_emplace(endpoint, static_cast<std::uint32_t>(timeline_.endpoints_.size()));
  if (is_new) timeline_.endpoints_.push_back(endpoint);
  cached = entry->second;
  return cached;
}

void RankBuilder::AddRecord(RecordKind kind, std::uint32_t target, std::uint64_t back, std::uint64_t bytes,
                            std::uint64_t received) {
  columns_.record_kind.Append(static_cast<std::int64_t>(kind));
  columns_.record_target.Append(target);
  columns_.record_back.Append(static_cast<std::int64_t>(back));
  columns_.record_bytes.Append(static_cast<std::int64_t>(bytes));
  columns_.record_received.Append(static_cast<std::int64_t>(received));
}

void RankBuilder::Post(RecordKind kind, std::uint32_t target, std::uint64_t bytes, std::uint64_t received) {
  ++timeline_.posts_[static_cast<std::size_t>(PartOf(kind).type)];
  AddRecord(kind, target, 0, bytes, received);
}

void RankBuilder::PostRequest(RecordKind kind, std::uint32_t target, std::uint64_t bytes,
                              std::optional<std::uint64_t> request) {
  const OperationClass type = PartOf(kind).type;
  if (request) {
    const bool is_new =
        requests_.insert_or_assign(*request, std::pair(type, std::uint64_t{timeline_.posts(type)})).second;
    if (!is_new) diagnostics_.Add(anomaly::kRequestNeverCompleted, 1, fmt::format("request {} {}", *request, Place()));
  } else {
    // As of every send of a Paraver trace; the first place alone is kept.
    const bool is_first = diagnostics_.count(anomaly::kCompletionUnknown) == 0;
    diagnostics_.Add(anomaly::kCompletionUnknown, 1, is_first ? Place() : "");
  }
  Post(kind, target, bytes);
}

// False when no such operation is pending.
bool RankBuilder::Complete(RecordKind kind, std::uint64_t request, std::uint32_t target, std::uint64_t bytes,
                           std::uint64_t received) {
  const OperationClass type = PartOf(kind).type;
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.first != type) {
    diagnostics_.Add(anomaly::kRequestUnknown, 1, fmt::format("request {} {}", request, Place()));
    return false;
  }
  AddRecord(kind, target, timeline_.posts(type) - 1 - found->second.second, bytes, received);
  requests_.erase(found);
  return true;
}

void RankBuilder::Send(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
  if (const auto endpoint = EndpointOf(peer, communicator, tag)) Post(RecordKind::kSend, *endpoint, bytes);
}

void RankBuilder::SendPost(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes,
                           std::optional<std::uint64_t> request) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (endpoint) PostRequest(RecordKind::kSendPost, *endpoint, bytes, request);
}

void RankBuilder::SendComplete(std::uint64_t request) {
  if (InCall()) Complete(RecordKind::kSendComplete, request, 0, 0);
}

void RankBuilder::Receive(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
  if (const auto endpoint = EndpointOf(peer, communicator, tag)) Post(RecordKind::kReceive, *endpoint, bytes);
}

void RankBuilder::ReceivePost(std::uint64_t request) {
  if (InCall()) PostRequest(RecordKind::kReceivePost, 0, 0, request);
}

void RankBuilder::ReceiveComplete(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag,
                                  std::uint64_t bytes, std::uint64_t request) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (!endpoint || Complete(RecordKind::kReceiveComplete, request, *endpoint, bytes)) return;
  Post(RecordKind::kReceive, *endpoint, bytes);
}

void RankBuilder::RequestCancelled(std::uint64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  diagnostics_.Add(anomaly::kRequestCancelled, 1, fmt::format("request {} {}", request, Place()));
  if (found->second.first == OperationClass::kSend && call_depth_ > 0) {
    AddRecord(RecordKind::kSendCancelled, 0, timeline_.sends() - 1 - found->second.second, 0, 0);
  }
  requests_.erase(found);
}

std::uint32_t RankBuilder::CollectiveTypeOf(CollectiveKind kind, std::uint32_t communicator,
                                            std::optional<std::uint32_t> root) {
  CollectiveType type{communicator, kind, kNoRoot};
  const Communicator& group = trace_.communicators[communicator];
  const std::vector<std::int32_t>& roots = group.remote.empty() ? group.members : group.remote;
  if (root && group.is_self) type.root = rank_;
  if (root && !group.is_self && *root < roots.size()) type.root = roots[*root];
  std::vector<CollectiveType>& types = timeline_.collective_types_;
  const auto [entry, is_new] = collective_index_.try_emplace(type, static_cast<std::uint32_t>(types.size()));
  if (is_new) types.push_back(type);
  return entry->second;
}

void RankBuilder::Collective(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                             std::uint64_t sent, std::uint64_t received) {
  if (InCall()) Post(RecordKind::kCollective, CollectiveTypeOf(kind, communicator, root), sent, received);
}

void RankBuilder::CollectivePost(std::optional<std::uint64_t> request) {
  if (InCall()) PostRequest(RecordKind::kCollectivePost, 0, 0, request);
}

void RankBuilder::CollectiveComplete(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                                     std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
  if (!InCall()) return;
  const std::uint32_t type = CollectiveTypeOf(kind, communicator, root);
  if (Complete(RecordKind::kCollectiveComplete, request, type, sent, received)) return;
  Post(RecordKind::kCollective, type, sent, received);
}

void RankBuilder::SynchroniseGroup(std::uint32_t window, const std::vector<std::int32_t>& group, std::uint32_t alone) {
  if (!InCall()) return;
  const MpiCall call = trace_.regions[call_region_].call;
  const bool posts = call == MpiCall::kWindowPost, completes = call == MpiCall::kWindowComplete;
  const bool waits = call == MpiCall::kWindowWait || call == MpiCall::kWindowTest;
  if (!posts && !completes && !waits) return;  // a start may return before its partners have posted
  if (group.empty()) return Collective(CollectiveKind::kBarrier, alone, std::nullopt, 0, 0);
  const std::vector<std::int32_t>& members = trace_.communicators[window].members;
  for (const std::int32_t rank : group) {
    const auto peer = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
    if (posts) Send(peer, window, kPostTag, 0);
    if (completes) Receive(peer, window, kPostTag, 0);
    if (completes) Send(peer, window, kCompleteTag, 0);
    if (waits) Receive(peer, window, kCompleteTag, 0);
  }
}

std::optional<std::int32_t> RankBuilder::LockTarget(std::uint32_t window, std::optional<std::uint32_t> target) {
  const std::vector<std::int32_t>& members = trace_.communicators[window].members;
  if (!InCall() || (target && *target >= members.size())) return std::nullopt;
  return target ? members[*target] : LockEpoch::kAllTargets;
}

// A writer may record both that a lock was asked for and that it was got: the first of them opens the epoch.
void RankBuilder::Lock(std::uint32_t window, std::optional<std::uint32_t> target, bool is_exclusive) {
  const std::optional<std::int32_t> rank = LockTarget(window, target);
  const auto call = static_cast<std::uint32_t>(columns_.enter.size());
  const auto is_it = [&](const LockEpoch& lock) { return lock.window == window && lock.target == rank; };
  if (rank && std::ranges::none_of(open_locks_, is_it))
    open_locks_.push_back({window, *rank, is_exclusive, call, call});
}

void RankBuilder::Unlock(std::uint32_t window, std::optional<std::uint32_t> target) {
  const std::optional<std::int32_t> rank = LockTarget(window, target);
  const auto is_it = [&](const LockEpoch& lock) { return lock.window == window && lock.target == rank; };
  const auto open = std::ranges::find_if(open_locks_, is_it);
  if (!rank || open == open_locks_.end()) return;
  open->unlock_call = static_cast<std::uint32_t>(columns_.enter.size());
  rare_.lock_epochs.push_back(*open);
  open_locks_.erase(open);
}

}  // namespace farscale
