// Anomalies of runs and of tables of factors.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kIdealAboveMeasured{
    "idealAboveMeasured", Severity::kWarning,
    "phases have a transfer above 1: clocks differ, or a wait that began before the phase ends inside it"};
inline constexpr Anomaly kWaitsUnknown{
    "waitsUnknown", Severity::kWarning,
    "calls may have waited for ranks that the trace does not name, so there are no serialization and transfer"};
inline constexpr Anomaly kMeasurementOff{"measurementOff", Severity::kWarning,
                                         "microseconds of some ranks were not recorded while others were: neither "
                                         "useful nor MPI; efficiencies may be too low"};
inline constexpr Anomaly kBufferFlush{
    "bufferFlush", Severity::kWarning,
    "microseconds of the run went into writing trace buffers and count as computation"};
inline constexpr Anomaly kNotRunning{"notRunning", Severity::kNote,
                                     "microseconds lie outside MPI but are not useful: the trace says that the rank "
                                     "did not run; the replay counts them"};
inline constexpr Anomaly kIterationLeftOut{
    "iterationLeftOut", Severity::kNote,
    "iterations are excluded as disturbed (clean = false keeps them), or are not among those kept"};
inline constexpr Anomaly kDisturbanceUnknown{"disturbanceUnknown", Severity::kWarning,
                                             "phases should keep clean iterations only, but too few or too many stand "
                                             "out to find the disturbed ones; all count"};
inline constexpr Anomaly kGroupWithoutFactors{
    "groupWithoutFactors", Severity::kNote,
    "groups of ranks compute nothing in a phase, so they have no factors there"};
inline constexpr Anomaly kPhaseEstimateClamped{
    "phaseEstimateClamped", Severity::kNote,
    "estimates of the ideal time from phase profiles left the range they must lie in and were clamped"};
inline constexpr Anomaly kScalingGuessed{
    "scalingGuessed", Severity::kWarning,
    "runs do not say whether they scale strongly or weakly, so their work or run times decide; --scaling sets it"};
inline constexpr Anomaly kScalingUnknown{"scalingUnknown", Severity::kWarning,
                                         "useful time changes with the threads of a process; without --scaling there "
                                         "is no speedup or computation scalability"};
inline constexpr Anomaly kTimesOnly{
    "timesOnly", Severity::kNote,
    "run times tell neither where time is lost nor what the smallest run loses; traces of three runs do"};
inline constexpr Anomaly kScalingUnlikely{
    "scalingUnlikely", Severity::kWarning,
    "the work of the runs does not grow as their scaling says, so speedup and global efficiency may be wrong"};
inline constexpr Anomaly kTermsDiffer{
    "termsDiffer", Severity::kWarning,
    "results differ in scaling, or have no common reference run; speedup and global efficiency are not compared"};
inline constexpr Anomaly kThreadsDifferBetweenRuns{
    "threadsDifferBetweenRuns", Severity::kWarning,
    "phases have runs with different threads a process, and no speedup: record what threads do, or keep to one number"};
inline constexpr Anomaly kSplitsDiffer{
    "splitsDiffer", Severity::kNote,
    "phases have runs that split the same cores differently; best splits of cores are predicted instead of curves"};
inline constexpr Anomaly kSlowerSplits{
    "slowerSplits", Severity::kNote,
    "of run times on the same cores only the fastest split into processes and threads counts"};
inline constexpr Anomaly kOutlyingRepeat{
    "outlyingRepeat", Severity::kWarning,
    "repeats far from the others on as many cores are left out; look for what disturbed them"};
inline constexpr Anomaly kWorkDiffersBetweenRepeats{
    "workDiffersBetweenRepeats", Severity::kNote,
    "repeats of one core count differ in useful time by more than a tenth"};
inline constexpr Anomaly kValuesMissing{
    "valuesMissing", Severity::kWarning,
    "rows lack a factor that other rows of the phase have; it is fitted to the others"};
inline constexpr Anomaly kShareAboveOne{"shareAboveOne", Severity::kWarning,
                                        "factors that should not exceed 1 are given above 1 by more than rounding"};
inline constexpr Anomaly kParentNotProduct{
    "parentNotProduct", Severity::kWarning,
    "factors are given that are not the product of the factors they consist of; only the latter are extrapolated"};
inline constexpr Anomaly kTableContradictsItself{
    "tableContradictsItself", Severity::kWarning,
    "values of a table contradict each other: it is damaged or was changed; correct it, or make it anew"};

}  // namespace farscale::anomaly
