// Anomalies of the files in which runs are measured.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kUnevenThreads{"unevenThreads", Severity::kWarning,
                                        "ranks differ in their number of threads; the largest counts"};
inline constexpr Anomaly kCounterImpossible{"counterImpossible", Severity::kWarning,
                                            "counters of TALP are negative or what no core counts, and are left out"};
inline constexpr Anomaly kTimesImpossible{
    "timesImpossible", Severity::kWarning,
    "times of TALP are longer than what they are part of; the efficiencies count as they are given"};
inline constexpr Anomaly kFactorImpossible{"factorImpossible", Severity::kWarning,
                                           "efficiencies of TALP do not lie between 0 and 1 and are left out"};
inline constexpr Anomaly kFileContradictsItself{"fileContradictsItself", Severity::kWarning,
                                                "efficiencies of TALP are by more than rounding not what its times or "
                                                "their own parts give; times count, then parts"};
inline constexpr Anomaly kRegionWithoutFactors{
    "regionWithoutFactors", Severity::kWarning,
    "regions of TALP never ran, ran on some ranks alone or have no factor, and are left out"};
inline constexpr Anomaly kDevicesNotCounted{
    "devicesNotCounted", Severity::kNote,
    "TALP's factors of accelerators are not taken; host time in their calls is time outside MPI, so it is useful"};

}  // namespace farscale::anomaly
