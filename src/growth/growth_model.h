// Rules of calls and laws of sizes and computation, learned from the runs of a phase.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/loads/load_model.h"
#include "growth/read/call_sites.h"
#include "growth/read/run_calls.h"
#include "growth/rules/call_rules.h"

namespace farscale {

struct GrowthModel {
  std::vector<RunCalls> runs;  // rising number of ranks
  FunctionNames functions;
  CallRules rules;
  SiteLaws laws;
  LoadModel load;
  std::string region;       // marks the iterations in a grown trace
  bool has_region = false;  // ranks of the runs enter the region themselves; else it is made around every iteration

  // The runs from `first` to before `end`, without rules and laws.
  GrowthModel WithRuns(std::size_t first, std::size_t end) const;
};

// Finds rules and laws of the runs, of which there are two or more, by rising number of ranks.
void LearnGrowth(GrowthModel& model);

}  // namespace farscale
