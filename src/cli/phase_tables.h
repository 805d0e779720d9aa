// What `farscale phases` says of one run: its loop, the parts of an iteration, every iteration, clean cuts, groups of
// ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "phases/phase_cut.h"
#include "trace/trace.h"

namespace farscale {

struct PhaseStructure {
  std::string text;  // tables for a terminal
  bool is_found = false;
  std::vector<std::string> parts;  // that the run has, by name
  std::size_t ranks = 0;
  std::size_t iterations = 0, standing_out = 0;  // all, and those that something disturbed
  double useful = 0;                             // seconds of all ranks in all iterations
  std::shared_ptr<const IterationShape> shape;   // of its iterations; null when there are none
  Diagnostics diagnostics;
};

// `spec`: a region or the found loop, with all its iterations. With the shape of another run, the same loop and the
// same parts are looked for.
PhaseStructure DescribePhase(const Trace& trace, const PhaseSpec& spec);

}  // namespace farscale
