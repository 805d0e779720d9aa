// A program whose ranks exchange messages with their neighbours in a ring, with more work on a quarter of them, which
// wanders along the ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/trace.h"

namespace farscale::test {

// Every iteration is a region "step": 1000 ticks of computation, 3000 on heavy ranks, with 10 % of noise, and messages
// of 8000 bytes to both sides. One tick is a microsecond.
Trace MakeRing(std::size_t ranks, std::size_t iterations, std::uint64_t seed);

}  // namespace farscale::test
