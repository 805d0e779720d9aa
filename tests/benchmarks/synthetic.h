// Traces made up for benchmarks: a stencil with neighbour exchange, an allreduce now and then, counters at every edge.
#pragma once

#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace farscale::bench {

// An OTF2 archive of so many ranks and iterations; an iteration is five MPI calls and a user region, about 32 events
// a rank with their counters. Returns the anchor file.
std::string WriteStencil(const std::filesystem::path& folder, int ranks, int iterations);

// The same calls straight in memory, without counters and regions: `calls` MPI calls over all ranks.
Trace MakeStencil(int ranks, std::size_t calls);

}  // namespace farscale::bench
