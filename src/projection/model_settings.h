// The models that the factors of a study are fitted with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/config.h"
#include "factors/factor_table.h"
#include "models/ensemble.h"
#include "models/scaling_model.h"
#include "models/weights.h"

namespace farscale {

// A list of candidates for selection, or a single model in a single dimension.
struct ModelChoice {
  struct Option {
    std::string model;
    std::vector<int> dimensions = {};  // empty: those of the model
  };
  std::vector<Option> options;
  std::string where;  // file and line that says so
};

// "amdahl", "pipeline:3" (dimension 3) or "pipeline:1,2" as a choice of one model. Throws a usage error otherwise.
ModelChoice ParseModelChoice(const std::string& text, const std::string& where);

// The same from a configuration, or { model = "pipeline", dimension = 3 }.
ModelChoice ParseModelChoice(const ConfigTable& table, const std::string& key);

// "amdahl, pipeline in dimension 3".
std::string Describe(const ModelChoice& choice);

// Throws a usage error for models that do not exist.
std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library,
                                    PriorCase prior = PriorCase::kUsual);

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
