#include "balance/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "balance/what_if.h"
#include "base/diagnostics.h"
#include "base/text.h"
#include "base/random.h"
#include "stats/sample_quantiles.h"

namespace farscale {

const std::vector<Strategy>& Strategies() {
  static const std::vector<Strategy> strategies = {
      {.id = "none",
       .name = "no balancing",
       .description = "Tasks stay where they start.",
       .steps = "none",
       .moves = false},
      {.id = "greedy",
       .name = "GreedyLB",
       .description = "Tasks by falling load, each to the processor with least so far, wherever they are now.",
       .steps = "n log2 n + n log2 P for n tasks on P processors",
       .decide = DecideGreedy},
      {.id = "refine",
       .name = "RefineLB",
       .description = "Takes tasks from processors above the tolerance only, the largest that fits elsewhere.",
       .steps = "tasks of the processor that gives times processors below the average, added up over moves and tries",
       .decide = DecideRefine},
      {.id = "greedy-refine",
       .name = "GreedyRefine",
       .description = "Greedy, but a task stays where that makes the largest load no larger than greedy's, or than the "
                      "tolerance.",
       .steps = "2 n log2 n + n log2 P for greedy, and log2 P for every task that does not stay",
       .decide = DecideGreedyRefine},
      {.id = "bisection",
       .name = "recursive bisection",
       .description = "Halves tasks and processors again and again, with few bytes between the halves.",
       .steps = "tasks and ends of edges looked at, about (n + edges) log2 P",
       .decide = DecideBisection},
      {.id = "diffusion",
       .name = "diffusion",
       .description = "Processors give load to neighbours that have less.",
       .steps = "rounds times neighbours, and tasks looked at to follow the flows, of the processor with most",
       .is_central = false,
       .decide = DecideDiffusion},
      {.id = "hierarchical",
       .name = "hierarchical",
       .description = "Tasks leave nodes above the tolerance, then GreedyRefine balances the processors of each node.",
       .steps = "N + log2 n for every task that changes its node, of N, and the most of greedy-refine on a node",
       .is_default = false,
       .decide = DecideHierarchical},
  };
  return strategies;
}

const Strategy& StrategyById(const std::string& id) {
  std::vector<std::string> ids;
  for (const Strategy& strategy : Strategies()) {
    if (strategy.id == id) return strategy;
    ids.push_back(strategy.id);
  }
  throw Error(ErrorKind::kUsage, "", fmt::format("no strategy '{}' among {}", id, Join(ids, ", ")),
              DidYouMean(id, ids));
}

bool HasNothingToBalance(const BalancingProblem& problem) {
  return problem.processors < 2 || std::ranges::all_of(problem.loads, [](double load) { return load == 0; });
}

double AverageLoad(const BalancingProblem& problem) {
  double speed = 0;
  for (std::size_t p = 0; p < problem.processors; ++p) speed += problem.SpeedOf(p);
  return std::accumulate(problem.loads.begin(), problem.loads.end(), 0.0) / speed;
}

std::vector<double> ProcessorLoads(const BalancingProblem& problem, const std::vector<std::uint32_t>& placement) {
  std::vector<double> loads(problem.processors);
  for (std::size_t task = 0; task < problem.tasks(); ++task) {
    loads[placement[task]] += problem.loads[task] / problem.SpeedOf(placement[task]);
  }
  return loads;
}

std::vector<std::uint32_t> TasksByFallingLoad(const std::vector<double>& loads) {
  std::vector<std::uint32_t> tasks(loads.size());
  std::iota(tasks.begin(), tasks.end(), 0u);
  std::ranges::stable_sort(tasks, std::greater(), [&](std::uint32_t task) { return loads[task]; });
  return tasks;
}

std::string NameOfBalancing(const BalanceConfiguration& configuration) {
  if (configuration.interval == 0) return "no balancing";
  const std::string& name = StrategyById(configuration.strategy).name;
  if (configuration.interval == 1) return name + " after every iteration";
  return fmt::format("{} every {} iterations", name, FormatCount(configuration.interval));
}

namespace {

// Names and descriptions in the order of LoadPredictor.
constexpr std::array<std::pair<const char*, const char*>, 4> kPredictors = {
    {{"last", "those of the interval before"},
     {"mean", "the mean of all iterations so far"},
     {"trend", "the last two intervals, continued"},
     {"exact", "those that will come, which no run knows: nothing can be better"}}};

constexpr std::size_t kReach = 2;  // iterations on either side of the running median; chosen

// Sums of the same loads in another order differ in the last digits. Chosen: well above the rounding of sums of a
// million loads, well below any difference that matters.
constexpr double kBoundRounding = 1e-12;

// Processors by the time that they compute so far, least first.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::size_t processors) : seconds_(processors) {
    for (std::uint32_t p = 0; p < processors; ++p) order_.emplace(0.0, p);
  }

  // The lowest of those with least.
  std::uint32_t First() const { return order_.begin()->second; }
  double Largest() const { return order_.rbegin()->first; }
  double With(std::uint32_t processor, double seconds) const { return seconds_[processor] + seconds; }
  void Add(std::uint32_t processor, double seconds) {
    order_.erase({seconds_[processor], processor});
    seconds_[processor] += seconds;
    order_.emplace(seconds_[processor], processor);
  }

 private:
  std::vector<double> seconds_;
  std::set<std::pair<double, std::uint32_t>> order_;
};

// A node with its processors and tasks.
struct BalancedNode {
  std::vector<std::uint32_t> processors;
  double speed = 0;  // sum over its processors
  double load = 0;
  std::set<std::pair<double, std::uint32_t>> tasks;  // sorted by load

  double Time() const { return load / speed; }
};

std::vector<BalancedNode> BalancedNodes(const BalancingProblem& problem) {
  std::vector<BalancedNode> nodes;
  std::map<std::int32_t, std::size_t> numbers;
  std::vector<std::size_t> node_of;  // per processor
  for (std::uint32_t p = 0; p < problem.processors; ++p) {
    node_of.push_back(numbers.emplace(problem.nodes.empty() ? 0 : problem.nodes[p], nodes.size()).first->second);
    if (node_of.back() == nodes.size()) nodes.emplace_back();
    nodes[node_of.back()].processors.push_back(p);
    nodes[node_of.back()].speed += problem.SpeedOf(p);
  }
  for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
    BalancedNode& node = nodes[node_of[problem.placement[task]]];
    node.load += problem.loads[task];
    node.tasks.insert({problem.loads[task], task});
  }
  return nodes;
}

}  // namespace

std::string ToString(LoadPredictor predictor) { return kPredictors[static_cast<std::size_t>(predictor)].first; }

std::string Describe(LoadPredictor predictor) { return kPredictors[static_cast<std::size_t>(predictor)].second; }

std::optional<LoadPredictor> ParseLoadPredictor(const std::string& name) {
  const auto found = std::ranges::find(kPredictors, name, &std::pair<const char*, const char*>::first);
  if (found == kPredictors.end()) return std::nullopt;
  return static_cast<LoadPredictor>(found - kPredictors.begin());
}

std::vector<double> PredictLoads(const TaskLoads& loads, std::size_t next, std::size_t length,
                                 LoadPredictor predictor) {
  std::vector<double> predicted;
  const std::size_t last = next - std::min(next, length);
  for (const std::vector<Tick>& task : loads) {
    const auto sum = [&](std::size_t begin, std::size_t end) {
      Tick ticks = 0;
      for (std::size_t i = begin; i < std::min(end, task.size()); ++i) ticks += task[i];
      return static_cast<double>(ticks);
    };
    double& load = predicted.emplace_back();
    switch (predictor) {
      case LoadPredictor::kLast: load = sum(last, next); break;
      case LoadPredictor::kMean: load = sum(0, next) * static_cast<double>(length) / static_cast<double>(next); break;
      case LoadPredictor::kTrend:
        load = last < length ? sum(last, next) : std::max(0.0, 2 * sum(last, next) - sum(last - length, last));
        break;
      case LoadPredictor::kExact: load = sum(next, next + length); break;
    }
  }
  return predicted;
}

std::optional<double> LoadChange(const TaskLoads& loads) {
  double change = 0, all = 0;
  for (const std::vector<Tick>& task : loads) {
    for (std::size_t i = 0; i + 1 < task.size(); ++i) {
      change += std::abs(static_cast<double>(task[i + 1] - task[i]));
      all += static_cast<double>(task[i]);
    }
  }
  return all > 0 ? std::optional(change / all) : std::nullopt;
}

std::optional<LoadScale> NoiseReplica(const TaskLoads& loads, std::uint64_t seed) {
  if (loads.empty() || loads.front().size() < kFewestNoisyIterations) return std::nullopt;
  std::vector<std::vector<double>> own;  // loads as multiples of their running median; 1 where there is none
  for (const std::vector<Tick>& task : loads) {
    std::vector<double>& residuals = own.emplace_back();
    for (std::size_t i = 0; i < task.size(); ++i) {
      const auto begin = task.begin() + static_cast<std::ptrdiff_t>(i - std::min(i, kReach));
      const auto end = task.begin() + static_cast<std::ptrdiff_t>(std::min(task.size(), i + kReach + 1));
      const double median = Median(std::vector<double>(begin, end));
      residuals.push_back(median > 0 && task[i] > 0 ? static_cast<double>(task[i]) / median : 1);
    }
  }
  const std::size_t iterations = loads.front().size();
  for (std::size_t i = 0; i < iterations; ++i) {
    std::vector<double> all;
    for (const std::vector<double>& task : own) all.push_back(task[i]);
    const double common = Median(all);
    for (std::vector<double>& task : own) task[i] /= common;
  }
  LoadScale scale;
  Random random(seed);
  for (const std::vector<double>& task : own) {
    std::vector<std::size_t> order(iterations);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.Shuffle(order);
    std::vector<double>& of_task = scale.emplace_back();
    for (std::size_t i = 0; i < iterations; ++i) of_task.push_back(task[order[i]] / task[i]);
  }
  return scale;
}

BalancingDecision DecideGreedy(const BalancingProblem& problem, double /*tolerance*/) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  LeastLoaded processors(problem.processors);
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    decision.placement[task] = processors.First();
    processors.Add(decision.placement[task], problem.SecondsOn(decision.placement[task], task));
  }
  // Sorting tasks, and a heap of processors.
  const auto tasks = static_cast<double>(problem.tasks());
  decision.steps = tasks * (std::log2(tasks) + std::log2(static_cast<double>(problem.processors)));
  return decision;
}

BalancingDecision DecideGreedyRefine(const BalancingProblem& problem, double tolerance) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  const BalancingDecision greedy = DecideGreedy(problem);
  const double best = std::ranges::max(ProcessorLoads(problem, greedy.placement));
  const double bound = std::max(best, tolerance * AverageLoad(problem)) * (1 + kBoundRounding);

  BalancingDecision decision{.placement = problem.placement};
  LeastLoaded processors(problem.processors);
  std::size_t moved = 0;
  for (const std::uint32_t task : TasksByFallingLoad(problem.loads)) {
    std::uint32_t& processor = decision.placement[task];
    if (processors.With(processor, problem.SecondsOn(processor, task)) > bound) {
      processor = processors.First();
      ++moved;
    }
    processors.Add(processor, problem.SecondsOn(processor, task));
  }
  const auto tasks = static_cast<double>(problem.tasks());
  decision.steps = greedy.steps + tasks * std::log2(tasks) +
                   static_cast<double>(moved) * std::log2(static_cast<double>(problem.processors));
  // Tasks that stayed may have left too little room for those that come later.
  if (processors.Largest() > bound) decision.placement = greedy.placement;
  return decision;
}

BalancingDecision DecideHierarchical(const BalancingProblem& problem, double tolerance) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  std::vector<BalancedNode> nodes = BalancedNodes(problem);
  std::vector<std::size_t> place(problem.processors);  // per processor: its place on its node
  for (const BalancedNode& node : nodes) {
    for (std::size_t i = 0; i < node.processors.size(); ++i) place[node.processors[i]] = i;
  }
  // The node with most gives the one with least the largest task with which that stays within the limit, until none has
  // more or no task fits.
  const double limit = tolerance * AverageLoad(problem);
  while (true) {
    BalancedNode& giver = *std::ranges::max_element(nodes, {}, &BalancedNode::Time);
    BalancedNode& receiver = *std::ranges::min_element(nodes, {}, &BalancedNode::Time);
    decision.steps += static_cast<double>(nodes.size());
    if (giver.Time() <= limit) break;
    const auto above = giver.tasks.upper_bound({limit * receiver.speed - receiver.load, ~0u});
    decision.steps += std::log2(static_cast<double>(giver.tasks.size()));
    if (above == giver.tasks.begin() || std::prev(above)->first <= 0) break;
    const double load = std::prev(above)->first;
    receiver.tasks.insert(giver.tasks.extract(giver.tasks.lower_bound({load, 0})));
    giver.load -= load;
    receiver.load += load;
  }
  double most_steps = 0;
  for (const BalancedNode& node : nodes) {
    BalancingProblem within{.processors = node.processors.size()};
    for (const std::uint32_t p : node.processors) within.speeds.push_back(problem.SpeedOf(p));
    for (const auto& [load, task] : node.tasks) {
      // A task from another node may keep the place that it had there.
      const std::size_t processor = place[problem.placement[task]] % within.processors;
      within.placement.push_back(static_cast<std::uint32_t>(processor));
      within.loads.push_back(load);
    }
    const BalancingDecision chosen = DecideGreedyRefine(within, tolerance);
    most_steps = std::max(most_steps, chosen.steps);
    std::size_t i = 0;
    for (const auto& [load, task] : node.tasks) decision.placement[task] = node.processors[chosen.placement[i++]];
  }
  decision.steps += most_steps;
  return decision;
}

}  // namespace farscale
