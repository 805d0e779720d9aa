// The program of a grown run for the replay, made directly: without a trace, which would need many times its memory.
// What it does is what Compile makes of GrowTrace.
#pragma once

#include <cstdint>

#include "growth/make/class_plan.h"
#include "growth/make/grown_messages.h"
#include "growth/growth_model.h"
#include "replay/network.h"
#include "replay/program.h"

namespace farscale {

// `network`: nothing for the ideal one. Says when the iterations end that are made.
Program CompileGrown(const GrowthModel& model, const GridPlan& plan, const GrownMessages& messages,
                     const GrownLoads& loads, const ReplayRules& rules, const Network* network);

// Bytes that growing and replaying so many iterations of each kind takes at most, without those of the model.
double BytesToGrow(const GrowthModel& model, const RankGrid& grid, const std::vector<std::size_t>& of_kinds);

}  // namespace farscale
