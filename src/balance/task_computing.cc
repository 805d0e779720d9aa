// Computation in the engine of tasks: one task at a time, or all ready ones in equal shares.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "balance/task_engine.h"
#include "replay/engine.h"

namespace farscale {
namespace {

// Work of a share below this is rounding; chosen: a thousandth of a tick.
constexpr double kNoWork = 1e-3;

}  // namespace

Tick TaskEngine::LengthOf(std::uint32_t task, Tick length) const {
  const std::size_t iteration = states_[task].iteration;
  double scale = options_.scale != nullptr ? (*options_.scale)[task][iteration] : 1;
  if (cold_iteration_[task] == iteration && !options_.costs.are_free) scale *= 1 + options_.costs.cold_share;
  return ScaledLength(length, scale);
}

// Whether the task is through with its work; else it goes on when its share of the processor has done it.
bool TaskEngine::Work(std::uint32_t task, Tick compute, Tick overhead) {
  Task& state = states_[task];
  const Tick length = LengthOf(task, compute);
  if (options_.shares_time) return !BeginShare(task, length + overhead);
  CountComputed(state.clock, state.clock + length);
  state.clock += length + overhead;
  return true;
}

void TaskEngine::CountComputed(Tick begin, Tick end) {
  auto period = std::upper_bound(periods_.begin(), periods_.end(), begin);
  for (; period != periods_.end() && begin < end; ++period) {
    const Tick until = std::min(*period, end);
    result_.computed[static_cast<std::size_t>(period - periods_.begin())] += until - begin;
    begin = until;
  }
}

// False where there is nothing to do.
bool TaskEngine::BeginShare(std::uint32_t task, Tick work) {
  if (work <= 0) return false;
  const std::uint32_t processor = ProcessorOf(task);
  CountShares(processor, states_[task].clock);
  states_[task].work = static_cast<double>(work);
  shared_[processor].tasks.push_back(task);
  ScheduleShares(processor);
  return true;
}

// What was done since the number of tasks changed last.
void TaskEngine::CountShares(std::uint32_t processor, Tick time) {
  Shared& shared = shared_[processor];
  if (!shared.tasks.empty()) {
    const double each = static_cast<double>(time - shared.since) / static_cast<double>(shared.tasks.size());
    for (const std::uint32_t task : shared.tasks) states_[task].work -= each;
    CountComputed(shared.since, time);
  }
  shared.since = time;
}

void TaskEngine::ScheduleShares(std::uint32_t processor) {
  Shared& shared = shared_[processor];
  shared.next = kUnknown;
  if (shared.tasks.empty()) return;
  double least = states_[shared.tasks.front()].work;
  for (const std::uint32_t task : shared.tasks) least = std::min(least, states_[task].work);
  const double until = least * static_cast<double>(shared.tasks.size());
  shared.next = shared.since + static_cast<Tick>(std::ceil(std::max(0.0, until - kNoWork)));
  Push(shared.next, EventKind::kShareDone, processor);
}

void TaskEngine::EndShares(std::uint32_t processor, Tick time) {
  Shared& shared = shared_[processor];
  if (shared.next != time) return;  // tasks came in the meantime
  CountShares(processor, time);
  std::vector<std::uint32_t> done;
  std::erase_if(shared.tasks, [&](std::uint32_t task) {
    if (states_[task].work > kNoWork) return false;
    done.push_back(task);
    return true;
  });
  ScheduleShares(processor);
  for (const std::uint32_t task : done) {
    states_[task].clock = time;
    Advance(task);
  }
}

}  // namespace farscale
