// A run of a program at a number of ranks that nobody has run, as a trace.
#pragma once

#include <cstdint>
#include <string>

#include "growth/call_rules.h"
#include "growth/call_sites.h"
#include "growth/run_calls.h"
#include "trace/trace.h"

namespace farscale {

// What is known of the runs of a phase.
struct GrowthModel {
  std::vector<RunCalls> runs;  // by rising number of ranks
  FunctionNames functions;
  CallRules rules;
  SiteLaws laws;
  std::string region;  // by which iterations are known in a grown trace
};

// The iterations of the largest run, on the ranks of a grid. Calls take no time: when they are left is up to a replay.
// Throws an error of kind kNotEnoughData where the grid has ranks that are like none of the runs.
Trace GrowTrace(const GrowthModel& model, const RankGrid& grid, std::uint64_t seed);

}  // namespace farscale
