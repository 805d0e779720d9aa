// Nodes of a graph in two parts, with loads in proportion and few bytes between them.
#pragma once

#include <vector>

#include "balance/task_graph.h"

namespace farscale {

struct PartsWanted {
  double first_share = 0.5;  // of the load, that the first part is to have; in (0, 1)
  double allowed = 1;        // load of a part over what it is to have that is good enough, 1 or more
};

struct TwoParts {
  std::vector<bool> is_second;  // of every node
  double bytes = 0;             // between the parts
  double overload = 1;          // the larger of what the parts have over what they are to have
  double steps = 0;             // nodes and ends of edges visited
};

// The first part grows from a node at the rim, found by searches in breadth [Gibbs76], by the node that takes most
// bytes off the border [Karypis98]; then nodes change sides as they do in [Fiduccia82]. The same is done from `sides`,
// which say of every node whether it is in the second part now, and, when both end above what is allowed, from nodes
// dealt out by falling load. The best counts: balance where it is not good enough, then bytes; of equal ones that from
// `sides`. There must be some load.
TwoParts DivideInTwo(const TaskGraph& graph, const std::vector<double>& loads, const std::vector<bool>& sides,
                     const PartsWanted& wanted);

}  // namespace farscale
