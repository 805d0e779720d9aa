// Anomalies of histories and of the results compared.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kHistoryFileSkipped{
    "historyFileSkipped", Severity::kWarning,
    "files of the history are no results with commit and date and were skipped"};
inline constexpr Anomaly kSameResultsTwice{
    "sameResultsTwice", Severity::kWarning,
    "results are the same numbers as others of the same code and count once, not as repeats"};
inline constexpr Anomaly kScalingExcluded{
    "scalingExcluded", Severity::kWarning,
    "results of the history state a scaling that their runs exclude; speedup and global efficiency do not count"};
inline constexpr Anomaly kReferenceMoved{
    "referenceMoved", Severity::kNote,
    "results have another reference run than those they are compared with; both now refer to one that both have"};

}  // namespace farscale::anomaly
