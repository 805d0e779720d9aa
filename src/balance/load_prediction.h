// What loads a strategy is given.
#pragma once

#include <vector>

#include "balance/task_program.h"
#include "balance/task_replay.h"

namespace farscale {

// Ticks of every task over the `length` iterations from `next` on, as the predictor sees them at that time; not
// negative. `next` is at least 1.
std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length, LoadPredictor predictor);

}  // namespace farscale
