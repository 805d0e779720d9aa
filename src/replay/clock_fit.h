// The differences of the clocks of nodes or ranks, from the messages and collectives between them: an offset and a
// drift each. Our own method: the largest or smallest differences that messages in both directions allow, and that
// ranks leave a collective together, as least absolute deviations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/matching.h"
#include "trace/trace.h"

namespace farscale {

// The order of events on different ranks that messages and collectives force, whatever clocks say: a message is
// received after it is sent, nobody leaves a barrier before the last rank enters it.

// Collectives in which every rank says how much it gives and gets, so that some may take no part.
bool HasSizesOfItsOwn(std::string_view region);

// An operation that bounds the time of a call.
struct ClockEvent {
  enum class Kind : std::uint8_t {
    kSend,     // its message cannot arrive before the call begins
    kReceive,  // the call cannot end before its message is sent
    kGive,     // ranks that need the collective cannot leave it before the call begins
    kTake,     // the call cannot end before all that the collective needs have begun
    kGather,   // both, and the call ends at about the time at which the others leave
  };
  Kind kind = Kind::kSend;
  bool begins = false, ends = false;  // the collective on this rank; a non-blocking one does so in two calls
  std::uint32_t call = 0;
  std::uint32_t number = 0;  // the message or the collective

  bool IsCollective() const { return kind != Kind::kSend && kind != Kind::kReceive; }
  // Ranks of a collective may wait for this one, or this one for others.
  bool IsGiven() const { return begins && (kind == Kind::kGive || kind == Kind::kGather); }
  bool IsTaken() const { return ends && (kind == Kind::kTake || kind == Kind::kGather); }
};

// Which operations show an order. Left out: messages of channels that lack records, which may be taken for each other;
// operations on windows, which may put off to wait; collectives on communicators on which ranks miss some, and those in
// which every rank has a size of its own, which may be none; MPI_Init and MPI_Finalize, which need not synchronise;
// scans.
struct ClockOrder {
  std::vector<bool> is_on_window, has_own_sizes;    // one a region
  std::vector<bool> is_left_out;                    // one a communicator, for collectives
  std::vector<std::vector<bool>> channel_left_out;  // one a rank and endpoint, for sends; empty: none
};
ClockOrder FindClockOrder(const Trace& trace, const Matching& matching);

// Fills in the event of a part. False: it shows no order.
bool IsClockMessage(const Trace& trace, const Matching& matching, const ClockOrder& order, std::size_t rank,
                    std::size_t record, const RecordPart& part, ClockEvent& event);
bool IsClockCollective(const Trace& trace, const Matching& matching, const ClockOrder& order, std::size_t rank,
                       const RecordPart& part, ClockEvent& event);

// Calls visit(event) for every part of an operation of the rank that shows an order, in the order of its calls.
template <typename Visit>
void ForEachClockEvent(const Trace& trace, const Matching& matching, const ClockOrder& order, std::size_t rank,
                       const Visit& visit) {
  const RankTimeline& timeline = trace.timelines[rank];
  ForEachRecord(timeline, matching.ranks[rank], 0, timeline.calls(),
                [&](std::size_t call, std::size_t record, const RecordPart& part) {
                  if (!part.IsMatched()) return;
                  ClockEvent event;
                  event.call = static_cast<std::uint32_t>(call);
                  event.number = part.number;
                  if (part.IsCollective() ? IsClockCollective(trace, matching, order, rank, part, event)
                                          : IsClockMessage(trace, matching, order, rank, record, part, event)) {
                    visit(event);
                  }
                });
}

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

struct ClockModel {
  bool by_node = true;     // ranks of a node share a clock
  bool has_drift = false;  // else offsets alone
};

ClockFit FitClocks(const Trace& trace, const Matching& matching, const ClockOrder& order, const ClockModel& model);

}  // namespace farscale
