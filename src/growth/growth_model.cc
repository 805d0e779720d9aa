#include "growth/growth_model.h"

#include "growth/partners.h"

namespace farscale {

GrowthModel GrowthModel::OfFirst(std::size_t count) const {
  GrowthModel model{{runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(count)}, functions, {}, {}, {}, region};
  LearnGrowth(model);
  return model;
}

void LearnGrowth(GrowthModel& model) {
  MatchKinds(model.runs);
  model.rules = FindCallRules(model.runs);
  JoinPartners(model.runs.back(), model.runs.size() - 1, model.rules);
  model.laws = FitSiteLaws(model.runs, model.rules);
  model.load = FitLoadModel(model.runs, model.rules);
}

}  // namespace farscale
