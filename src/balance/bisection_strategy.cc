#include <algorithm>
#include <cmath>
#include <numeric>

#include "balance/strategy.h"
#include "balance/task_graph.h"
#include "balance/two_parts.h"

namespace farscale {
namespace {

// Processors from `begin` to before `end`.
struct ProcessorRange {
  std::uint32_t begin = 0, end = 0;

  std::uint32_t size() const { return end - begin; }
  bool Has(std::uint32_t processor) const { return begin <= processor && processor < end; }
};

class Bisection {
 public:
  Bisection(const BalancingProblem& problem, double tolerance)
      : problem_(problem),
        graph_(problem.tasks(), problem.edges),
        most_load_(tolerance * AverageLoad(problem)),
        decision_{.placement = problem.placement} {}

  BalancingDecision Decide() && {
    std::vector<std::uint32_t> tasks(problem_.tasks());
    std::iota(tasks.begin(), tasks.end(), 0u);
    Place(tasks, {0, static_cast<std::uint32_t>(problem_.processors)});
    return std::move(decision_);
  }

 private:
  using Tasks = std::vector<std::uint32_t>;

  void Place(const Tasks& tasks, ProcessorRange processors);
  double LoadOf(const Tasks& tasks) const {
    double load = 0;
    for (const std::uint32_t task : tasks) load += problem_.loads[task];
    return load;
  }
  double LoadAlreadyIn(const Tasks& tasks, ProcessorRange processors) const {
    double load = 0;
    for (const std::uint32_t task : tasks) {
      if (processors.Has(problem_.placement[task])) load += problem_.loads[task];
    }
    return load;
  }
  TwoParts Divide(const Tasks& tasks, double load, ProcessorRange processors);

  const BalancingProblem& problem_;
  TaskGraph graph_;
  double most_load_ = 0;  // of a processor, that is good enough
  BalancingDecision decision_;
};

TwoParts Bisection::Divide(const Tasks& tasks, double load, ProcessorRange processors) {
  const double size = processors.size();
  const std::uint32_t first = (processors.size() + 1) / 2;
  std::vector<double> loads;
  std::vector<bool> sides;
  for (const std::uint32_t task : tasks) {
    loads.push_back(problem_.loads[task]);
    sides.push_back(problem_.placement[task] >= processors.begin + first);
  }
  // What divisions above have left of the tolerance is shared by this one and those below.
  const double left = most_load_ * size / load, levels = std::ceil(std::log2(size));
  TwoParts parts = DivideInTwo(graph_.Among(tasks), loads, sides,
                               {.first_share = first / size, .allowed = std::max(1.0, std::pow(left, 1 / levels))});
  decision_.steps += parts.steps;
  return parts;
}

void Bisection::Place(const Tasks& tasks, ProcessorRange processors) {
  const double load = LoadOf(tasks);
  if (processors.size() == 1 || load == 0) {
    for (const std::uint32_t task : tasks) {
      std::uint32_t& placed = decision_.placement[task];
      if (!processors.Has(placed)) placed = processors.begin;
    }
    return;
  }
  const TwoParts parts = Divide(tasks, load, processors);
  Tasks first, second;
  for (std::size_t i = 0; i < tasks.size(); ++i) (parts.is_second[i] ? second : first).push_back(tasks[i]);

  // The first part goes to the lower processors or to the higher ones, as more of the load is there already.
  const std::uint32_t size = (processors.size() + 1) / 2;
  const ProcessorRange low = {processors.begin, processors.begin + size}, above_low = {low.end, processors.end},
                       high = {processors.end - size, processors.end}, below_high = {processors.begin, high.begin};
  const bool goes_high = LoadAlreadyIn(first, high) + LoadAlreadyIn(second, below_high) >
                         LoadAlreadyIn(first, low) + LoadAlreadyIn(second, above_low);
  Place(first, goes_high ? high : low);
  Place(second, goes_high ? below_high : above_low);
}

}  // namespace

BalancingDecision DecideBisection(const BalancingProblem& problem, const StrategyOptions& options) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  return Bisection(problem, options.tolerance).Decide();
}

}  // namespace farscale
