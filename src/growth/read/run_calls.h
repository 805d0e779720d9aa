// The MPI calls of a phase, rank by rank and iteration by iteration, in a form in which runs at different core counts
// compare: functions by name, peers as ranks, requests as the number of operations between post and completion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "growth/read/rank_grid.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// One record of a call: a post, a completion, or both.
struct CallPart {
  RecordKind kind = RecordKind::kSend;
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::int32_t peer = -1;  // posted messages: world rank, or -1 if unknown; collectives: the root
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;
  std::uint32_t back = 0;  // completions: operations of the same class posted in between
  std::uint64_t bytes = 0, received = 0;
};

// User regions that a rank is in, the outermost first, as a path of a tree: its parent in RankCalls::paths, and the
// innermost region in RunCalls::regions.
using RegionPath = std::pair<std::uint32_t, std::uint32_t>;

// Computation goes on in another region: when, since the call before or the begin of the iteration, and the place of
// its path in RankCalls::paths.
using RegionStep = std::pair<Tick, std::uint32_t>;

struct PhaseCall {
  std::uint32_t function = 0;
  std::uint32_t parts_end = 0;  // behind those of this call in RankCalls::parts
  Tick compute = 0;             // since the call before, or the begin of the iteration
  bool completes_all = false;   // all that is pending, and nothing else
  std::uint32_t steps_end = 0;  // behind those before this call in RankCalls::steps
};

struct RankCalls {
  std::vector<PhaseCall> calls;
  std::vector<CallPart> parts;
  std::vector<std::uint32_t> iteration_end;  // behind the last call of every iteration
  std::vector<Tick> compute_after;           // one an iteration, behind its last call
  std::vector<RegionPath> paths = {{}};      // the first is that of no region
  std::vector<RegionStep> steps;             // the first of an iteration is where it begins
  std::vector<std::uint32_t> steps_after;    // one an iteration, behind its last step

  std::uint32_t FirstCall(std::size_t iteration) const { return iteration == 0 ? 0 : iteration_end[iteration - 1]; }
  // Before a call of an iteration; of the call behind its last, what follows that.
  std::span<const RegionStep> StepsBefore(std::size_t call, std::size_t iteration) const {
    const std::uint32_t begin = call > FirstCall(iteration) ? calls[call - 1].steps_end
                                : iteration > 0             ? steps_after[iteration - 1]
                                                            : 0;
    const std::uint32_t end = call < iteration_end[iteration] ? calls[call].steps_end : steps_after[iteration];
    return std::span(steps).subspan(begin, end - begin);
  }
  // In which regions a call is made.
  std::uint32_t PathAt(std::size_t call) const {
    return calls[call].steps_end > 0 ? steps[calls[call].steps_end - 1].second : 0;
  }
  std::uint32_t RegionOf(std::uint32_t path) const { return paths[path].second; }
  std::uint32_t FirstPart(std::size_t call) const { return call == 0 ? 0 : calls[call - 1].parts_end; }
  std::span<const CallPart> Parts(std::size_t call) const {
    return std::span(parts).subspan(FirstPart(call), calls[call].parts_end - FirstPart(call));
  }
};

struct RunCalls {
  std::int64_t ranks = 0;
  double ticks_per_second = 1e9;
  std::vector<Communicator> communicators = {};
  std::vector<std::int32_t> nodes = {};   // one a rank
  std::vector<std::string> regions = {};  // names, by the numbers of paths
  std::vector<RankCalls> of_ranks = {};
  std::optional<RankGrid> named = {};   // in the study: the layout is this one or its reverse
  std::vector<RankGrid> recorded = {};  // Cartesian topologies of all ranks in the trace: tried first
  std::vector<std::size_t> kinds = {};  // one an iteration; those of a kind make the same calls [MatchKinds]
  std::optional<double> instructions = {}, cycles = {};  // sum over ranks, outside MPI; nothing without counters

  std::size_t iterations() const { return of_ranks.empty() ? 0 : of_ranks.front().iteration_end.size(); }
  std::size_t CountKinds() const { return kinds.empty() ? 0 : 1 + *std::ranges::max_element(kinds); }
  // The first iteration of a kind; behind the last one if there is none.
  std::size_t FirstOfKind(std::size_t kind) const {
    return static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
  }
};

// Throws an error of kind kNotEnoughData where ranks have no part in the phase or differ in their number of iterations.
// `functions`: names that all runs share, to which those of this run are added.
RunCalls ReadRunCalls(const Trace& trace, const PhaseCut& cut, std::vector<std::string>& functions);

// The kinds of the iterations of a run, in which all ranks call the same functions, numbered in the order of their
// first iterations, which are added to `first`. `exactly`: with the same partners, too.
std::vector<std::size_t> SortIntoKinds(const RunCalls& run, bool exactly, std::vector<std::size_t>& first);

// Numbers the kinds of iterations of the largest run (the last one) in the order in which they appear first, and gives
// the iterations of the others the number of the kind that is most like theirs.
void MatchKinds(std::vector<RunCalls>& runs);

}  // namespace farscale
