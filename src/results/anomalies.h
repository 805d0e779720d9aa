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
    "runs have teams of other sizes than the threads a process that the study gives; cores are as the study says, "
    "efficiencies of the threads that the trace has"};
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
    "efficiencies that TALP gives for threads and devices follow other formulas than those here, which are taken from "
    "its times (docs/formulas.md, threads and devices)"};
inline constexpr Anomaly kTalpFactorsFarOff{
    "talpFactorsFarOff", Severity::kWarning,
    "efficiencies that TALP gives differ by more than 0.05 from those here, which are useful time over that of all "
    "CPUs (docs/formulas.md, factors)"};
inline constexpr Anomaly kWaitsForMpiAssumed{
    "waitsForMpiAssumed", Severity::kNote,
    "TALP before version 3.8 counts threads that wait for MPI as outside of parallel regions; all threads of a process "
    "but the one that calls are taken to wait"};

}  // namespace farscale::anomaly
