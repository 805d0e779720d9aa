// The noise of a run in another order.
#pragma once

#include <cstdint>
#include <optional>

#include "balance/task_program.h"

namespace farscale {

// Fewer iterations do not tell noise from how the load develops.
inline constexpr std::size_t kFewestNoisyIterations = 8;

// What a task computes in an iteration is the running median over five iterations, times what all tasks have in common
// in that iteration (the median over tasks), times a rest of its own: the noise. The rests of every task are put into
// another order; everything else stays. Nothing with too few iterations.
std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed);

}  // namespace farscale
