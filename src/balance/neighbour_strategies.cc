#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "balance/strategy.h"

namespace farscale {
namespace {

constexpr int kMostRounds = 256;        // chosen, to bound the time
constexpr double kFlowRounding = 1e-9;  // relative; chosen: well above the rounding of sums

// Load that goes from a processor to its neighbour.
struct Flow {
  std::uint32_t from = 0, to = 0;
  double load = 0;
};

struct Diffusion {
  const TaskGraph graph;
  const double average, tolerance;
  std::vector<double> loads, aims;                                     // per processor: now, and after all flows
  std::vector<std::uint32_t> placement;                                // per task
  std::vector<std::vector<std::uint32_t>> neighbours = {};             // per processor
  std::vector<std::set<std::pair<double, std::uint32_t>>> tasks = {};  // per processor, by load
  std::vector<double> steps = {};                                      // per processor
};

// The flows in the end, by falling load.
std::vector<Flow> FindFlows(const BalancingProblem& problem, Diffusion& diffusion) {
  auto& [graph, average, tolerance, loads, aims, placement, neighbours, tasks, steps] = diffusion;
  if (std::ranges::max(loads) <= tolerance * average) return {};
  const TaskGraph of_processors = ProcessorGraph(problem);
  const auto processors = static_cast<std::uint32_t>(problem.processors);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t p = 0; p < processors; ++p) {
    for (const auto& [other, bytes] : of_processors.Of(p)) pairs.insert(std::minmax(p, other));
    if (!of_processors.Of(p).empty()) continue;
    // Processors whose tasks exchange nothing with others have those with the numbers beside theirs, in a ring.
    for (const std::uint32_t beside : {(p + 1) % processors, (p + processors - 1) % processors}) {
      pairs.insert(std::minmax(p, beside));
    }
  }
  std::vector<Flow> flows;
  for (const auto& [a, b] : pairs) {
    flows.push_back({a, b, 0});
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  const std::size_t most = std::ranges::max(neighbours, {}, &std::vector<std::uint32_t>::size).size();
  const double share = 1 / static_cast<double>(most + 1);
  const double allowed = std::max(tolerance - 1, kFlowRounding) * average, aimed = average;
  const auto is_off = [=](double load) { return std::abs(load - aimed) > allowed; };
  for (int round = 0; round < kMostRounds && std::ranges::any_of(aims, is_off); ++round) {
    const std::vector<double> before = aims;
    for (Flow& flow : flows) {
      const double load = share * (before[flow.from] - before[flow.to]);
      flow.load += load;
      aims[flow.from] -= load;
      aims[flow.to] += load;
    }
    for (std::size_t p = 0; p < problem.processors; ++p) steps[p] += static_cast<double>(neighbours[p].size());
  }
  for (Flow& flow : flows) {
    if (flow.load < 0) flow = {flow.to, flow.from, -flow.load};
  }
  std::erase_if(flows, [](const Flow& flow) { return flow.load == 0; });
  std::ranges::stable_sort(flows, std::greater(), &Flow::load);
  return flows;
}

// Moves a task along a flow, if any suits: the largest that is no larger than what is left of the flow, of equal ones
// that with most bytes to the receiver. Flows are as exact as the tolerance: a task may be larger by what that allows,
// but must be less than twice what is left. Returns its load, 0 where none moves.
double MoveTask(Diffusion& diffusion, const Flow& flow) {
  if (!(flow.load > 0)) return 0;
  const double most =
      flow.load + std::min(flow.load * (1 - kFlowRounding), (diffusion.tolerance - 1) * diffusion.average);
  const double gap = diffusion.loads[flow.from] - diffusion.loads[flow.to];
  auto& tasks = diffusion.tasks[flow.from];
  double& steps = diffusion.steps[flow.from];
  auto task = tasks.upper_bound({most, static_cast<std::uint32_t>(diffusion.placement.size())});
  while (task != tasks.begin() && std::prev(task)->first > gap) --task;
  steps += std::log2(static_cast<double>(tasks.size() + 1));
  if (task == tasks.begin() || std::prev(task)->first <= 0) return 0;
  const double load = std::prev(task)->first;
  std::uint32_t best = 0;
  double most_bytes = -1;
  for (task = tasks.lower_bound({load, 0}); task != tasks.end() && task->first == load; ++task) {
    double bytes = 0;  // to the receiver
    for (const auto& [other, sent] : diffusion.graph.Of(task->second)) {
      if (diffusion.placement[other] == flow.to) bytes += sent;
    }
    steps += 1 + static_cast<double>(diffusion.graph.Of(task->second).size());
    if (bytes > most_bytes) best = task->second, most_bytes = bytes;
  }
  diffusion.tasks[flow.to].insert(tasks.extract({load, best}));
  diffusion.loads[flow.from] -= load;
  diffusion.loads[flow.to] += load;
  diffusion.placement[best] = flow.to;
  return load;
}

}  // namespace

BalancingDecision DecideDiffusion(const BalancingProblem& problem, double tolerance) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  const std::vector<double> loads = ProcessorLoads(problem, problem.placement);
  Diffusion diffusion{
      {problem.tasks(), problem.edges}, AverageLoad(problem), tolerance, loads, loads, problem.placement};
  diffusion.neighbours.resize(problem.processors);
  diffusion.tasks.resize(problem.processors);
  diffusion.steps.resize(problem.processors);
  for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
    diffusion.tasks[problem.placement[task]].insert({problem.loads[task], task});
  }
  std::vector<Flow> flows = FindFlows(problem, diffusion);
  for (bool moves = true; moves;) {
    moves = false;
    for (Flow& flow : flows) {
      for (double load = MoveTask(diffusion, flow); load > 0; load = MoveTask(diffusion, flow)) {
        flow.load -= load;
        moves = true;
      }
    }
  }
  // Load that has to leave a processor beyond the tasks that have left; negative where load has to come.
  const auto surplus = [&](std::uint32_t processor) { return diffusion.loads[processor] - diffusion.aims[processor]; };
  // Among many neighbours each flow may be too small for a task. What is left of all that leave a processor goes to the
  // neighbour that lacks most.
  bool moves = true;
  for (int round = 0; round < kMostRounds && moves; ++round) {
    moves = false;
    for (std::uint32_t p = 0; p < problem.processors; ++p) {
      const std::vector<std::uint32_t>& neighbours = diffusion.neighbours[p];
      while (surplus(p) > 0 && !neighbours.empty()) {
        const std::uint32_t receiver = std::ranges::min(neighbours, {}, surplus);
        diffusion.steps[p] += static_cast<double>(neighbours.size());
        if (MoveTask(diffusion, {p, receiver, std::min(surplus(p), -surplus(receiver))}) == 0) break;
        moves = true;
      }
    }
  }
  return {std::move(diffusion.placement), std::ranges::max(diffusion.steps)};
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

// Rising loads; equal loads with the lowest task last. So the last task that fits is the one to move.
constexpr auto kRisingLoad = [](const std::pair<double, std::uint32_t>& a, const std::pair<double, std::uint32_t>& b) {
  return a.first != b.first ? a.first < b.first : a.second > b.second;
};

// The placement when no processor is left above `overload` times the average.
std::optional<std::vector<std::uint32_t>> Refine(const BalancingProblem& problem, double overload, double& steps) {
  const double average = AverageLoad(problem), limit = overload * average;
  std::vector<double> loads = ProcessorLoads(problem, problem.placement);
  std::vector<std::uint32_t> placement = problem.placement;
  std::vector<std::set<std::pair<double, std::uint32_t>, decltype(kRisingLoad)>> tasks(problem.processors);
  for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
    tasks[placement[task]].insert({problem.loads[task], task});
  }
  std::set<std::pair<double, std::uint32_t>> heavy;  // processors, by falling load
  std::set<std::uint32_t> light;
  const auto file = [&](std::uint32_t processor) {
    if (loads[processor] > limit) {
      heavy.insert({-loads[processor], processor});
    } else if (loads[processor] < average) {
      light.insert(processor);
    }
  };
  for (std::uint32_t p = 0; p < problem.processors; ++p) file(p);
  const auto load_of = [&](std::uint32_t p) { return loads[p]; };
  const auto fits = [&](double task, double load) { return task + load < limit; };
  while (!heavy.empty()) {
    const std::uint32_t donor = heavy.begin()->second;
    heavy.erase(heavy.begin());
    // The largest task that fits on any light processor goes to the first of those. Charm++ looks at every task with
    // every light processor, which is what is counted; what fits anywhere fits where least is, so that one look at the
    // tasks finds the same.
    steps += static_cast<double>(tasks[donor].size()) * static_cast<double>(light.size());
    if (light.empty()) return std::nullopt;
    const double least = load_of(std::ranges::min(light, {}, load_of));
    const auto last = std::ranges::find_if(tasks[donor].rbegin(), tasks[donor].rend(),
                                           [&](const auto& task) { return fits(task.first, least); });
    if (last == tasks[donor].rend() || last->first <= 0) return std::nullopt;
    const double moved = last->first;
    const std::uint32_t task = last->second;
    const std::uint32_t receiver =
        *std::ranges::find_if(light, [&](std::uint32_t p) { return fits(moved, load_of(p)); });
    tasks[receiver].insert(tasks[donor].extract(*last));
    loads[donor] -= moved;
    loads[receiver] += moved;
    placement[task] = receiver;
    if (loads[receiver] > average) light.erase(receiver);
    ++steps;
    file(donor);
  }
  return placement;
}

}  // namespace

BalancingDecision DecideRefine(const BalancingProblem& problem, double tolerance) {
  if (HasNothingToBalance(problem)) return {.placement = problem.placement};
  double steps = 0;
  if (auto placement = Refine(problem, tolerance, steps)) return {std::move(*placement), steps};

  // No processor is above the most loaded one, so moving nothing is what works at the last step.
  const double imbalance = std::ranges::max(ProcessorLoads(problem, problem.placement)) / AverageLoad(problem);
  std::vector<std::uint32_t> best = problem.placement;
  long fails = 0, works = static_cast<long>((imbalance - tolerance) / kOverloadStep + 1);
  while (works - fails > 1) {
    const long step = (works + fails) / 2;
    if (auto placement = Refine(problem, tolerance + kOverloadStep * static_cast<double>(step), steps)) {
      works = step;
      best = std::move(*placement);
    } else {
      fails = step;
    }
  }
  return {std::move(best), steps};
}

}  // namespace farscale
