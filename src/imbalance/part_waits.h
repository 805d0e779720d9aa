// Wait states [imbalance/wait_states.h] of a phase whose ranks lie with several processes, each of which finds those of
// its own ranks: after one exchange of when both ends of every message were posted, and of who decides how long others
// stay in every collective operation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/collective_waits.h"
#include "imbalance/wait_states.h"
#include "imbalance/wait_steps.h"
#include "parallel/exchange.h"
#include "replay/part_matching.h"

namespace farscale {

// What a process knows of a phase.
struct PhasePart {
  const TracePart& part;
  const PartMatching& matching;
  const Activities& activities;  // of own ranks, no others being present
  Exchange& exchange;

  const Trace& trace() const { return part.trace; }
  std::size_t ranks() const { return part.members.size(); }
  bool IsOwn(std::uint32_t rank) const { return part.members[rank] == exchange.own(); }
};

// All members call these in the same order.

// Gives every other member its values and returns what they give, in no certain order.
template <typename T>
std::vector<T> SwapValues(Exchange& exchange, std::vector<std::vector<T>> of_member) {
  const std::vector<std::size_t> others = exchange.Others();
  std::vector<std::string> texts;
  for (const std::size_t other : others) {
    texts.push_back(of_member[other].empty() ? "" : ToBytes(of_member[other]));
    of_member[other] = {};
  }
  std::vector<T> all;
  for (const std::string& text : exchange.Swap(others, std::move(texts))) {
    if (text.empty()) continue;
    std::vector<T> some;
    FromBytes(text, some);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Among the ranks of all.
LastRank LastRankOfAll(const PhasePart& phase);

// Of operations as this process numbers them. Those that are shared have all participants here, and of the others those
// whom any here depend on or wait for: dependencies of ranks here are those of one process, and so are the first to
// leave and the last to enter.
CollectiveWaits FindPartCollectives(const PhasePart& phase);

// Of ranks here; marks, too. Diagnostics of all, at the first member alone.
WaitStates FindPartWaitStates(const PhasePart& phase, const CollectiveWaits& collectives);

}  // namespace farscale
