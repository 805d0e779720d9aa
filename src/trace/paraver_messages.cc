// The messages and collectives of a task of a Paraver trace, and which of its calls they belong to.
#include "trace/paraver_timeline.h"

#include <fmt/format.h>

#include <tuple>

#include "trace/anomalies.h"

namespace farscale {
namespace {

bool MayCompleteReceives(MpiCall call) {
  return call != MpiCall::kImmediateReceive && call != MpiCall::kStart && call != MpiCall::kSend &&
         call != MpiCall::kImmediateSend && call != MpiCall::kCollective;
}

// The number of messages of a kind that a call can post.
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

// Gives messages that overtake others another tag. A lane is a channel in which no message overtakes another. Sends of
// a task are those that it sends, its receives those that it gets: each in the order of the sends, which both ends
// know.
void SeparateOvertaking(std::vector<MessageEnd>& ends, bool sends) {
  const auto key = [&](const MessageEnd& e) {
    return std::tuple(sends ? e.post : e.other, sends ? e.other : e.post, e.complete, e.bytes);
  };
  if (!std::ranges::is_sorted(ends, {}, key)) std::ranges::sort(ends, {}, key);
  std::unordered_map<std::uint64_t, std::vector<Tick>> last_receives;  // one a lane; keys: peer and tag
  for (MessageEnd& end : ends) {
    const Tick receive = sends ? end.other : end.post;
    std::vector<Tick>& last = last_receives[static_cast<std::uint64_t>(end.peer) << 32 | end.tag];
    // The last receives fall from lane to lane, as a message takes the first one that is free.
    const auto free = std::partition_point(last.begin(), last.end(), [&](Tick tick) { return tick > receive; });
    const auto lane = static_cast<std::uint32_t>(free - last.begin());
    if (free == last.end()) {
      last.push_back(receive);
    } else {
      *free = receive;
    }
    if (lane > 0) end.tag ^= 0x80000000u | (lane * 0x9E3779B1u);  // beyond usual tags, apart from each other
  }
}

// Sorts by posts; those of one time in the order of the file, as calls that share a tick are. Within a channel however
// they must be in the same order at both ends, which is that of the posts at the other end.
void OrderPosts(std::vector<MessageEnd>& ends) {
  std::ranges::sort(ends, {}, [](const MessageEnd& end) { return std::pair(end.post, end.number); });
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
      std::ranges::stable_sort(ordered, {},
                               [](const MessageEnd& e) { return std::tuple(e.other, e.complete, e.bytes); });
      for (std::size_t k = 0; k < indices.size(); ++k) ends[indices[k]] = ordered[k];
    }
  }
}

}  // namespace

ParaverMessages::ParaverMessages(const ParaverTaskParts& parts, std::uint32_t world) : world_(world) {
  std::uint32_t number = 0;
  for (ParaverStreamReader reader(parts, kParaverMessages); reader.Next();) {
    const std::uint64_t coded_peer = reader.Number();
    const bool is_send = (coded_peer & 1) != 0;
    const auto peer = static_cast<std::uint32_t>(coded_peer >> 1);
    const Tick send = reader.time(), receive = send + reader.Signed();
    const Tick complete = std::max(receive, receive + reader.Signed());
    const std::uint64_t bytes = reader.Number();
    const auto tag = static_cast<std::uint32_t>(reader.Number());
    (is_send ? sends_ : receives_)
        .push_back({is_send ? send : receive, complete, is_send ? receive : send, bytes, peer, tag, number++});
  }
  SeparateOvertaking(sends_, true);
  SeparateOvertaking(receives_, false);
  OrderPosts(sends_);
  OrderPosts(receives_);
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
void ParaverMessages::InCall(Tick enter, Tick leave, MpiCall call, bool others_send, bool others_receive,
                             RankBuilder& rank) {
  const std::size_t sends = Taken(sends_, next_send_, MostPosts(call, true), enter, leave, others_send);
  const std::size_t receives = Taken(receives_, next_receive_, MostPosts(call, false), enter, leave, others_receive);
  for (; next_receive_ < receives; ++next_receive_) {
    const MessageEnd& message = receives_[next_receive_];
    if (message.complete <= leave && MayCompleteReceives(call)) {
      rank.Receive(message.peer, world_, message.tag, message.bytes);
      continue;
    }
    rank.ReceivePost(next_receive_);
    pending_.push({message.complete, next_receive_});
  }
  const bool blocks = call == MpiCall::kSend || call == MpiCall::kBufferedSend || call == MpiCall::kSynchronousSend ||
                      call == MpiCall::kSendReceive;
  for (; next_send_ < sends; ++next_send_) {
    const MessageEnd& message = sends_[next_send_];
    if (blocks) {
      rank.Send(message.peer, world_, message.tag, message.bytes);
    } else {
      rank.SendPost(message.peer, world_, message.tag, message.bytes, std::nullopt);
    }
  }
  if (!MayCompleteReceives(call)) return;
  for (; !pending_.empty() && pending_.top().first <= leave; pending_.pop()) {
    const std::size_t number = pending_.top().second;
    const MessageEnd& message = receives_[number];
    rank.ReceiveComplete(message.peer, world_, message.tag, message.bytes, number);
  }
}

void ParaverMessages::OutsideUntil(Tick tick, RankBuilder& rank) {
  for (; next_receive_ < receives_.size() && receives_[next_receive_].post < tick; ++next_receive_) {
    const MessageEnd& end = receives_[next_receive_];
    rank.Receive(end.peer, world_, end.tag, end.bytes);
  }
  for (; next_send_ < sends_.size() && sends_[next_send_].post < tick; ++next_send_) {
    const MessageEnd& end = sends_[next_send_];
    rank.Send(end.peer, world_, end.tag, end.bytes);
  }
}

void CollectiveCalls::Attribute(Tick tick, const ParaverFact& fact) {
  if (!IsCollectiveAttribute(fact.event)) return;
  if (!in_call_ && current_.tick != tick) current_ = {};
  if (!in_call_) current_.tick = tick;
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(fact.value, 0));
  switch (fact.event) {
    case ParaverEvent::kSendSize: current_.sent = bytes; break;
    case ParaverEvent::kReceiveSize: current_.received = bytes; break;
    case ParaverEvent::kRoot: current_.is_root = fact.value != 0; break;
    default: current_.id = static_cast<std::uint64_t>(fact.value); break;
  }
}

void CollectiveCalls::Enter(Tick tick) {
  if (current_.tick != tick) current_ = {};
  in_call_ = true;
}

std::optional<ParaverCollective> CollectiveCalls::Leave(std::uint32_t region, const ParaverTraceFacts& facts) {
  in_call_ = false;
  ParaverCollective collective = std::exchange(current_, {});
  const std::optional<CollectiveKind>& kind = facts.collectives[region];
  if (!kind || !collective.id) return std::nullopt;
  collective.kind = *kind;
  const auto found = facts.communicators.find(*collective.id);
  if (found == facts.communicators.end()) return collective;
  collective.communicator = found->second;
  collective.number = numbers_[found->second]++;
  return collective;
}

void CollectiveCalls::Record(std::uint32_t index, const ParaverTraceFacts& facts, RankBuilder& rank) {
  const auto collective = Leave(index, facts);
  if (!collective) return;
  const Region& region = rank.definitions().regions[index];
  rank.diagnostics().AddPopulation(anomaly::kCommunicatorUnknown, 1);
  if (!collective->communicator) {
    rank.diagnostics().Add(anomaly::kCommunicatorUnknown, 1,
                           fmt::format("{}, {} on rank {}", *collective->id, region.name, rank.rank()));
    return;
  }
  if (region.call == MpiCall::kImmediateCollective) return rank.CollectivePost(std::nullopt);
  std::optional<std::uint32_t> root;
  using enum CollectiveKind;
  const CollectiveKind kind = collective->kind;
  const bool has_root = kind == kBroadcast || kind == kReduce || kind == kGather || kind == kScatter;
  const Communicator& communicator = rank.definitions().communicators[*collective->communicator];
  if (has_root && communicator.is_self) {
    root = 0;
  } else if (has_root) {
    const auto found = facts.roots.find({*collective->communicator, collective->number});
    if (found == facts.roots.end()) {
      rank.diagnostics().Add(anomaly::kRootUnknown, 1, fmt::format("{} on rank {}", region.name, rank.rank()));
    } else {
      const std::vector<std::int32_t>& group = communicator.remote.empty() ? communicator.members : communicator.remote;
      const auto place = static_cast<std::size_t>(found->second);
      root = static_cast<std::uint32_t>(found->second);  // as in the world, where all are in order
      if (place >= group.size() || group[place] != found->second) {
        const auto [local, is_new] = local_roots_.try_emplace({*collective->communicator, found->second}, 0);
        if (is_new) local->second = static_cast<std::uint32_t>(std::ranges::find(group, found->second) - group.begin());
        root = local->second;
      }
    }
  }
  rank.Collective(kind, *collective->communicator, root, collective->sent, collective->received);
}

ParaverRoots RootsOfTask(const ParaverTaskParts& parts, const ParaverTraceFacts& facts, std::int32_t rank) {
  ParaverRoots roots;
  CollectiveCalls collectives;
  EventCursor events(parts);
  std::uint32_t call = ParaverBlock::kNothing;
  for (; const ParaverMoment* record = events.Peek(); events.Advance()) {
    for (const ParaverFact& fact : record->facts) {
      collectives.Attribute(record->tick, fact);
      if (fact.event != ParaverEvent::kMpi) continue;
      if (fact.is_enter()) {
        call = fact.index;
        collectives.Enter(record->tick);
      } else if (call != ParaverBlock::kNothing) {
        const auto collective = collectives.Leave(call, facts);
        if (!collective || !collective->communicator || !collective->is_root) continue;
        roots[{*collective->communicator, collective->number}] = rank;
      }
    }
  }
  return roots;
}

}  // namespace farscale
