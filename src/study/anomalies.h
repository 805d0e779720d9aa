// Anomalies found between the runs of a study.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kPhaseNotInRun{"phaseNotInRun", Severity::kWarning,
                                        "phases of other runs do not occur in a run; it has no factors for them"};
inline constexpr Anomaly kIterationsDiffer{
    "iterationsDiffer", Severity::kWarning,
    "iterations compute far more or less than the scaling suggests; check them with farscale phases"};
inline constexpr Anomaly kGroupNotInEveryRun{"groupNotInEveryRun", Severity::kWarning,
                                             "groups of ranks were found in some runs only; they are fitted to those"};
inline constexpr Anomaly kProgramNameDiffers{
    "programNameDiffers", Severity::kNote,
    "runs carry different program names but the same regions; they count as one program"};
inline constexpr Anomaly kMeasuredOtherProgram{
    "measuredOtherProgram", Severity::kWarning,
    "a run measured without a trace names another program than the other runs"};
inline constexpr Anomaly kScenarioNotPossible{
    "scenarioNotPossible", Severity::kWarning,
    "replays on other machines are missing, since the runs lack what they need"};

inline constexpr Anomaly kNotGrown{
    "notGrown", Severity::kWarning,
    "phases, or their transfer, are projected by curves alone, since they could not be grown"};

inline constexpr Anomaly kNoGrownRun{"noGrownRun", Severity::kWarning, "runs that were asked for could not be grown"};

inline constexpr Anomaly kGrownWithoutNetwork{"grownWithoutNetwork", Severity::kWarning,
                                              "messages take no time in grown runs, so that nobody waits for them"};

}  // namespace farscale::anomaly
