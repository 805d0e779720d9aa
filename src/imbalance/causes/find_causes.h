// Names the causes of waiting and what the run would gain without each [docs/formulas.md, causes and gains].
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/causes/load_deviation.h"
#include "imbalance/causes/load_matrix.h"
#include "imbalance/causes/measured_program.h"
#include "imbalance/diagnosis.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// The diagnosis is in ticks. Causes that gain kLeastGain of the phase or more, alone or once the others are gone,
// sorted by their gain. Each is replayed on the measured program; none where that does not take as long as was
// measured.
std::vector<Cause> FindCauses(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                              const WaitStates& states, const Diagnosis& diagnosis, const CauseOptions& options);

// The gain of the MPI call path that gains most with every call as short as the shortest of them, waits apart, by a
// replay of the measured program; nothing below kLeastGain. Call overhead stays, and so does the time of messages of
// the least size.
std::optional<LatencyGain> FindLatencyGain(const Trace& trace, const Matching& matching, const WaitStates& states,
                                           const Diagnosis& diagnosis);

// The parts of FindCauses.

struct CauseCandidate {
  std::size_t load = 0;
  LoadDeviation deviation;
  bool in_everything = false;
  bool is_start = false;  // ranks enter the phase at different times
  double most = 0;        // ticks that it can gain at most: the largest excess of a rank, summed over columns
  std::vector<Saving> savings;
};

// Describes where and when it is, without parts, gains and the worst wait.
Cause DescribeCause(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                    const CauseCandidate& candidate);

// The waits for the first call behind the cell in which the rank lost most that others waited for; where there is one
// cell alone, for the call that others waited longest for.
std::optional<WaitInstance> FindWorstWait(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                          const CauseCandidate& candidate);

using CauseCounters = std::array<std::optional<std::size_t>, 3>;  // instructions, cycles, CPU time
CauseCounters ChooseCauseCounters(const Trace& trace, const CounterNames& names);

// The parts of a deviation by the counters of the trace: more instructions, fewer a cycle, fewer cycles a second, time
// in which the process did not run, or more visits. Time per cell is visits × instructions a visit × cycles an
// instruction × seconds a cycle × wall time over CPU time; a part has its share of the logarithms of these ratios.
// Largest first; they add up to 1.
std::vector<CausePart> FindCauseParts(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                      const CauseCounters& counters, const CauseCandidate& candidate);

}  // namespace farscale
