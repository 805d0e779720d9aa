// Would other places of ranks on nodes help? One task a processor, replayed on other mappings [Lopez21].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "balance/task_program.h"
#include "balance/what_if.h"

namespace farscale {

// The run as measured first, then in blocks and round robin over as many nodes, where these are different ones. Empty
// for a run on one node. `nodes`: of every rank as measured.
std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const std::vector<std::int32_t>& nodes,
                                     const Network* network);

}  // namespace farscale
