// Anomalies found while matching, replaying and removing noise.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kUnmatchedSend{"unmatchedSend", Severity::kWarning,
                                        "messages were sent that no rank received; the replay treats them as eager",
                                        0.01};
inline constexpr Anomaly kUnmatchedReceive{
    "unmatchedReceive", Severity::kWarning,
    "messages were received that no rank sent; the replay has them ready at the start", 0.01};
inline constexpr Anomaly kMessageSizeMismatch{
    "messageSizeMismatch", Severity::kWarning,
    "matched messages have a different size at sender and receiver, so they may be matched wrongly", 0.01};
inline constexpr Anomaly kCollectiveMismatch{
    "collectiveMismatch", Severity::kWarning,
    "collective operations differ in kind between the ranks of a communicator, or some ranks miss them", 0.01};
inline constexpr Anomaly kClocksCorrected{
    "clocksCorrected", Severity::kWarning,
    "messages and collectives end before they can, so clocks differ; all times are corrected"};
inline constexpr Anomaly kClocksSkewed{
    "clocksSkewed", Severity::kWarning,
    "nodes leave all collectives later than others by the same time, so clocks differ; all times are corrected"};
inline constexpr Anomaly kClocksContradict{
    "clocksContradict", Severity::kWarning,
    "messages and collectives end before they can, and no clocks explain it; what needs elapsed time is left out"};
inline constexpr Anomaly kTimeDisplaced{
    "timeDisplaced", Severity::kWarning,
    "begins or ends of MPI calls lie apart from others and decide 1 % of useful time; check whether they are damaged"};
inline constexpr Anomaly kMessageCutAtEdge{
    "messageCutAtEdge", Severity::kNote,
    "messages cross the edge of the phase's window: sends are eager, receives find the message ready"};
inline constexpr Anomaly kCollectiveCutAtEdge{
    "collectiveCutAtEdge", Severity::kNote,
    "collectives lie in the phase's window on some ranks only and synchronise just those"};
inline constexpr Anomaly kRendezvousReleased{"rendezvousReleased", Severity::kWarning,
                                             "large sends waited for each other in the replay although the trace shows "
                                             "that they completed; they were treated as eager"};
inline constexpr Anomaly kMessageWithoutRecord{
    "messageWithoutRecord", Severity::kWarning,
    "calls wait for messages that have no record; from 1 % of MPI time on serialization and transfer are left out"};
inline constexpr Anomaly kOneSidedTakesNoTime{
    "oneSidedTakesNoTime", Severity::kWarning,
    "one-sided operations take no time on the network of the replay; only their synchronisation does"};
inline constexpr Anomaly kPreempted{
    "preempted", Severity::kWarning,
    "ranks shared cores or slept, which counts as useful, so efficiencies are too high; give every rank its own core"};
inline constexpr Anomaly kCountsImpossible{
    "countsImpossible", Severity::kWarning,
    "ranks count more than a processor can in their time: clock or counter is damaged, or several threads count"};
inline constexpr Anomaly kCounterNotUsed{
    "counterNotUsed", Severity::kWarning,
    "counters are there but do not show how long computation takes, so noise is removed without them"};
inline constexpr Anomaly kBurstInterrupted{
    "burstInterrupted", Severity::kWarning,
    "bursts of computation span a gap in the recording; their noise is not removed"};
inline constexpr Anomaly kClockBorrowed{"clockBorrowed", Severity::kNote,
                                        "ranks have too few bursts of computation to find their clock rate; the noise "
                                        "removal takes the median of the others"};
inline constexpr Anomaly kIterationWithoutLike{
    "iterationWithoutLike", Severity::kNote,
    "iterations have fewer than two others with the same calls; the noise removal leaves them as measured"};

}  // namespace farscale::anomaly
