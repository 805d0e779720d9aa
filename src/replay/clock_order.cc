#include "replay/clock_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/parallel.h"
#include "base/text.h"

namespace farscale {
namespace {

using Channel = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t>;  // communicator, tag, from, to

// Channels of the messages of a rank that lack their other half.
std::vector<Channel> ChannelsWithGaps(const RankTimeline& timeline, const RankMatching& matching, std::int32_t rank,
                                      std::uint32_t matched) {
  std::vector<Channel> found;
  Posts posts;
  for (std::size_t record = 0; record < timeline.records(); ++record) {
    const RecordPart part = NextPart(timeline, matching, record, posts);
    if (part.IsCollective() || !part.IsMatched() || part.number < matched) continue;
    const bool sends = part.type == OperationClass::kSend;
    if (sends ? !part.posts : !part.completes) continue;
    const Endpoint& other = timeline.endpoints()[timeline.record_target(record)];
    found.emplace_back(other.communicator, other.tag, sends ? rank : other.peer, sends ? other.peer : rank);
  }
  return found;
}

}  // namespace

bool HasSizesOfItsOwn(std::string_view region) {
  const std::string name = ToLower(region);
  for (const std::string_view part : {"allgatherv", "alltoallv", "alltoallw", "gatherv", "scatterv"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

ClockOrder::ClockOrder(const Trace& trace, const Matching& matching) : trace_(trace), matching_(matching) {
  for (const Region& region : trace.regions) {
    is_on_window_.push_back(IsOneSided(region.call));
    has_own_sizes_.push_back(region.IsCollective() && HasSizesOfItsOwn(region.name));
  }
  is_left_out_.assign(trace.communicators.size(), false);
  for (std::size_t i = 0; i < trace.communicators.size(); ++i) {
    const Communicator& communicator = trace.communicators[i];
    is_left_out_[i] = communicator.is_self || !communicator.remote.empty();
  }
  if (EndsEarly(trace)) return;  // only the last operations lack something
  for (const CollectiveOperation& operation : matching.collectives) {
    if (operation.communicator >= is_left_out_.size()) continue;
    if (operation.participants > 0 &&
        operation.participants < trace.communicators[operation.communicator].members.size()) {
      is_left_out_[operation.communicator] = true;
    }
  }
  if (matching.messages > matching.matched) LeaveOutChannels();
}

void ClockOrder::LeaveOutChannels() {
  channel_left_out_.resize(trace_.size());
  std::vector<std::vector<Channel>> of_rank(trace_.size());
  ParallelFor(trace_.size(), [&](std::size_t rank) {
    channel_left_out_[rank].resize(trace_.timelines[rank].endpoints().size());
    of_rank[rank] = ChannelsWithGaps(trace_.timelines[rank], matching_.ranks[rank], static_cast<std::int32_t>(rank),
                                     matching_.matched);
  });
  for (const std::vector<Channel>& channels : of_rank) {
    for (const auto& [communicator, tag, from, to] : channels) {
      const auto sender = static_cast<std::size_t>(from);
      if (from < 0 || sender >= trace_.size()) continue;
      const std::vector<Endpoint>& endpoints = trace_.timelines[sender].endpoints();
      const auto found = std::ranges::find(endpoints, Endpoint{to, communicator, tag});
      if (found != endpoints.end()) {
        channel_left_out_[sender][static_cast<std::size_t>(found - endpoints.begin())] = true;
      }
    }
  }
}

bool ClockOrder::IsMessage(std::size_t rank, std::size_t record, const RecordPart& part, ClockEvent& event) const {
  const RankTimeline& timeline = trace_.timelines[rank];
  if (part.number >= matching_.matched || is_on_window_[timeline.region(event.call)]) return false;
  if (part.type == OperationClass::kReceive) {
    event.kind = ClockEvent::Kind::kReceive;
    return part.completes;
  }
  if (!part.posts) return false;
  event.kind = ClockEvent::Kind::kSend;
  return channel_left_out_.empty() || !channel_left_out_[rank][timeline.record_target(record)];
}

bool ClockOrder::IsCollective(std::size_t rank, const RecordPart& part, ClockEvent& event) const {
  const RankTimeline& timeline = trace_.timelines[rank];
  const CollectiveType& type = timeline.collective_types()[matching_.ranks[rank].collective_types[part.ordinal]];
  const bool is_root = type.root == static_cast<std::int32_t>(rank);
  if (is_left_out_[type.communicator]) return false;
  event.begins = part.posts;
  event.ends = part.completes;
  switch (type.kind) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter: event.kind = ClockEvent::Kind::kGather; break;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: event.kind = is_root ? ClockEvent::Kind::kGive : ClockEvent::Kind::kTake; break;
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: event.kind = is_root ? ClockEvent::Kind::kTake : ClockEvent::Kind::kGive; break;
    default: return false;
  }
  if (event.kind != ClockEvent::Kind::kGather && type.root == kNoRoot) return false;
  // Sizes stand in the record that completes. Where each rank has its own, one without data need not wait.
  const std::uint32_t region = timeline.region(event.call);
  return !has_own_sizes_[region];
}

}  // namespace farscale
