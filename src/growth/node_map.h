// On which node the ranks of a grown run are, after those of the largest run.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/growth_model.h"
#include "growth/rank_grid.h"

namespace farscale {

// As many ranks are on a node as in the largest run: consecutive ones, or in turn where that run has them so. Copies of
// a run [statistical_growth.h] are on nodes as its ranks are, each copy of the run on others.
class NodeMap {
 public:
  NodeMap(const GrowthModel& model, const RankGrid& grid);

  std::int64_t nodes() const { return nodes_; }
  std::int64_t NodeOf(std::int64_t rank) const {
    if (!of_copied_.empty()) {
      const auto ranks = static_cast<std::int64_t>(of_copied_.size());
      return of_copied_[static_cast<std::size_t>(rank % ranks)] + rank / ranks * nodes_of_copy_;
    }
    return is_in_turn_ ? rank % nodes_ : rank / ranks_of_node_;
  }

 private:
  std::int64_t nodes_ = 1, ranks_of_node_ = 1, nodes_of_copy_ = 1;
  bool is_in_turn_ = false;
  std::vector<std::int32_t> of_copied_;  // nodes of the largest run; empty unless its ranks are copied
};

}  // namespace farscale
