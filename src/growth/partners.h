// Which posts of messages belong together: the rule of a receive is the way back of that of its send.
#pragma once

#include <vector>

#include "growth/call_rules.h"
#include "growth/run_calls.h"

namespace farscale {

// Takes the rules of sends and receives that do not lead to each other out of the rules. On two ranks of a dimension
// both ways around lead to the same partner; there, messages in turn go down and up.
void JoinPartners(const RunCalls& run, std::size_t run_index, CallRules& rules);

}  // namespace farscale
