// Anomalies of the files in which runs are measured.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kFileChanged{"fileChanged", Severity::kWarning,
                                      "files are damaged, or were changed after farscale wrote them; if that was on "
                                      "purpose, remove \"checksum\" from them"};
inline constexpr Anomaly kUnevenThreads{"unevenThreads", Severity::kWarning,
                                        "ranks differ in their number of threads; the largest counts"};
inline constexpr Anomaly kThreadsContradicted{
    "threadsContradicted", Severity::kWarning,
    "runs have teams of other sizes than the study says: cores are as it says, efficiencies as the trace has them"};
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
inline constexpr Anomaly kDevicesNotCounted{"devicesNotCounted", Severity::kNote,
                                            "TALP's times of accelerators cannot be, so there are no factors of them"};
inline constexpr Anomaly kTalpFactorsDiffer{
    "talpFactorsDiffer", Severity::kNote,
    "efficiencies of threads and devices follow other formulas in TALP; these are from its times (docs/formulas.md)"};
inline constexpr Anomaly kTalpFactorsFarOff{
    "talpFactorsFarOff", Severity::kWarning,
    "efficiencies differ by more than 0.05 from those of TALP: these are useful time over that of all CPUs"};
inline constexpr Anomaly kWaitsForMpiAssumed{
    "waitsForMpiAssumed", Severity::kNote,
    "TALP before 3.8 does not tell which threads wait for MPI; all but the calling one are taken to wait"};

}  // namespace farscale::anomaly
