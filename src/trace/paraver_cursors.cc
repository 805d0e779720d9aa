#include "trace/paraver_cursors.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace farscale {
namespace {

// States of Paraver [docs/traces.md].
constexpr std::uint32_t kRunning = 1;
constexpr std::uint32_t kNotCreated = 2;

// Whether a record of these is an edge, rather than adds to one.
bool HasEdge(const ParaverMoment& moment) {
  return std::ranges::any_of(moment.facts, [](const ParaverFact& fact) {
    using enum ParaverEvent;
    return fact.event == kMpi || fact.event == kFunction || fact.event == kUserEvent || fact.event == kApplication ||
           fact.event == kFlush || fact.event == kTracing;
  });
}

const ParaverFact* FirstEdgeOfCall(const ParaverMoment& moment) {
  const auto found = std::ranges::find(moment.facts, ParaverEvent::kMpi, &ParaverFact::event);
  return found == moment.facts.end() ? nullptr : &*found;
}

void ReadMoment(const ParaverTaskParts& parts, std::size_t part, SegmentReader& reader, ParaverMoment& moment) {
  thread_local std::vector<ParaverPair> pairs;
  const std::uint32_t number = parts.parts[part].block;
  const ParaverBlock& block = parts.blocks->blocks[number];
  const ParaverBlockMeaning& meaning = parts.blocks->meanings[number];
  moment.tick = reader.NextEvents(pairs);
  moment.facts.clear();
  for (const ParaverPair& pair : pairs) {
    ParaverFact& fact = moment.facts.emplace_back();
    fact.event = meaning.events[pair.type_index];
    fact.type = block.types[pair.type_index];
    if (HasSymbols(fact.event)) {
      fact.index = meaning.regions[pair.symbol()];
      fact.value = pair.symbol() == 0 ? 0 : 1;
    } else {
      fact.index = meaning.counters[pair.type_index];
      fact.value = pair.value();
    }
  }
}

void ReadState(const ParaverTaskParts&, std::size_t, SegmentReader& reader, ParaverState& state) {
  state = reader.NextState();
}

}  // namespace

std::size_t ParaverTaskParts::Bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts) {
    const ParaverSegment& segment = blocks->blocks[part.block].segments[part.segment];
    bytes += segment.begin[kParaverStreams] - segment.begin[0];
  }
  return bytes;
}

EventCursor::EventCursor(const ParaverTaskParts& parts)
    : records_(parts, ParaverStream::kEvents, ReadMoment, &ParaverMoment::tick) {}

// All moments of the next tick.
bool EventCursor::Load() {
  ParaverMoment moment;
  if (!spare_.empty()) {
    moment.facts = std::move(spare_.back());
    spare_.pop_back();
  }
  group_.clear();
  if (held_) {
    group_.push_back(*std::exchange(held_, std::nullopt));
  } else if (records_.Next(moment)) {
    group_.push_back(std::move(moment));
    moment = {};
  } else {
    return false;
  }
  while (records_.Next(moment)) {
    ParaverMoment& last = group_.back();
    if (moment.tick != last.tick) {
      held_ = std::move(moment);
      break;
    }
    if (HasEdge(moment)) {
      group_.push_back(std::move(moment));
      moment = {};
    } else {
      last.facts.insert(last.facts.end(), moment.facts.begin(), moment.facts.end());
    }
  }
  for (std::size_t i = 0; i < group_.size(); ++i) {
    ChooseNext(i);
    MakeCallsFollow(group_[i]);
    ready_.push_back(std::move(group_[i]));
  }
  return true;
}

// Of moments at one tick, from `first` on, the one that continues what was before comes next: the leave of the open
// call; and a call that is entered and left there is entered first.
void EventCursor::ChooseNext(std::size_t first) {
  const ParaverFact* edge = FirstEdgeOfCall(group_[first]);
  if (edge == nullptr || group_.size() - first < 2) return;
  const bool wants_leave = open_type_ != 0 && (edge->is_enter() || edge->type != open_type_);
  const bool wants_enter = open_type_ == 0 && edges_ > 0 && !edge->is_enter();
  if (!wants_leave && !wants_enter) return;
  const std::uint32_t type = wants_leave ? open_type_ : edge->type;
  for (std::size_t i = first + 1; i < group_.size(); ++i) {
    const ParaverFact* other = FirstEdgeOfCall(group_[i]);
    if (other == nullptr || other->type != type || other->is_enter() == wants_leave) continue;
    std::rotate(group_.begin() + static_cast<std::ptrdiff_t>(first), group_.begin() + static_cast<std::ptrdiff_t>(i),
                group_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return;
  }
}

void EventCursor::MakeCallsFollow(ParaverMoment& moment) {
  for (std::size_t i = 0; i < moment.facts.size(); ++i) {
    if (moment.facts[i].event != ParaverEvent::kMpi) continue;
    const std::uint32_t type = moment.facts[i].type;
    const bool is_enter = moment.facts[i].is_enter();
    const bool is_first = edges_++ == 0;
    if (is_enter && open_type_ != 0) {
      ++lost_edges_;
      const ParaverFact leave{ParaverEvent::kMpi, open_type_, ParaverBlockMeaning::kNothing, 0};
      moment.facts.insert(moment.facts.begin() + static_cast<std::ptrdiff_t>(i++), leave);
    } else if (!is_enter && open_type_ != type && !is_first) {
      ++lost_edges_;
      moment.facts.erase(moment.facts.begin() + static_cast<std::ptrdiff_t>(i--));
      continue;
    }
    open_type_ = is_enter ? type : 0;
  }
}

const ParaverMoment* EventCursor::Peek(std::size_t ahead) {
  while (ready_.size() <= ahead) {
    if (!Load()) return nullptr;
  }
  return &ready_[ahead];
}

void EventCursor::Advance() {
  spare_.push_back(std::move(ready_.front().facts));
  ready_.pop_front();
}

StateCursor::StateCursor(const ParaverTaskParts& parts)
    : states_(parts, ParaverStream::kStates, ReadState, &ParaverState::begin) {
  for (std::size_t part = 0; part < parts.parts.size(); ++part) {
    SegmentReader reader = parts.Reader(part, ParaverStream::kStates);
    while (!reader.AtEnd()) {
      const ParaverState state = reader.NextState();
      are_recorded_ |= state.state == kRunning;
      if (state.state == kNotCreated) continue;
      first_ = first_ ? std::min(*first_, state.begin) : state.begin;
      last_ = std::max(last_, state.end);
    }
  }
}

const ParaverState* StateCursor::Current() {
  if (!current_ && !states_.Next(current_.emplace())) current_.reset();
  return current_ ? &*current_ : nullptr;
}

void StateCursor::NotRunning(Tick from, Tick to, std::vector<Stretch>& stretches) {
  stretches.clear();
  const auto add = [&](Tick begin, Tick end) {
    if (begin >= end) return;
    if (!stretches.empty() && stretches.back().end == begin) {
      stretches.back().end = end;
    } else {
      stretches.push_back({begin, end});
    }
  };
  while (from < to) {
    const ParaverState* state = Current();
    if (state == nullptr) return add(from, to);
    if (state->end <= from) {
      current_.reset();
      continue;
    }
    const Tick begin = std::clamp(state->begin, from, to);
    const Tick end = std::min(state->end, to);
    add(from, begin);
    if (state->state != kRunning) add(begin, end);
    from = std::max(begin, end);
  }
}

namespace {

// Channels in which no message overtakes another.
class Lanes {
 public:
  // Of a message, in the order of their sends.
  std::uint32_t Of(std::int32_t peer, std::uint32_t tag, Tick receive) {
    std::vector<Tick>& last = last_receives_[static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 32 | tag];
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
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<std::size_t>> places;
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

}  // namespace farscale
