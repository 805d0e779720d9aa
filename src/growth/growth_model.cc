#include "growth/growth_model.h"

namespace farscale {

GrowthModel GrowthModel::WithRuns(std::size_t first, std::size_t end) const {
  GrowthModel some;
  some.runs.assign(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.begin() + static_cast<std::ptrdiff_t>(end));
  some.functions = functions;
  some.region = region;
  some.has_region = has_region;
  return some;
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
