#include "balance/task_graph.h"

#include <algorithm>
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

}  // namespace farscale
