// Anomalies of traces, found while reading them.
#pragma once

#include "base/diagnostics.h"

namespace farscale::anomaly {

inline constexpr Anomaly kDamagedLine{"damagedLine", Severity::kWarning,
                                      "lines of the trace are damaged and were left out", 0.01};
inline constexpr Anomaly kTraceEndsEarly{
    "traceEndsEarly", Severity::kWarning,
    "traces end before the time that their header gives; the rest of the run is unknown"};
inline constexpr Anomaly kStateMissing{
    "stateMissing", Severity::kWarning,
    "states are missing between others of a rank; outside MPI the rank counts as not running there", 0.01};
inline constexpr Anomaly kRankWithoutStates{"rankWithoutStates", Severity::kWarning,
                                            "ranks recorded no states in which they run; all time outside MPI counts "
                                            "as useful, also when the rank did not run"};
inline constexpr Anomaly kMpiStateOutsideCall{
    "mpiStateOutsideCall", Severity::kWarning,
    "states show MPI where no event shows a call; from 1 % of MPI time on serialization and transfer are left out"};
inline constexpr Anomaly kRecordNotRead{"recordNotRead", Severity::kWarning,
                                        "records are of a type that farscale does not read and were left out"};
inline constexpr Anomaly kMpiNameContradicted{
    "mpiNameContradicted", Severity::kWarning,
    "MPI functions have another name in the .pcf file than by their number; the number counts", 0.5};
inline constexpr Anomaly kFunctionsLost{
    "functionsLost", Severity::kWarning,
    "functions are named beside the trace and none is in it: they were filtered away, and counters with them"};
inline constexpr Anomaly kMpiNameTwice{"mpiNameTwice", Severity::kWarning,
                                       "functions are called like an MPI function of the trace but are none of MPI; "
                                       "they count as functions of the program"};
inline constexpr Anomaly kNodesUnclear{
    "nodesUnclear", Severity::kWarning,
    "processes lie on parts of the machine of different kinds, so which of them share a node is uncertain"};
inline constexpr Anomaly kHeaderContradicted{
    "headerContradicted", Severity::kWarning,
    "records or definitions contradict the header of the trace; the records count"};
inline constexpr Anomaly kTimeOutsideRun{
    "timeOutsideRun", Severity::kWarning,
    "events lie outside the run that the clock properties give, so either are damaged; the events count"};
inline constexpr Anomaly kCallEdgeMissing{"callEdgeMissing", Severity::kWarning,
                                          "edges of MPI calls have no other edge: a call without leave lasts until the "
                                          "next one, a leave without call was ignored",
                                          0.01};
inline constexpr Anomaly kRankWithoutRecords{"rankWithoutRecords", Severity::kWarning,
                                             "ranks recorded nothing; factors are those of the other ranks"};
inline constexpr Anomaly kClockBackwards{
    "clockBackwards", Severity::kWarning,
    "events lie before the preceding event of the same location; time across such a jump counts as zero", 0.001};
inline constexpr Anomaly kLeaveWithoutEnter{"leaveWithoutEnter", Severity::kWarning,
                                            "region leaves have no enter and were ignored", 0.01};
inline constexpr Anomaly kRegionLeftOpen{
    "regionLeftOpen", Severity::kNote,
    "regions were entered and not left; they end where the region around them or the trace ends"};
inline constexpr Anomaly kRecordOutsideMpi{"recordOutsideMpi", Severity::kWarning,
                                           "communication records lie outside any MPI call and were ignored", 0.01};
inline constexpr Anomaly kRequestUnknown{
    "requestUnknown", Severity::kWarning,
    "completions name a request that was never posted; the operation counts as posted at its completion", 0.01};
inline constexpr Anomaly kRequestNeverCompleted{"requestNeverCompleted", Severity::kNote,
                                                "requests were posted and never completed"};
inline constexpr Anomaly kRequestCancelled{"requestCancelled", Severity::kNote,
                                           "requests were cancelled and carry no message"};
inline constexpr Anomaly kPeerOutsideCommunicator{
    "peerOutsideCommunicator", Severity::kWarning,
    "messages name a peer that is not in their communicator and were ignored", 0.01};
inline constexpr Anomaly kCollectiveWithoutRecord{
    "collectiveWithoutRecord", Severity::kWarning,
    "collective calls were recorded without communicator; the replay cannot synchronise them"};
inline constexpr Anomaly kOneSidedNotReplayed{
    "oneSidedNotReplayed", Severity::kWarning,
    "calls of one-sided communication do not say whom they wait for: fences and epochs without records, and locks"};
inline constexpr Anomaly kSwitchedOff{
    "switchedOff", Severity::kWarning,
    "microseconds of the run lie where recording was switched off on all ranks; they are left out of all times"};
inline constexpr Anomaly kRegionsAlone{
    "regionsAlone", Severity::kNote,
    "regions chosen by --record-only were recorded alone; factors of the whole run say little"};
inline constexpr Anomaly kMpiOnWorkerThread{
    "mpiOnWorkerThread", Severity::kWarning,
    "MPI calls were made by threads other than the main one; they are not part of the analysis"};
inline constexpr Anomaly kThreadsAtProcessLevel{
    "threadsAtProcessLevel", Severity::kWarning,
    "processes have threads that nothing is known of: efficiencies are those of main threads alone"};
inline constexpr Anomaly kTeamRecordsUnbalanced{"teamRecordsUnbalanced", Severity::kWarning,
                                                "forks of OpenMP teams have no join, or threads enter or leave a team "
                                                "that nobody forked; waiting there is unknown"};
inline constexpr Anomaly kTeamNested{
    "teamNested", Severity::kNote, "OpenMP teams were forked inside other teams; waiting in the inner ones is unknown"};
inline constexpr Anomaly kTeamIncomplete{
    "teamIncomplete", Severity::kWarning,
    "OpenMP teams were entered by other threads than belong to them; waiting there is unknown"};
inline constexpr Anomaly kTeamBarrierMismatch{"teamBarrierMismatch", Severity::kWarning,
                                              "OpenMP teams have barriers that not all of their threads entered; "
                                              "waiting at the barriers of these teams is unknown"};
inline constexpr Anomaly kTaskInTeamBarrier{"taskInTeamBarrier", Severity::kNote,
                                            "barriers of OpenMP teams have other regions inside, as tasks do; waiting "
                                            "at the barriers of these teams is unknown"};
inline constexpr Anomaly kThreadOutsideTeams{
    "threadOutsideTeams", Severity::kWarning,
    "threads recorded something outside of any OpenMP team, or were in none; that is not part of the analysis"};
inline constexpr Anomaly kDeviceRecordsUnbalanced{
    "deviceRecordsUnbalanced", Severity::kWarning,
    "kernels or copies on devices have a begin or an end only, or end before they begin; they are left out"};
inline constexpr Anomaly kDeviceClockDiffers{
    "deviceClockDiffers", Severity::kWarning,
    "kernels or copies lie outside of their process: clocks of devices differ, and factors of devices with them"};
inline constexpr Anomaly kDeviceCallsUnrecorded{
    "deviceCallsUnrecorded", Severity::kWarning,
    "devices compute, but no thread of a host records calls to them: waiting for devices counts as useful time"};
inline constexpr Anomaly kOtherLocationsIgnored{
    "otherLocationsIgnored", Severity::kNote,
    "locations of accelerators or of asynchronous metrics are not part of the analysis"};
inline constexpr Anomaly kCounterBackwards{
    "counterBackwards", Severity::kWarning,
    "counter samples are lower than the one before; the counter is not used where that happens"};
inline constexpr Anomaly kCounterNotAtEdges{
    "counterNotAtEdges", Severity::kWarning,
    "region and call edges have no counter sample of their own; the last sample before is used"};
inline constexpr Anomaly kCounterNotAlwaysOn{
    "counterNotAlwaysOn", Severity::kWarning,
    "counters were read part of the time, as the measurement switched between sets; there they are not used"};
inline constexpr Anomaly kCounterUnclear{
    "counterUnclear", Severity::kWarning,
    "counters are not defined as what their names say, or a bit of the name is wrong; they are not used"};
inline constexpr Anomaly kThreadWithoutCounter{
    "threadWithoutCounter", Severity::kWarning,
    "counters were not recorded on threads other than the main one; factors of these counters are left out"};
inline constexpr Anomaly kCompletionUnknown{
    "completionUnknown", Severity::kNote,
    "non-blocking sends and collectives do not say where they complete; in the replay nobody waits for them"};
inline constexpr Anomaly kRootUnknown{
    "rootUnknown", Severity::kWarning,
    "collectives with a root do not say which rank it is; in the replay all wait for all"};
inline constexpr Anomaly kCommunicatorUnknown{
    "communicatorUnknown", Severity::kWarning,
    "collective calls name a communicator that the trace does not define; the replay cannot synchronise them", 0.01};
inline constexpr Anomaly kOnlyLongBursts{
    "onlyLongBursts", Severity::kWarning,
    "ranks recorded only long bursts for a time; calls between them are missing, so only useful time is right"};

}  // namespace farscale::anomaly
