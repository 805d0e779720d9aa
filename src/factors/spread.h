// Variation of the factors of a phase over its iterations, and the standard errors of its runs that follow
// [docs/formulas.md, spread].
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "factors/factor_table.h"
#include "factors/phase_factors.h"
#include "factors/thread_times.h"

namespace farscale {

struct PhaseCut;
struct ReplayResult;

// Times in the whole phase.
struct PhaseTicks {
  std::vector<Tick> useful, paused;  // one a rank
  Tick covered = 0;                  // length of all intervals
  Tick elapsed = 0;                  // T
  Tick ideal = 0;
  const ThreadStates* states = nullptr;  // null: not known
  std::vector<ThreadTicks> threads;      // one a rank, where they are known
  std::vector<DeviceTicks> devices;      // all ranks together
};

// The phase without one block of consecutive iterations at a time; of the factors, totals and profiles must be there.
// Nothing with fewer than three iterations, where ranks differ in how many they run, or where all computation lies in
// one block.
std::optional<BlockSamples> SampleBlocks(const Trace& trace, const PhaseCut& cut, const ReplayResult& replay,
                                         const FactorOptions& options, const PhaseTicks& ticks,
                                         const PhaseFactors& factors);

// Iterations 0 to count·size - 1 are in blocks of `size`; what is left over at the end stays in every sample. Returns
// count and size: at most 20 blocks, none for fewer than three iterations.
std::pair<std::size_t, std::size_t> BlocksOf(std::size_t iterations);

// The standard error of an estimate from samples that each lack one of the blocks of n iterations:
// ((n - m) / (m B) Σ (sample - mean)²)^½ with B blocks of m [Efron93, section 11.7; Kunsch89]. Exactly 0 for samples of
// about 1 that are equal but for rounding.
double JackknifeError(const std::vector<double>& samples, std::size_t iterations, std::size_t block_size);

// The errors of every run by itself: standard errors of the factors that need no reference run, and what runs are
// compared by. Runs with equally many iterations are taken to do the same work in the same
// iterations: variation that the runs share, scaled or not, belongs to the program and is no
// error. For a single run the two cannot be separated, so all of its variation counts.
std::vector<std::pair<FactorValues, RelativeErrors>> ErrorsOf(const std::vector<BlockSamples>& runs);

// Turns the samples of the rows of one phase into errors of their values, run times and totals. What compares with the
// reference errs by the same share as what it is made of. Errors of rows without samples stay.
void AddErrors(const std::vector<FactorRow*>& rows);

}  // namespace farscale
