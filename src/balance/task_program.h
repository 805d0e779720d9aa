// A phase whose ranks are tasks: what each computes in every iteration, what they say to each other, and the program
// that the engine of tasks runs.
#pragma once

#include <cstddef>
#include <vector>

#include "balance/strategy.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "replay/program.h"
#include "replay/rules.h"
#include "trace/trace.h"

namespace farscale {

// Length of the computation of every task in every iteration, in ticks: loads[task][iteration]. What a task computes
// before its first iteration counts to it, and so does to the last what comes after.
using TaskLoads = std::vector<std::vector<Tick>>;

// By how much computation is longer: scale[task][iteration]. Lengths are rounded one by one.
using LoadScale = std::vector<std::vector<double>>;

struct TaskProgram {
  Program program;
  std::size_t iterations = 1;   // the same number on every task
  std::vector<TaskEdge> edges;  // bytes of messages over the whole phase
  double ticks_per_second = 1e9;
  const Trace* trace = nullptr;  // communicators, and for messages of errors; outlives this
  const Matching* matching = nullptr;
  const PhaseCut* cut = nullptr;
  ReplayRules rules;

  std::size_t tasks() const { return program.ranks.size(); }
  double Seconds(Tick ticks) const { return static_cast<double>(ticks) / ticks_per_second; }
};

// `network`: for its rules of large messages; nothing: the ideal one. All arguments outlive the result. Throws an
// evidence error when not every rank is in the phase, or when ranks differ in their number of iterations.
TaskProgram CompileTasks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules,
                         const Network* network);

// Lengths as they are, or scaled.
TaskLoads LoadsOf(const TaskProgram& tasks, const LoadScale* scale = nullptr);

inline Tick ScaledLength(Tick length, double scale) {
  return scale == 1 ? length : static_cast<Tick>(static_cast<double>(length) * scale + 0.5);
}

}  // namespace farscale
