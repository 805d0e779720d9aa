// Traces made up for benchmarks: a stencil with neighbour exchange, an allreduce now and then, counters at every edge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace farscale::bench {

// Computation of varying length; the same on every machine.
class Lengths {
 public:
  explicit Lengths(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint64_t Next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return 2000 + (state_ >> 49);
  }

 private:
  std::uint64_t state_;
};

// Partners at growing distance, so that ranks far apart depend on each other.
int Distance(int iteration, int ranks);

// An OTF2 archive of so many ranks and iterations; an iteration is five MPI calls and a user region, about 32 events
// a rank with their counters. Returns the anchor file.
std::string WriteStencil(const std::filesystem::path& folder, int ranks, int iterations);

// The same calls straight in memory, without counters and regions: `calls` MPI calls over all ranks.
Trace MakeStencil(int ranks, std::size_t calls);

}  // namespace farscale::bench
