// How long every rank of a grown run computes.
#pragma once

#include <cstdint>
#include <vector>

#include "growth/class_plan.h"
#include "growth/growth_model.h"

namespace farscale {

// Times in ticks of the largest run.
struct GrownLoads {
  struct Copied {
    std::uint32_t from = 0;  // iteration of the donor
    double ratio = 1;        // of the computation to that of the donor
  };
  std::vector<std::uint32_t> donors;  // of every rank
  std::vector<Copied> copied;         // of the iterations to be made, rank by rank
  std::vector<Tick> useful;           // computation of every rank in all iterations, made or not
  // Of every iteration over all ranks: computation together, and that of the rank with most.
  std::vector<Tick> sums;
  std::vector<Tick> largest;
};

// Computation as drawn with this seed.
GrownLoads DrawLoads(const GrowthModel& model, const GridPlan& plan, std::uint64_t seed);
// That of a run itself.
GrownLoads LoadsOfRun(const GrowthModel& model, const GridPlan& plan, std::size_t run);

}  // namespace farscale
