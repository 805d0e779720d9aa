// Clocks that contradict the order of events, found and put right before anything is computed from their times:
// messages that arrive before they were sent, collectives that ranks leave before the last one enters [Becker09].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "trace/names.h"
#include "trace/trace.h"

namespace farscale {

// Matches a trace. Where clocks contradict messages or collectives, all times of the trace are corrected: by an offset
// and a drift of every clock, then by a controlled logical clock for what is left. A trace without contradictions stays
// as it is. Where no offsets and drifts explain them, or clocks are not tied to each other in both directions, times
// stay and `clocks_unknown` of the result says why.
Matching MatchSynchronised(Trace& trace);

// True for a trace without contradictions, for tests.
bool ClocksAgree(const Trace& trace);

// Throws an error of kind kNotEnoughData where the clocks are unknown.
void RequireClocks(const Trace& trace, const Matching& matching);

// The order of events on different ranks that messages and collectives force, whatever clocks say: a message is
// received after it is sent, nobody leaves a barrier before the last rank enters it.

// Collectives in which every rank says how much it gives and gets, so that some may take no part.
bool HasSizesOfItsOwn(std::string_view region);

// An operation that bounds the time of a call.
struct ClockEvent {
  std::uint32_t call = 0;
  std::uint32_t number = 0;  // the message or the collective
  bool is_collective = false;
  bool is_gather = false;  // ranks leave such a collective at about the same time: all give and take
  bool is_root = false;    // the rank is, in another collective
  bool gives = false;      // calls of others that take cannot end before this one begins
  bool takes = false;      // the call cannot end before all that give have begun
};

// Which operations show an order. Left out: messages of channels that lack records, which may be taken for each other;
// operations on windows, which may put off to wait; collectives on communicators on which ranks miss some, and those in
// which every rank has a size of its own, which may be none; MPI_Init and MPI_Finalize, which need not synchronise;
// scans.
class ClockOrder {
 public:
  ClockOrder(const Trace& trace, const Matching& matching);

  // Calls visit(event) for every part of an operation of the rank that shows an order, in the order of its calls.
  template <typename Visit>
  void ForEachEvent(const Trace& trace, const Matching& matching, std::size_t rank, const Visit& visit) const {
    const RankTimeline& timeline = trace.timelines[rank];
    ForEachRecord(timeline, matching.ranks[rank], 0, timeline.calls(),
                  [&](std::size_t call, std::size_t record, const RecordPart& part) {
                    if (!part.IsMatched()) return;
                    ClockEvent event{static_cast<std::uint32_t>(call), part.number};
                    if (part.IsCollective()) {
                      FillCollective(timeline, matching, rank, part, event);
                    } else if (part.number < matching.matched) {
                      FillMessage(timeline, rank, record, part, event);
                    }
                    if (event.gives || event.takes) visit(event);
                  });
  }

 private:
  void LeaveOutChannels(const Trace& trace, const Matching& matching);
  void FillMessage(const RankTimeline& timeline, std::size_t rank, std::size_t record, const RecordPart& part,
                   ClockEvent& event) const;
  void FillCollective(const RankTimeline& timeline, const Matching& matching, std::size_t rank, const RecordPart& part,
                      ClockEvent& event) const;

  std::vector<bool> is_on_window_, has_own_sizes_;   // one a region
  std::vector<bool> is_left_out_;                    // one a communicator, for collectives
  std::vector<std::vector<bool>> channel_left_out_;  // one a rank and endpoint, for sends; empty: none
};

// The differences of the clocks of nodes or ranks, from the messages and collectives between them: an offset and a
// drift each. Our own method: the largest or smallest differences that messages in both directions allow, and that
// ranks leave a collective together, as least absolute deviations.

// To be added to the times of one clock, in ticks: `offset` in the middle of its run, and `drift` more a tick.
struct ClockCorrection {
  double offset = 0;
  double drift = 0;
  Tick middle = 0;

  double At(Tick tick) const { return offset + drift * static_cast<double>(tick - middle); }
  Tick Corrected(Tick tick) const;
};

struct ClockFit {
  std::vector<std::uint32_t> clock_of_rank;  // index into corrections
  std::vector<ClockCorrection> corrections;  // relative to the clock of the first rank that recorded anything
  std::vector<std::string> names;            // "node b", "rank 3"
  std::vector<std::uint32_t> unknown;        // clocks that messages do not tie to the first one in both directions
};

// With `by_node`, ranks of a node share a clock; without `has_drift`, offsets alone.
ClockFit FitClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, bool by_node, bool has_drift);

// Checks of the times in a trace: they may not fit each other though nothing runs backwards, and ranks may lack a
// processor while they compute.

// Warns of edges of MPI calls that lie apart from the same edges of other iterations of the rank, and of the other
// ranks, by a hundredth of the largest useful time or more, while what lies before and after them takes as long as
// usual. Programs that do not repeat what they do give no reason to doubt.
Diagnostics FindDisplacedTimes(const Trace& trace);

// Names the ranks that had a core for less than 95 % of their time outside MPI, by CPU time, else by cycles at the
// highest clock on the node; says nothing where the trace has neither. Of the phases cut, or of the whole run where
// there are none. Only what is missing in bursts of 100 us and more counts: a preempted burst is long, and in short
// ones the errors at the ends of the samples look like it [docs/formulas.md, processor time].
//
// Also names the ranks that count more than a processor can in their whole time, or from one edge to the next by more
// than a percent of all: 1.05 seconds of CPU time a second, 10 GHz, 100 instructions a nanosecond, for each thread.
Diagnostics CheckProcessorTime(const Trace& trace, const CounterNames& names, const std::vector<PhaseCut>& cuts = {});

}  // namespace farscale
