// Wait states, delay costs and the critical path as a profile for CubeGUI and other readers of Cube 4
// [docs/file-formats.md, Cube profiles; https://www.scalasca.org/software/cube-4.x].
#pragma once

#include <string>

#include "imbalance/diagnosis.h"
#include "trace/trace.h"

namespace farscale {

// The bytes of a .cubex file: a tar archive with the call tree, ranks and metrics as XML, and the values of each
// metric. Metrics have the names of Scalasca's where they mean the same.
std::string WriteCube(const Trace& trace, const Diagnosis& diagnosis);

}  // namespace farscale
