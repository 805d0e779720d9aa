// Bytes that tasks exchange: neighbours of every node, in compressed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "balance/strategy.h"

namespace farscale {

class TaskGraph {
 public:
  using Neighbour = std::pair<std::uint32_t, double>;  // node and bytes

  // Edges from a node to itself and those without bytes are left out; several between the same two are added up.
  TaskGraph(std::size_t nodes, const std::vector<TaskEdge>& edges);

  // These nodes, by their places in the list, and the edges between them.
  TaskGraph Among(const std::vector<std::uint32_t>& nodes) const;

  std::size_t nodes() const { return rows_.size() - 1; }
  // Sorted by node.
  std::span<const Neighbour> Of(std::uint32_t node) const {
    return std::span(neighbours_).subspan(rows_[node], rows_[node + 1] - rows_[node]);
  }

 private:
  explicit TaskGraph(std::size_t nodes) : rows_(nodes + 1) {}

  std::vector<std::size_t> rows_;
  std::vector<Neighbour> neighbours_;
};

// A graph of processors with the bytes that their tasks exchange.
TaskGraph ProcessorGraph(const BalancingProblem& problem);

// Nodes of a graph in two parts, with loads in proportion and few bytes between them.

struct TwoParts {
  std::vector<bool> is_second;  // per node
  double bytes = 0;             // between the parts
  double overload = 1;          // the larger of what the parts have over what they are to have
  double steps = 0;             // nodes and ends of edges visited
};

// The first part grows from a node at the rim, found by searches in breadth [Gibbs76], by the node that takes most
// bytes off the border [Karypis98]; then nodes change sides as they do in [Fiduccia82]. The same is done from `sides`,
// which say of every node whether it is in the second part now, and, when both end above what is allowed, from nodes
// dealt out by falling load. The best counts: balance where it is not good enough, then bytes; of equal ones that from
// `sides`. There must be some load. `first_share`: of the load, for the first part; in (0, 1). `allowed`: load of a
// part over what it is to have that is good enough, 1 or more.
TwoParts DivideInTwo(const TaskGraph& graph, const std::vector<double>& loads, const std::vector<bool>& sides,
                     double first_share = 0.5, double allowed = 1);

}  // namespace farscale
