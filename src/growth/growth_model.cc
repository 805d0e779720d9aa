#include "growth/growth_model.h"

#include "growth/partners.h"

namespace farscale {

GrowthModel GrowthModel::OfRuns(std::size_t first, std::size_t end) const {
  const auto begin = runs.begin();
  GrowthModel model{{begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)},
                    functions,
                    {},
                    {},
                    {},
                    region,
                    has_region};
  LearnGrowth(model);
  return model;
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
