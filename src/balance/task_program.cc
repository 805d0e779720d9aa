#include "balance/task_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "replay/unknown_waits.h"

namespace farscale {
namespace {

void RequireTasks(const Trace& trace, const PhaseCut& cut) {
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) {
      throw Error(ErrorKind::kNotEnoughData, trace.path,
                  fmt::format("rank {} does not take part in phase '{}'", rank, cut.spec.name),
                  "choose a phase of all ranks");
    }
    const std::size_t iterations = cut.ranks[rank].iterations.size();
    if (iterations == cut.ranks.front().iterations.size()) continue;
    throw Error(ErrorKind::kNotEnoughData, trace.path,
                fmt::format("phase '{}' has {} iterations on rank 0, but {} on rank {}", cut.spec.name,
                            cut.ranks.front().iterations.size(), iterations, rank),
                "balancing points come after the same iteration of every rank; choose another phase");
  }
  RequireKnownWaits(trace, cut);
}

std::vector<TaskEdge> EdgesOf(const Program& program) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const TaskMessage& message : program.task_messages) {
    if (!message.is_sent || message.from == message.to) continue;
    bytes[std::minmax(message.from, message.to)] += static_cast<double>(message.bytes);
  }
  std::vector<TaskEdge> edges;
  for (const auto& [tasks, sum] : bytes) edges.push_back({tasks.first, tasks.second, sum});
  return edges;
}

}  // namespace

TaskProgram CompileTasks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules,
                         const Network* network) {
  RequireTasks(trace, cut);
  const ReplayOptions options{.rules = rules, .network = network, .as_tasks = true};
  TaskProgram tasks{.program = Compile(trace, matching, cut, options),
                    .iterations = cut.ranks.front().iterations.size(),
                    .ticks_per_second = trace.ticks_per_second,
                    .trace = &trace,
                    .matching = &matching,
                    .cut = &cut,
                    .options = options};
  tasks.edges = EdgesOf(tasks.program);
  return tasks;
}

TaskLoads LoadsOf(const TaskProgram& tasks, const LoadScale* scale) {
  TaskLoads loads(tasks.tasks(), std::vector<Tick>(tasks.iterations, 0));
  ParallelFor(tasks.tasks(), [&](std::size_t task) {
    std::size_t iteration = 0;
    const auto add = [&](Tick length) {
      loads[task][iteration] += ScaledLength(length, scale != nullptr ? (*scale)[task][iteration] : 1);
    };
    for (const Instruction& instruction : tasks.program.ranks[task].instructions) {
      add(instruction.compute);
      if (instruction.step == Step::kIterationEnd) iteration = instruction.target + 1;
    }
    add(tasks.program.ranks[task].compute_after);
  });
  return loads;
}

}  // namespace farscale
