// Would other places of ranks on nodes help?
#pragma once

#include <cstdint>
#include <vector>

#include "balance/task_program.h"
#include "balance/what_if.h"

namespace farscale {

// One task a processor, replayed on other mappings [Lopez21]: the run as measured first, then in blocks, round robin,
// and with ranks together that send each other most, where these are different ones. No node gets more ranks than the
// fullest has. Empty for a run on one node. `nodes`: of every rank as measured.
std::vector<NodeMapping> TryMappings(const TaskProgram& tasks, const std::vector<std::int32_t>& nodes,
                                     const Network* network);

}  // namespace farscale
