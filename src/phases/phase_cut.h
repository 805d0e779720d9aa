// A phase found in a trace: for every rank a window and the iterations in it. A cut is data, never a copy of events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "phases/iteration_shape.h"
#include "phases/phase_spec.h"
#include "trace/trace.h"

namespace farscale::anomaly {

inline constexpr Anomaly kRankWithoutPhase{"rankWithoutPhase", Severity::kWarning,
                                           "ranks never enter the phase; they count with no useful time"};
inline constexpr Anomaly kNoLoopFound{
    "noLoopFound", Severity::kWarning,
    "phases should be the iterations that the MPI calls show, but these show no loop; the whole run is taken instead"};
inline constexpr Anomaly kUnevenIterations{
    "unevenIterations", Severity::kWarning,
    "ranks differ in how often they run the phase; each rank is cut by its own count"};
inline constexpr Anomaly kRankInNoGroup{"rankInNoGroup", Severity::kNote,
                                        "ranks do work like those of no group found; each counts with the nearest"};

}  // namespace farscale::anomaly

namespace farscale {

// A position on a rank's timeline: between call `call - 1` and call `call`, and between region events `event - 1` and
// `event`. Several edges can share a tick; the two numbers distinguish them. A time window may also cut through a
// call: then `tick` lies inside it, and it belongs to the window on either side.
struct Edge {
  Tick tick = 0;
  std::uint32_t call = 0;
  std::uint32_t event = 0;

  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Interval {
  Edge begin;
  Edge end;

  Tick length() const { return end.tick - begin.tick; }
};

struct RankCut {
  bool present = false;  // false: the rank never enters the phase; the rest is empty
  Interval window;
  std::vector<Interval> iterations;  // at least one when present; a whole run or a time window is one iteration
};

struct PhaseCut {
  PhaseSpec spec;
  Span span = Span::kWhole;    // never kAuto
  std::size_t iterations = 1;  // kept, the largest number of any rank
  std::vector<RankCut> ranks;
  // Ranks whose factors are asked for, rising; empty: all. No other is present.
  std::vector<std::size_t> group;
  std::string group_name;  // empty: all
  Diagnostics diagnostics;

  // The group, or all ranks of the trace.
  std::vector<std::size_t> CountedRanks() const;
  // The name of the phase and its group in tables.
  PhaseId Id() const { return {spec.name, group_name}; }
  // The same phase with a group of the ranks alone, without diagnostics.
  PhaseCut OnlyRanks(const std::vector<std::size_t>& some, const std::string& name) const;
  Tick begin() const;  // earliest window
  Tick end() const;    // latest
  // The counted time of a rank: its window, or its iterations; nothing for a rank that is not present.
  std::vector<Interval> CountedTime(std::size_t rank) const;
};

// The edge at a tick: before all calls entered and all region events at that tick or later. With is_begin, a call that
// the tick cuts through lies behind it.
Edge EdgeAtTick(const RankTimeline& timeline, Tick tick, bool is_begin);

// Behind everything on the timeline.
Edge EndOf(const RankTimeline& timeline);

// The phase does not occur in the run: a usage error, unless it occurs in other runs of the study.
class PhaseNotFound : public Error {
 public:
  using Error::Error;
};

// Throws PhaseNotFound when the region occurs on no rank (naming the nearest that does), when the iterations have no
// such part, or when they do not have the shape that the spec asks for; a usage error when there are fewer iterations
// than asked for, or when a time window lies outside the run.
PhaseCut CutPhase(const Trace& trace, const PhaseSpec& spec);

// The cut with some of its iterations only, which are the same on every rank; at least one. Each counts by itself
// unless the spec wants one window; then it throws a usage error when those kept do not follow each other.
PhaseCut KeepIterations(const Trace& trace, const PhaseCut& cut, const std::vector<bool>& kept);

// The shape of the iterations of a phase, or those whose part it is; nothing when the calls show no loop.
std::optional<IterationShape> ShapeOfPhase(const Trace& trace, const PhaseSpec& spec);

// Begin and end.
using TickRange = std::pair<Tick, Tick>;

// Time of a rank that counts in at least one of the cuts, in order and apart.
std::vector<TickRange> CountedTicks(const std::vector<PhaseCut>& cuts, std::size_t rank);

// Share of the run's time, over all ranks, that lies in at least one of the cuts.
double Coverage(const Trace& trace, const std::vector<PhaseCut>& cuts);

// A user region as candidate for a phase.
struct RegionSummary {
  std::string name;
  std::uint64_t fewest = 0;  // outermost occurrences a rank
  std::uint64_t most = 0;
  std::size_t ranks = 0;  // that enter it at all
  double seconds = 0;     // mean duration of an occurrence
  double share = 0;       // share of the run's time over all ranks
  bool is_device_runtime = false;

  // A loop body: every rank enters the region, all equally often, more than once, and may compute in it.
  bool IsLoop(const Trace& trace) const {
    return ranks == trace.size() && fewest == most && most > 1 && !is_device_runtime;
  }
};

// Every user region of the trace, largest share first.
std::vector<RegionSummary> SummarizeRegions(const Trace& trace);

// Occurrences of every part of the shape, one an iteration, by rank. Parts tile the loop; a part that begins in one
// iteration may end in the next, then it has no last occurrence, and what lies before the first part of all belongs to
// none. No ranks: this run does not have the part, or it cannot be distinguished from another one here.
std::vector<std::vector<RankCut>> CutParts(const Trace& trace, const std::vector<RankCut>& loop,
                                           const IterationShape& shape);

// Calls of an iteration, and the bursts of computation between them: burst i comes before its call i, the last
// one follows its last call. The first and the last end at the iteration's edges.

inline std::size_t CountBursts(const Interval& iteration) { return iteration.end.call - iteration.begin.call + 1; }

// The functions that a rank calls in an iteration, as regions of the trace; and the same with calls of one function in
// a row counted once, since a neighbour more or less makes no difference to that.
using CallSequence = std::vector<std::uint32_t>;
CallSequence CallsOf(const RankTimeline& timeline, const Interval& iteration);
CallSequence TurnsOf(const RankTimeline& timeline, const Interval& iteration);

Interval BurstAt(const RankTimeline& timeline, const Interval& iteration, std::size_t index);

inline constexpr std::uint32_t kNoRegion = ~std::uint32_t{0};

// The innermost user region that at least half of each burst lies in, by its index; kNoRegion outside all. One entry a
// burst for every iteration of the rank; these are in the order of time.
std::vector<std::vector<std::uint32_t>> RegionsOfBursts(const Trace& trace, std::size_t rank,
                                                        const std::vector<Interval>& iterations);

// A phase of a run in the trace of its threads.

// The same phase in LocationTrace(trace): thread 0 has the edges of its rank. The other threads have them at the same
// times, but for the end of what they do: where a thread is idle at the end of the phase or of an iteration, waiting
// for a fork behind it, its part ends with its last team.
PhaseCut CutOfLocations(const Trace& trace, const PhaseCut& cut, const Trace& locations);

// Counters are sampled at the edges of calls and regions; an edge of a phase may lie between two samples.

// The value of a counter at an edge that lies outside any call, in counts; between samples it grows evenly with time.
// The rank must have the counter.
double CounterAt(const RankTimeline& timeline, std::size_t counter, const Edge& edge);

// The same as samples are recorded: an integer, rounded where the edge lies between two, or the bits of a double.
std::int64_t RawCounterAt(const RankTimeline& timeline, std::size_t counter, bool is_double, const Edge& edge);

}  // namespace farscale
