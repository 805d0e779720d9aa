// Names the causes of waiting and what the run would gain without each [docs/formulas.md, causes and gains].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "imbalance/causes/cause.h"
#include "imbalance/causes/load_matrix.h"
#include "imbalance/diagnosis.h"
#include "imbalance/waits/activities.h"
#include "imbalance/waits/wait_states.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/program.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// Where in a load by rank and time something takes longer than it usually does: slow ranks, nodes, rows and columns of
// the process grid, ranks that become slow, hot spots that move. Noise is nothing of the kind: what deviates must lie
// apart from what merely varies.
struct LoadDeviation {
  CausePlace place = CausePlace::kRank;
  std::vector<std::size_t> rows;  // in the load, those with most first
  // Indexed by row and column: the share of the time that would be left without the deviation; 1: all of it. Above 1
  // where ranks differ by degrees.
  std::vector<std::vector<float>> kept;
  std::optional<double> level;         // time in it over the usual time; nothing where that is none
  std::optional<std::int32_t> node;    // that has these ranks, all of them and no others
  std::optional<std::int32_t> socket;  // on the node
  std::optional<GridLine> line;
  std::size_t every = 0;     // columns, of a periodic one
  std::size_t affected = 0;  // columns
  double excess = 0;         // time beyond the usual, summed over ranks

  // `index`: among `rows`.
  bool IsAffected(std::size_t index, std::size_t column) const { return kept[index][column] < 1; }
  double Excess(const LoadMatrix& load, std::size_t index, std::size_t column) const {
    return load.At(rows[index], column) * (1 - static_cast<double>(kept[index][column]));
  }
};

// Where the rows of a load lie.
struct RowPlaces {
  std::vector<std::int32_t> nodes;                    // one a row
  std::vector<std::int32_t> sockets;                  // on the nodes; empty: not known
  std::vector<std::vector<std::size_t>> coordinates;  // indexed by dimension of a process grid, then row
  std::vector<std::size_t> groups{};                  // ranks that do different work; empty: all do the same
};

// The largest excess comes first. `typical`: the computation of a rank in a column in all; anything that is next to
// nothing beside it does not count.
std::vector<LoadDeviation> FindDeviations(const LoadMatrix& load, const RowPlaces& places, double typical);

// Time taken off a rank before one of its calls, or off what the call before that took beyond its waiting; call `calls`
// stands for the end of the phase. Negative: added.
struct Saving {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  Tick ticks = 0;
};

// Calls `save` for each of its savings, which may be as many as calls and so are not kept; nothing: the phase as it is.
using Save = std::function<void(const Saving& saving)>;
using Fix = std::function<void(const Save& save)>;

// The savings of all the lists.
Fix MakeFix(std::vector<const std::vector<Saving>*> lists);

// A replay may differ by this share from the measured length; chosen: beyond, its gains mean nothing.
inline constexpr double kMeasuredPrecision = 1e-3;

// A phase as a program for the replay engine [replay/replay.h] that takes exactly as long as was measured: calls wait
// for what they waited for, and what they take beyond is computation. Without a delay, it takes as long as the phase
// would have taken without it [docs/formulas.md, gain of a fix].
struct MeasuredProgram {
  Tick origin = 0;  // when ranks begin; fixes may shorten calls by more than is left, yet times are not to be negative
  Program program{};
  // One a rank and call, the end of the phase included: the instruction that computes what lies before it.
  std::vector<std::vector<std::uint32_t>> instructions{};
};

// A send depends on its receiver where it waited for it, or where it is too large to be sent at once. Scans keep their
// measured waits. The time of a call beyond its waiting for a message, and beyond the shortest call of its path, is
// that of the message on its way, which passes whatever the receiver does; or with `receivers_transmit` that of the
// receiver.
MeasuredProgram MakeMeasuredProgram(const Trace& trace, const Matching& matching, const WaitStates& states,
                                    bool receivers_transmit = false);

// Ticks from the begin of the phase to the end of its last rank. One result for each fix; several are replayed at a
// time, each in a program that is as it was measured again afterwards.
std::vector<Tick> Replay(MeasuredProgram& measured, const std::vector<Fix>& fixes);

// The diagnosis is in ticks. Causes that gain kLeastGain of the phase or more, alone or once the others are gone,
// sorted by their gain. Each is replayed on the measured program; none where that does not take as long as was
// measured.
std::vector<Cause> FindCauses(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                              const WaitStates& states, const Diagnosis& diagnosis, const DiagnosisOptions& options);

// The gain of the MPI call path that gains most with every call as short as the shortest of them, waits apart, by a
// replay of the measured program; nothing below kLeastGain. Call overhead stays, and so does the time of messages of
// the least size.
std::optional<LatencyGain> FindLatencyGain(const Trace& trace, const Matching& matching, const WaitStates& states,
                                           const Diagnosis& diagnosis);

// The parts of FindCauses.

struct CauseCandidate {
  std::size_t load = 0;
  LoadDeviation deviation;
  bool is_start = false;  // ranks enter the phase at different times
  double most = 0;        // ticks that it can gain at most: the largest excess of a rank, summed over columns
  std::vector<Saving> savings = {};
  Cause cause = {};
};

// Describes where and when it is, without parts, gains and the worst wait.
Cause DescribeCause(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                    const CauseCandidate& candidate);

// The waits for the first call behind the cell in which the rank lost most that others waited for; where there is one
// cell alone, for the call that others waited longest for.
std::optional<WaitInstance> FindWorstWait(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                          const CauseCandidate& candidate);

// The parts of a deviation by the counters of the trace: more instructions, fewer a cycle, fewer cycles a second, time
// in which the process did not run, or more visits. Time per cell is visits × instructions a visit × cycles an
// instruction × seconds a cycle × wall time over CPU time; a part has its share of the logarithms of these ratios.
// Largest first; they add up to 1.
std::vector<CausePart> FindCauseParts(const Trace& trace, const WaitStates& states, const LoadTables& loads,
                                      const CounterNames& names, const CauseCandidate& candidate);

}  // namespace farscale
