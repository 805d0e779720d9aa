#include "growth/growth_model.h"

namespace farscale {

GrowthModel GrowthModel::WithRuns(std::size_t first, std::size_t end) const {
  const auto begin = runs.begin();
  return {{begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)},
          functions,
          {},
          {},
          {},
          region,
          has_region};
}

void LearnGrowth(GrowthModel& model) {
  MatchKinds(model.runs);
  model.rules = FindCallRules(model.runs);
  PreferCommonRules(model.rules);
  JoinPartners(model.runs.back(), model.runs.size() - 1, model.rules);
  model.laws = FitSiteLaws(model.runs, model.rules);
  model.load = FitLoadModel(model.runs, model.rules);
}

}  // namespace farscale
