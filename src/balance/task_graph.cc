#include "balance/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

namespace farscale {

TaskGraph::TaskGraph(std::size_t nodes, const std::vector<TaskEdge>& edges) : rows_(nodes + 1) {
  std::vector<TaskEdge> ends;  // each edge from both of its ends
  ends.reserve(2 * edges.size());
  for (const TaskEdge& edge : edges) {
    if (edge.first == edge.second || !(edge.bytes > 0)) continue;
    ends.push_back(edge);
    ends.push_back({edge.second, edge.first, edge.bytes});
  }
  std::ranges::stable_sort(ends, {}, [](const TaskEdge& end) { return std::tie(end.first, end.second); });
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i > 0 && ends[i].first == ends[i - 1].first && ends[i].second == ends[i - 1].second) {
      neighbours_.back().second += ends[i].bytes;
    } else {
      neighbours_.emplace_back(ends[i].second, ends[i].bytes);
    }
    rows_[ends[i].first + 1] = neighbours_.size();
  }
  for (std::size_t node = 0; node < nodes; ++node) rows_[node + 1] = std::max(rows_[node + 1], rows_[node]);
}

TaskGraph TaskGraph::Among(const std::vector<std::uint32_t>& nodes) const {
  constexpr std::uint32_t kElsewhere = ~0u;
  std::vector<std::uint32_t> place(this->nodes(), kElsewhere);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;
  TaskGraph graph(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& [node, bytes] : Of(nodes[i])) {
      if (place[node] != kElsewhere) graph.neighbours_.emplace_back(place[node], bytes);
    }
    graph.rows_[i + 1] = graph.neighbours_.size();
  }
  return graph;
}

TaskGraph ProcessorGraph(const BalancingProblem& problem) {
  std::vector<TaskEdge> edges;
  edges.reserve(problem.edges.size());
  for (const TaskEdge& edge : problem.edges) {
    edges.push_back({problem.placement[edge.first], problem.placement[edge.second], edge.bytes});
  }
  return {problem.processors, edges};
}

namespace {

using Tasks = std::vector<std::uint32_t>;

// Places tasks on `size` processors from `begin` on. Adds the steps. `most_load`: a processor with no more is good
// enough.
void Place(const BalancingProblem& problem, const TaskGraph& graph, double most_load, const Tasks& tasks,
           std::pair<std::uint32_t, std::uint32_t> processors, BalancingDecision& decision) {
  const auto [begin, size] = processors;
  double total = 0;
  for (const std::uint32_t task : tasks) total += problem.loads[task];
  if (size == 1 || total == 0) {
    for (const std::uint32_t task : tasks) {
      std::uint32_t& processor = decision.placement[task];
      if (processor < begin || processor >= begin + size) processor = begin;
    }
    return;
  }
  const std::uint32_t larger = (size + 1) / 2, smaller = size - larger;
  std::vector<double> loads;
  std::vector<bool> sides;
  for (const std::uint32_t task : tasks) {
    loads.push_back(problem.loads[task]);
    sides.push_back(problem.placement[task] >= begin + larger);
  }
  // This division and those below share the tolerance that divisions above have left.
  const double count = size, left = most_load * count / total;
  const double allowed = std::max(1.0, std::pow(left, 1 / std::ceil(std::log2(count))));
  const TwoParts parts = DivideInTwo(graph.Among(tasks), loads, sides, larger / count, allowed);
  decision.steps += parts.steps;
  std::array<Tasks, 2> divided;  // the first part gets the larger half of the processors
  for (std::size_t i = 0; i < tasks.size(); ++i) divided[parts.is_second[i]].push_back(tasks[i]);
  const auto& [first, second] = divided;
  // Load of tasks that are already on the processors.
  const auto load_there = [&](const Tasks& part, std::uint32_t from, std::uint32_t behind) {
    double load = 0;
    for (const std::uint32_t task : part) {
      const std::uint32_t processor = problem.placement[task];
      if (processor >= from && processor < from + behind) load += problem.loads[task];
    }
    return load;
  };
  // The first part goes to the lower processors or to the higher ones, as more of the load is there already.
  const bool goes_high = load_there(first, begin + smaller, larger) + load_there(second, begin, smaller) >
                         load_there(first, begin, larger) + load_there(second, begin + larger, smaller);
  Place(problem, graph, most_load, first, {goes_high ? begin + smaller : begin, larger}, decision);
  Place(problem, graph, most_load, second, {goes_high ? begin : begin + larger, smaller}, decision);
}

// Chosen, to bound the time.
constexpr int kMostSearches = 8;  // in breadth, for a node at the rim
constexpr int kMostPasses = 8;
constexpr double kRounding = 1e-9;
constexpr std::size_t kMostLooks = 32;  // at nodes that do not suit the balance, before a pass gives up
// A pass ends after this many moves that gain nothing, and one more for every so many nodes; chosen.
constexpr std::size_t kMostIdleMoves = 50, kNodesPerIdleMove = 20;

using Queue = std::set<std::pair<double, std::uint32_t>>;  // falling gain, as its negative, then node

struct Division {
  const TaskGraph& graph;
  const std::vector<double>& loads;
  const double first_share, allowed;  // as in DivideInTwo
  const double total, leeway;         // load of all; how far beyond its share a part may be while nodes change sides
  std::vector<bool> is_second = {};   // per node
  double first_load = 0, bytes = 0, steps = 0;
  std::vector<double> gains = {};  // for nodes that may change sides

  void Restart() {
    is_second.assign(graph.nodes(), true);
    first_load = bytes = 0;
  }
  double Overload(double load) const {
    return std::max(load / (total * first_share), (total - load) / (total * (1 - first_share)));
  }
  // Less is better: balance where it is not good enough, bytes, balance.
  std::tuple<double, double, double> Badness() const {
    const double overload = Overload(first_load);
    return {std::max(overload, allowed), bytes, overload};
  }
  double FirstLoadWithout(std::uint32_t node) const {
    return first_load + (is_second[node] ? loads[node] : -loads[node]);
  }
  void Count(std::uint32_t node) { steps += 1 + static_cast<double>(graph.Of(node).size()); }
  // Bytes that no longer pass the border when the node changes sides.
  double Gain(std::uint32_t node) {
    double gain = 0;
    for (const auto& [other, sent] : graph.Of(node)) gain += is_second[other] == is_second[node] ? -sent : sent;
    Count(node);
    return gain;
  }
  void ChangeSide(std::uint32_t node, double gain) {
    first_load = FirstLoadWithout(node);
    bytes -= gain;
    is_second[node] = !is_second[node];
  }
};

// The lowest of those in the second part that are farthest from `start`, and how far that is.
std::pair<std::uint32_t, std::size_t> FindFarthest(Division& division, std::uint32_t start) {
  std::vector<bool> seen(division.graph.nodes());
  seen[start] = true;
  std::vector<std::uint32_t> level = {start};
  for (std::size_t distance = 0;; ++distance) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t node : level) {
      division.Count(node);
      for (const auto& [other, bytes] : division.graph.Of(node)) {
        if (!division.is_second[other] || seen[other]) continue;
        seen[other] = true;
        next.push_back(other);
      }
    }
    if (next.empty()) return {std::ranges::min(level), distance};
    level.swap(next);
  }
}

// The first part grows from the rim by the node that takes most bytes off the border.
void GrowFromRim(Division& division) {
  division.Restart();
  const auto nodes = static_cast<std::uint32_t>(division.graph.nodes());
  std::vector<double>& gains = division.gains;
  Queue queue;
  std::vector<bool> is_queued(nodes);
  std::uint32_t lowest = 0;
  while (division.first_load < division.total * division.first_share) {
    if (queue.empty()) {
      while (lowest < nodes && !division.is_second[lowest]) ++lowest;
      if (lowest == nodes) return;
      std::uint32_t rim = lowest;
      std::size_t widest = 0;
      for (int search = 0; search < kMostSearches; ++search) {
        const auto [node, distance] = FindFarthest(division, rim);
        if (distance <= widest) break;
        rim = node, widest = distance;
      }
      gains[rim] = division.Gain(rim), is_queued[rim] = true;
      queue.insert({-gains[rim], rim});
    }
    const std::uint32_t node = queue.begin()->second;
    queue.erase(queue.begin());
    division.ChangeSide(node, gains[node]);
    division.Count(node);
    for (const auto& [other, bytes] : division.graph.Of(node)) {
      if (!division.is_second[other]) continue;
      if (is_queued[other]) {
        queue.erase({-gains[other], other});
        gains[other] += 2 * bytes;
      } else {
        gains[other] = division.Gain(other), is_queued[other] = true;
      }
      queue.insert({-gains[other], other});
    }
  }
}

// The first node of a queue that leaves less than `most_overload` when it changes sides.
std::optional<std::uint32_t> FindSuitable(Division& division, const Queue& queue, double most_overload) {
  std::size_t looks = 0;
  for (const auto& [gain, node] : queue) {
    ++division.steps;
    if (division.Overload(division.FirstLoadWithout(node)) < most_overload) return node;
    if (++looks == kMostLooks) break;
  }
  return std::nullopt;
}

// The next node to change sides among those that may, if any suits.
std::optional<std::uint32_t> FindNextToMove(Division& division, const std::array<Queue, 2>& queues) {
  const double overload = division.Overload(division.first_load);
  const bool is_second_heavier = division.first_load < division.total * division.first_share;
  const Queue &heavier = queues[is_second_heavier], &lighter = queues[!is_second_heavier];
  if (overload > division.allowed) return FindSuitable(division, heavier, overload);
  const double most = division.leeway * (1 + kRounding);
  const std::optional<std::uint32_t> a = FindSuitable(division, heavier, most),
                                     b = FindSuitable(division, lighter, most);
  if (!a || !b) return a ? a : b;
  return division.gains[*b] > division.gains[*a] ? b : a;
}

// Nodes change sides one after the other, each once; then all since the best moment go back. False when that was the
// beginning.
bool ImproveInAPass(Division& division) {
  std::vector<double>& gains = division.gains;
  const std::vector<bool>& is_second = division.is_second;
  std::array<Queue, 2> queues;  // for the first part and the second
  for (std::uint32_t node = 0; node < division.graph.nodes(); ++node) {
    gains[node] = division.Gain(node);
    queues[is_second[node]].insert({-gains[node], node});
  }
  auto best = division.Badness();
  std::vector<std::pair<std::uint32_t, double>> moved;  // with what each gained
  std::size_t kept = 0;
  const std::size_t most_idle = kMostIdleMoves + division.graph.nodes() / kNodesPerIdleMove;
  while (moved.size() < kept + most_idle) {
    const std::optional<std::uint32_t> node = FindNextToMove(division, queues);
    if (!node) break;
    queues[is_second[*node]].erase({-gains[*node], *node});
    moved.emplace_back(*node, gains[*node]);
    division.ChangeSide(*node, gains[*node]);
    division.Count(*node);
    for (const auto& [other, bytes] : division.graph.Of(*node)) {
      Queue& queue = queues[is_second[other]];
      const bool is_queued = queue.erase({-gains[other], other}) > 0;
      gains[other] += is_second[other] == is_second[*node] ? -2 * bytes : 2 * bytes;
      if (is_queued) queue.insert({-gains[other], other});
    }
    if (division.Badness() < best) best = division.Badness(), kept = moved.size();
  }
  for (; moved.size() > kept; moved.pop_back()) division.ChangeSide(moved.back().first, -moved.back().second);
  return kept > 0;
}

}  // namespace

BalancingDecision DecideBisection(const BalancingProblem& problem, double tolerance) {
  BalancingDecision decision{.placement = problem.placement};
  if (HasNothingToBalance(problem)) return decision;
  Tasks tasks(problem.tasks());
  std::iota(tasks.begin(), tasks.end(), 0u);
  Place(problem, TaskGraph(problem.tasks(), problem.edges), tolerance * AverageLoad(problem), tasks,
        {0, static_cast<std::uint32_t>(problem.processors)}, decision);
  return decision;
}

TwoParts DivideInTwo(const TaskGraph& graph, const std::vector<double>& loads, const std::vector<bool>& sides,
                     double first_share, double allowed) {
  allowed *= 1 + kRounding;  // sums of the same loads in another order may differ in the last digits
  const double smaller = std::min(first_share, 1 - first_share);
  Division division{graph,
                    loads,
                    first_share,
                    allowed,
                    std::accumulate(loads.begin(), loads.end(), 0.0),
                    std::max(allowed, 1 + 2 / (static_cast<double>(loads.size()) * smaller))};
  division.gains.resize(graph.nodes());
  std::optional<TwoParts> best;
  const auto refine_and_keep_better = [&] {
    for (int pass = 0; pass < kMostPasses && ImproveInAPass(division); ++pass) continue;
    const TwoParts result{division.is_second, division.bytes, division.Overload(division.first_load), division.steps};
    const double balance = best ? std::max(result.overload, allowed) - std::max(best->overload, allowed) : -1;
    const bool is_better = std::abs(balance) > kRounding ? balance < 0 : result.bytes < best->bytes * (1 - kRounding);
    if (is_better) best = result;
    best->steps = result.steps;
  };
  division.Restart();
  for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
    if (!sides[node]) division.ChangeSide(node, division.Gain(node));
  }
  refine_and_keep_better();
  GrowFromRim(division);
  refine_and_keep_better();
  if (best->overload <= allowed) return *best;
  division.Restart();
  double second_load = 0;  // dealt to the second part so far
  for (const std::uint32_t node : TasksByFallingLoad(loads)) {
    if ((division.first_load + loads[node]) * (1 - first_share) <= (second_load + loads[node]) * first_share) {
      division.ChangeSide(node, division.Gain(node));
    } else {
      second_load += loads[node];
    }
  }
  refine_and_keep_better();
  return *best;
}

}  // namespace farscale
