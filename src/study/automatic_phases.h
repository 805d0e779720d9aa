// Phases that nobody named, chosen by what the runs of a study show.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace farscale {

// Loops of the largest run that can be read, in the order in which they are taken [phases/loop_choice.h].
std::vector<PhaseSpec> LoopsOfRuns(const std::vector<RunSpec>& runs);

// Phases as commands name them [PhaseSpec::Region]; auto is the first of those loops.
std::vector<PhaseSpec> PhasesNamed(const std::vector<std::string>& texts, const std::vector<RunSpec>& runs);

}  // namespace farscale
