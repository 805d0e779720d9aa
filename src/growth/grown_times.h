// Times of a grown run, from replays of some of its iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "factors/phase_factors.h"
#include "growth/class_plan.h"
#include "growth/grown_loads.h"
#include "growth/grown_messages.h"
#include "growth/growth_model.h"
#include "replay/network.h"
#include "replay/rules.h"

namespace farscale {

// So many of the iterations, with each kind as frequent as in all, but at least once: the first of each. Rising.
std::vector<std::size_t> ChooseIterations(const std::vector<std::size_t>& kinds, std::size_t count);

// How many of each kind those are.
std::vector<std::size_t> CountKinds(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen);

// When all iterations would be over, in ticks, if the chosen ones are at `ends`. The first one fills pipelines; every
// other takes, for its computation, as long as those of its kind behind the first. `work`: computation of every
// iteration, of all ranks together.
double TimeOfAll(const std::vector<std::size_t>& kinds, const std::vector<std::size_t>& chosen,
                 const std::vector<Tick>& ends, const std::vector<Tick>& work);

// The ranks of a grid, or of a run, with their messages, whose computation may be drawn several times.
class GrownReplay {
 public:
  // The iterations of `plan.chosen` are replayed, and the times of all follow from them. Throws an error of kind
  // kNotEnoughData where messages lack an end.
  GrownReplay(const GrowthModel& model, GridPlan plan);

  // T and T_ideal by replays on the network and on the ideal one; all of the totals that need no counters. `network`:
  // nothing for the ideal one. Throws an error of kind kNotEnoughData when the calls cannot complete.
  PhaseTotals Measure(const GrownLoads& loads, const ReplayRules& rules, const Network* network) const;

  const GridPlan& plan() const { return plan_; }

 private:
  double TimeOn(const GrownLoads& loads, const ReplayRules& rules, const Network* network) const;

  const GrowthModel& model_;
  GridPlan plan_;
  GrownMessages messages_;
};

}  // namespace farscale
