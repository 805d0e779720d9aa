// What a rank did, one thing after the other: MPI calls, and between them the time in one call path each. Activities
// tile the rank's part of a phase without gaps [Boehme13, section 4.1; docs/formulas.md, imbalance].
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "imbalance/call_paths.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

inline constexpr std::uint32_t kNoCall = std::numeric_limits<std::uint32_t>::max();

// Ticks are those of the trace. Calls are counted from the first of the rank's window: call c of the window is call
// first_call + c of its timeline.
struct RankActivities {
  bool present = false;
  std::vector<Tick> edges;                     // of activities, rising: activity a is [edges[a], edges[a + 1])
  std::vector<PathId> path;                    // of every activity
  std::vector<std::uint32_t> call_activity;    // of every call in the window
  std::vector<std::uint32_t> call_occurrence;  // iteration or occurrence it lies in, kNoCall between them
  std::vector<std::uint32_t> iteration_begin;  // activity with which every iteration or occurrence begins
  std::size_t first_call = 0;                  // in the timeline
  std::size_t calls = 0;                       // of the timeline; one more stands for the end of the phase

  std::size_t size() const { return path.size(); }
  Tick begin() const { return edges.front(); }
  // Of what the rank does: it enters the end of the phase, in which it is idle until the last rank is there.
  Tick end() const { return edges[edges.size() - 2]; }
  Tick enter(std::size_t call) const { return edges[call_activity[call]]; }
  Tick leave(std::size_t call) const { return edges[call_activity[call] + 1]; }
  bool counts(std::size_t call) const { return call_occurrence[call] != kNoCall; }
  // That an activity lies in or behind; 0 before the first.
  std::size_t IterationOf(std::size_t activity) const;
};

struct Activities {
  CallPaths paths;
  std::vector<RankActivities> ranks;  // one a rank of the trace
  Tick begin = 0;                     // of the first rank
  Tick end = 0;                       // of the last
};

// Of the ranks in a phase. All begin when the first does: whoever comes later is "before the phase" until then, and
// there in the regions and calls that the trace shows. What a rank does ends with its window, or where it enters
// MPI_Finalize; its last activity is that it is "after the phase" until the last rank ends, and counts as a call.
Activities CollectActivities(const Trace& trace, const PhaseCut& cut);

}  // namespace farscale
