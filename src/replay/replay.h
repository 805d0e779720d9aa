// When every call of a phase would have run on another network [docs/formulas.md, replay]. On the ideal one messages
// take no time and calls cost nothing: only computation and waiting for others remain.
//
// The replay runs every rank as far as it gets and comes back to it when what it waits for has happened. Times depend
// only on the dependencies, not on the order of running, so the cost is linear in the calls and hardly depends on the
// number of ranks.
#pragma once

#include <cstdint>
#include <string>
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
  Tick Duration() const;

  // The replayed time of an edge inside the rank's window; needs `leave`.
  Tick TimeAt(const RankTimeline& timeline, const RankCut& cut, std::size_t rank, const Edge& edge) const;
};

// Throws an input error naming who waits for whom when the calls cannot complete in program order.
ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options);

// A program that was made without a trace, on the network that it was made for; nothing: the ideal one. Throws an error
// of kind kNotEnoughData, which names `what`, when its calls cannot complete.
ReplayResult ReplayProgram(const Program& program, const Network* network, const std::string& what);

}  // namespace farscale
