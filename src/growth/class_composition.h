// Rules of ranks that lie in their grid like none of the runs, from the rules of every dimension.
#pragma once

#include <cstddef>

#include "growth/growth_model.h"
#include "growth/rank_grid.h"

namespace farscale {

// Adds the classes of the grid that no run has to the rules of the model; returns how many. A call is made in such a
// class where it is in every dimension: where its partner lies in the grid, or where ranks of any class make it. The
// order of the calls must follow from that in other classes. Nothing is added unless every class that is known, left
// out in turn, is what the others give for it, as far as they give anything. Where a place in a dimension was never
// seen, it must have been in another dimension.
//
// Computation of such a rank is that of ranks of the class with most of its calls in the largest run: these do most of
// the same work.
std::size_t AddComposedClasses(GrowthModel& model, const RankGrid& grid);

}  // namespace farscale
