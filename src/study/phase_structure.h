// The structure of runs: their loops as phases, and of one run the loop, the parts of an iteration, every iteration,
// clean cuts and groups of ranks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "pages/text_table.h"
#include "phases/phase_spec.h"

namespace farscale {

struct IterationShape;
struct Matching;
struct RunSpec;
struct Trace;

// The effect of keeping only clean iterations.
struct Cleaning {
  bool is_judged = false;          // disturbed iterations can be detected
  std::vector<bool> standing_out;  // one an iteration
  bool takes_work = false;         // leaves out work of the program, not noise alone
};

struct PhaseStructure {
  std::string text;  // tables for a terminal
  bool is_found = false;
  std::vector<std::string> parts;            // that the run has, by name
  std::map<std::string, Cleaning> cleaning;  // these parts and the loop (empty name)
  std::size_t ranks = 0;
  std::size_t iterations = 0;
  double useful = 0;                            // seconds of all ranks in all iterations
  std::shared_ptr<const IterationShape> shape;  // shape of its iterations; null when there are none
  Diagnostics diagnostics;
  std::optional<Error> error;  // why the run cannot be read; the rest is then empty
};

// `spec`: a region or the found loop, with all its iterations. With the shape of another run, the same loop and the
// same parts are looked for. Tables are no wider than `width`.
PhaseStructure DescribePhase(const Trace& trace, const Matching& matching, const PhaseSpec& spec,
                             std::size_t width = kAnyWidth);

// Loops of the largest run that can be read, in the order in which they are taken [phases/phase_spec.h].
std::vector<PhaseSpec> LoopsOfRuns(const std::vector<RunSpec>& runs);

// Phases as commands name them [PhaseSpec::Region]; auto is the first of those loops.
std::vector<PhaseSpec> PhasesNamed(const std::vector<std::string>& texts, const std::vector<RunSpec>& runs);

}  // namespace farscale
