// Execution time, waits left out, by rank and iteration.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "imbalance/activities.h"
#include "imbalance/wait_states.h"
#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct LoadMatrix {
  std::vector<std::size_t> ranks;  // world ranks in the phase, rising: one row each
  std::size_t iterations = 0;      // columns
  std::vector<double> seconds;     // row by row

  double At(std::size_t row, std::size_t iteration) const { return seconds[row * iterations + iteration]; }
  // Of every row, over all iterations.
  std::vector<double> Sums() const;
};

// In the phase and outside of MPI, which is what load balance compares: computation and calls to devices.
bool IsOutsideMpi(const CallPaths& paths, PathId path);
// Calls to the runtimes of devices in the phase, in which the host starts their work or waits for it.
bool IsDeviceCall(const CallPaths& paths, PathId path);
// Computation in the program's regions: neither MPI, nor calls to devices, nor time outside of what the phase counts.
bool IsUseful(const CallPaths& paths, PathId path);

// Of one call path, or without `path` of all useful ones together. Computation that reaches over the edge of an
// iteration is parted there; a call belongs to the iteration in which it is counted. Where ranks differ in their number
// of iterations, which then cannot be compared, all time is in one column. Linear in activities.
LoadMatrix LoadOf(const Trace& trace, const PhaseCut& cut, const Activities& activities, const WaitStates& states,
                  std::optional<PathId> path = std::nullopt);
// The same in so many columns: CommonIterations.
LoadMatrix LoadOfRanks(const Trace& trace, const PhaseCut& cut, const Activities& activities, const WaitStates& states,
                       std::optional<PathId> path, std::size_t columns);

// How many iterations all ranks in the phase have; 1 where they differ in their number.
std::size_t CommonIterations(const PhaseCut& cut);

// What ranks compute between two MPI calls, in their order, is a step of an iteration. (max - avg) / max * N / (N - 1)
// of the sums, over all steps of all iterations, of their largest and average lengths; nothing where ranks do not make
// equally many steps, which then do not belong together. What takes less than a thousandth of an iteration is no step.
// `activities` tell calls to devices; empty ones are enough where there are none.
std::optional<double> ImbalanceInSteps(const Trace& trace, const PhaseCut& cut, const Activities& activities);

}  // namespace farscale
