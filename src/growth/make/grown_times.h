// Times of a grown run, from replays of some of its iterations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "factors/phase_factors.h"
#include "growth/growth_model.h"
#include "growth/make/class_plan.h"
#include "growth/make/grown_program.h"
#include "replay/network.h"

namespace farscale {

// So many of the iterations, with each kind as frequent as in all, but at least once: the first of each. Rising.
std::vector<std::size_t> ChooseIterations(const std::vector<std::size_t>& kinds, std::size_t count);

// The number of those of each kind.
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

// The number of iterations of a grown run that are replayed, so that they fit into memory and still show the factors of
// all.
class IterationBudget {
 public:
  // `bytes`: that growing and replaying a run may take, beside the model. `network`: nothing for the ideal one.
  IterationBudget(const GrowthModel& model, double bytes, const ReplayRules& rules, const Network* network)
      : model_(model), bytes_(bytes), rules_(rules), network_(network) {}

  // All iterations if they fit, else as many as do. Throws an error of kind kNotEnoughData, which says how many ranks
  // fit, where these are so few that the times of the largest run do not follow from them.
  std::size_t For(const RankGrid& grid);

 private:
  // 0: not even one of each kind.
  std::size_t MostThatFit(const RankGrid& grid) const;
  double BytesFor(const RankGrid& grid, std::size_t count) const;
  // True if the times of the largest run follow from replays of so many of its iterations.
  bool Suffice(std::size_t count);
  std::optional<PhaseTotals> TotalsFrom(std::size_t count) const;
  // The largest run with fewer ranks whose iterations fit, so many of them.
  std::int64_t MostRanks(std::int64_t below, std::size_t count) const;

  const GrowthModel& model_;
  double bytes_;
  ReplayRules rules_;
  const Network* network_;
  std::map<std::size_t, bool> sufficient_;
};

}  // namespace farscale
