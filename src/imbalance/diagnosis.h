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

// Losses of one rank in one call path, or of several added up. Seconds of ranks' time, but for `critical`, which is
// time of the run.
struct PathLosses {
  double time = 0;           // with its waits
  std::uint64_t visits = 0;  // activities
  ByWaitKind waiting{};
  double wrong_order = 0;                // the late senders that another order of receiving would have avoided
  double wrong_order_same = 0;           // those with messages from the same rank
  double late_complete = 0;              // the part of the early waits after the late rank's last operation
  double individual_io = 0;              // time in calls on files, by one rank alone
  double collective_io = 0;              // the same, by all ranks of a file
  double completion = 0;                 // barriers and N×N operations, after the first rank left
  double indirect = 0, propagating = 0;  // parts of its waits
  double caused = 0;                     // waiting elsewhere that its waits brought about (phi)
  ByWaitKind short_term{}, long_term{};  // waits that it caused
  ByWaitKind exit_skew{};                // waits for ranks that left it later, as a synchronization point, and no more
  double critical = 0;                   // on the critical path
  double nearly_critical = 0;   // with little slack, on the critical path or not [imbalance/delays/critical_path.h]
  double intra = 0, inter = 0;  // waits of other ranks that go with its being on the critical path; unknown if the
                                // phase recurs

  double Waiting() const { return Sum(waiting); }
  double Execution() const { return time - Waiting(); }
  double ShortTerm() const { return Sum(short_term); }
  double LongTerm() const { return Sum(long_term); }
  double ExitSkew() const { return Sum(exit_skew); }
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
  double time = 0;      // seconds, all ranks
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
  bool latency = false;                  // also find the gain without latency
  bool slack = true;                     // also find it, and near-critical activities
};

Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                   const DiagnosisOptions& options = {});

// The same for other activities of the ranks in the phase, such as those of a replay.
Diagnosis Diagnose(const Trace& trace, const Matching& matching, const PhaseCut& cut, Activities activities,
                   const DiagnosisOptions& options);

}  // namespace farscale
