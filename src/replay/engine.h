// The engine of the replay, for any network.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "replay/anomalies.h"
#include "replay/links.h"
#include "replay/program.h"
#include "replay/replay.h"

namespace farscale {

inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

// A time that is not known yet: nobody waits for it (kUnknown), or rank r does (kUnknown - 1 - r). Known times are
// not negative.
inline constexpr Tick kUnknown = -1;
inline constexpr Tick kReleased = std::numeric_limits<Tick>::min();  // a sender that no longer waits for the other side
constexpr Tick WaiterCode(std::uint32_t rank) { return kUnknown - 1 - static_cast<Tick>(rank); }
constexpr std::uint32_t WaiterOf(Tick code) { return static_cast<std::uint32_t>(kUnknown - 1 - code); }

struct RankState {
  Tick clock = 0;
  const Instruction* next = nullptr;  // to run; when blocked, the one it is blocked in
  const Instruction* end = nullptr;
  std::uint32_t next_waiter = kNobody;  // list of those who wait for one collective operation
  bool finished = true;
};

struct CollectiveState {
  Tick latest = 0;
  Tick root = 0;
  std::uint32_t missing = 0;
  std::uint32_t first_waiter = kNobody;
  bool root_missing = false;
};

// Runs a program. A blocked rank is completed by the rank that it waits for, so no instruction runs twice.
// `Links` says how long things take on the network [replay/links.h].
template <typename Links>
class Engine {
 public:
  Engine(const Program& program, bool keep_calls)
      : program_(program), keep_calls_(keep_calls), links_(program), scans_(program) {
    const std::size_t ranks = program.ranks.size();
    if constexpr (Links::kTimed) first_posts_.assign(program.messages, kUnknown);
    states_.resize(ranks);
    sent_.assign(program.messages, kUnknown);
    received_.assign(program.messages, kUnknown);
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

  // Runs until every rank is finished or nothing moves any more.
  void Run() {
    Start();
    do {
      RunReady();
    } while (ReleaseSenders() > 0);
  }

  bool finished(std::size_t rank) const { return states_[rank].finished; }
  std::size_t instruction(std::size_t rank) const {
    return static_cast<std::size_t>(states_[rank].next - program_.ranks[rank].instructions.data());
  }
  ReplayResult TakeResult() { return std::move(result_); }

 private:
  void Start() {
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
  }
  void RunReady() {
    do {
      while (!ready_.empty()) {
        const std::uint32_t rank = ready_.back();
        ready_.pop_back();
        Advance(rank);
      }
    } while (StartTransfers());
  }
  // The trace proves that the program got on, so large sends that wait for each other did not wait in truth. Returns
  // how many there were.
  std::uint64_t ReleaseSenders() {
    std::uint64_t released = 0;
    for (std::uint32_t rank = 0; rank < states_.size(); ++rank) {
      RankState& state = states_[rank];
      if (state.finished || state.next->step != Step::kWaitForReceive) continue;
      const std::uint32_t message = state.next->target;
      received_[message] = kUnknown;
      Unblock(rank, state.clock);
      if constexpr (Links::kTimed) Transfer(message, std::exchange(first_posts_[message], kReleased));
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
      case Step::kReceiveRendezvous: PostSide(target, state.clock); return true;
      case Step::kReceive: Notify(received_[target], state.clock); return true;
      case Step::kWaitForSend: return WaitFor(rank, state, sent_[target]);
      case Step::kWaitForReceive: return WaitFor(rank, state, received_[target]);
      case Step::kArrive: Arrive(target, state.clock, false); return true;
      case Step::kArriveAsRoot:
        collectives_[target].root = state.clock;
        collectives_[target].root_missing = false;
        Arrive(target, state.clock, true);
        return true;
      case Step::kArriveInOrder: Arrive(target, state.clock, scans_.Arrive(target, rank, state.clock)); return true;
      case Step::kWaitForAll:
      case Step::kWaitForRoot:
      case Step::kWaitForLower: return WaitForCollective(rank, state, target);
    }
    return true;
  }

  // The later of the two sides starts the message.
  void PostSide(std::uint32_t message, Tick time) {
    if constexpr (Links::kTimed) {
      Tick& first = first_posts_[message];
      if (first == kReleased) return;
      if (first == kUnknown) {
        first = time;
      } else {
        Transfer(message, std::max(first, time));
      }
    }
  }

  // A message may start: on networks with limited transfers it queues, else its arrival is known.
  void Transfer(std::uint32_t message, Tick ready) {
    if constexpr (Links::kQueues) {
      if (links_.Queue(message, ready)) return;
    }
    Deliver(message, links_.Arrival(message, ready));
  }

  void Deliver(std::uint32_t message, Tick arrival) {
    Notify(sent_[message], arrival);
    if constexpr (Links::kTimed) Notify(received_[message], arrival);  // a sender that waits is free again
  }

  // Every rank has got as far as it can. What follows from the messages started now comes no sooner than they arrive,
  // so all requests before the earliest possible arrival can be served.
  bool StartTransfers() {
    if constexpr (Links::kQueues) {
      const Tick bound = links_.EarliestArrival();
      bool any = false;
      while (const auto started = links_.StartNext(any ? bound : std::numeric_limits<Tick>::max())) {
        if (const auto next = links_.Upcoming()) {  // numbers of messages are far from their order in time
          __builtin_prefetch(&program_.paths[*next]);
          __builtin_prefetch(&sent_[*next], 1);
        }
        Deliver(started->message, started->arrival);
        any = true;
      }
      return any;
    }
    return false;
  }

  void Notify(Tick& slot, Tick time) {
    const Tick before = std::exchange(slot, time);
    if (before < kUnknown) Unblock(WaiterOf(before), time);
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
    std::uint32_t waiter = std::exchange(state.first_waiter, kNobody);
    while (waiter != kNobody) {
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
    const Tick delay = links_.CollectiveDelay(operation);
    if (step == Step::kWaitForRoot) return state.root_missing ? kUnknown : state.root + delay;
    if (step == Step::kWaitForLower) {
      const Tick known = scans_.TimeFor(operation, rank);
      return known < 0 ? kUnknown : known + delay;
    }
    return state.missing > 0 ? kUnknown : state.latest + delay;
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
  const bool keep_calls_;
  ReplayResult result_;

  std::vector<RankState> states_;
  Links links_;
  std::vector<Tick> sent_;      // when every message is there: on the ideal network, when it was sent
  std::vector<Tick> received_;  // when a sender that waits is free: on the ideal network, when the receive was posted
  std::vector<Tick> first_posts_;  // on a timed network, when the first side of a rendezvous message was posted
  std::vector<CollectiveState> collectives_;
  Scans scans_;
  std::vector<std::uint32_t> ready_;
};

}  // namespace farscale
