// The grid whose lines a program has communicators for, as MPI_Cart_sub makes them [docs/formulas.md, process grids].
#pragma once

#include <cstddef>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

// Extents, of two or three dimensions, the last of which changes fastest; empty when there are none. Every line of the
// ranks of the phase in every direction must have its communicator.
std::vector<std::size_t> ExtentsOfCommunicators(const Trace& trace, const PhaseCut& cut);

}  // namespace farscale
