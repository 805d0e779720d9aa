#include "growth/node_map.h"

#include <algorithm>

namespace farscale {

NodeMap::NodeMap(const GrowthModel& model, const RankGrid& grid) {
  const RunCalls& largest = model.runs.back();
  nodes_of_copy_ = 1 + std::int64_t{*std::ranges::max_element(largest.nodes)};
  ranks_of_node_ = (largest.ranks + nodes_of_copy_ - 1) / nodes_of_copy_;
  nodes_ = (grid.size() + ranks_of_node_ - 1) / ranks_of_node_;
  if (model.rules.scheme.is_lifted) {
    of_copied_ = largest.nodes;
    nodes_ = nodes_of_copy_ * (grid.size() / largest.ranks);
    return;
  }
  is_in_turn_ = nodes_of_copy_ > 1 && ranks_of_node_ > 1;
  for (std::size_t rank = 0; rank < largest.nodes.size(); ++rank)
    is_in_turn_ = is_in_turn_ && largest.nodes[rank] == static_cast<std::int64_t>(rank) % nodes_of_copy_;
}

}  // namespace farscale
