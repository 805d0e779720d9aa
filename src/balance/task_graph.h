// Who exchanges bytes with whom: neighbours of every node, in compressed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "balance/strategy.h"

namespace farscale {

class TaskGraph {
 public:
  struct Neighbour {
    std::uint32_t node = 0;
    double bytes = 0;

    friend bool operator==(const Neighbour&, const Neighbour&) = default;
  };

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

// The processors as nodes: what their tasks exchange.
TaskGraph ProcessorGraph(const BalancingProblem& problem);

}  // namespace farscale
