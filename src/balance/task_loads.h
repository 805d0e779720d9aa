// Loads of tasks: as they were, as a strategy predicts them, and with the noise of the run in another order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace farscale {

// Length of the computation of every task in every iteration, in ticks: loads[task][iteration]. What a task computes
// before its first iteration counts to it, and so does to the last what comes after.
using TaskLoads = std::vector<std::vector<Tick>>;

// By how much computation is longer: scale[task][iteration]. Lengths are rounded one by one.
using LoadScale = std::vector<std::vector<double>>;

// The first iterations of loads, in seconds. `loads` outlives it.
class TaskHistory {
 public:
  TaskHistory() = default;
  TaskHistory(const TaskLoads& loads, std::size_t iterations, double ticks_per_second)
      : loads_(&loads), iterations_(iterations), ticks_per_second_(ticks_per_second) {}

  std::size_t iterations() const { return iterations_; }
  double Seconds(std::size_t task, std::size_t iteration) const {
    return static_cast<double>((*loads_)[task].at(iteration)) / ticks_per_second_;
  }

 private:
  const TaskLoads* loads_ = nullptr;
  std::size_t iterations_ = 0;
  double ticks_per_second_ = 1e9;
};

// Which loads a strategy uses for the next interval.
enum class LoadPredictor : std::uint8_t {
  kLast,   // those of the interval before, as Charm++ does
  kMean,   // the mean of all iterations so far
  kTrend,  // the line through the last two intervals
  kExact,  // those that will come: no run knows them, but nothing can be better
};

std::string ToString(LoadPredictor predictor);  // "last", "mean", "trend", "exact"
std::string Describe(LoadPredictor predictor);  // "the mean of all iterations so far"
std::optional<LoadPredictor> ParseLoadPredictor(const std::string& name);

// Ticks of every task over the `length` iterations from `next` on, as predicted at that time; not negative. `next` is
// at least 1.
std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length, LoadPredictor predictor);

// By which share of it the computation of a task changes from one iteration to the next: sum over tasks and iterations
// of the change over that of the computation but for the last iteration. Nothing with one iteration or no computation.
std::optional<double> LoadChange(const TaskLoads& loads);

// Chosen: with fewer iterations a running median over five does not separate noise from how the load develops.
inline constexpr std::size_t kFewestNoisyIterations = 8;

// What a task computes in an iteration is the running median over five iterations, times what all tasks have in common
// in that iteration (the median over tasks), times a rest of its own: the noise. The rests of every task are put into
// another order; everything else stays. Nothing with fewer than kFewestNoisyIterations iterations.
std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed);

}  // namespace farscale
