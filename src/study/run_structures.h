// The loops of several runs of a program, which the largest run shows to the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "phases/phase_spec.h"
#include "study/phase_structure.h"
#include "study/run_study.h"
#include "trace/trace_reader.h"

namespace farscale {

struct RunStructures {
  PhaseSpec spec;                            // that was looked for, with the shape of its iterations
  std::vector<PhaseStructure> structures;    // in the order of the traces; empty where one cannot be read
  std::vector<std::optional<Error>> errors;  // why
};

// Reads the largest trace first. `is_automatic`: looks for the first loop that it shows, else for `spec`. A trace that
// cannot be read does not lose the others. Tables are no wider than `width`.
RunStructures ReadStructures(const std::vector<std::string>& traces, const PhaseSpec& spec, bool is_automatic,
                             const ReadOptions& options, const ProgressSink& progress, std::size_t width = kAnyWidth);

}  // namespace farscale
