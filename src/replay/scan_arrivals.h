// Who has arrived at a scan: a rank leaves it as soon as all up to itself in the order of the communicator have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay/matching.h"
#include "replay/program.h"
#include "trace/trace.h"

namespace farscale {

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
  Scans(const Trace& trace, const Matching& matching, const Program& program)
      : trace_(trace), matching_(matching), program_(program) {}

  bool Arrive(std::uint32_t operation, std::uint32_t rank, Tick time) {
    auto found = arrivals_.find(operation);
    if (found == arrivals_.end()) {
      std::vector<std::size_t> awaited;
      for (const std::uint32_t other : program_.scan_ranks.at(operation)) {
        awaited.push_back(LocalRank(operation, other));
      }
      // One more place for a rank that is no member.
      found = arrivals_.emplace(operation, ScanArrivals(Members(operation).size() + 1, awaited)).first;
    }
    return found->second.Arrive(LocalRank(operation, rank), time);
  }

  // When the rank may leave; negative while that is unknown, 0 when nobody arrives within the windows.
  Tick TimeFor(std::uint32_t operation, std::uint32_t rank) {
    const auto found = arrivals_.find(operation);
    if (found != arrivals_.end()) return found->second.TimeFor(LocalRank(operation, rank));
    return program_.arrivals[operation] > 0 ? -1 : 0;
  }

 private:
  const std::vector<std::int32_t>& Members(std::uint32_t operation) const {
    return trace_.communicators[matching_.collectives[operation].communicator].members;
  }

  std::size_t LocalRank(std::uint32_t operation, std::uint32_t rank) {
    const std::vector<std::int32_t>& members = Members(operation);
    std::vector<std::size_t>& local = local_ranks_[matching_.collectives[operation].communicator];
    if (local.empty()) {
      local.assign(trace_.size(), members.size());
      for (std::size_t i = 0; i < members.size(); ++i) local[static_cast<std::size_t>(members[i])] = i;
    }
    return local[rank];
  }

  const Trace& trace_;
  const Matching& matching_;
  const Program& program_;
  std::unordered_map<std::uint32_t, ScanArrivals> arrivals_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> local_ranks_;  // of world ranks, by communicator
};

}  // namespace farscale
