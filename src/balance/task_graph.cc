#include "balance/task_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "balance/strategy.h"

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
      neighbours_.back().bytes += ends[i].bytes;
    } else {
      neighbours_.push_back({ends[i].second, ends[i].bytes});
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
    for (const Neighbour& neighbour : Of(nodes[i])) {
      if (place[neighbour.node] != kElsewhere) graph.neighbours_.push_back({place[neighbour.node], neighbour.bytes});
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

namespace {

// Chosen, to bound the time.
constexpr int kMostSearches = 8;  // in breadth, for a node at the rim
constexpr int kMostPasses = 8;
constexpr double kRounding = 1e-9;
constexpr std::size_t kMostLooks = 32;  // at nodes that do not suit the balance, before a pass gives up
// A pass ends after this many moves that gain nothing, and one more for every so many nodes; chosen.
constexpr std::size_t kMostIdleMoves = 50, kNodesPerIdleMove = 20;

using Queue = std::set<std::pair<double, std::uint32_t>>;  // by falling gain, as its negative, then by node

class Division {
 public:
  Division(const TaskGraph& graph, const std::vector<double>& loads, const PartsWanted& wanted)
      : graph_(graph),
        loads_(loads),
        wanted_(wanted),
        total_(std::accumulate(loads.begin(), loads.end(), 0.0)),
        gains_(graph.nodes()) {
    const double smaller = std::min(wanted.first_share, 1 - wanted.first_share);
    leeway_ = std::max(wanted.allowed, 1 + 2 / (static_cast<double>(loads.size()) * smaller));
    Restart();
  }

  void StartFrom(const std::vector<bool>& sides);
  void GrowFromRim();
  void DealByLoad();
  void Refine() {
    for (int pass = 0; pass < kMostPasses && ImprovesInAPass(); ++pass) {
    }
  }
  TwoParts Result() const { return {is_second_, bytes_, Overload(first_load_), steps_}; }
  bool IsBetterThan(const TwoParts& other) const {
    const double balance = std::max(Overload(first_load_), wanted_.allowed) - std::max(other.overload, wanted_.allowed);
    return std::abs(balance) > kRounding ? balance < 0 : bytes_ < other.bytes * (1 - kRounding);
  }

 private:
  // Less is better: balance where it is not good enough, bytes, balance.
  std::tuple<double, double, double> Badness() const {
    const double overload = Overload(first_load_);
    return {std::max(overload, wanted_.allowed), bytes_, overload};
  }

  void Restart() {
    is_second_.assign(graph_.nodes(), true);
    first_load_ = bytes_ = 0;
  }

  double Overload(double first_load) const {
    return std::max(first_load / (total_ * wanted_.first_share),
                    (total_ - first_load) / (total_ * (1 - wanted_.first_share)));
  }
  double FirstLoadWithout(std::uint32_t node) const {
    return first_load_ + (is_second_[node] ? loads_[node] : -loads_[node]);
  }

  // Bytes that no longer pass the border when the node changes sides.
  double Gain(std::uint32_t node) {
    double gain = 0;
    for (const auto& [other, bytes] : graph_.Of(node)) {
      gain += is_second_[other] == is_second_[node] ? -bytes : bytes;
    }
    Count(node);
    return gain;
  }

  void ChangeSide(std::uint32_t node, double gain) {
    first_load_ = FirstLoadWithout(node);
    bytes_ -= gain;
    is_second_[node] = !is_second_[node];
  }

  std::uint32_t RimNode(std::uint32_t start);
  std::pair<std::uint32_t, std::size_t> Farthest(std::uint32_t start);
  bool ImprovesInAPass();
  // Of the nodes that may still change sides the one to do so; graph_.nodes() when none suits.
  std::uint32_t NextToMove(const std::array<Queue, 2>& queues);
  std::uint32_t FirstSuitable(const Queue& queue, double most_overload);
  void Count(std::uint32_t node) { steps_ += 1 + static_cast<double>(graph_.Of(node).size()); }

  const TaskGraph& graph_;
  const std::vector<double>& loads_;
  PartsWanted wanted_;
  double total_ = 0, leeway_ = 1, steps_ = 0;
  std::vector<bool> is_second_;
  double first_load_ = 0, bytes_ = 0;
  std::vector<double> gains_;        // of nodes that may change sides
  std::vector<std::uint32_t> seen_;  // the last search that came by
  std::uint32_t search_ = 0;
};

// The lowest of those in the second part that are farthest from `start`, and how far that is.
std::pair<std::uint32_t, std::size_t> Division::Farthest(std::uint32_t start) {
  seen_.resize(graph_.nodes());
  seen_[start] = ++search_;
  std::vector<std::uint32_t> level = {start}, next;
  std::size_t distance = 0;
  while (true) {
    next.clear();
    for (const std::uint32_t node : level) {
      Count(node);
      for (const auto& [other, bytes] : graph_.Of(node)) {
        if (!is_second_[other] || seen_[other] == search_) continue;
        seen_[other] = search_;
        next.push_back(other);
      }
    }
    if (next.empty()) return {std::ranges::min(level), distance};
    level.swap(next);
    ++distance;
  }
}

std::uint32_t Division::RimNode(std::uint32_t start) {
  std::size_t widest = 0;
  for (int i = 0; i < kMostSearches; ++i) {
    const auto [node, distance] = Farthest(start);
    if (distance <= widest) break;
    start = node, widest = distance;
  }
  return start;
}

void Division::GrowFromRim() {
  Restart();
  Queue queue;
  std::vector<bool> is_queued(graph_.nodes());
  std::uint32_t lowest = 0;
  while (first_load_ < total_ * wanted_.first_share) {
    if (queue.empty()) {
      while (lowest < graph_.nodes() && !is_second_[lowest]) ++lowest;
      if (lowest == graph_.nodes()) return;
      const std::uint32_t rim = RimNode(lowest);
      gains_[rim] = Gain(rim), is_queued[rim] = true;
      queue.insert({-gains_[rim], rim});
    }
    const std::uint32_t node = queue.begin()->second;
    queue.erase(queue.begin());
    ChangeSide(node, gains_[node]);
    Count(node);
    for (const auto& [other, bytes] : graph_.Of(node)) {
      if (!is_second_[other]) continue;
      if (is_queued[other]) {
        queue.erase({-gains_[other], other});
        gains_[other] += 2 * bytes;
      } else {
        gains_[other] = Gain(other), is_queued[other] = true;
      }
      queue.insert({-gains_[other], other});
    }
  }
}

void Division::DealByLoad() {
  Restart();
  double second_load = 0;  // what has been dealt to the second part
  for (const std::uint32_t node : TasksByFallingLoad(loads_)) {
    const double load = loads_[node];
    if ((first_load_ + load) * (1 - wanted_.first_share) <= (second_load + load) * wanted_.first_share) {
      ChangeSide(node, Gain(node));
    } else {
      second_load += load;
    }
  }
}

std::uint32_t Division::FirstSuitable(const Queue& queue, double most_overload) {
  std::size_t looks = 0;
  for (const auto& [gain, node] : queue) {
    ++steps_;
    if (Overload(FirstLoadWithout(node)) < most_overload) return node;
    if (++looks == kMostLooks) break;
  }
  return static_cast<std::uint32_t>(graph_.nodes());
}

std::uint32_t Division::NextToMove(const std::array<Queue, 2>& queues) {
  const double overload = Overload(first_load_);
  const bool is_second_heavier = first_load_ < total_ * wanted_.first_share;
  const Queue &heavier = queues[is_second_heavier], &lighter = queues[!is_second_heavier];
  if (overload > wanted_.allowed) return FirstSuitable(heavier, overload);
  const std::uint32_t a = FirstSuitable(heavier, leeway_ * (1 + kRounding)),
                      b = FirstSuitable(lighter, leeway_ * (1 + kRounding));
  if (a == graph_.nodes() || b == graph_.nodes()) return std::min(a, b);
  return gains_[b] > gains_[a] ? b : a;
}

void Division::StartFrom(const std::vector<bool>& sides) {
  Restart();
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    if (!sides[node]) ChangeSide(node, Gain(node));
  }
}

// Nodes change sides one after the other, each once; then all since the best moment go back. False when that was the
// beginning.
bool Division::ImprovesInAPass() {
  std::array<Queue, 2> queues;  // of the first part and the second
  for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
    gains_[node] = Gain(node);
    queues[is_second_[node]].insert({-gains_[node], node});
  }
  auto best = Badness();
  std::vector<std::pair<std::uint32_t, double>> moved;  // with what each gained
  std::size_t kept = 0;
  const std::size_t most_idle = kMostIdleMoves + graph_.nodes() / kNodesPerIdleMove;
  while (moved.size() < kept + most_idle) {
    const std::uint32_t node = NextToMove(queues);
    if (node == graph_.nodes()) break;
    queues[is_second_[node]].erase({-gains_[node], node});
    moved.emplace_back(node, gains_[node]);
    ChangeSide(node, gains_[node]);
    Count(node);
    for (const auto& [other, bytes] : graph_.Of(node)) {
      Queue& queue = queues[is_second_[other]];
      const auto queued = queue.find({-gains_[other], other});
      gains_[other] += is_second_[other] == is_second_[node] ? -2 * bytes : 2 * bytes;
      if (queued == queue.end()) continue;
      queue.erase(queued);
      queue.insert({-gains_[other], other});
    }
    if (Badness() < best) best = Badness(), kept = moved.size();
  }
  while (moved.size() > kept) {
    ChangeSide(moved.back().first, -moved.back().second);
    moved.pop_back();
  }
  return kept > 0;
}

}  // namespace

TwoParts DivideInTwo(const TaskGraph& graph, const std::vector<double>& loads, const std::vector<bool>& sides,
                     const PartsWanted& parts) {
  // Sums of the same loads in another order may differ in the last digits.
  const PartsWanted wanted = {parts.first_share, parts.allowed * (1 + kRounding)};
  Division division(graph, loads, wanted);
  division.StartFrom(sides);
  division.Refine();
  TwoParts best = division.Result();
  const auto keep_better = [&] {
    division.Refine();
    const TwoParts result = division.Result();
    if (division.IsBetterThan(best)) best = result;
    best.steps = result.steps;
  };
  division.GrowFromRim();
  keep_better();
  if (best.overload <= wanted.allowed) return best;
  division.DealByLoad();
  keep_better();
  return best;
}

}  // namespace farscale
