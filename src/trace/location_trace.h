// A trace whose ranks are the threads of another, so that waiting among threads is measured like that among ranks
// [docs/formulas.md, threads].
//
// Threads of a rank stand one after the other, thread 0 first; Trace::locations says which is which. Fork and barriers
// of an OpenMP team are calls with collective records on a communicator of the team's threads: CollectiveKind::kFork
// from the main thread, on the others over all of their idle time before; kThreadBarrier and kImplicitBarrier. Where
// teams are not as they should be [trace/team_plan.h], these calls have no records. While a thread is idle, it is in
// the regions in which its main thread forks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace farscale {

// "OpenMP fork": the calls of forks; behind it ": " and the name of the parallel region, where it is known.
inline constexpr std::string_view kForkRegion = "OpenMP fork";

// The trace must hold threads. Threads that are in no team are left out. What is odd about threads is in its
// diagnostics; those of the trace itself are not. Counters are left out.
Trace LocationTrace(const Trace& trace);

// "rank 3", or of a thread "rank 3, thread 1".
std::string NameOfRank(const Trace& trace, std::size_t rank);

}  // namespace farscale
