// Anomalies inside a readable trace. Each has a name, is counted, is printed in every report, and past a stated
// share of what it is counted among it fails the run. Nothing is dropped without being counted here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

enum class Severity { kNote, kWarning };

enum class Anomaly {
  // Reading.
  kDamagedLine,
  kTraceEndsEarly,
  kHeaderContradicted,
  kCallEdgeMissing,
  kRankWithoutRecords,
  kClockBackwards,
  kLeaveWithoutEnter,
  kRegionLeftOpen,
  kRecordOutsideMpi,
  kRequestUnknown,
  kRequestNeverCompleted,
  kRequestCancelled,
  kPeerOutsideCommunicator,
  kCollectiveWithoutRecord,
  kOneSidedNotReplayed,
  kMpiOnWorkerThread,
  kThreadsAtProcessLevel,
  kTeamRecordsUnbalanced,
  kTeamNested,
  kTeamIncomplete,
  kTeamBarrierMismatch,
  kTaskInTeamBarrier,
  kThreadOutsideTeams,
  kOtherLocationsIgnored,
  kMeasurementOff,
  kBufferFlush,
  kCounterBackwards,
  kCounterNotAtEdges,
  kCounterNotAlwaysOn,
  kCompletionUnknown,
  kRootUnknown,
  kCommunicatorUnknown,
  kOnlyLongBursts,
  // Matching and replay.
  kUnmatchedSend,
  kUnmatchedReceive,
  kMessageSizeMismatch,
  kCollectiveMismatch,
  kMessageCutAtEdge,
  kCollectiveCutAtEdge,
  kRendezvousReleased,
  kIdealAboveMeasured,
  kWaitsUnknown,
  kOneSidedTakesNoTime,
  // Wait states.
  kEndedBeforeNeeded,
  // Noise removal.
  kCounterNotUsed,
  kBurstInterrupted,
  kClockBorrowed,
  kIterationWithoutLike,
  // Phases and factors.
  kNotRunning,
  kPreempted,
  kRankWithoutPhase,
  kNoLoopFound,
  kPhaseNotInRun,
  kIterationsDiffer,
  kIterationLeftOut,
  kDisturbanceUnknown,
  kUnevenIterations,
  kRankInNoGroup,
  kGroupNotInEveryRun,
  kGroupWithoutFactors,
  kPhaseEstimateClamped,
  kScalingGuessed,
  kScalingUnlikely,
  kUnevenThreads,
  kThreadsDifferBetweenRuns,
  kProgramNameDiffers,
  kWorkDiffersBetweenRepeats,
  kValuesMissing,
  kShareAboveOne,
  kParentNotProduct,
  kModelNotUsed,
  kScenarioNotPossible,
  // Files of TALP.
  kCounterImpossible,
  kTimesImpossible,
  kFactorImpossible,
  kFileContradictsItself,
  kRegionWithoutFactors,
  kDevicesNotCounted,
  // Gates and histories.
  kHistoryFileSkipped,
  kSameResultsTwice,
  kScalingExcluded,
  kTermsDiffer,
  kReferenceMoved,
};

// A row of the table of anomalies: name in JSON, how serious, one sentence, and the share above which the run fails
// (1 or more: never).
struct AnomalyType {
  Anomaly anomaly;
  std::string_view id;
  Severity severity;
  std::string_view sentence;
  double fatal_share;
};

const AnomalyType& Describe(Anomaly anomaly);
const std::vector<AnomalyType>& AllAnomalies();

// One anomaly as found: how often, among how many (0: not a share), and the first place it was seen.
struct Finding {
  std::string id;
  Severity severity = Severity::kNote;
  std::string sentence;
  std::uint64_t count = 0;
  std::uint64_t population = 0;
  std::string example;

  friend bool operator==(const Finding&, const Finding&) = default;
};

class Diagnostics {
 public:
  // Adds `count` occurrences; the first `example` given is kept.
  void Add(Anomaly anomaly, std::uint64_t count = 1, std::string_view example = {});
  // Adds to what the anomaly is counted among.
  void AddPopulation(Anomaly anomaly, std::uint64_t population);
  void Merge(const Diagnostics& other);

  std::uint64_t count(Anomaly anomaly) const;
  bool empty() const;
  // What was found, in the order of the table; anomalies that never occurred are left out.
  std::vector<Finding> findings() const;

  // Throws an input error naming the anomaly when its share is above its fatal share.
  void FailPastThreshold(const std::string& where) const;

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t population = 0;
    std::string example;
  };
  std::map<Anomaly, Entry> entries_;
};

// Whether it is about all that compares with the reference run: outputs say it at their top, in bold.
bool PutsAllInDoubt(const Finding& finding);
// "3 of 400, first at tick 17": how often and where; empty when there is nothing to add to the sentence.
std::string DetailOf(const Finding& finding);
// "clockBackwards: events lie before ... (3 of 400, first ...)" for a terminal or a log.
std::string ToSentence(const Finding& finding);
// The warnings of several runs as those of one file: occurrences are added up, and the first example says of which run
// it is. `runs`: their names and what was found in them; not null.
std::vector<Finding> JoinWarnings(const std::vector<std::pair<std::string, const std::vector<Finding>*>>& runs);
// Adds those whose like is not there.
void AddMissing(const std::vector<Finding>& more, std::vector<Finding>& findings);
// Those that outputs say at their top, each as a sentence with its details.
std::vector<std::string> DoubtsOf(const std::vector<Finding>& findings);

}  // namespace farscale
