// Which iterations of a phase something other than the program disturbed: the operating system, other jobs, a slow
// clock. [Rosas14, section 2.1] leaves their choice to an expert who looks at the duration of bursts, at cycles per
// microsecond and at MPI calls; these are the measures here [docs/formulas.md, clean cuts].
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "factors/phase_factors.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// Time lost in one iteration, as shares of the median iteration; 0 where it cannot be told.
struct Disturbance {
  double bursts = 0;  // computation beyond what is usual at the same places, on the rank that has most
  std::size_t bursts_rank = 0;
  double clock = 0;  // the same for cycles (or CPU time) per microsecond below what is usual on a rank
  std::size_t clock_rank = 0;
  // Time in MPI that the ideal replay does not explain, beyond the usual; mean of all ranks.
  double calls = 0;
  // Beyond the usual of iterations with the same calls; mean of all ranks. What the others do not explain is waiting.
  double longer = 0;
  bool is_judged = true;  // most ranks make the same calls in two other iterations
  bool is_alone = false;  // most ranks make calls in it that they make in no other
  double odd = 0;         // what it takes more than the median iteration, or computes more or less
  // What it takes without any of this: its work at the usual rate, and the usual time in MPI of iterations with the
  // same calls; mean of all ranks. An iteration that cannot be compared takes what it takes.
  double regular = 0;

  double Total() const { return (bursts > clock ? bursts : clock) + calls; }
};

// One entry an iteration; empty when ranks differ in how many they have, or when there are fewer than three to compare.
std::vector<Disturbance> MeasureDisturbance(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                            const FactorOptions& options);

// Which iterations are clean, and which are kept.
struct CleanChoice {
  std::vector<Disturbance> iterations;  // empty: not judged, all are kept
  std::vector<std::string> reasons;     // why an iteration is not clean; empty for clean ones
  std::vector<bool> kept;
  bool too_many_differ = false;  // more than a third stand out: that is the program, so all count as clean

  std::size_t Kept() const;
  bool KeepsAll() const { return Kept() == kept.size(); }
  // By how much the iterations kept differ on average from all in what they take without disturbances, as a share of
  // the average of all. Noise takes nothing away of that; a choice that does leaves out work of the program.
  double RegularWorkLost() const;
};

// Keeps the longest run of consecutive clean iterations, or the cleanest ones, as the spec of the cut says.
CleanChoice ChooseClean(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const FactorOptions& options);

// The phase without the iterations that its spec does not want; as it is, and nothing is judged, when the spec wants
// all. The diagnostics of the cut say what was left out.
PhaseCut CutClean(const Trace& trace, const Matching& matching, const PhaseCut& cut, const FactorOptions& options);
// The same for a choice already made.
PhaseCut KeepClean(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice);

}  // namespace farscale
