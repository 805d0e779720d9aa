#include "base/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/format.h"

namespace farscale {
namespace {

constexpr double kNever = 1.0;
constexpr Severity kNote = Severity::kNote;
constexpr Severity kWarning = Severity::kWarning;

const std::vector<AnomalyType>& Table() {
  static const std::vector<AnomalyType> table = {
      {Anomaly::kDamagedLine, "damagedLine", kWarning, "lines of the trace are damaged and were left out", 0.01},
      {Anomaly::kTraceEndsEarly, "traceEndsEarly", kWarning,
       "traces end before the time that their header gives; the rest of the run is not known", kNever},
      {Anomaly::kHeaderContradicted, "headerContradicted", kWarning,
       "records or definitions contradict the header of the trace; the records count", kNever},
      {Anomaly::kCallEdgeMissing, "callEdgeMissing", kWarning,
       "edges of MPI calls have no other edge: a call without leave lasts until the next one, a leave without call was "
       "ignored",
       0.01},
      {Anomaly::kRankWithoutRecords, "rankWithoutRecords", kWarning,
       "ranks recorded nothing; they count with no useful time", kNever},
      {Anomaly::kClockBackwards, "clockBackwards", kWarning,
       "events lie before the event ahead of them on the same location; time across such a jump counts as zero", 0.001},
      {Anomaly::kLeaveWithoutEnter, "leaveWithoutEnter", kWarning, "region leaves have no enter and were ignored",
       0.01},
      {Anomaly::kRegionLeftOpen, "regionLeftOpen", kNote,
       "regions were entered and not left; they end where the region around them or the trace ends", kNever},
      {Anomaly::kRecordOutsideMpi, "recordOutsideMpi", kWarning,
       "communication records lie outside any MPI call and were ignored", 0.01},
      {Anomaly::kRequestUnknown, "requestUnknown", kWarning,
       "completions name a request that was never posted; the operation counts as posted at its completion", 0.01},
      {Anomaly::kRequestNeverCompleted, "requestNeverCompleted", kNote, "requests were posted and never completed",
       kNever},
      {Anomaly::kRequestCancelled, "requestCancelled", kNote, "requests were cancelled and carry no message", kNever},
      {Anomaly::kPeerOutsideCommunicator, "peerOutsideCommunicator", kWarning,
       "messages name a peer that is not in their communicator and were ignored", 0.01},
      {Anomaly::kCollectiveWithoutRecord, "collectiveWithoutRecord", kWarning,
       "collective calls were recorded without communicator; the replay cannot synchronise them", kNever},
      {Anomaly::kOneSidedNotReplayed, "oneSidedNotReplayed", kWarning,
       "calls of one-sided communication do not tell whom they wait for: fences and epochs without records, and locks",
       kNever},
      {Anomaly::kMpiOnWorkerThread, "mpiOnWorkerThread", kWarning,
       "MPI calls were made by threads other than the main one; they are not part of the analysis", 0.01},
      {Anomaly::kThreadsAtProcessLevel, "threadsAtProcessLevel", kNote,
       "processes with several threads are analysed at process level: time outside MPI on the main thread is useful, "
       "whatever the other threads do",
       kNever},
      {Anomaly::kTeamRecordsUnbalanced, "teamRecordsUnbalanced", kWarning,
       "forks of OpenMP teams have no join, or threads enter or leave a team that nobody forked; waiting there is not "
       "told",
       kNever},
      {Anomaly::kTeamNested, "teamNested", kNote,
       "OpenMP teams were forked inside other teams; waiting in the inner ones is not told", kNever},
      {Anomaly::kTeamIncomplete, "teamIncomplete", kWarning,
       "OpenMP teams were entered by other threads than belong to them; waiting there is not told", kNever},
      {Anomaly::kTeamBarrierMismatch, "teamBarrierMismatch", kWarning,
       "OpenMP teams have barriers that not all of their threads entered; waiting at the barriers of these teams is "
       "not told",
       kNever},
      {Anomaly::kTaskInTeamBarrier, "taskInTeamBarrier", kNote,
       "barriers of OpenMP teams have other regions inside, as tasks do; waiting at the barriers of these teams is not "
       "told",
       kNever},
      {Anomaly::kThreadOutsideTeams, "threadOutsideTeams", kWarning,
       "threads recorded something outside of any OpenMP team, or were in none; that is not part of the analysis",
       kNever},
      {Anomaly::kOtherLocationsIgnored, "otherLocationsIgnored", kNote,
       "locations of accelerators or of asynchronous metrics are not part of the analysis", kNever},
      {Anomaly::kMeasurementOff, "measurementOff", kWarning,
       "microseconds of the run lie in stretches with recording switched off; they count as time outside MPI", kNever},
      {Anomaly::kBufferFlush, "bufferFlush", kWarning,
       "microseconds of the run were spent writing trace buffers; they count as time outside MPI", kNever},
      {Anomaly::kCounterBackwards, "counterBackwards", kWarning,
       "counter samples are lower than the one before; the counter is not used where that happens", kNever},
      {Anomaly::kCounterNotAtEdges, "counterNotAtEdges", kWarning,
       "region and call edges have no counter sample of their own; the last sample before is used", kNever},
      {Anomaly::kCounterNotAlwaysOn, "counterNotAlwaysOn", kWarning,
       "counters were read only part of the time, since the measurement switched between sets of counters; they are "
       "not used where that happens",
       kNever},
      {Anomaly::kCompletionUnknown, "completionUnknown", kNote,
       "non-blocking sends and collectives do not tell where they complete; the replay lets nobody wait for them",
       kNever},
      {Anomaly::kRootUnknown, "rootUnknown", kWarning,
       "collectives with a root do not tell which rank it is; the replay lets all wait for all", kNever},
      {Anomaly::kCommunicatorUnknown, "communicatorUnknown", kWarning,
       "collective calls name a communicator that the trace does not define; the replay cannot synchronise them", 0.01},
      {Anomaly::kOnlyLongBursts, "onlyLongBursts", kWarning,
       "ranks recorded only long bursts of computation for a time; the calls between them are missing, so that "
       "nothing but useful time can be trusted",
       kNever},
      {Anomaly::kUnmatchedSend, "unmatchedSend", kWarning,
       "messages were sent that no rank received; the replay treats them as eager", 0.01},
      {Anomaly::kUnmatchedReceive, "unmatchedReceive", kWarning,
       "messages were received that no rank sent; the replay has them ready at the start", 0.01},
      {Anomaly::kMessageSizeMismatch, "messageSizeMismatch", kWarning,
       "matched messages have a different size at sender and receiver, so they may be matched wrongly", 0.01},
      {Anomaly::kCollectiveMismatch, "collectiveMismatch", kWarning,
       "collective operations differ in kind between the ranks of a communicator, or some ranks miss them", 0.01},
      {Anomaly::kMessageCutAtEdge, "messageCutAtEdge", kNote,
       "messages cross the edge of the phase's window: sends are eager, receives find the message ready", kNever},
      {Anomaly::kCollectiveCutAtEdge, "collectiveCutAtEdge", kNote,
       "collectives lie in the phase's window on some ranks only and synchronise just those", kNever},
      {Anomaly::kRendezvousReleased, "rendezvousReleased", kWarning,
       "large sends waited for each other in the replay although the trace shows that they completed; they were "
       "treated as eager",
       kNever},
      {Anomaly::kIdealAboveMeasured, "idealAboveMeasured", kWarning,
       "phases take longer on the ideal network than measured, so transfer is above 1: clocks of ranks differ, or ranks "
       "wait in occurrences of a phase for what they waited for before them",
       kNever},
      {Anomaly::kWaitsUnknown, "waitsUnknown", kWarning,
       "calls may have waited for ranks that the trace does not tell, so there are no serialization and transfer",
       kNever},
      {Anomaly::kOneSidedTakesNoTime, "oneSidedTakesNoTime", kWarning,
       "one-sided operations take no time on the network of the replay; only their synchronisation does", kNever},
      {Anomaly::kEndedBeforeNeeded, "endedBeforeNeeded", kWarning,
       "calls ended before another rank began to send, or to take part in, what they need, so clocks of ranks differ; "
       "what waits there cannot be told",
       0.2},
      {Anomaly::kCounterNotUsed, "counterNotUsed", kWarning,
       "counters are there but cannot say how long computation takes, so the noise removal goes without them", kNever},
      {Anomaly::kBurstInterrupted, "burstInterrupted", kWarning,
       "bursts of computation contain an interruption of the recording; the noise removal leaves them as measured",
       kNever},
      {Anomaly::kClockBorrowed, "clockBorrowed", kNote,
       "ranks have too few bursts of computation to tell their clock; the noise removal takes the median of the others",
       kNever},
      {Anomaly::kIterationWithoutLike, "iterationWithoutLike", kNote,
       "iterations have no two others with the same calls; the noise removal leaves them as measured", kNever},
      {Anomaly::kNotRunning, "notRunning", kNote,
       "microseconds lie outside MPI but are not useful, since the trace says that the rank did not run (input and "
       "output, writing of trace buffers and the like); the replay counts them as computation",
       kNever},
      {Anomaly::kPreempted, "preempted", kWarning,
       "ranks had a core for only part of their time outside MPI: they share cores with each other or with something "
       "else, or sleep; useful time contains the rest",
       kNever},
      {Anomaly::kRankWithoutPhase, "rankWithoutPhase", kWarning,
       "ranks never enter the phase; they count with no useful time", kNever},
      {Anomaly::kNoLoopFound, "noLoopFound", kWarning,
       "phases should be the iterations that the MPI calls show, but these show no loop; the whole run stands in",
       kNever},
      {Anomaly::kPhaseNotInRun, "phaseNotInRun", kWarning,
       "phases do not occur in a run that occur in others; it has no factors for them", kNever},
      {Anomaly::kIterationsDiffer, "iterationsDiffer", kWarning,
       "iterations that were found or chosen compute far more or less than the scaling of the other runs lets expect; "
       "they may be of another loop or kind, so check them with farscale phases",
       kNever},
      {Anomaly::kIterationLeftOut, "iterationLeftOut", kNote,
       "iterations were left out since they stand out as disturbed, or are not among those kept", kNever},
      {Anomaly::kDisturbanceUnknown, "disturbanceUnknown", kWarning,
       "phases should keep clean iterations only, but disturbed ones cannot be told: there are fewer than three "
       "iterations, ranks differ in how many they have, or more than a third stand out; then all count as clean",
       kNever},
      {Anomaly::kUnevenIterations, "unevenIterations", kWarning,
       "ranks differ in how often they run the phase; each rank is cut by its own count", kNever},
      {Anomaly::kRankInNoGroup, "rankInNoGroup", kNote,
       "ranks do work like those of no group found; each counts with the nearest", kNever},
      {Anomaly::kGroupNotInEveryRun, "groupNotInEveryRun", kWarning,
       "groups of ranks were found in some runs only; they are fitted to those", kNever},
      {Anomaly::kGroupWithoutFactors, "groupWithoutFactors", kNote,
       "groups of ranks compute nothing in a phase, so they have no factors there", kNever},
      {Anomaly::kPhaseEstimateClamped, "phaseEstimateClamped", kNote,
       "estimates of the ideal time from phase profiles left the range they must lie in and were clamped", kNever},
      {Anomaly::kScalingGuessed, "scalingGuessed", kWarning,
       "the study does not say whether it scales strongly or weakly; decided from how the work grows", kNever},
      {Anomaly::kScalingUnlikely, "scalingUnlikely", kWarning,
       "the work of the runs does not grow as their scaling says; where that is wrong, so are speedup, computation "
       "scalability, global efficiency and what is projected from them",
       kNever},
      {Anomaly::kUnevenThreads, "unevenThreads", kWarning,
       "ranks differ in their number of threads; the largest counts", kNever},
      {Anomaly::kThreadsDifferBetweenRuns, "threadsDifferBetweenRuns", kWarning,
       "phases have runs with different numbers of threads a process; at process level such runs do not compare like "
       "with like, and no speedup is projected",
       kNever},
      {Anomaly::kProgramNameDiffers, "programNameDiffers", kNote,
       "runs carry different program names but the same regions; they count as one program", kNever},
      {Anomaly::kWorkDiffersBetweenRepeats, "workDiffersBetweenRepeats", kNote,
       "repeats of one core count differ in useful time by more than a tenth", kNever},
      {Anomaly::kValuesMissing, "valuesMissing", kWarning,
       "rows lack a factor that other rows of the phase have; each factor is fitted to the rows that have it", kNever},
      {Anomaly::kShareAboveOne, "shareAboveOne", kWarning,
       "factors that cannot exceed 1 are given above 1 by more than rounding", kNever},
      {Anomaly::kParentNotProduct, "parentNotProduct", kWarning,
       "factors are given that are not the product of the factors they consist of; only the latter are extrapolated",
       kNever},
      {Anomaly::kModelNotUsed, "modelNotUsed", kWarning,
       "factors have a model of their own that is not used: they are products of other factors, or unknown here",
       kNever},
      {Anomaly::kScenarioNotPossible, "scenarioNotPossible", kWarning,
       "replays on other machines are missing, since the runs do not tell what they need", kNever},
      {Anomaly::kCounterImpossible, "counterImpossible", kWarning,
       "counters of TALP are negative or what no core counts, and are left out", kNever},
      {Anomaly::kTimesImpossible, "timesImpossible", kWarning,
       "times of TALP are longer than what they are part of; the efficiencies count as they are given", kNever},
      {Anomaly::kFactorImpossible, "factorImpossible", kWarning,
       "efficiencies of TALP do not lie between 0 and 1 and are left out", kNever},
      {Anomaly::kFileContradictsItself, "fileContradictsItself", kWarning,
       "efficiencies of TALP are by more than rounding not what its times or their own parts give; times count, then "
       "parts",
       kNever},
      {Anomaly::kRegionWithoutFactors, "regionWithoutFactors", kWarning,
       "regions of TALP never ran, ran on some ranks alone or tell no factor, and are left out", kNever},
      {Anomaly::kDevicesNotCounted, "devicesNotCounted", kNote,
       "TALP's factors of accelerators are not taken; host time in their calls is time outside MPI, so it is useful",
       kNever},
      {Anomaly::kHistoryFileSkipped, "historyFileSkipped", kWarning,
       "files of the history are no results with commit and date and were skipped", kNever},
      {Anomaly::kSameResultsTwice, "sameResultsTwice", kWarning,
       "results are the same numbers as others of the same code and count once, not as repeats", kNever},
      {Anomaly::kScalingExcluded, "scalingExcluded", kWarning,
       "results of the history say a scaling that their runs exclude; their speedup, computation scalability and "
       "global "
       "efficiency do not count",
       kNever},
      {Anomaly::kTermsDiffer, "termsDiffer", kWarning,
       "results scale otherwise than those they stand beside, or have no reference run in common with them; speedup, "
       "computation scalability and global efficiency are not compared with theirs",
       kNever},
      {Anomaly::kReferenceMoved, "referenceMoved", kNote,
       "results have another reference run than those they stand beside; to compare, both are put in terms of a run "
       "that both have",
       kNever},
  };
  return table;
}

}  // namespace

const std::vector<AnomalyType>& AllAnomalies() { return Table(); }

const AnomalyType& Describe(Anomaly anomaly) {
  for (const AnomalyType& type : Table()) {
    if (type.anomaly == anomaly) return type;
  }
  throw std::logic_error("anomaly without a row in the table");
}

void Diagnostics::Add(Anomaly anomaly, std::uint64_t count, std::string_view example) {
  if (count == 0) return;
  Entry& entry = entries_[anomaly];
  entry.count += count;
  if (entry.example.empty()) entry.example = example;
}

void Diagnostics::AddPopulation(Anomaly anomaly, std::uint64_t population) {
  entries_[anomaly].population += population;
}

void Diagnostics::Merge(const Diagnostics& other) {
  for (const auto& [anomaly, entry] : other.entries_) {
    Add(anomaly, entry.count, entry.example);
    AddPopulation(anomaly, entry.population);
  }
}

std::uint64_t Diagnostics::count(Anomaly anomaly) const {
  const auto found = entries_.find(anomaly);
  return found == entries_.end() ? 0 : found->second.count;
}

bool Diagnostics::empty() const {
  for (const auto& [anomaly, entry] : entries_) {
    if (entry.count > 0) return false;
  }
  return true;
}

std::vector<Finding> Diagnostics::findings() const {
  std::vector<Finding> result;
  for (const auto& [anomaly, entry] : entries_) {
    if (entry.count == 0) continue;
    const AnomalyType& type = Describe(anomaly);
    result.push_back({std::string(type.id), type.severity, std::string(type.sentence), entry.count, entry.population,
                      entry.example});
  }
  return result;
}

void Diagnostics::FailPastThreshold(const std::string& where) const {
  for (const auto& [anomaly, entry] : entries_) {
    const AnomalyType& type = Describe(anomaly);
    if (type.fatal_share >= kNever || entry.population == 0) continue;
    const double share = static_cast<double>(entry.count) / static_cast<double>(entry.population);
    if (share <= type.fatal_share) continue;
    std::string what = fmt::format("{} of {} {} ({}, above the limit of {:.1f} %)", entry.count, entry.population,
                                   type.sentence, type.id, 100 * type.fatal_share);
    if (!entry.example.empty()) what += ", first " + entry.example;
    throw Error(ErrorKind::kInput, where, what, "the trace is damaged or was not recorded correctly");
  }
}

bool PutsAllInDoubt(const Finding& finding) {
  return finding.id == Describe(Anomaly::kScalingUnlikely).id || finding.id == Describe(Anomaly::kTermsDiffer).id;
}

std::string DetailOf(const Finding& finding) {
  std::string text;
  if (finding.population > 0) {
    text = fmt::format("{} of {}", FormatCount(finding.count), FormatCount(finding.population));
  } else if (finding.count > 1) {
    text = FormatCount(finding.count);
  }
  if (finding.example.empty()) return text;
  if (finding.count > 1) return text + ", first " + finding.example;
  return text + (text.empty() ? "" : ", ") + finding.example;
}

std::string ToSentence(const Finding& finding) {
  const std::string detail = DetailOf(finding);
  return finding.id + ": " + finding.sentence + (detail.empty() ? "" : " (" + detail + ")");
}

std::vector<Finding> JoinWarnings(const std::vector<std::pair<std::string, const std::vector<Finding>*>>& runs) {
  std::vector<Finding> joined;
  for (const auto& [name, findings] : runs) {
    for (const Finding& finding : *findings) {
      if (finding.severity != Severity::kWarning) continue;
      const auto known =
          std::find_if(joined.begin(), joined.end(), [&](const Finding& other) { return other.id == finding.id; });
      if (known != joined.end()) {
        known->count += finding.count;
        known->population += finding.population;
        continue;
      }
      joined.push_back(finding);
      if (!name.empty()) joined.back().example = finding.example.empty() ? name : name + ": " + finding.example;
    }
  }
  return joined;
}

void AddMissing(const std::vector<Finding>& more, std::vector<Finding>& findings) {
  for (const Finding& finding : more) {
    const bool is_there =
        std::any_of(findings.begin(), findings.end(), [&](const Finding& other) { return other.id == finding.id; });
    if (!is_there) findings.push_back(finding);
  }
}

std::vector<std::string> DoubtsOf(const std::vector<Finding>& findings) {
  std::vector<std::string> doubts;
  for (const Finding& finding : findings) {
    if (!PutsAllInDoubt(finding)) continue;
    const std::string detail = DetailOf(finding);
    doubts.push_back(finding.sentence + (detail.empty() ? "" : " (" + detail + ")") + ".");
  }
  return doubts;
}

}  // namespace farscale
