// What commands read that begin with results: results.json whole, or a factor table, which is then projected.
#pragma once

#include <cstdint>
#include <string>

#include "results/results.h"

namespace farscale {

struct ResultsOptions {
  std::string preset;              // of models, for tables
  std::string scaling;             // of tables; empty: as they say
  bool is_one_of_several = false;  // then `scaling` is for the tables among them
};

// Throws a usage error when `scaling` is given for results.json alone, which knows its own.
Results ReadResults(const std::string& path, const ResultsOptions& options = {});

}  // namespace farscale
