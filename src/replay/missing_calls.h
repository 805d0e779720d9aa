// Calls that a trace lacks though others may wait for them.
#pragma once

#include <string>

#include "trace/trace.h"

namespace farscale {

// "those with ranks 2-3, which recorded nothing", those of a rank that alone was not recorded for 1 % of the run, those
// of threads other than the main ones, from 1 % of all calls on, or those where recording was off, from 1 % of all
// messages on that lack an end; empty: none. Else nobody knows who waits for whom, and messages without their other
// half are no damage.
std::string MissingCalls(const Trace& trace);

}  // namespace farscale
