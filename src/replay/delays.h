// What a timed network adds to a program: how long its messages and collectives take.
#pragma once

#include <cmath>

#include "replay/network.h"
#include "replay/program.h"

namespace farscale {

inline Tick ToTicks(const Trace& trace, double seconds) {
  return static_cast<Tick>(std::llround(seconds * trace.ticks_per_second));
}

// Fills Program::message_delays, collective_delays and, when the network limits transfers, paths.
void AddDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
               Program& program);

// Fills Program::task_messages, but for what the rules say of them, and task_collectives.
void AddTaskSizes(const Trace& trace, const Matching& matching, const PhaseCut& cut, Program& program);

}  // namespace farscale
