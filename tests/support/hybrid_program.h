// Random programs of ranks with OpenMP threads, as a measurement would have recorded them.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace farscale::test {

// With its threads kept. The same trace for the same seed, on every machine; steps are in regions "step", with other
// work between.
Trace MakeHybridProgram(std::uint64_t seed);

}  // namespace farscale::test
