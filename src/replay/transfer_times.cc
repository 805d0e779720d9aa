#include "replay/transfer_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/parallel.h"
#include "replay/matching.h"

namespace farscale {
namespace {

// Of an end that lies outside any call: that of a message which crosses the edge of a cut.
constexpr std::int32_t kNotPosted = -1;

// Both ends of every matched message. Ranks fill their own ends, so they can do so in parallel.
struct MessageEnds {
  struct Sent {
    Tick tick = 0;  // when the sending call was entered
    std::uint64_t bytes = 0;
    std::int32_t rank = kNotPosted;
    MpiCall call = MpiCall::kNone;
  };
  struct Posted {
    Tick tick = 0;  // when the call was entered that posted the receive
    Tick done = 0;  // when the call was left that completed it
    std::int32_t rank = kNotPosted;
  };
  std::vector<Sent> sent;
  std::vector<Posted> posted;
};

MessageEnds FindEnds(const Trace& trace, const Matching& matching) {
  MessageEnds ends;
  ends.sent.resize(matching.matched);
  ends.posted.resize(matching.matched);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    ForEachRecord(timeline, matching.ranks[rank], 0, timeline.calls(),
                  [&](std::size_t call, std::size_t record, const RecordPart& part) {
                    if (part.IsCollective() || part.number >= matching.matched) return;
                    const bool sends = part.type == OperationClass::kSend;
                    if (!sends && part.completes) ends.posted[part.number].done = timeline.leave(call);
                    if (!part.posts) return;
                    if (sends) {
                      ends.sent[part.number] = {timeline.enter(call), timeline.record_bytes(record),
                                                static_cast<std::int32_t>(rank),
                                                trace.regions[timeline.region(call)].call};
                    } else {
                      ends.posted[part.number].tick = timeline.enter(call);
                      ends.posted[part.number].rank = static_cast<std::int32_t>(rank);
                    }
                  });
  });
  return ends;
}

// Inspects the calls of one rank.
class RankObserver {
 public:
  RankObserver(const Trace& trace, const Matching& matching, const ReplayRules& rules, const MessageEnds& ends,
               std::size_t rank)
      : trace_(trace),
        matching_(matching),
        rules_(rules),
        ends_(ends),
        rank_(static_cast<std::int32_t>(rank)),
        timeline_(trace.timelines[rank]) {}

  Observations Run() {
    std::size_t current = 0;
    ForEachRecord(timeline_, matching_.ranks[static_cast<std::size_t>(rank_)], 0, timeline_.calls(),
                  [&](std::size_t call, std::size_t, const RecordPart& part) {
                    if (call != current) EndCall(current);
                    current = call;
                    Add(part);
                  });
    EndCall(current);
    return std::move(result_);
  }

 private:
  void Add(const RecordPart& part) {
    ++records_;
    const std::uint32_t message = part.number;
    const bool has_both_ends = !part.IsCollective() && message < matching_.matched &&
                               ends_.sent[message].rank != kNotPosted && ends_.posted[message].rank != kNotPosted;
    if (!has_both_ends || IsOneSided(ends_.sent[message].call)) {
      has_others_ = true;  // a collective, a message of which half is missing, or what stands for none
      return;
    }
    const bool sends = part.type == OperationClass::kSend;
    if (part.posts) posted_.push_back(message);
    if (part.completes) (sends ? sends_ : receives_).push_back(message);
    if (part.posts && sends && Peer(message) != rank_) ++LinkOf(message).messages;
  }

  void EndCall(std::size_t call) {
    if (records_ > 0 && !has_others_) {
      ObserveTransfer(call);
      ObservePost(call);
      ObserveLateReceives(call);
    }
    records_ = 0;
    has_others_ = false;
    posted_.clear();
    sends_.clear();
    receives_.clear();
  }

  // A successful test says that the message was there, not since when.
  bool Blocks(std::size_t call) const {
    const MpiCall kind = CallKind(call);
    return kind == MpiCall::kReceive || kind == MpiCall::kWait || kind == MpiCall::kSendReceive;
  }

  void ObserveTransfer(std::size_t call) {
    if (receives_.size() != 1 || !Blocks(call)) return;
    const std::uint32_t message = receives_.front();
    const MessageEnds::Sent& sent = ends_.sent[message];
    if (sent.rank == rank_) return;
    const Tick posted = ends_.posted[message].tick;
    if (sends_.empty() && posted > sent.tick) {
      LinkOf(message).late_posts.push_back(
          {sent.bytes, posted - sent.tick, timeline_.enter(call) - posted, timeline_.leave(call) - posted});
    }
    if (timeline_.enter(call) > sent.tick) return;
    for (const std::uint32_t other : sends_) {
      if (!IsDoneBefore(other, message)) return;
    }
    LinkOf(message).transfers.push_back({sent.rank, rank_, sent.bytes, timeline_.leave(call) - sent.tick, message, 0});
  }

  // A send of the same call does not hold the receiver up when it waits for nobody, or when it started no later than
  // the message on a link of the same kind and has no more to carry.
  bool IsDoneBefore(std::uint32_t send, std::uint32_t message) const {
    const MessageEnds::Sent& own = ends_.sent[send];
    if (own.call != MpiCall::kSynchronousSend && own.call != MpiCall::kImmediateSynchronousSend &&
        own.bytes < std::min(kSmallMessage, rules_.Limit())) {
      return true;
    }
    const Tick start = std::max(own.tick, ends_.posted[send].tick);
    return start <= ends_.sent[message].tick && own.bytes <= ends_.sent[message].bytes &&
           IsLocal(send) == IsLocal(message);
  }

  void ObservePost(std::size_t call) {
    if (records_ != 1 || posted_.size() != 1 || Peer(posted_.front()) == rank_) return;
    const MpiCall kind = CallKind(call);
    const bool is_small = ends_.sent[posted_.front()].bytes < std::min(kSmallMessage, rules_.Limit());
    if (kind == MpiCall::kImmediateReceive ||
        (is_small && (kind == MpiCall::kImmediateSend || kind == MpiCall::kSend))) {
      LinkOf(posted_.front()).posts.push_back(timeline_.duration(call));
    }
  }

  // Under rules by which no wait of a send waits, only blocking sends have an eager limit.
  void ObserveLateReceives(std::size_t call) {
    for (const std::uint32_t send : sends_) {
      const MpiCall kind = ends_.sent[send].call;
      const bool may_wait =
          kind == MpiCall::kSend || (kind == MpiCall::kImmediateSend && rules_.SendCompletionWaits() && Blocks(call));
      const Tick posted = ends_.posted[send].tick;
      if (!may_wait || Peer(send) == rank_ || posted <= timeline_.enter(call)) continue;
      const bool waited = posted <= timeline_.leave(call);
      if (waited && sends_.size() + receives_.size() > 1) continue;  // for which of them is unknown
      LinkOf(send).late.push_back({ends_.sent[send].bytes, waited});
    }
  }

  MpiCall CallKind(std::size_t call) const { return trace_.regions[timeline_.region(call)].call; }
  std::int32_t NodeOf(std::int32_t rank) const { return trace_.ranks[static_cast<std::size_t>(rank)].node; }
  std::int32_t Peer(std::uint32_t message) const {
    return ends_.sent[message].rank == rank_ ? ends_.posted[message].rank : ends_.sent[message].rank;
  }
  bool IsLocal(std::uint32_t message) const { return NodeOf(Peer(message)) == NodeOf(rank_); }
  LinkObservations& LinkOf(std::uint32_t message) { return IsLocal(message) ? result_.local : result_.remote; }

  const Trace& trace_;
  const Matching& matching_;
  const ReplayRules& rules_;
  const MessageEnds& ends_;
  const std::int32_t rank_;
  const RankTimeline& timeline_;
  Observations result_;

  // Of the call at hand: messages it posts, and those whose send or receive it completes.
  std::size_t records_ = 0;
  bool has_others_ = false;
  std::vector<std::uint32_t> posted_, sends_, receives_;
};

void Append(LinkObservations& all, const LinkObservations& some) {
  all.messages += some.messages;
  all.transfers.insert(all.transfers.end(), some.transfers.begin(), some.transfers.end());
  all.posts.insert(all.posts.end(), some.posts.begin(), some.posts.end());
  all.late.insert(all.late.end(), some.late.begin(), some.late.end());
  all.late_posts.insert(all.late_posts.end(), some.late_posts.begin(), some.late_posts.end());
}

// When messages may be on their way: from the call that sends them to the one that completes their receive, though
// after both sides were there none takes longer than the slowest whose receiver waited.
class MessageTimes {
 public:
  MessageTimes(const MessageEnds& ends, Tick longest) : ends_(ends), longest_(longest) {}

  Tick Begin(std::uint32_t message) const { return ends_.sent[message].tick; }
  Tick End(std::uint32_t message) const {
    const MessageEnds::Posted& posted = ends_.posted[message];
    const Tick latest = std::max(Begin(message), posted.tick) + longest_;
    return std::max(Begin(message) + 1, std::min(posted.done, latest));
  }

 private:
  const MessageEnds& ends_;
  Tick longest_;
};

// The largest number of bytes on a link, in one direction, beside each of its messages: those of messages that begin
// before it ends, less those of messages that end before it begins.
void AddCompetingBytes(const MessageEnds& ends, const MessageTimes& times, std::vector<std::uint32_t> messages,
                       std::vector<std::uint64_t>& competing) {
  const auto begin = [&](std::uint32_t message) { return times.Begin(message); };
  const auto end = [&](std::uint32_t message) { return times.End(message); };
  std::vector<std::uint32_t> by_end = messages;
  std::ranges::sort(messages, {}, begin);
  std::ranges::sort(by_end, {}, end);
  std::vector<std::uint64_t> begun = {0}, ended = {0};
  for (const std::uint32_t message : messages) begun.push_back(begun.back() + ends.sent[message].bytes);
  for (const std::uint32_t message : by_end) ended.push_back(ended.back() + ends.sent[message].bytes);
  for (const std::uint32_t message : messages) {
    const auto before = std::ranges::lower_bound(messages, end(message), {}, begin) - messages.begin();
    const auto over = std::ranges::upper_bound(by_end, begin(message), {}, end) - by_end.begin();
    const std::uint64_t bytes = begun[static_cast<std::size_t>(before)] - ended[static_cast<std::size_t>(over)];
    competing[message] = std::max(competing[message], bytes - ends.sent[message].bytes);
  }
}

// `transfers`: between nodes.
void FindCompetingBytes(const Trace& trace, const MessageEnds& ends, std::vector<TransferTime>& transfers) {
  if (transfers.empty()) return;
  std::map<std::int32_t, std::array<std::vector<std::uint32_t>, 2>> links;  // by node: messages from it and to it
  for (std::uint32_t message = 0; message < ends.sent.size(); ++message) {
    const std::int32_t from = ends.sent[message].rank, to = ends.posted[message].rank;
    if (from == kNotPosted || to == kNotPosted) continue;
    const std::int32_t source = trace.ranks[static_cast<std::size_t>(from)].node;
    const std::int32_t target = trace.ranks[static_cast<std::size_t>(to)].node;
    if (source == target) continue;
    links[source][0].push_back(message);
    links[target][1].push_back(message);
  }
  const MessageTimes times(ends, std::ranges::max(transfers, {}, &TransferTime::ticks).ticks);
  std::vector<std::uint64_t> competing(ends.sent.size());
  for (auto& [node, directions] : links) {
    for (std::vector<std::uint32_t>& messages : directions) {
      AddCompetingBytes(ends, times, std::move(messages), competing);
    }
  }
  for (TransferTime& transfer : transfers) transfer.competing_bytes = competing[transfer.message];
}

}  // namespace

Observations Observe(const Trace& trace, const Matching& matching, const ReplayRules& rules) {
  const MessageEnds ends = FindEnds(trace, matching);
  std::vector<Observations> of_rank(trace.size());
  ParallelFor(trace.size(),
              [&](std::size_t rank) { of_rank[rank] = RankObserver(trace, matching, rules, ends, rank).Run(); });
  Observations all;
  for (const Observations& some : of_rank) {
    Append(all.local, some.local);
    Append(all.remote, some.remote);
  }
  FindCompetingBytes(trace, ends, all.remote.transfers);
  return all;
}

}  // namespace farscale
