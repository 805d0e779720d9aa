// Traces of programs whose ranks compute given times in every iteration and then wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale::test {

// How an iteration ends.
enum class Synchronization {
  kBarrier,
  kAllreduce,
  kHalo,   // messages to both neighbours in a ring
  kChain,  // every rank waits for the one before it and then computes
};

using Loads = std::vector<std::vector<Tick>>;  // of rank and iteration, in microseconds

// Regions: "work" in which ranks compute, within "step", an iteration; without `marked` neither. Behind the loop all
// ranks compute for `tail` and call MPI_Finalize, unless it is 0.
Trace MakeLoaded(const Loads& loads, Synchronization synchronization, bool marked = true, Tick tail = 0);

// Who has how much to do.
enum class Movement {
  kStatic,       // the first quarter of the ranks has twice the load of the others
  kDrifting,     // so has another quarter, one rank further every other iteration
  kAlternating,  // so has a quarter chosen anew in every iteration
  kRandomWalk,   // every rank's load goes up and down by itself
};
Loads MakeLoads(Movement movement, std::size_t ranks, std::size_t iterations, std::uint64_t seed);

}  // namespace farscale::test
