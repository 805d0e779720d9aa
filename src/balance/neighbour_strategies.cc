#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "balance/strategy.h"
#include "balance/task_graph.h"

namespace farscale {
namespace {

constexpr int kMostRounds = 256;        // chosen, to bound the time
constexpr double kFlowRounding = 1e-9;  // relative; chosen: well above the rounding of sums

// Load that goes from one processor to its neighbour.
struct Flow {
  std::uint32_t from = 0, to = 0;
  double load = 0;
};

// Every pair of neighbours once. Processors whose tasks exchange nothing with others have those with the numbers beside
// theirs, in a ring.
std::vector<Flow> Neighbours(const BalancingProblem& problem) {
  const TaskGraph graph = ProcessorGraph(problem);
  const auto processors = static_cast<std::uint32_t>(problem.processors);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t p = 0; p < processors; ++p) {
    for (const auto& [other, bytes] : graph.Of(p)) pairs.insert(std::minmax(p, other));
    if (!graph.Of(p).empty()) continue;
    for (const std::uint32_t beside : {(p + 1) % processors, (p + processors - 1) % processors}) {
      pairs.insert(std::minmax(p, beside));
    }
  }
  std::vector<Flow> flows;
  for (const auto& [a, b] : pairs) flows.push_back({a, b, 0});
  return flows;
}

class Diffusion {
 public:
  Diffusion(const BalancingProblem& problem, double tolerance)
      : problem_(problem),
        graph_(problem.tasks(), problem.edges),
        average_(AverageLoad(problem)),
        tolerance_(tolerance),
        loads_(ProcessorLoads(problem, problem.placement)),
        aims_(loads_),
        neighbours_(problem.processors),
        tasks_(problem.processors),
        steps_(problem.processors),
        placement_(problem.placement) {
    for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
      tasks_[problem.placement[task]].insert({problem.loads[task], task});
    }
  }

  BalancingDecision Decide() && {
    std::vector<Flow> flows = FindFlows();
    while (FollowsFlows(flows)) {
    }
    for (int round = 0; round < kMostRounds && SharesWhatIsLeft(); ++round) {
    }
    return {std::move(placement_), std::ranges::max(steps_)};
  }

 private:
  std::vector<Flow> FindFlows();
  bool FollowsFlows(std::vector<Flow>& flows);
  bool SharesWhatIsLeft();
  // What flows out of a processor in all, that no task has gone for yet; negative what flows into it.
  double Surplus(std::uint32_t processor) const { return loads_[processor] - aims_[processor]; }
  void Move(std::uint32_t task, const Flow& flow);
  // The task to send along a flow; the number of tasks when none suits.
  std::uint32_t Choose(const Flow& flow);
  double BytesTo(std::uint32_t processor, std::uint32_t task) const {
    double sum = 0;
    for (const auto& [other, bytes] : graph_.Of(task)) sum += placement_[other] == processor ? bytes : 0;
    return sum;
  }

  const BalancingProblem& problem_;
  TaskGraph graph_;
  double average_ = 0, tolerance_ = 1;
  std::vector<double> loads_, aims_;                    // of every processor: load now, and when all has flown
  std::vector<std::vector<std::uint32_t>> neighbours_;  // of every processor
  std::vector<std::set<std::pair<double, std::uint32_t>>> tasks_;  // of every processor, by load
  std::vector<double> steps_;                                      // of every processor
  std::vector<std::uint32_t> placement_;
};

// Those that are there in the end, by falling load.
std::vector<Flow> Diffusion::FindFlows() {
  if (std::ranges::max(loads_) <= tolerance_ * average_) return {};
  std::vector<Flow> flows = Neighbours(problem_);
  for (const Flow& flow : flows) {
    neighbours_[flow.from].push_back(flow.to);
    neighbours_[flow.to].push_back(flow.from);
  }
  std::size_t most = 0;
  for (const auto& neighbours : neighbours_) most = std::max(most, neighbours.size());
  const double share = 1 / static_cast<double>(most + 1);
  const auto is_off = [&](double load) {
    return std::abs(load - average_) > std::max(tolerance_ - 1, kFlowRounding) * average_;
  };
  for (int round = 0; round < kMostRounds && std::ranges::any_of(aims_, is_off); ++round) {
    const std::vector<double> before = aims_;
    for (Flow& flow : flows) {
      const double load = share * (before[flow.from] - before[flow.to]);
      flow.load += load;
      aims_[flow.from] -= load;
      aims_[flow.to] += load;
    }
    for (std::size_t p = 0; p < problem_.processors; ++p) steps_[p] += static_cast<double>(neighbours_[p].size());
  }
  for (Flow& flow : flows) {
    if (flow.load < 0) flow = {flow.to, flow.from, -flow.load};
  }
  std::erase_if(flows, [](const Flow& flow) { return flow.load == 0; });
  std::ranges::stable_sort(flows, [](const Flow& a, const Flow& b) { return a.load > b.load; });
  return flows;
}

// The largest that is no larger than what is left of the flow, of equal ones that with most bytes to the receiver.
// Flows are as exact as the tolerance: a task may be larger by what that allows, but must be less than twice what is
// left.
std::uint32_t Diffusion::Choose(const Flow& flow) {
  const auto none = static_cast<std::uint32_t>(problem_.tasks());
  if (!(flow.load > 0)) return none;
  const double most = flow.load + std::min(flow.load * (1 - kFlowRounding), (tolerance_ - 1) * average_);
  const double gap = loads_[flow.from] - loads_[flow.to];
  const auto& tasks = tasks_[flow.from];
  auto task = tasks.upper_bound({most, none});
  while (task != tasks.begin() && std::prev(task)->first > gap) --task;
  steps_[flow.from] += std::log2(static_cast<double>(tasks.size() + 1));
  if (task == tasks.begin() || std::prev(task)->first <= 0) return none;
  const double load = std::prev(task)->first;
  std::uint32_t best = none;
  double most_bytes = -1;
  for (task = tasks.lower_bound({load, 0}); task != tasks.end() && task->first == load; ++task) {
    const double bytes = BytesTo(flow.to, task->second);
    steps_[flow.from] += 1 + static_cast<double>(graph_.Of(task->second).size());
    if (bytes > most_bytes) best = task->second, most_bytes = bytes;
  }
  return best;
}

void Diffusion::Move(std::uint32_t task, const Flow& flow) {
  const double load = problem_.loads[task];
  tasks_[flow.from].erase({load, task});
  tasks_[flow.to].insert({load, task});
  loads_[flow.from] -= load;
  loads_[flow.to] += load;
  placement_[task] = flow.to;
}

bool Diffusion::FollowsFlows(std::vector<Flow>& flows) {
  bool moves = false;
  for (Flow& flow : flows) {
    for (auto task = Choose(flow); task < problem_.tasks(); task = Choose(flow)) {
      Move(task, flow);
      flow.load -= problem_.loads[task];
      moves = true;
    }
  }
  return moves;
}

// Among many neighbours each flow may be too small for a task. What is left of all that leave a processor goes to the
// neighbour that lacks most.
bool Diffusion::SharesWhatIsLeft() {
  bool moves = false;
  for (std::uint32_t p = 0; p < problem_.processors; ++p) {
    while (Surplus(p) > 0 && !neighbours_[p].empty()) {
      const std::uint32_t receiver =
          *std::ranges::min_element(neighbours_[p], {}, [&](std::uint32_t other) { return Surplus(other); });
      steps_[p] += static_cast<double>(neighbours_[p].size());
      const Flow flow = {p, receiver, std::min(Surplus(p), -Surplus(receiver))};
      const std::uint32_t task = Choose(flow);
      if (task == problem_.tasks()) break;
      Move(task, flow);
      moves = true;
    }
  }
  return moves;
}

}  // namespace

BalancingDecision DecideDiffusion(const BalancingProblem& problem, const StrategyOptions& options) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  return Diffusion(problem, options.tolerance).Decide();
}

// RefineLB of Charm++: the classes RefineLB and Refiner (Refiner::refine, Refiner::multirefine) of its versions 6,
// with processors of one speed and without background load.
//
// A try at an overload moves tasks off processors that have more than overload times the average, one at a time, onto
// processors below the average, as long as those stay below that too. When the try at the tolerance fails, Charm++
// bisects overloads in steps of 0.01, up to the largest load over the average, and places tasks as its last try left
// them, though that may have failed. Here it is the try at the smallest overload that worked, and every try starts
// from the placement as given; Charm++ lets the second go on from what the first left. Equal loads go by numbers, where
// Charm++ goes by the order in its lists.

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
