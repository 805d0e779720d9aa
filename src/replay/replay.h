// When every call of a phase would have run on another network [docs/formulas.md, replay]. On the ideal one messages
// take no time and calls cost nothing: only computation and waiting for others remain.
//
// The replay runs every rank as far as it gets and comes back to it when what it waits for has happened. Times depend
// only on the dependencies, not on the order of running, so the cost is linear in the calls and hardly depends on the
// number of ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/program.h"
#include "replay/network.h"
#include "replay/unknown_waits.h"
#include "trace/trace.h"

namespace farscale {

// Times are ticks since the earliest begin of the phase's windows; every rank starts at its own begin.
struct ReplayResult {
  std::vector<Tick> begin;  // every rank's window; as measured
  std::vector<Tick> end;    // every rank's window in the replay; `begin` for ranks without one
  // When rank r leaves the k-th call of its window; empty unless asked for.
  std::vector<std::vector<Tick>> leave;
  // When the last rank ends every iteration whose end the program knows.
  std::vector<Tick> iteration_ends;
  std::uint64_t calls = 0;  // replayed, over all ranks
  // Where there are any, times in the replay are too early by an unknown amount.
  UnknownWaits unknown_waits;
  bool clocks_unknown = false;  // ranks' begins, and so all times of one rank as others see them, are wrong
  Diagnostics diagnostics;

  // Latest end: T_ideal of a phase whose span is `whole`.
  Tick Duration() const { return end.empty() ? 0 : std::max<Tick>(0, std::ranges::max(end)); }

  // The replayed time of an edge inside the rank's window; needs `leave`.
  Tick TimeAt(const RankTimeline& timeline, const RankCut& cut, std::size_t rank, const Edge& edge) const;
};

// Throws an input error naming who waits for whom when the calls cannot complete in program order.
ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options);

// A program that was made without a trace, on the network that it was made for; nothing: the ideal one. Throws an error
// of kind kNotEnoughData, which names `what`, when its calls cannot complete.
ReplayResult ReplayProgram(const Program& program, const Network* network, const std::string& what);

// The engine. It knows neither rules nor traces. Transfers and scans are shared with the engine of tasks
// [balance/task_engine.h].

// Ranks that cannot complete, each with the instruction in which it waits.
using StuckRanks = std::vector<std::pair<std::size_t, std::size_t>>;

// Runs a program until every rank is finished or nothing moves any more. Messages and collectives take the delays that
// the program has. With `is_timed`, messages that wait for their receivers start when both sides are posted; without,
// the program has no steps of such sides.
ReplayResult RunProgram(const Program& program, bool is_timed, bool keep_calls, StuckRanks& stuck);

// The places of nodes for transfers, of which each sends and receives a limited number at once; a place is taken for
// the transfer itself, not for its latency.
class TransferPlaces {
 public:
  TransferPlaces() = default;  // without limits
  // 0: any number.
  TransferPlaces(std::size_t nodes, int sending, int receiving) {
    if (sending > 0) sending_.assign(nodes, Free(sending));
    if (receiving > 0) receiving_.assign(nodes, Free(receiving));
  }

  // When the next transfer starts: as soon as both its nodes have a place, which it takes for so many ticks.
  Tick Start(std::int32_t from, std::int32_t to, Tick ready, Tick ticks) {
    Places* out = sending_.empty() ? nullptr : &sending_[static_cast<std::size_t>(from)];
    Places* in = receiving_.empty() ? nullptr : &receiving_[static_cast<std::size_t>(to)];
    Tick start = ready;
    for (const Places* places : {out, in}) {
      if (places != nullptr) start = std::max(start, places->top());
    }
    for (Places* places : {out, in}) {
      if (places == nullptr) continue;
      places->pop();
      places->push(start + ticks);
    }
    return start;
  }

 private:
  using Places = std::priority_queue<Tick, std::vector<Tick>, std::greater<>>;  // until when each is taken

  static Places Free(int count) { return Places({}, std::vector<Tick>(static_cast<std::size_t>(count), 0)); }

  std::vector<Places> sending_, receiving_;  // one a node
};

// Arrivals at the scans of a program: a rank leaves one as soon as all up to itself in the order of the communicator
// have arrived.
class Scans {
 public:
  // True: somebody may leave who could not before.
  bool Arrive(const Program& program, std::uint32_t operation, std::uint32_t rank, Tick time) {
    const ScanOrder& order = OrderOf(program, operation);
    const auto [found, is_new] = arrivals_.try_emplace(operation);
    auto& [latest, known] = found->second;
    if (is_new) {
      latest.assign(order.members + std::size_t{1}, 0);  // one more place for a rank that is no member
      if (const auto ranks = program.scan_ranks.find(operation); ranks != program.scan_ranks.end()) {
        for (const std::uint32_t other : ranks->second) latest[order.places[other]] = kAwaited;
      }
      GoOn(latest, known);
    }
    latest[order.places[rank]] = time;
    const std::size_t before = known;
    GoOn(latest, known);
    return known > before;
  }

  // When the rank may leave; negative while that is unknown, 0 when nobody arrives within the windows.
  Tick TimeFor(const Program& program, std::uint32_t operation, std::uint32_t rank) const {
    const auto found = arrivals_.find(operation);
    if (found == arrivals_.end()) return program.arrivals[operation] > 0 ? kAwaited : 0;
    const auto& [latest, known] = found->second;
    const std::uint32_t place = OrderOf(program, operation).places[rank];
    return place < known ? latest[place] : kAwaited;
  }

 private:
  static constexpr Tick kAwaited = -1;

  static const ScanOrder& OrderOf(const Program& program, std::uint32_t operation) {
    return program.scan_orders[program.order_of_scan.at(operation)];
  }

  static void GoOn(std::vector<Tick>& latest, std::size_t& known) {
    for (; known < latest.size() && latest[known] != kAwaited; ++known) {
      if (known > 0) latest[known] = std::max(latest[known], latest[known - 1]);
    }
  }

  // One a scan: by place in the communicator, below `known` the latest arrival up to each, else single ones, which
  // count as there at the start for ranks that do not arrive within the windows.
  std::unordered_map<std::uint32_t, std::pair<std::vector<Tick>, std::size_t>> arrivals_;
};

inline constexpr std::uint32_t kNoWaiter = std::numeric_limits<std::uint32_t>::max();

// A time that is not known yet: nobody waits for it (kUnknownTime), or rank r does (kUnknownTime - 1 - r). Known times
// are not negative.
inline constexpr Tick kUnknownTime = -1;
inline constexpr Tick kReleased = std::numeric_limits<Tick>::min();  // a sender that no longer waits for the other side
constexpr Tick WaiterCode(std::uint32_t rank) { return kUnknownTime - 1 - static_cast<Tick>(rank); }
constexpr std::uint32_t WaiterOf(Tick code) { return static_cast<std::uint32_t>(kUnknownTime - 1 - code); }

// One side of a message that waits for its receiver is posted. Returns when the message starts where it is the later.
inline std::optional<Tick> LaterSide(Tick& first, Tick posted) {
  if (first == kReleased) return std::nullopt;
  if (first != kUnknownTime) return std::max(first, posted);
  first = posted;
  return std::nullopt;
}

// A collective operation while ranks arrive.
struct CollectiveState {
  Tick latest = 0, root = 0;
  Tick delay = -1;  // for tasks; not yet known
  std::uint32_t missing = 0;
  std::uint32_t first_waiter = kNoWaiter;
  bool root_missing = false;
};

// A rank while it runs.
struct RankState {
  Tick clock = 0;
  const Instruction* next = nullptr;  // to run; when blocked, the one it is blocked in
  const Instruction* end = nullptr;
  std::uint32_t next_waiter = kNoWaiter;  // list of those who wait for one collective operation
  bool finished = true;
};

}  // namespace farscale
