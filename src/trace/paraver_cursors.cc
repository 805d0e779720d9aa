#include "trace/paraver_cursors.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace farscale {
namespace {

constexpr std::uint32_t kRunning = 1;
constexpr std::uint32_t kNotCreated = 2;

// Whether a record of these tells an edge, rather than adds to one.
bool HasEdge(const ParaverMoment& moment) {
  return std::any_of(moment.facts.begin(), moment.facts.end(), [](const ParaverFact& fact) {
    switch (fact.event) {
      case ParaverEvent::kMpi:
      case ParaverEvent::kFunction:
      case ParaverEvent::kUserEvent:
      case ParaverEvent::kApplication:
      case ParaverEvent::kFlush:
      case ParaverEvent::kTracing: return true;
      default: return false;
    }
  });
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

EventCursor::EventCursor(const ParaverTaskParts& parts) : parts_(parts) {
  if (parts.IsInOrder(ParaverStream::kEvents)) return;
  ParaverMoment moment;
  while (LoadRecord(moment)) sorted_.push_back(moment);
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const ParaverMoment& a, const ParaverMoment& b) { return a.tick < b.tick; });
  is_sorted_ = true;
}

bool EventCursor::LoadRecord(ParaverMoment& moment) {
  if (is_sorted_) {
    if (next_sorted_ == sorted_.size()) return false;
    moment = std::move(sorted_[next_sorted_++]);
    return true;
  }
  while (!reader_ || reader_->AtEnd()) {
    if (next_part_ == parts_.parts.size()) return false;
    reader_ = parts_.Reader(next_part_++, ParaverStream::kEvents);
  }
  const std::uint32_t number = parts_.parts[next_part_ - 1].block;
  const ParaverBlock& block = parts_.blocks->blocks[number];
  const ParaverBlockMeaning& meaning = parts_.blocks->meanings[number];
  moment.tick = reader_->NextEvents(pairs_);
  moment.facts.clear();
  for (const ParaverPair& pair : pairs_) {
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
  return true;
}

bool EventCursor::Load() {
  ParaverMoment moment;
  if (!spare_.empty()) {
    moment.facts = std::move(spare_.back());
    spare_.pop_back();
  }
  if (held_) {
    ready_.push_back(*std::exchange(held_, std::nullopt));
  } else if (LoadRecord(moment)) {
    ready_.push_back(std::move(moment));
    moment = {};
  } else {
    return false;
  }
  ParaverMoment& last = ready_.back();
  while (LoadRecord(moment)) {
    if (moment.tick != last.tick || HasEdge(moment)) {
      held_ = std::move(moment);
      break;
    }
    last.facts.insert(last.facts.end(), moment.facts.begin(), moment.facts.end());
  }
  return true;
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

StateCursor::StateCursor(const ParaverTaskParts& parts) : parts_(parts) {
  Scan();
  if (!tells_ || parts.IsInOrder(ParaverStream::kStates)) return;
  while (const ParaverState* state = Current()) {
    sorted_.push_back(*state);
    current_.reset();
  }
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const ParaverState& a, const ParaverState& b) { return a.begin < b.begin; });
  is_sorted_ = true;
}

void StateCursor::Scan() {
  for (std::size_t part = 0; part < parts_.parts.size(); ++part) {
    SegmentReader reader = parts_.Reader(part, ParaverStream::kStates);
    while (!reader.AtEnd()) {
      const ParaverState state = reader.NextState();
      tells_ |= state.state == kRunning;
      if (state.state == kNotCreated) continue;
      first_ = first_ ? std::min(*first_, state.begin) : state.begin;
      last_ = std::max(last_, state.end);
    }
  }
}

const ParaverState* StateCursor::Current() {
  if (current_) return &*current_;
  if (is_sorted_) {
    if (next_sorted_ == sorted_.size()) return nullptr;
    current_ = sorted_[next_sorted_++];
    return &*current_;
  }
  while (!reader_ || reader_->AtEnd()) {
    if (next_part_ == parts_.parts.size()) return nullptr;
    reader_ = parts_.Reader(next_part_++, ParaverStream::kStates);
  }
  current_ = reader_->NextState();
  return &*current_;
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
    std::uint32_t lane = 0;
    while (lane < last.size() && last[lane] > receive) ++lane;
    if (lane == last.size() && lane < kMost) last.push_back(receive);
    lane = std::min(lane, kMost - 1);
    last[lane] = std::max(last[lane], receive);
    return lane;
  }

 private:
  static constexpr std::uint32_t kMost = 16;
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
  if (!std::is_sorted(ends.begin(), ends.end(), in_order_of_sends)) {
    std::sort(ends.begin(), ends.end(), in_order_of_sends);
  }
  Lanes lanes;
  for (MessageEnd& end : ends) {
    constexpr unsigned kAboveUsualTags = 27;
    end.tag ^= lanes.Of(end.peer, end.tag, sends ? end.other : end.post) << kAboveUsualTags;
  }
}

}  // namespace

std::vector<MessageEnd> MessageEnds(const ParaverTaskParts& parts) {
  std::vector<MessageEnd> sends, receives;
  for (std::size_t part = 0; part < parts.parts.size(); ++part) {
    SegmentReader reader = parts.Reader(part, ParaverStream::kMessages);
    while (!reader.AtEnd()) {
      const ParaverMessage m = reader.NextMessage();
      const Tick complete = std::max(m.physical_receive, m.logical_receive);
      if (m.is_send) {
        sends.push_back({m.logical_send, complete, m.logical_receive, m.bytes, m.peer, m.tag, true});
      } else {
        receives.push_back({m.logical_receive, complete, m.logical_send, m.bytes, m.peer, m.tag, false});
      }
    }
  }
  SeparateOvertaking(sends, true);
  SeparateOvertaking(receives, false);
  std::vector<MessageEnd> ends = std::move(receives);
  ends.insert(ends.end(), sends.begin(), sends.end());
  std::stable_sort(ends.begin(), ends.end(), [](const MessageEnd& a, const MessageEnd& b) { return a.post < b.post; });
  return ends;
}

}  // namespace farscale
