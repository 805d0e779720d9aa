#include "trace/paraver_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/anomalies.h"

namespace farscale {
namespace {

bool BlocksForItsSend(MpiCall call) {
  return call == MpiCall::kSend || call == MpiCall::kBufferedSend || call == MpiCall::kSynchronousSend ||
         call == MpiCall::kSendReceive;
}

bool MayCompleteReceives(MpiCall call) {
  return call != MpiCall::kImmediateReceive && call != MpiCall::kStart && call != MpiCall::kSend &&
         call != MpiCall::kImmediateSend && call != MpiCall::kCollective;
}

// How many messages of a kind a call can post.
std::size_t MostPosts(MpiCall call, bool is_send) {
  if (!MayPost(call, is_send)) return 0;
  return call == MpiCall::kStart || call == MpiCall::kOther ? std::numeric_limits<std::size_t>::max() : 1;
}

// Behind the last of the ends from `next` on that a call posts.
std::size_t Taken(const std::vector<MessageEnd>& ends, std::size_t next, std::size_t most, Tick enter, Tick leave,
                  bool others_may) {
  for (std::size_t taken = 0; next < ends.size() && ends[next].post <= leave; ++next, ++taken) {
    if (ends[next].post == leave && others_may && (taken >= most || leave > enter)) break;
  }
  return next;
}

// Channels in which no message overtakes another.
class Lanes {
 public:
  // Of a message, in the order of their sends.
  std::uint32_t Of(std::uint32_t peer, std::uint32_t tag, Tick receive) {
    std::vector<Tick>& last = last_receives_[static_cast<std::uint64_t>(peer) << 32 | tag];
    // The last receives fall from lane to lane, as a message takes the first one that is free.
    const auto lane = std::partition_point(last.begin(), last.end(), [&](Tick tick) { return tick > receive; });
    const auto number = static_cast<std::uint32_t>(lane - last.begin());
    if (lane == last.end()) {
      last.push_back(receive);
    } else {
      *lane = receive;
    }
    return number;
  }

 private:
  std::unordered_map<std::uint64_t, std::vector<Tick>> last_receives_;
};

// Sends of a task from what it sends, its receives from what it gets: each in the order of the sends, which both ends
// know.
void SeparateOvertaking(std::vector<MessageEnd>& ends, bool sends) {
  const auto in_order_of_sends = [&](const MessageEnd& a, const MessageEnd& b) {
    const auto key = [&](const MessageEnd& e) {
      return std::tuple(sends ? e.post : e.other, sends ? e.other : e.post, e.complete, e.bytes);
    };
    return key(a) < key(b);
  };
  if (!std::ranges::is_sorted(ends, in_order_of_sends)) std::ranges::sort(ends, in_order_of_sends);
  Lanes lanes;
  for (MessageEnd& end : ends) {
    const std::uint32_t lane = lanes.Of(end.peer, end.tag, sends ? end.other : end.post);
    if (lane > 0) end.tag ^= 0x80000000u | (lane * 0x9E3779B1u);  // beyond usual tags, apart from each other
  }
}

// By their posts; those of one time in the order of the file, as calls that share a tick are. Within a channel however
// they must be in the same order at both ends, which is that of the posts at the other end.
void OrderPosts(std::vector<MessageEnd>& ends) {
  std::sort(ends.begin(), ends.end(), [](const MessageEnd& a, const MessageEnd& b) {
    return std::tie(a.post, a.number) < std::tie(b.post, b.number);
  });
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> places;
  for (std::size_t first = 0, end = 0; first < ends.size(); first = end) {
    for (end = first; end < ends.size() && ends[end].post == ends[first].post; ++end) {
    }
    if (end - first < 2) continue;
    places.clear();
    for (std::size_t i = first; i < end; ++i) places[{ends[i].peer, ends[i].tag}].push_back(i);
    for (const auto& [channel, indices] : places) {
      if (indices.size() < 2) continue;
      std::vector<MessageEnd> ordered;
      for (const std::size_t i : indices) ordered.push_back(ends[i]);
      std::stable_sort(ordered.begin(), ordered.end(), [](const MessageEnd& a, const MessageEnd& b) {
        return std::tie(a.other, a.complete, a.bytes) < std::tie(b.other, b.complete, b.bytes);
      });
      for (std::size_t k = 0; k < indices.size(); ++k) ends[indices[k]] = ordered[k];
    }
  }
}

}  // namespace

MessageEnds MessageEndsOf(const ParaverTaskParts& parts) {
  MessageEnds ends;
  std::uint32_t number = 0;
  for (std::size_t part = 0; part < parts.parts.size(); ++part) {
    SegmentReader reader = parts.Reader(part, ParaverStream::kMessages);
    while (!reader.AtEnd()) {
      const ParaverMessage m = reader.NextMessage();
      const Tick complete = std::max(m.physical_receive, m.logical_receive);
      if (m.is_send) {
        ends.sends.push_back({m.logical_send, complete, m.logical_receive, m.bytes, m.peer, m.tag, number++});
      } else {
        ends.receives.push_back({m.logical_receive, complete, m.logical_send, m.bytes, m.peer, m.tag, number++});
      }
    }
  }
  SeparateOvertaking(ends.sends, true);
  SeparateOvertaking(ends.receives, false);
  OrderPosts(ends.sends);
  OrderPosts(ends.receives);
  return ends;
}

bool MayPost(MpiCall call, bool is_send) {
  switch (call) {
    case MpiCall::kSend:
    case MpiCall::kBufferedSend:
    case MpiCall::kSynchronousSend:
    case MpiCall::kImmediateSend:
    case MpiCall::kImmediateBufferedSend:
    case MpiCall::kImmediateSynchronousSend: return is_send;
    case MpiCall::kReceive:
    case MpiCall::kImmediateReceive: return !is_send;
    case MpiCall::kSendReceive:
    case MpiCall::kStart:
    case MpiCall::kOther: return true;
    default: return false;
  }
}

// At the tick that the call shares with others each gets its own messages: those that come later what the call cannot
// have posted, and of a call without length all but the first.
void ParaverMessages::InCall(Tick enter, const CallEnd& end, MpiCall call) {
  if (end.has_inner) call = MpiCall::kOther;
  const std::size_t sends = Taken(ends_.sends, next_send_, MostPosts(call, true), enter, end.tick, end.others_send);
  const std::size_t receives =
      Taken(ends_.receives, next_receive_, MostPosts(call, false), enter, end.tick, end.others_receive);
  for (; next_receive_ < receives; ++next_receive_) PostReceive(ends_.receives[next_receive_], end.tick, call);
  for (; next_send_ < sends; ++next_send_) PostSend(ends_.sends[next_send_], call);
  if (MayCompleteReceives(call)) CompleteUntil(end.tick);
}

void ParaverMessages::PostSend(const MessageEnd& end, MpiCall call) {
  if (BlocksForItsSend(call)) {
    rank_.Send(end.peer, world_, end.tag, end.bytes);
  } else {
    rank_.SendPost(end.peer, world_, end.tag, end.bytes, std::nullopt);
  }
}

void ParaverMessages::PostReceive(const MessageEnd& end, Tick leave, MpiCall call) {
  if (end.complete <= leave && MayCompleteReceives(call)) return rank_.Receive(end.peer, world_, end.tag, end.bytes);
  rank_.ReceivePost(next_receive_);
  pending_.push({end.complete, next_receive_});
}

void ParaverMessages::CompleteUntil(Tick leave) {
  for (; !pending_.empty() && pending_.top().first <= leave; pending_.pop()) {
    const std::size_t number = pending_.top().second;
    const MessageEnd& end = ends_.receives[number];
    rank_.ReceiveComplete(end.peer, world_, end.tag, end.bytes, number);
  }
}

void ParaverMessages::OutsideUntil(Tick tick) {
  for (; next_receive_ < ends_.receives.size() && ends_.receives[next_receive_].post < tick; ++next_receive_) {
    const MessageEnd& end = ends_.receives[next_receive_];
    rank_.Receive(end.peer, world_, end.tag, end.bytes);
  }
  for (; next_send_ < ends_.sends.size() && ends_.sends[next_send_].post < tick; ++next_send_) {
    const MessageEnd& end = ends_.sends[next_send_];
    rank_.Send(end.peer, world_, end.tag, end.bytes);
  }
}

namespace {

bool HasRoot(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == kBroadcast || kind == kReduce || kind == kGather || kind == kScatter;
}

}  // namespace

void CollectiveAttributes::Take(const ParaverFact& fact) {
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(fact.value, 0));
  switch (fact.event) {
    case ParaverEvent::kSendSize: sent = bytes; break;
    case ParaverEvent::kReceiveSize: received = bytes; break;
    case ParaverEvent::kRoot: is_root = fact.value != 0; break;
    case ParaverEvent::kCommunicator: communicator = static_cast<std::uint64_t>(fact.value); break;
    default: break;
  }
}

void CollectiveCalls::Attribute(Tick tick, const ParaverFact& fact) {
  if (!IsCollectiveAttribute(fact.event)) return;
  if (!in_call_ && attributes_.tick != tick) attributes_ = {};
  if (!in_call_) attributes_.tick = tick;
  attributes_.Take(fact);
}

void CollectiveCalls::Enter(Tick tick) {
  if (attributes_.tick != tick) attributes_ = {};
  in_call_ = true;
}

std::optional<CollectiveCalls::Collective> CollectiveCalls::Leave(std::uint32_t region) {
  in_call_ = false;
  const CollectiveAttributes attributes = std::exchange(attributes_, {});
  const std::optional<CollectiveKind>& kind = facts_.collectives[region];
  if (!kind || !attributes.communicator) return std::nullopt;
  const auto found = facts_.communicators.find(*attributes.communicator);
  if (found == facts_.communicators.end()) return Collective{*kind, 0, 0, attributes, false};
  return Collective{*kind, found->second, numbers_[found->second]++, attributes, true};
}

void RecordedCollectives::Leave(std::uint32_t index) {
  const auto collective = CollectiveCalls::Leave(index);
  if (!collective) return;
  const Region& region = trace_.regions[index];
  rank_.diagnostics().AddPopulation(anomaly::kCommunicatorUnknown, 1);
  if (!collective->is_known) {
    rank_.diagnostics().Add(
        anomaly::kCommunicatorUnknown, 1,
        fmt::format("{}, {} on rank {}", *collective->attributes.communicator, region.name, rank_.rank()));
    return;
  }
  if (region.call == MpiCall::kImmediateCollective) return rank_.CollectivePost(std::nullopt);
  std::optional<std::uint32_t> root;
  if (HasRoot(collective->kind)) root = RootOf(*collective, region);
  rank_.Collective(collective->kind, collective->communicator, root, collective->attributes.sent,
                   collective->attributes.received);
}

std::optional<std::uint32_t> RecordedCollectives::RootOf(const Collective& collective, const Region& region) {
  const Communicator& communicator = trace_.communicators[collective.communicator];
  if (communicator.is_self) return 0;
  const auto found = facts_.roots.find({collective.communicator, collective.number});
  if (found == facts_.roots.end()) {
    rank_.diagnostics().Add(anomaly::kRootUnknown, 1, fmt::format("{} on rank {}", region.name, rank_.rank()));
    return std::nullopt;
  }
  const std::int32_t rank = found->second;
  const std::vector<std::int32_t>& group = communicator.remote.empty() ? communicator.members : communicator.remote;
  if (static_cast<std::size_t>(rank) < group.size() && group[static_cast<std::size_t>(rank)] == rank) {
    return static_cast<std::uint32_t>(rank);
  }
  const auto [local, is_new] = local_roots_.try_emplace({collective.communicator, rank}, 0);
  if (is_new) {
    local->second = static_cast<std::uint32_t>(std::ranges::find(group, rank) - group.begin());
  }
  return local->second;
}

ParaverRoots ParaverRootsOf(const ParaverTaskParts& parts, const ParaverCollectiveFacts& facts, std::int32_t rank) {
  ParaverRoots roots;
  CollectiveCalls collectives(facts);
  EventCursor events(parts);
  std::uint32_t call = ParaverBlockMeaning::kNothing;
  while (const ParaverMoment* record = events.Peek()) {
    for (const ParaverFact& fact : record->facts) {
      const ParaverEvent event = fact.event;
      collectives.Attribute(record->tick, fact);
      if (event != ParaverEvent::kMpi) continue;
      if (fact.is_enter()) {
        call = fact.index;
        collectives.Enter(record->tick);
      } else if (call != ParaverBlockMeaning::kNothing) {
        const auto collective = collectives.Leave(call);
        if (!collective || !collective->is_known || !collective->attributes.is_root) continue;
        roots[{collective->communicator, collective->number}] = rank;
      }
    }
    events.Advance();
  }
  return roots;
}

}  // namespace farscale
