// Which models are tried for a factor.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "models/ensemble.h"
#include "models/scaling_model.h"

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
std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library);

}  // namespace farscale
