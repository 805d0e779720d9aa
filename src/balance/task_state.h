// How large the state of a task is, which has to be sent when it moves.
#pragma once

#include <string>
#include <vector>

#include "balance/task_program.h"

namespace farscale {

// An estimate where nothing is known: a task's largest message is taken for one face of a cube that the task holds, in
// kStateArrays arrays of doubles: kStateArrays * 8 * (bytes / 8)^(3/2) bytes. A task that sends nothing has no state.
inline constexpr double kStateArrays = 10;
std::vector<double> EstimateTaskBytes(const TaskProgram& tasks);

// "rank,bytes" line by line behind a line with these names; every rank once. Throws a usage error with file and line.
std::vector<double> ParseTaskBytes(const std::string& text, const std::string& file, std::size_t tasks);

}  // namespace farscale
