// The streams of one task of a Paraver trace in the order of time, whatever their order in the file.
#include "trace/paraver_timeline.h"

namespace farscale {
namespace {

const ParaverFact* FirstEdgeOfCall(const ParaverMoment& moment) {
  const auto found = std::ranges::find(moment.facts, ParaverEvent::kMpi, &ParaverFact::event);
  return found == moment.facts.end() ? nullptr : &*found;
}

void ReadMoment(ParaverStreamReader& reader, ParaverMoment& moment) {
  const ParaverBlock& block = reader.block();
  moment.tick = reader.time();
  moment.facts.clear();
  for (std::uint64_t left = reader.Number(); left > 0; --left) {
    ParaverFact& fact = moment.facts.emplace_back();
    const std::uint64_t type = reader.Number();
    fact.event = block.events[type];
    fact.type = block.types[type];
    if (HasSymbols(fact.event)) {
      const std::uint64_t symbol = reader.Number();
      fact.index = block.regions[symbol];
      fact.value = symbol == 0 ? 0 : 1;
    } else {
      fact.index = block.counters[type];
      fact.value = reader.Signed();
    }
  }
}

void ReadState(ParaverStreamReader& reader, ParaverState& state) {
  state.begin = reader.time();
  state.end = state.begin + static_cast<Tick>(reader.Number());
  state.state = static_cast<std::uint32_t>(reader.Number());
}

}  // namespace

OrderedStream<ParaverState> ReadParaverStates(const ParaverTaskParts& parts) {
  return {parts, kParaverStates, ReadState, &ParaverState::begin};
}

EventCursor::EventCursor(const ParaverTaskParts& parts)
    : records_(parts, kParaverEvents, ReadMoment, &ParaverMoment::tick),
      has_running_(parts.states.has_running),
      states_(ReadParaverStates(parts)) {}

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
    const auto is_edge = [](const ParaverFact& fact) {
      using enum ParaverEvent;
      return fact.event == kMpi || fact.event == kFunction || fact.event == kUserEvent || fact.event == kApplication ||
             fact.event == kFlush || fact.event == kTracing;
    };
    if (std::ranges::any_of(moment.facts, is_edge)) {
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

// Among moments at one tick, from `first` on, the one that continues the moments before comes next: the leave of the
// open call. A call that is entered and left there is entered first.
void EventCursor::ChooseNext(std::size_t first) {
  const ParaverFact* edge = FirstEdgeOfCall(group_[first]);
  if (edge == nullptr || group_.size() - first < 2) return;
  const bool wants_leave = !open_.empty() && (edge->is_enter() || edge->type != open_.back().first);
  const bool wants_enter = open_.empty() && edges_ > 0 && !edge->is_enter();
  if (!wants_leave && !wants_enter) return;
  const std::uint32_t type = wants_leave ? open_.back().first : edge->type;
  for (std::size_t i = first + 1; i < group_.size(); ++i) {
    const ParaverFact* other = FirstEdgeOfCall(group_[i]);
    if (other == nullptr || other->type != type || other->is_enter() == wants_leave) continue;
    std::rotate(group_.begin() + static_cast<std::ptrdiff_t>(first), group_.begin() + static_cast<std::ptrdiff_t>(i),
                group_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return;
  }
}

// Returns true if the leave of the outermost call is missing in front of it.
bool EventCursor::Enter(std::uint32_t type, Tick tick) {
  bool misses_leave = !open_.empty() && !has_running_;
  const ParaverState* state = nullptr;  // the task may begin to run in between
  for (; !open_.empty() && !misses_leave && (state = states_.Peek()) != nullptr && state->begin < tick;
       states_.Drop()) {
    misses_leave = state->state == kParaverRunning && state->begin > open_.front().second && state->end > state->begin;
  }
  if (misses_leave) {
    lost_edges_ += open_.size();
    lost_time_ += tick - open_.front().second;
    open_.clear();
  }
  open_.emplace_back(type, tick);
  return misses_leave;
}

// Returns true if it leaves an open call, with those inside it that miss their leave.
bool EventCursor::Leave(std::uint32_t type, Tick tick) {
  const auto left = std::ranges::find(open_.rbegin(), open_.rend(), type, &std::pair<std::uint32_t, Tick>::first);
  if (left == open_.rend()) {
    ++lost_edges_;
    lost_time_ += tick - last_edge_;
    return false;
  }
  lost_edges_ += static_cast<std::uint64_t>(left - open_.rbegin());
  open_.erase(left.base() - 1, open_.end());
  return true;
}

void EventCursor::MakeCallsFollow(ParaverMoment& moment) {
  bool enters = false, is_inside = false;
  for (std::size_t i = 0; i < moment.facts.size(); ++i) {
    if (moment.facts[i].event != ParaverEvent::kMpi) continue;
    const std::uint32_t type = moment.facts[i].type;
    const bool is_enter = moment.facts[i].is_enter();
    const bool is_first = edges_++ == 0;
    if (is_first) last_edge_ = moment.tick;
    if (is_enter && Enter(type, moment.tick)) {
      const ParaverFact leave{ParaverEvent::kMpi, type, ParaverBlock::kNothing, 0};
      moment.facts.insert(moment.facts.begin() + static_cast<std::ptrdiff_t>(i++), leave);
    } else if (!is_enter && !is_first && !Leave(type, moment.tick)) {
      moment.facts.erase(moment.facts.begin() + static_cast<std::ptrdiff_t>(i--));
      continue;
    }
    last_edge_ = moment.tick;
    const bool is_inner = open_.size() > (is_enter ? 1u : 0u);
    if (is_inner) moment.facts[i].event = ParaverEvent::kInnerCall;
    is_inside |= is_inner;
    enters |= is_enter && !is_inner;
  }
  if (!is_inside || enters) return;
  for (ParaverFact& fact : moment.facts) {  // they belong to a collective that is not the call
    if (IsCollectiveAttribute(fact.event)) fact.event = ParaverEvent::kIgnored;
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

}  // namespace farscale
