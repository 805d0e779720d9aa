// How many iterations of a grown run are replayed, so that they fit into memory and still show the factors of all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "growth/grown_times.h"
#include "growth/growth_model.h"
#include "replay/network.h"
#include "replay/rules.h"

namespace farscale {

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
  // Whether the times of the largest run follow from replays of so many of its iterations.
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
