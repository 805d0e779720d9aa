// Anomalies found while cutting phases and grouping ranks.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kRankWithoutPhase{"rankWithoutPhase", Severity::kWarning,
                                           "ranks never enter the phase; they count with no useful time"};
inline constexpr Anomaly kNoLoopFound{
    "noLoopFound", Severity::kWarning,
    "phases should be the iterations that the MPI calls show, but these show no loop; the whole run is taken instead"};
inline constexpr Anomaly kUnevenIterations{
    "unevenIterations", Severity::kWarning,
    "ranks differ in how often they run the phase; each rank is cut by its own count"};
inline constexpr Anomaly kRankInNoGroup{"rankInNoGroup", Severity::kNote,
                                        "ranks do work like those of no group found; each counts with the nearest"};

}  // namespace farscale::anomaly
