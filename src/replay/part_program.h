// The program of a phase [replay/program.h] whose ranks lie with several processes: each compiles those of its own,
// with what the others tell of the messages and operations that they share.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "parallel/exchange.h"
#include "phases/phase_cut.h"
#include "replay/compile_steps.h"
#include "replay/operation_runs.h"
#include "replay/part_matching.h"
#include "replay/program.h"

namespace farscale {

// What is shared of the phase: the windows of own ranks, no others being present, and the earliest begin of any.
struct PartCut {
  PhaseCut cut;
  Tick origin = 0;
};

// Of the cut of all ranks, those of a member.
PartCut CutOfMember(const TracePart& part, std::size_t member, const PhaseCut& cut);
inline PartCut CutOfPart(const TracePart& part, const Exchange& exchange, const PhaseCut& cut) {
  return CutOfMember(part, exchange.own(), cut);
}

// How the ranks of all processes arrive at an operation within their windows.
struct SharedArrivals {
  std::uint32_t ranks = 0;
  std::uint32_t processes = 0;     // of those ranks
  std::uint32_t first_member = 0;  // with ranks in it
  bool root_arrives = false;
  OperationBytes bytes;  // on a timed network

  friend bool operator==(const SharedArrivals&, const SharedArrivals&) = default;
};

// Ranks that follow each other in the order of a communicator and are of one process.
struct ScanSegment {
  std::uint32_t first = 0, end = 0;  // places
  std::uint32_t arrivals = 0;        // of them, within the windows; counted down by the replay
  Tick latest = 0;
};

// A scan that is shared, by its number here.
struct SharedScan {
  std::vector<ScanSegment> segments;  // of this process
  // What others tell: where all up to the end of that awaited segment have arrived, so have those up to that place.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> outside;
};

struct PartProgram {
  Program
      program;  // of own ranks; those of others are empty. Diagnostics and calls are those of all, at the first member
  PhaseFlags flags;
  OperationRuns<SharedArrivals> arrivals;  // of shared operations, numbered among those of all processes
  std::map<std::uint32_t, SharedScan> scans;
  // Of shared scans, numbered among those of all: the first places of the segments with arrivals, rising.
  std::map<std::uint32_t, std::vector<std::uint32_t>> awaited_segments;
};

// Not for tasks and not for networks with contention. Throws the errors of Compile on all members.
PartProgram CompilePart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                        const ReplayOptions& options, Exchange& exchange);

}  // namespace farscale
