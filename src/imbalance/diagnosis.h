// Where a phase of one run loses time: wait states, what caused them, what decided its length
// [Boehme13, chapter 4; docs/formulas.md, imbalance].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/waits/activities.h"
#include "imbalance/causes/cause.h"
#include "imbalance/waits/collective_waits.h"
#include "imbalance/delays/critical_path.h"
#include "imbalance/delays/delay_costs.h"
#include "imbalance/causes/load_shape.h"
#include "imbalance/causes/process_grid.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/counters.h"
#include "trace/trace.h"

namespace farscale {

// Of one rank in one call path, or of several added up. Seconds of ranks' time, but for `critical`, which is time of
// the run.
struct PathLosses {
  double time = 0;                       // with its waits
  std::uint64_t visits = 0;              // activities
  ByWaitKind waiting{};                  // by kind
  double wrong_order = 0;                // of the late senders those that another order of receiving would have avoided
  double wrong_order_same = 0;           // those with messages from the same rank
  double late_complete = 0;              // of the early waits the part after the late rank's last operation
  double individual_io = 0;              // time in calls on files, by one rank alone
  double collective_io = 0;              // by all ranks of a file
  double completion = 0;                 // of barriers and N×N operations, after the first rank left
  double indirect = 0, propagating = 0;  // of its waits
  double caused = 0;                     // waiting elsewhere that its waits brought about (phi)
  ByWaitKind short_term{}, long_term{};  // waits that it caused
  ByWaitKind exit_skew{};                // waits for ranks that left it later, as a synchronization point, and no more
  double critical = 0;                   // on the critical path
  double nearly_critical = 0;   // with little slack, on the critical path or not [imbalance/delays/critical_path.h]
  double intra = 0, inter = 0;  // waits of other ranks that go with its being on the critical path; unknown
                                // of phases that recur

  double Waiting() const { return SumOf(waiting); }
  double Execution() const { return time - Waiting(); }
  double ShortTerm() const { return SumOf(short_term); }
  double LongTerm() const { return SumOf(long_term); }
  double ExitSkew() const { return SumOf(exit_skew); }
  double Costs() const { return ShortTerm() + LongTerm() + ExitSkew(); }
  PathLosses& operator+=(const PathLosses& other);
};

struct RankLosses {
  bool present = false;
  std::optional<double> slack;     // the least of anything it does; nothing where nothing takes time
  std::vector<PathId> paths;       // rising, those that the rank was ever in
  std::vector<PathLosses> losses;  // one a path

  PathLosses& Of(PathId path);  // which the rank was in
  const PathLosses* Find(PathId path) const;
};

// Time of the hosts in calls to the runtimes of their devices, which wait for kernels and copies or start them.
struct DeviceCalls {
  double time = 0;      // of all ranks, seconds
  std::string largest;  // the function that takes most of it
  double of_largest = 0;
  double costs = 0;  // waiting of other ranks that these calls cause; 0 where waits are not known
};

struct Diagnosis {
  CallPaths paths;
  std::vector<RankLosses> ranks;                     // one a rank of the trace
  std::vector<PathLosses> totals;                    // one a path, over all ranks
  std::vector<double> imbalance;                     // one a path: critical-path imbalance (iota), seconds
  std::vector<std::optional<double>> slack;          // one a path: the least of any of its activities that take time
  std::vector<PathSegment> critical;                 // in ticks of the trace
  std::vector<LossRaster> rasters;                   // one a path: seconds of costs
  std::vector<std::pair<PathId, LoadShape>> shapes;  // of the paths that cost most, in that order
  std::optional<LoadShape> useful_shape;             // of all computation
  std::vector<Cause> causes;                         // when asked for
  std::optional<LatencyGain> latency;                // when asked for
  std::optional<DeviceCalls> device_calls;           // where the trace has any
  std::size_t iterations = 1;
  ByWaitKind unattributed{};  // waiting for which no cause is found
  ByWaitKind lost{};          // not charged by the rules of Scalasca
  DelayRules rules = DelayRules::kBounded;
  // The occurrences of the phase lie apart: only what is in them counts, but for the critical path, which goes through
  // what lies between them, too.
  bool recurs = false;
  double length = 0;  // of a phase that recurs, of the rank that is in it longest
  double window = 0;  // from the first begin to the last end: the length of the critical path
  std::size_t processes = 0;
  double at_end = 0;  // waits at the end of the phase, where they are not charged to what caused them
  Diagnostics diagnostics;

  double Waiting() const;     // of all ranks, in the phase
  double Allocation() const;  // processes times length
  // Whether a path stands for what is not in the phase, which may cause waits in it all the same.
  bool IsOutside(PathId path) const;
};

struct CauseOptions {
  CounterNames counters;
  std::optional<ProcessGrid> grid{};  // whose rows and columns may be places of causes; nothing: none is known
  std::vector<RankGroup> groups{};    // within which ranks are compared by degrees
};

struct DiagnosisOptions {
  DelayOptions delays;
  // Ranks that do different work. Nothing: a rank that is never in a call path is of another group than those in it.
  std::vector<RankGroup> groups;
  // Paths at most whose shapes are asked for, besides that of all useful time; nothing: none at all.
  std::optional<std::size_t> shapes;
  std::optional<CauseOptions> causes{};  // nothing: none are looked for
  bool latency = false;                  // whether the gain without latency is looked for
  bool slack = true;                     // whether to compute it, and near-critical activities
};

Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                   const DiagnosisOptions& options = {});

// Of a phase in which ranks did this, as a replay may have it.
Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut, Activities activities,
                   const DiagnosisOptions& options);

// The steps of a diagnosis [imbalance/diagnosis.h]. Times are ticks until the last.

// Whether waits at the end are charged, where that is not said.
DelayOptions DelaysOf(const PhaseCut& cut, DelayOptions options);

// Losses of every rank of the trace that is present. Paths and waits of the costs are given up.
std::vector<RankLosses> LossesOfRanks(const Activities& activities, const CollectiveWaits& collectives,
                                      const WaitStates& states, std::vector<RankCosts>& costs,
                                      const std::vector<PathSegment>& critical);

// What follows from paths, ranks and their costs alone: totals, imbalance, impact, and what is charged to nobody.
void AddOverRanks(const PhaseCut& cut, const std::vector<RankCosts>& costs, const DiagnosisOptions& options,
                  Diagnosis& diagnosis);

// Whether waits for locks are among them: whoever has a lock may keep others waiting, which slack does not know.
bool HasLockWaits(const WaitStates& states);
void AddSlack(const Slack& slack, Diagnosis& diagnosis);

// Of those that are regions of the trace; of equals those first by name.
std::vector<PathId> LargestCosts(const Diagnosis& diagnosis, std::size_t most);

// Of a phase of so many ticks.
void FinishDiagnosis(const Trace& trace, Tick length, Diagnosis& diagnosis);

}  // namespace farscale
