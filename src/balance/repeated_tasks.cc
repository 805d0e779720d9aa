// The iterations of a phase again and again, as a run of production length has them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "balance/task_program.h"
#include "base/error.h"
#include "base/format.h"
#include "base/parallel.h"

namespace farscale {
namespace {

// Of instructions and messages of a repeated program; chosen: half a gigabyte.
constexpr std::uint64_t kMostRepeated = 20'000'000;

// What a step is about, which has numbers of its own in every repetition.
enum class TargetOf : std::uint8_t { kNothing, kMessage, kCollective, kIteration };

TargetOf TargetOfStep(Step step) {
  switch (step) {
    case Step::kNothing: return TargetOf::kNothing;
    case Step::kSend:
    case Step::kWaitForSend:
    case Step::kReceive:
    case Step::kWaitForReceive:
    case Step::kSendRendezvous:
    case Step::kReceiveRendezvous: return TargetOf::kMessage;
    case Step::kIterationEnd: return TargetOf::kIteration;
    default: return TargetOf::kCollective;
  }
}

template <typename Element>
void RepeatAll(std::vector<Element>& elements, std::size_t times) {
  const std::size_t size = elements.size();
  elements.reserve(size * times);
  for (std::size_t i = size; i < size * times; ++i) elements.push_back(elements[i - size]);
}

// By how much targets grow from one repetition to the next.
struct Offsets {
  std::uint32_t messages = 0, collectives = 0, iterations = 0;

  std::uint32_t Of(TargetOf what) const {
    switch (what) {
      case TargetOf::kMessage: return messages;
      case TargetOf::kCollective: return collectives;
      case TargetOf::kIteration: return iterations;
      case TargetOf::kNothing: break;
    }
    return 0;
  }
};

void RepeatRank(std::size_t times, const Offsets& offsets, RankProgram& rank) {
  const std::vector<Instruction> once = std::move(rank.instructions);
  const std::vector<std::uint32_t> calls = rank.call_messages;
  rank.instructions.clear();
  rank.instructions.reserve((once.size() + 1) * times);
  for (std::uint32_t k = 0; k < times; ++k) {
    for (Instruction instruction : once) {
      instruction.target += k * offsets.Of(TargetOfStep(instruction.step));
      rank.instructions.push_back(instruction);
    }
    if (k + 1 == times) break;
    // The last iteration of a phase ends with it; here another one follows.
    Instruction& end = rank.instructions.emplace_back();
    end.compute = rank.compute_after;
    end.step = Step::kIterationEnd;
    end.target = (k + 1) * offsets.iterations - 1;
    for (std::size_t i = 0; i < calls.size();) {
      const std::size_t next = i + 1 + calls[i];
      rank.call_messages.push_back(calls[i]);
      for (++i; i < next; ++i) rank.call_messages.push_back(calls[i] + (k + 1) * offsets.messages);
    }
  }
}

// Slope of the line through the loads of a task, per iteration [least squares]; 0 where it is less than two standard
// errors, chosen: else noise of a few iterations would become a drift over thousands.
double SlopeOf(const std::vector<Tick>& loads) {
  const auto n = static_cast<double>(loads.size());
  if (loads.size() < 3) return 0;
  const double middle = (n - 1) / 2;
  double mean = 0, moments = 0, squares = 0;
  for (const Tick load : loads) mean += static_cast<double>(load) / n;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    moments += x * (static_cast<double>(loads[i]) - mean);
    squares += x * x;
  }
  const double slope = moments / squares;
  double residuals = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double rest = static_cast<double>(loads[i]) - mean - slope * (static_cast<double>(i) - middle);
    residuals += rest * rest;
  }
  const double error = std::sqrt(residuals / (n - 2) / squares);
  return std::fabs(slope) < 2 * error ? 0 : slope;
}

}  // namespace

TaskProgram RepeatTasks(const TaskProgram& tasks, std::size_t times) {
  const Program& once = tasks.program;
  std::uint64_t size = once.messages;
  for (const RankProgram& rank : once.ranks) size += rank.instructions.size() + 1;
  if (size * times > kMostRepeated) {
    throw Error(ErrorKind::kNotEnoughData, tasks.trace->path,
                fmt::format("phase '{}' cannot be repeated so often: {} iterations have {} messages and steps, at most "
                            "{} are replayed",
                            tasks.cut->spec.name, FormatCount(tasks.iterations * times), FormatCount(size * times),
                            FormatCount(kMostRepeated)),
                fmt::format("ask for at most {} iterations",
                            FormatCount(std::max<std::uint64_t>(1, kMostRepeated / size) * tasks.iterations)));
  }
  TaskProgram repeated = tasks;
  repeated.iterations *= times;
  repeated.repeats *= times;
  Program& program = repeated.program;
  const Offsets offsets{once.messages, static_cast<std::uint32_t>(once.arrivals.size()),
                        static_cast<std::uint32_t>(tasks.iterations)};
  ParallelFor(program.ranks.size(), [&](std::size_t rank) { RepeatRank(times, offsets, program.ranks[rank]); });
  program.messages *= static_cast<std::uint32_t>(times);
  program.iterations *= static_cast<std::uint32_t>(times);
  program.calls *= times;
  RepeatAll(program.task_messages, times);
  RepeatAll(program.task_collectives, times);
  RepeatAll(program.arrivals, times);
  for (std::size_t i = once.root_arrives.size(); i < program.arrivals.size(); ++i)
    program.root_arrives.push_back(once.root_arrives[i % once.root_arrives.size()]);
  for (std::uint32_t k = 1; k < times; ++k) {
    for (const auto& [operation, ranks] : once.scan_ranks)
      program.scan_ranks.emplace(operation + k * offsets.collectives, ranks);
    for (const auto& [operation, order] : once.order_of_scan)
      program.order_of_scan.emplace(operation + k * offsets.collectives, order);
  }
  return repeated;
}

LoadScale ContinueDrift(const TaskLoads& loads, std::size_t times) {
  LoadScale scale(loads.size());
  for (std::size_t task = 0; task < loads.size(); ++task) {
    const std::size_t iterations = loads[task].size();
    const double drift = SlopeOf(loads[task]) * static_cast<double>(iterations);  // from one repetition to the next
    for (std::size_t k = 0; k < times * iterations; ++k) {
      const auto load = static_cast<double>(loads[task][k % iterations]);
      const double later = load + drift * static_cast<double>(k / iterations);
      scale[task].push_back(load > 0 ? std::max(0.0, later / load) : 1);
    }
  }
  return scale;
}

}  // namespace farscale
