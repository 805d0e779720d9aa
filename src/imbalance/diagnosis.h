// Where a phase of one run loses time: wait states, what caused them, what decided its length
// [Boehme13, chapter 4; docs/formulas.md, imbalance].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/waits/activities.h"
#include "imbalance/causes/cause.h"
#include "imbalance/delays/delay_costs.h"
#include "imbalance/causes/load_shape.h"
#include "imbalance/causes/process_grid.h"
#include "imbalance/waits/losses.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// A stretch of the path on one rank. Segments tile the phase from its end back to its begin.
struct PathSegment {
  std::uint32_t rank = 0;
  Tick begin = 0;
  Tick end = 0;

  friend bool operator==(const PathSegment&, const PathSegment&) = default;
};

// The critical path [Boehme13, section 4.4; docs/formulas.md, critical path]: segments in the order of time. It ends on
// the rank that ends last; of equals on the lowest.
std::vector<PathSegment> FindCriticalPath(const WaitStates& states);

// Activities with less slack than this share of the phase are nearly critical; chosen.
inline constexpr double kNearlyCritical = 0.05;

struct Slack {
  // The least of any activity that takes time, of every rank and of every call path over all ranks; 0 on the critical
  // path, nothing where there is none.
  std::vector<std::optional<Tick>> of_rank, of_path;
  std::vector<double> nearly_critical;  // one a call path: ticks of all ranks with little slack, waits left out
};

// A receive can begin no sooner than its message is sent, a collective operation no sooner than it has what it needs; a
// send waits for its receiver only where the trace shows that it did [docs/formulas.md, slack].
Slack FindSlack(const Trace& trace, const Matching& matching, const WaitStates& states);

struct RankLosses {
  bool present = false;
  std::optional<double> slack;     // the least of anything it does; nothing where nothing takes time
  std::vector<PathId> paths;       // rising, those that the rank was ever in
  std::vector<PathLosses> losses;  // one a path

  PathLosses& Of(PathId path);  // which the rank was in
  const PathLosses* Find(PathId path) const;
};

struct Diagnosis {
  CallPaths paths;
  std::vector<RankLosses> ranks;                     // one a rank of the trace
  std::vector<PathLosses> totals;                    // one a path, over all ranks
  std::vector<double> imbalance;                     // one a path: critical-path imbalance (iota), seconds
  std::vector<std::optional<double>> slack;          // one a path: the least of any of its activities that take time
  std::vector<PathSegment> critical;                 // in ticks of the trace
  std::vector<LossRaster> rasters;                   // one a path: seconds of costs
  std::vector<std::pair<PathId, LoadShape>> shapes;  // the paths that cost most, in that order
  std::optional<LoadShape> useful_shape;             // all computation
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
  double length = 0;  // if the phase recurs, that of the rank that is in it longest
  double window = 0;  // from the first begin to the last end: the length of the critical path
  std::size_t processes = 0;
  double at_end = 0;  // waits at the end of the phase, where they are not charged to what caused them
  Diagnostics diagnostics;

  double Waiting() const;     // all ranks, in the phase
  double Allocation() const;  // processes times length
  // The path stands for time that is not in the phase, which may cause waits in it all the same.
  bool IsOutside(PathId path) const;
};

struct DiagnosisOptions {
  DelayRules rules = DelayRules::kBounded;
  // Ranks that do different work. Nothing: a rank that is never in a call path is of another group than those in it.
  std::vector<RankGroup> groups;
  // Paths at most whose shapes are asked for, besides that of all useful time; nothing: none at all.
  std::optional<std::size_t> shapes;
  bool finds_causes = false;
  CounterNames counters{};                // for causes
  std::optional<ProcessGrid> grid{};      // whose rows and columns may be places of causes; nothing: none is known
  std::vector<RankGroup> cause_groups{};  // within which ranks are compared by degrees for causes
  // Waits at the end are charged, too. Nothing: those of a phase that is no whole run, where ranks go on to what comes
  // behind it.
  std::optional<bool> charge_end{};
  bool latency = false;  // also find the gain without latency
  bool slack = true;     // also find it, and near-critical activities
};

Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                   const DiagnosisOptions& options = {});

// The same for other activities of the ranks in the phase, such as those of a replay.
Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut, Activities activities,
                   const DiagnosisOptions& options);

}  // namespace farscale
