// The engine of the replay, for any network, and the links that decide when messages arrive and ranks leave
// collectives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/anomalies.h"
#include "replay/network.h"
#include "replay/program.h"
#include "replay/replay.h"

namespace farscale {

// Until when each of a number of places for transfers is taken.
class TransferPlaces {
 public:
  explicit TransferPlaces(int count)
      : free_(std::greater<Tick>(), std::vector<Tick>(static_cast<std::size_t>(count), 0)) {}
  Tick NextFree() const { return free_.top(); }
  void TakeUntil(Tick time) {
    free_.pop();
    free_.push(time);
  }

 private:
  std::priority_queue<Tick, std::vector<Tick>, std::greater<Tick>> free_;
};

// The ideal network: nothing takes time.
class IdealLinks {
 public:
  static constexpr bool kTimed = false;
  static constexpr bool kQueues = false;

  explicit IdealLinks(const Program&) {}
  Tick Arrival(std::uint32_t, Tick start) const { return start; }
  Tick CollectiveDelay(std::uint32_t) const { return 0; }
};

// Every message has a link of its own.
class FreeLinks {
 public:
  static constexpr bool kTimed = true;
  static constexpr bool kQueues = false;

  explicit FreeLinks(const Program& program) : program_(program) {}
  Tick Arrival(std::uint32_t message, Tick start) const { return start + program_.message_delays[message]; }
  Tick CollectiveDelay(std::uint32_t operation) const { return program_.collective_delays[operation]; }

 protected:
  const Program& program_;
};

// A node sends and receives a limited number of messages at once. Transfers start in the order in which they may
// (equal ones by number of the message), each as soon as both its nodes have a place; a place is taken for the
// transfer itself, not for its latency.
class SharedLinks : public FreeLinks {
 public:
  static constexpr bool kQueues = true;

  struct Started {
    std::uint32_t message;
    Tick arrival;
  };

  explicit SharedLinks(const Program& program) : FreeLinks(program) {
    sending_.assign(program.sending > 0 ? program.nodes : 0, Places(program.sending));
    receiving_.assign(program.receiving > 0 ? program.nodes : 0, Places(program.receiving));
    for (const Path& path : program.paths) {
      if (path.from != path.to) shortest_delay_ = std::min(shortest_delay_, path.delay);
    }
  }

  // False: the message stays within its node and waits for nothing.
  bool Queue(std::uint32_t message, Tick ready) {
    const Path& path = program_.paths[message];
    if (path.from == path.to) return false;
    queue_.emplace_back(ready, message);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    return true;
  }

  // Likely the message of the next transfer.
  std::optional<std::uint32_t> Upcoming() const {
    return queue_.empty() ? std::nullopt : std::optional(queue_.front().second);
  }

  // The earliest of messages that start with the next request or after it.
  Tick EarliestArrival() const { return queue_.empty() ? 0 : queue_.front().first + shortest_delay_; }

  // Nothing when there is no request before `bound`.
  std::optional<Started> StartNext(Tick bound) {
    if (queue_.empty() || queue_.front().first >= bound) return std::nullopt;
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const auto [ready, message] = queue_.back();
    queue_.pop_back();
    const Path& path = program_.paths[message];
    Places* out = sending_.empty() ? nullptr : &sending_[static_cast<std::size_t>(path.from)];
    Places* in = receiving_.empty() ? nullptr : &receiving_[static_cast<std::size_t>(path.to)];
    Tick start = ready;
    if (out != nullptr) start = std::max(start, out->NextFree());
    if (in != nullptr) start = std::max(start, in->NextFree());
    if (out != nullptr) out->TakeUntil(start + path.transfer);
    if (in != nullptr) in->TakeUntil(start + path.transfer);
    return Started{message, start + path.delay};
  }

 private:
  using Places = TransferPlaces;
  using Request = std::pair<Tick, std::uint32_t>;
  std::vector<Request> queue_;  // a heap, earliest first
  std::vector<Places> sending_, receiving_;
  Tick shortest_delay_ = std::numeric_limits<Tick>::max() / 2;  // among all remote messages
};

// Who has arrived at a scan: a rank leaves it as soon as all up to itself in the order of the communicator have.
class ScanArrivals {
 public:
  // Local ranks that will arrive; the others count as having done so at the start.
  ScanArrivals(std::size_t ranks, const std::vector<std::size_t>& awaited) : latest_(ranks, 0) {
    for (const std::size_t rank : awaited) latest_[rank] = kAwaited;
    GoOn();
  }

  // True: somebody may leave who could not before.
  bool Arrive(std::size_t rank, Tick time) {
    latest_[rank] = time;
    const std::size_t before = known_;
    GoOn();
    return known_ > before;
  }

  // The latest arrival up to a rank; negative while some have not arrived.
  Tick TimeFor(std::size_t rank) const { return rank < known_ ? latest_[rank] : kAwaited; }

 private:
  static constexpr Tick kAwaited = -1;

  void GoOn() {
    for (; known_ < latest_.size() && latest_[known_] != kAwaited; ++known_) {
      if (known_ > 0) latest_[known_] = std::max(latest_[known_], latest_[known_ - 1]);
    }
  }

  std::vector<Tick> latest_;  // below `known_` the latest up to each, else arrivals
  std::size_t known_ = 0;
};

// The scans of a program, by operation.
class Scans {
 public:
  explicit Scans(const Program& program) : program_(program) {}

  bool Arrive(std::uint32_t operation, std::uint32_t rank, Tick time) {
    auto found = arrivals_.find(operation);
    if (found == arrivals_.end()) {
      const ScanOrder& order = OrderOf(operation);
      std::vector<std::size_t> awaited;
      if (const auto ranks = program_.scan_ranks.find(operation); ranks != program_.scan_ranks.end()) {
        for (const std::uint32_t other : ranks->second) awaited.push_back(order.places[other]);
      }
      // One more place for a rank that is no member.
      found = arrivals_.emplace(operation, ScanArrivals(order.members + std::size_t{1}, awaited)).first;
    }
    return found->second.Arrive(OrderOf(operation).places[rank], time);
  }

  // When the rank may leave; negative while that is unknown, 0 when nobody arrives within the windows.
  Tick TimeFor(std::uint32_t operation, std::uint32_t rank) {
    const auto found = arrivals_.find(operation);
    if (found != arrivals_.end()) return found->second.TimeFor(OrderOf(operation).places[rank]);
    return program_.arrivals[operation] > 0 ? -1 : 0;
  }

 private:
  const ScanOrder& OrderOf(std::uint32_t operation) const {
    return program_.scan_orders[program_.order_of_scan.at(operation)];
  }

  const Program& program_;
  std::unordered_map<std::uint32_t, ScanArrivals> arrivals_;
};

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
// `Links` is the network: IdealLinks, FreeLinks or SharedLinks.
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
