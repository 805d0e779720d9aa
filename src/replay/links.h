// How long messages and collectives take, for the engine.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
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

  IdealLinks(const Trace&, const Program&) {}
  Tick Arrival(std::uint32_t, Tick start) const { return start; }
  Tick CollectiveDelay(std::uint32_t) const { return 0; }
};

// Every message has a link of its own.
class FreeLinks {
 public:
  static constexpr bool kTimed = true;
  static constexpr bool kQueues = false;

  FreeLinks(const Trace&, const Program& program) : program_(program) {}
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

  SharedLinks(const Trace& trace, const Program& program) : FreeLinks(trace, program) {
    sending_.assign(program.sending > 0 ? trace.nodes.size() : 0, Places(program.sending));
    receiving_.assign(program.receiving > 0 ? trace.nodes.size() : 0, Places(program.receiving));
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

}  // namespace farscale
