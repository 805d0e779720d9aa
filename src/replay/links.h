// What decides for the engine when messages arrive and ranks leave collectives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "replay/network.h"
#include "replay/program.h"

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

  // Of a message that starts with the next request or after it.
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
  Tick shortest_delay_ = std::numeric_limits<Tick>::max() / 2;  // of all remote messages
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

}  // namespace farscale
