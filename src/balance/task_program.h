// A phase whose ranks are tasks: the program that the engine of tasks runs, and what its tasks compute and exchange.
#pragma once

#include <cstddef>
#include <vector>

#include "balance/strategy.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "replay/program.h"
#include "trace/trace.h"

namespace farscale {

struct TaskProgram {
  Program program;
  std::size_t iterations = 1;        // the same number on every task
  std::size_t repeats = 1;           // repetitions of the phase, one after the other
  std::vector<TaskEdge> edges = {};  // bytes of messages over the whole phase
  double ticks_per_second = 1e9;
  const Trace* trace = nullptr;  // communicators, and for messages of errors; outlives this
  const Matching* matching = nullptr;
  const PhaseCut* cut = nullptr;
  ReplayOptions options;  // that it was compiled with; its network outlives this

  std::size_t tasks() const { return program.ranks.size(); }
  double Seconds(Tick ticks) const { return static_cast<double>(ticks) / ticks_per_second; }
};

// `network`: for its rules of large messages; null: the ideal one. All arguments outlive the result. Throws an
// error of kind kNotEnoughData when not every rank is in the phase, or when ranks differ in their number of iterations.
TaskProgram CompileTasks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules,
                         const Network* network);

// The phase so many times, one after the other: iterations depend on those before as within the phase. What a rank
// sends to another across the end of the phase is received at the begin of the next repetition, where as many messages
// come in there. Throws an error of kind kNotEnoughData when that would be too large.
TaskProgram RepeatTasks(const TaskProgram& tasks, std::size_t times);

// Scale of a repeated phase from the loads of one: every task's computation goes on to change as the line through its
// loads does, and never falls below 0.
LoadScale ContinueDrift(const TaskLoads& loads, std::size_t times);

// Lengths as they are, or scaled.
TaskLoads LoadsOf(const TaskProgram& tasks, const LoadScale* scale = nullptr);

inline Tick ScaledLength(Tick length, double scale) {
  return scale == 1 ? length : static_cast<Tick>(static_cast<double>(length) * scale + 0.5);
}

}  // namespace farscale
