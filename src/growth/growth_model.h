// What the runs of a phase tell of runs at other numbers of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growth/call_rules.h"
#include "growth/call_sites.h"
#include "growth/load_model.h"
#include "growth/run_calls.h"

namespace farscale {

struct GrowthModel {
  std::vector<RunCalls> runs;  // by rising number of ranks
  FunctionNames functions;
  CallRules rules;
  SiteLaws laws;
  LoadModel load;
  std::string region;  // by which iterations are known in a grown trace
  // Whether the ranks of the runs enter it themselves; else it is made around every iteration.
  bool has_region = false;

  // Of the runs from `first` to before `end` alone.
  GrowthModel OfRuns(std::size_t first, std::size_t end) const;
};

// Finds rules and laws of the runs, of which there are two or more, by rising number of ranks.
void LearnGrowth(GrowthModel& model);

}  // namespace farscale
