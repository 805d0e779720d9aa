// Iterations of a phase that were disturbed from outside the program: by the operating system, other jobs, or a slow
// clock. In [Rosas14, section 2.1] an expert selects them by the duration of bursts, cycles per microsecond and MPI
// calls; the same measures are used here [docs/formulas.md, clean cuts].
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace farscale {

struct FactorOptions;
struct Matching;
struct PhaseCut;
struct Trace;

// Time lost in one iteration, as shares of the median iteration; 0 where unknown.
struct Disturbance {
  double bursts = 0;  // computation beyond the usual between the same calls, on the rank that has most
  std::size_t bursts_rank = 0;
  double clock = 0;  // the same for cycles (or CPU time) per microsecond below what is usual on a rank
  std::size_t clock_rank = 0;
  // Time in MPI that the ideal replay does not explain, beyond the usual; mean of all ranks.
  double calls = 0;
  // Beyond the usual length of iterations with the same calls and place in a cycle; mean of all ranks. The rest is
  // waiting.
  double longer = 0;
  bool is_judged = true;  // most ranks make the same calls, at that place in a cycle, in two other iterations
  bool is_alone = false;  // most ranks make calls in it that they make in no other
  double odd = 0;         // time beyond the median iteration, or difference in computation
  // Its length without disturbances: its work at the usual rate, and the usual time in MPI of iterations with the same
  // calls; mean of all ranks. The measured length where no iteration is comparable.
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
  // Mean undisturbed length of the iterations kept compared with that of all, as a share of the latter. It differs from
  // 0 where the choice leaves out work of the program and not only noise.
  double RegularWorkLost() const;
};

// Keeps the longest run of consecutive clean iterations, or the cleanest ones, depending on the spec of the cut.
CleanChoice ChooseClean(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const FactorOptions& options);

// The phase without the iterations that its spec excludes; unchanged if the spec keeps all. The diagnostics of the cut
// list the excluded iterations.
PhaseCut CutClean(const Trace& trace, const Matching& matching, const PhaseCut& cut, const FactorOptions& options);
// The same for a choice already made.
PhaseCut KeepClean(const Trace& trace, const PhaseCut& cut, const CleanChoice& choice);

}  // namespace farscale
