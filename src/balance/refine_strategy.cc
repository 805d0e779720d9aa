// RefineLB of Charm++: the classes RefineLB and Refiner (Refiner::refine, Refiner::multirefine) of its versions 6,
// with processors of one speed and without background load.
//
// A try at an overload moves tasks off processors that have more than overload times the average, one at a time, onto
// processors below the average, as long as those stay below that too. When the try at the tolerance fails, Charm++
// bisects overloads in steps of 0.01, up to the largest load over the average, and places tasks as its last try left
// them, though that may have failed. Here it is the try at the smallest overload that worked, and every try starts
// from the placement as given; Charm++ lets the second go on from what the first left. Equal loads go by numbers, where
// Charm++ goes by the order in its lists.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "balance/strategy.h"

namespace farscale {
namespace {

constexpr double kOverloadStep = 0.01;  // as in Charm++

class Refinement {
 public:
  explicit Refinement(const BalancingProblem& problem)
      : problem_(problem), average_(AverageLoad(problem)), start_(problem.processors) {
    for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
      start_[problem.placement[task]].insert({problem.loads[task], task});
    }
    start_loads_ = ProcessorLoads(problem, problem.placement);
  }

  double Imbalance() const { return std::ranges::max(start_loads_) / average_; }
  double steps() const { return steps_; }

  // The placement when no processor is left above `overload` times the average.
  std::optional<std::vector<std::uint32_t>> Try(double overload) {
    limit_ = overload * average_;
    tasks_ = start_, loads_ = start_loads_, placement_ = problem_.placement;
    heavy_.clear(), light_.clear();
    for (std::uint32_t p = 0; p < problem_.processors; ++p) File(p);
    while (!heavy_.empty()) {
      const std::uint32_t donor = heavy_.begin()->second;
      heavy_.erase(heavy_.begin());
      if (!Relieve(donor)) return std::nullopt;
      File(donor);
    }
    return placement_;
  }

 private:
  // By rising load, of equal ones the lowest last: so the last that fits is the one to move.
  struct Order {
    bool operator()(const std::pair<double, std::uint32_t>& a, const std::pair<double, std::uint32_t>& b) const {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    }
  };
  using Tasks = std::set<std::pair<double, std::uint32_t>, Order>;

  void File(std::uint32_t processor) {
    if (loads_[processor] > limit_) {
      heavy_.insert({-loads_[processor], processor});
    } else if (loads_[processor] < average_) {
      light_.insert(processor);
    }
  }

  // Moves the largest task that fits on any light processor to the first of those; false when there is none. Charm++
  // looks at every task with every light processor, which is what is counted; what fits anywhere fits where least is,
  // so that one look at the tasks finds the same.
  bool Relieve(std::uint32_t donor) {
    steps_ += static_cast<double>(tasks_[donor].size()) * static_cast<double>(light_.size());
    if (light_.empty()) return false;
    const double least = loads_[*std::ranges::min_element(light_, {}, [&](std::uint32_t p) { return loads_[p]; })];
    auto task = tasks_[donor].rbegin();
    while (task != tasks_[donor].rend() && !Fits(task->first, least)) ++task;
    if (task == tasks_[donor].rend() || task->first <= 0) return false;
    const auto& [task_load, number] = *task;
    const auto load = task_load;
    Move(number, donor, *std::ranges::find_if(light_, [&](std::uint32_t p) { return Fits(load, loads_[p]); }));
    return true;
  }

  bool Fits(double task, double load) const { return task + load < limit_; }

  void Move(std::uint32_t task, std::uint32_t donor, std::uint32_t receiver) {
    const double load = problem_.loads[task];
    tasks_[donor].erase({load, task});
    tasks_[receiver].insert({load, task});
    loads_[donor] -= load;
    loads_[receiver] += load;
    placement_[task] = receiver;
    if (loads_[receiver] > average_) light_.erase(receiver);
    ++steps_;
  }

  const BalancingProblem& problem_;
  double average_ = 0, limit_ = 0, steps_ = 0;
  std::vector<Tasks> start_, tasks_;  // of every processor
  std::vector<double> start_loads_, loads_;
  std::vector<std::uint32_t> placement_;
  std::set<std::pair<double, std::uint32_t>> heavy_;  // by falling load
  std::set<std::uint32_t> light_;
};

}  // namespace

BalancingDecision DecideRefine(const BalancingProblem& problem, const StrategyOptions& options) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  Refinement refinement(problem);
  const double imbalance = refinement.Imbalance();
  const auto overload = [&](long step) { return options.tolerance + kOverloadStep * static_cast<double>(step); };
  if (auto placement = refinement.Try(options.tolerance)) return {std::move(*placement), refinement.steps()};

  // Nobody is above what the most loaded has, so that moving nothing is what works at the last step.
  std::vector<std::uint32_t> best = problem.placement;
  long fails = 0, works = static_cast<long>((imbalance - options.tolerance) / kOverloadStep + 1);
  while (works - fails > 1) {
    const long step = (works + fails) / 2;
    if (auto placement = refinement.Try(overload(step))) {
      works = step;
      best = std::move(*placement);
    } else {
      fails = step;
    }
  }
  return {std::move(best), refinement.steps()};
}

}  // namespace farscale
