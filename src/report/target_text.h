// What is predicted for the core counts that somebody has asked for, for the terminal.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// Of every phase the efficiency to talk about and the time of an iteration: targets side by side, below each other, or
// in lines, the first of these that is not wider than the terminal; as targets.txt.mustache of `texts` words it. An
// interval alone is uncertain, a dash unknown. Empty where no phase has a projection.
std::string FormatTargets(const std::vector<PhaseProjection>& projections, const Partials& texts,
                          const TerminalStyle& style);

// Steps towards targets of which nothing is known, by target_steps.txt.mustache; empty without such targets.
std::vector<std::string> NextStepsForTargets(const std::vector<PhaseProjection>& projections, const Partials& texts);

}  // namespace farscale
