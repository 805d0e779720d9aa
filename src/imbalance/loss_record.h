// The part of a diagnosis that reports and comparisons of runs need: call paths by name, without the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "imbalance/causes/cause.h"
#include "imbalance/causes/load_shape.h"
#include "imbalance/causes/process_grid.h"
#include "imbalance/waits/losses.h"
#include "replay/unknown_waits.h"
#include "trace/trace.h"

namespace farscale {

struct Diagnosis;
struct Matching;
struct Network;
struct PhaseCut;
struct ReplayRules;

// Which call paths take away how much of load balance and of serialization [docs/formulas.md, losses by factor].
//
// On the ideal network nothing is left but computation and waiting for others, so all waiting there, charged to what
// causes it, is what both factors lose together. What of it is load balance's is known exactly: the call paths in which
// the rank that computes most exceeds the average. The rest is serialization's.

// Stands for that ranks spend less in the occurrences of a phase that recurs than the longest one does.
inline constexpr const char* kUnequalOccurrences = "(occurrences of unequal length)";

// Seconds of the run that a call path costs; may be negative, where others make up for it.
struct PathFactorLoss {
  std::string path;
  double load_balance = 0;
  double serialization = 0;
};

// The paths that cost anything, sorted by name. Over all paths, load balance costs the largest minus the average
// useful time, serialization the ideal minus the largest one.
using FactorLosses = std::vector<PathFactorLoss>;

const PathFactorLoss* FindLoss(const FactorLosses& losses, const std::string& path);  // nullptr: it costs nothing

// The ideal network, but that every message takes one tick of the trace's clock: so who waits for whom stays visible.
Network OneTickNetwork(const Trace& trace);

// Replays the phase on that network. Throws an input error as Replay does.
FactorLosses SplitByFactor(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayRules& rules);

struct PathRecord {
  std::string path;       // "main / step / MPI_Recv"
  std::string innermost;  // the last of these regions, "step"; of an MPI call with the one around it, "step / MPI_Recv"
  bool is_mpi = false;
  bool is_device_call = false;  // the host calls or waits for its device: no computation
  PathLosses total;             // over all ranks
  double imbalance = 0;         // on the critical path (iota)
  std::optional<double> slack;  // the least of any of its activities; nothing where none takes time
  // One a rank of the phase, in the order of LossRecord::ranks.
  std::vector<double> execution, waiting, costs, critical;
  LossRaster raster;               // costs
  std::optional<LoadShape> shape;  // its execution time; only of the paths with the largest costs

  // It stands for what ranks do before the phase, between its occurrences or behind it.
  bool IsOutside() const { return LiesOutsidePhase(path); }
};

// Ranks that do different work from others.
struct GroupLoad {
  std::string name;
  std::size_t ranks = 0;
  double computation = 0;  // seconds, summed over its ranks

  friend bool operator==(const GroupLoad&, const GroupLoad&) = default;
};

// One phase of one run.
struct LossRecord {
  std::string trace;
  std::string phase;
  std::int64_t cores = 0;
  std::int64_t repeat = 0;
  // If nobody has made the run, cores of the largest run that it is grown from. Nothing: measured.
  std::optional<std::int64_t> grown_from;
  bool recurs = false;    // its occurrences lie apart: the critical path goes through what is between them, too
  double length = 0;      // seconds, as the factors count them
  double window = 0;      // from its first begin to its last end: the length of the critical path
  double allocation = 0;  // times its ranks
  double at_end = 0;      // waits that are charged to nobody
  DelayRules rules = DelayRules::kBounded;
  ByWaitKind waiting{}, short_term{}, long_term{}, exit_skew{}, unattributed{};
  ByWaitKind lost{};  // not charged by the rules of Scalasca
  double wrong_order = 0, indirect = 0, propagating = 0, late_complete = 0;
  double individual_io = 0, collective_io = 0;  // time in calls on files [PathLosses]; known without waits, too
  std::optional<DeviceCalls> device_calls;      // likewise
  std::size_t iterations = 1;
  std::size_t run_ranks = 0;       // all of the run: what rows of rasters stand for
  std::vector<std::size_t> ranks;  // that are in the phase
  // Where threads are analysed one by one, all those of the run: then they are the ranks of everything here but
  // by_factor, and each number of a rank is a place in this list. Empty: ranks are ranks.
  std::vector<Location> locations;
  std::vector<GroupLoad> groups;          // empty: none are known
  std::vector<Cause> causes;              // sorted by what the phase would gain without them
  std::optional<LatencyGain> latency;     // nothing: not asked for, or next to none
  std::vector<PathRecord> paths;          // largest costs first; of equals by name
  std::optional<FactorLosses> by_factor;  // nothing: not asked for
  std::optional<LoadShape> shape;         // all computation together
  std::optional<ProcessGrid> grid;        // for `ranks`; nothing: none is known
  std::vector<Finding> findings;
  // The trace does not say for whom ranks wait in some calls. Then nothing is known of waits, their causes and the
  // critical path, so there are no call paths; nothing: all waits are known.
  std::optional<UnknownWaits> unknown_waits;

  std::vector<std::string> GroupNames() const {
    std::vector<std::string> names;
    for (const GroupLoad& group : groups) names.push_back(group.name);
    return names;
  }
  // All ranks, with that at the end.
  double Waiting() const { return Sum(waiting); }
  // All paths: all waits but those at the end, unattributed and lost ones.
  double Costs() const { return Sum(short_term) + Sum(long_term) + Sum(exit_skew); }
};

// Leaves of a record what holds whoever waited for whom: how long the phase is and how its computation is spread.
void WithholdWaits(LossRecord& record, const UnknownWaits& waits);

// Without trace, cores, repeat, groups, by_factor, grid and unknown_waits. `locations`: of a diagnosis of threads.
LossRecord RecordOf(const Diagnosis& diagnosis, const std::string& phase, const std::vector<Location>& locations = {});

}  // namespace farscale
