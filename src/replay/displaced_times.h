// Time stamps that do not fit their trace although nothing runs backwards: an edge of an MPI call, one of millions, may
// decide a factor.
#pragma once

#include "base/diagnostics.h"
#include "trace/trace.h"

namespace farscale {

// Warns of edges of MPI calls that lie apart from the same edges of other iterations of the rank, and of the other
// ranks, by a hundredth of the largest useful time or more, while what lies before and after them takes as long as
// usual. Programs that do not repeat what they do give no reason to doubt.
Diagnostics FindDisplacedTimes(const Trace& trace);

}  // namespace farscale
