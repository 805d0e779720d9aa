// Rules of two programs that run together, the first ranks and the last ones of all, each in a layout of its own.
#pragma once

#include <optional>
#include <vector>

#include "growth/call_rules.h"
#include "growth/run_calls.h"

namespace farscale {

// The ranks at which one program may end and another begin are those up to which all ranks, and none behind, or the
// other way around, call a function in a region, use a tag, or make calls on a communicator; that must follow a law of
// the number of ranks [program_split.h]. Of these splits and the layouts of both programs, those that explain most.
// Nothing where no split is found, or where a study names the layout of a run. `must_diverge`: of programs whose ranks
// clearly compute by different powers of their number.
std::optional<CallRules> FindProgramRules(const std::vector<RunCalls>& runs, bool must_diverge);

// Whether rules of two programs may be believed. As there are more of them to choose from than of one, nearly all must
// be confirmed.
bool SufficeForTwo(const CallRules& rules);

// Whether nothing is left that other rules could explain.
bool ExplainAll(const CallRules& rules);

}  // namespace farscale
