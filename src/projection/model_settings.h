// The models that the factors of a study are fitted with.
#pragma once

#include <map>
#include <string>

#include "factors/factor_table.h"
#include "models/model_choice.h"
#include "models/weights.h"

namespace farscale {

struct ModelSettings {
  ModelChoice standard;  // for every factor without its own
  std::map<Factor, ModelChoice> by_factor;
  // By phase, then factor; of a whole phase also for the groups of its ranks that have none of their own.
  std::map<PhaseId, std::map<Factor, ModelChoice>> by_phase;
  PointWeights weights = PointWeights::kByScatter;

  const ModelChoice& For(const PhaseId& phase, Factor factor) const;
};

// All models of fits/, in all their dimensions.
ModelSettings DefaultModelSettings();

// Throws a usage error for models that do not exist.
void RequireModels(const ModelSettings& settings, const ModelLibrary& library);

// "amdahl in dimension 1 for every factor; transferEfficiency: constant" and the like, for reports.
std::string Describe(const ModelSettings& settings);

}  // namespace farscale
