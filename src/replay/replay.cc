#include "replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/text.h"
#include "replay/anomalies.h"

namespace farscale {

Tick ReplayResult::TimeAt(const RankTimeline& timeline, const RankCut& cut, std::size_t rank, const Edge& edge) const {
  const std::size_t calls_before = edge.call - cut.window.begin.call;
  if (calls_before == 0) return begin[rank] + (edge.tick - cut.window.begin.tick);
  return leave[rank][calls_before - 1] + std::max<Tick>(0, edge.tick - timeline.leave(edge.call - 1));
}

namespace {

// Runs a program. A blocked rank is completed by the rank that it waits for, so no instruction runs twice.
class Engine {
 public:
  Engine(const Program& program, bool is_timed, bool keep_calls)
      : program_(program),
        is_timed_(is_timed),
        keep_calls_(keep_calls),
        has_paths_(!program.paths.empty()),
        delays_messages_(!program.message_delays.empty()),
        delays_collectives_(!program.collective_delays.empty()),
        places_(program.nodes, program.sending, program.receiving) {
    const std::size_t ranks = program.ranks.size();
    if (is_timed) first_posts_.assign(program.messages, kUnknownTime);
    for (const Path& path : program.paths) {
      if (path.from != path.to) shortest_delay_ = std::min(shortest_delay_, path.delay);
    }
    states_.resize(ranks);
    sent_.assign(program.messages, kUnknownTime);
    received_.assign(program.messages, kUnknownTime);
    collectives_.resize(program.arrivals.size());
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      collectives_[i].missing = program.arrivals[i];
      collectives_[i].root_missing = program.root_arrives[i];
    }
    result_.begin.assign(ranks, 0);
    result_.end.assign(ranks, 0);
    result_.calls = program.calls;
    result_.iteration_ends.assign(program.iterations, 0);
    if (keep_calls) result_.leave.resize(ranks);
  }

  ReplayResult Run(StuckRanks& stuck) {
    for (std::size_t rank = states_.size(); rank-- > 0;) {
      const RankProgram& program = program_.ranks[rank];
      RankState& state = states_[rank];
      state.clock = result_.begin[rank] = result_.end[rank] = program.begin;
      state.next = program.instructions.data();
      state.end = state.next + program.instructions.size();
      state.finished = false;
      ready_.push_back(static_cast<std::uint32_t>(rank));
      if (keep_calls_) result_.leave[rank].reserve(program.instructions.size());
    }
    do {
      while (!ready_.empty()) {
        const std::uint32_t rank = ready_.back();
        ready_.pop_back();
        Advance(rank);
      }
    } while (StartTransfers() || ReleaseSenders() > 0);
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      const RankState& state = states_[rank];
      if (!state.finished) stuck.emplace_back(rank, state.next - program_.ranks[rank].instructions.data());
    }
    return std::move(result_);
  }

 private:
  // The trace proves that the program got on, so large sends that wait for each other did not wait in truth. Returns
  // how many there were.
  std::uint64_t ReleaseSenders() {
    std::uint64_t released = 0;
    for (std::uint32_t rank = 0; rank < states_.size(); ++rank) {
      RankState& state = states_[rank];
      if (state.finished || state.next->step != Step::kWaitForReceive) continue;
      const std::uint32_t message = state.next->target;
      received_[message] = kUnknownTime;
      Unblock(rank, state.clock);
      if (is_timed_) Transfer(message, std::exchange(first_posts_[message], kReleased));
      ++released;
    }
    result_.diagnostics.Add(anomaly::kRendezvousReleased, released);
    return released;
  }

  void Advance(std::uint32_t rank) {
    RankState& state = states_[rank];
    while (state.next != state.end) {
      state.clock += state.next->compute;
      if (!Do(rank, state)) return;
      EndInstruction(rank, state);
    }
    state.clock += program_.ranks[rank].compute_after;
    result_.end[rank] = state.clock;
    state.finished = true;
  }

  void EndInstruction(std::uint32_t rank, RankState& state) {
    if (state.next->ends_call && keep_calls_) result_.leave[rank].push_back(state.clock);
    ++state.next;
  }

  // False: the rank is blocked.
  bool Do(std::uint32_t rank, RankState& state) {
    const std::uint32_t target = state.next->target;
    switch (state.next->step) {
      case Step::kNothing: return true;
      case Step::kIterationEnd:
        result_.iteration_ends[target] = std::max(result_.iteration_ends[target], state.clock);
        return true;
      case Step::kSend: Transfer(target, state.clock); return true;
      case Step::kSendRendezvous:
      case Step::kReceiveRendezvous:
        if (is_timed_) {
          if (const auto start = LaterSide(first_posts_[target], state.clock)) Transfer(target, *start);
        }
        return true;
      case Step::kReceive: Notify(received_[target], state.clock); return true;
      case Step::kWaitForSend: return WaitFor(rank, state, sent_[target]);
      case Step::kWaitForReceive: return WaitFor(rank, state, received_[target]);
      case Step::kArrive: Arrive(target, state.clock, false); return true;
      case Step::kArriveAsRoot:
        collectives_[target].root = state.clock;
        collectives_[target].root_missing = false;
        Arrive(target, state.clock, true);
        return true;
      case Step::kArriveInOrder:
        Arrive(target, state.clock, scans_.Arrive(program_, target, rank, state.clock));
        return true;
      case Step::kWaitForAll:
      case Step::kWaitForRoot:
      case Step::kWaitForLower: return WaitForCollective(rank, state, target);
    }
    return true;
  }

  // A message may start: on networks with limited transfers it queues, else its arrival is known.
  void Transfer(std::uint32_t message, Tick ready) {
    if (has_paths_ && program_.paths[message].from != program_.paths[message].to) {
      queue_.emplace_back(ready, message);
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
      return;
    }
    Deliver(message, delays_messages_ ? ready + program_.message_delays[message] : ready);
  }

  void Deliver(std::uint32_t message, Tick arrival) {
    Notify(sent_[message], arrival);
    if (is_timed_) Notify(received_[message], arrival);  // a sender that waits is free again
  }

  // Every rank has got as far as it can. What follows from the messages started now comes no sooner than they arrive,
  // so all requests before the earliest possible arrival can be served, in the order in which they may start, equal
  // ones by number of the message.
  bool StartTransfers() {
    if (queue_.empty()) return false;
    const Tick bound = queue_.front().first + shortest_delay_;
    do {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const auto [ready, message] = queue_.back();
      queue_.pop_back();
      if (!queue_.empty()) {  // numbers of messages are far from their order in time
        __builtin_prefetch(&program_.paths[queue_.front().second]);
        __builtin_prefetch(&sent_[queue_.front().second], 1);
      }
      const Path& path = program_.paths[message];
      Deliver(message, places_.Start(path.from, path.to, ready, path.transfer) + path.delay);
    } while (!queue_.empty() && queue_.front().first < bound);
    return true;
  }

  void Notify(Tick& slot, Tick time) {
    const Tick before = std::exchange(slot, time);
    if (before < kUnknownTime) Unblock(WaiterOf(before), time);
  }

  bool WaitFor(std::uint32_t rank, RankState& state, Tick& slot) {
    if (slot < 0) {
      slot = WaiterCode(rank);
      return false;
    }
    state.clock = std::max(state.clock, slot);
    return true;
  }

  void Unblock(std::uint32_t rank, Tick time) {
    RankState& state = states_[rank];
    state.clock = std::max(state.clock, time);
    EndInstruction(rank, state);
    ready_.push_back(rank);
  }

  // frees_some: ranks may leave for which others need not have arrived.
  void Arrive(std::uint32_t operation, Tick time, bool frees_some) {
    CollectiveState& state = collectives_[operation];
    state.latest = std::max(state.latest, time);
    --state.missing;
    if (state.missing == 0 || frees_some) FreeWaiters(operation);
  }

  // Those who need not wait any more.
  void FreeWaiters(std::uint32_t operation) {
    CollectiveState& state = collectives_[operation];
    std::uint32_t waiter = std::exchange(state.first_waiter, kNoWaiter);
    while (waiter != kNoWaiter) {
      const std::uint32_t next = states_[waiter].next_waiter;
      const Tick known = TimeFor(waiter, states_[waiter].next->step, operation);
      if (known >= 0) {
        Unblock(waiter, known);
      } else {
        states_[waiter].next_waiter = std::exchange(state.first_waiter, waiter);
      }
      waiter = next;
    }
  }

  // When the rank may leave the operation; negative while that is unknown.
  Tick TimeFor(std::uint32_t rank, Step step, std::uint32_t operation) {
    const CollectiveState& state = collectives_[operation];
    const Tick delay = delays_collectives_ ? program_.collective_delays[operation] : 0;
    if (step == Step::kWaitForRoot) return state.root_missing ? kUnknownTime : state.root + delay;
    if (step == Step::kWaitForLower) {
      const Tick known = scans_.TimeFor(program_, operation, rank);
      return known < 0 ? kUnknownTime : known + delay;
    }
    return state.missing > 0 ? kUnknownTime : state.latest + delay;
  }

  bool WaitForCollective(std::uint32_t rank, RankState& state, std::uint32_t operation) {
    const Tick known = TimeFor(rank, state.next->step, operation);
    if (known < 0) {
      state.next_waiter = std::exchange(collectives_[operation].first_waiter, rank);
      return false;
    }
    state.clock = std::max(state.clock, known);
    return true;
  }

  const Program& program_;
  const bool is_timed_, keep_calls_;
  const bool has_paths_, delays_messages_, delays_collectives_;
  ReplayResult result_;

  std::vector<RankState> states_;
  // Messages that wait for a place on the links of their nodes, by when they may start: a heap, earliest first.
  std::vector<std::pair<Tick, std::uint32_t>> queue_;
  Tick shortest_delay_ = std::numeric_limits<Tick>::max() / 2;  // among all remote messages
  TransferPlaces places_;
  std::vector<Tick> sent_;      // when every message is there: on the ideal network, when it was sent
  std::vector<Tick> received_;  // when a sender that waits is free: on the ideal network, when the receive was posted
  std::vector<Tick> first_posts_;  // on a timed network, when the first side of a rendezvous message was posted
  std::vector<CollectiveState> collectives_;
  Scans scans_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace

ReplayResult RunProgram(const Program& program, bool is_timed, bool keep_calls, StuckRanks& stuck) {
  return Engine(program, is_timed, keep_calls).Run(stuck);
}

ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  // Where calls are missing, the rest need not fit together, so that ranks might wait for ever.
  // There nobody waits for anybody.
  Matching alone;
  const bool lacks_calls = !MissingCalls(trace).empty();
  for (std::size_t rank = 0; lacks_calls && rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    RankMatching& of_rank = alone.ranks.emplace_back();
    of_rank.sends.assign(timeline.sends(), kNoMessage);
    of_rank.receives.assign(timeline.receives(), kNoMessage);
    of_rank.collectives.assign(timeline.collectives(), kNoCollective);
    of_rank.collective_types.resize(timeline.collectives());
  }
  const Matching& used = lacks_calls ? alone : matching;
  const Program program = Compile(trace, used, cut, options);
  StuckRanks stuck;
  ReplayResult result = RunProgram(program, TimedNetwork(options.network) != nullptr, options.keep_calls, stuck);
  if (!stuck.empty()) {
    constexpr std::size_t kDescribed = 4;
    std::vector<std::string> some;
    for (std::size_t i = 0; i < std::min(kDescribed, stuck.size()); ++i)
      some.push_back(DescribeInstruction(trace, used, cut, options, stuck[i].first, stuck[i].second));
    throw Error(ErrorKind::kInput, trace.path,
                fmt::format("the calls of phase '{}' cannot complete in program order; {} of {} ranks wait: {}{}",
                            cut.spec.name, stuck.size(), trace.size(), Join(some, "; "),
                            stuck.size() > kDescribed ? "; ..." : ""),
                "the trace is damaged or its messages were recorded wrongly");
  }
  result.diagnostics.Merge(program.diagnostics);
  result.unknown_waits = FindUnknownWaits(trace, cut);
  result.clocks_unknown = matching.clocks_unknown.has_value();
  if (TimedNetwork(options.network) != nullptr) {
    result.diagnostics.Add(anomaly::kOneSidedTakesNoTime, result.unknown_waits.operations, "in phase " + cut.spec.name);
  }
  result.diagnostics.Add(anomaly::kMessageWithoutRecord, result.unknown_waits.messages,
                         fmt::format("{} in phase {}", result.unknown_waits.message_example, cut.spec.name));
  return result;
}

ReplayResult ReplayProgram(const Program& program, const Network* network, const std::string& what) {
  StuckRanks stuck;
  ReplayResult result = RunProgram(program, TimedNetwork(network) != nullptr, false, stuck);
  if (stuck.empty()) return result;
  throw Error(ErrorKind::kNotEnoughData, what,
              fmt::format("{} of {} ranks wait for ever, rank {} in its step {} first", stuck.size(),
                          program.ranks.size(), stuck.front().first, stuck.front().second));
}

}  // namespace farscale
