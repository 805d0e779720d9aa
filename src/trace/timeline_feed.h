// Replays the events of a rank's timeline in the order of the trace: for those who write traces, and for those who make
// one trace out of another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace farscale {

// Local ranks of world ranks: the reverse of Communicator::members and remote.
class LocalRanks {
 public:
  explicit LocalRanks(const Trace& trace);

  // The local rank by which `rank` names a peer on a communicator; the peer must be in it.
  std::uint32_t Peer(std::int32_t rank, std::uint32_t communicator, std::int32_t peer) const;
  std::uint32_t Root(std::uint32_t communicator, std::int32_t root) const;

 private:
  using Group = std::vector<std::pair<std::int32_t, std::uint32_t>>;  // world and local rank, sorted
  static std::optional<std::uint32_t> Find(const Group& group, std::int32_t rank);

  std::vector<std::pair<Group, Group>> communicators_;  // members and remote groups; both empty for MPI_COMM_SELF
};

// Part of a timeline, from one edge between calls and events to another. Calls that reach beyond `begin` or `end` are
// cut there. Regions entered before the window are entered at its begin, those left after it are left at its end.
struct TimelineWindow {
  Tick begin = 0, end = 0;
  std::size_t begin_call = 0, end_call = 0;
  std::size_t begin_event = 0, end_event = 0;
  bool is_whole = false;                 // else interruptions are cut at the edges too
  std::vector<std::uint32_t> entered{};  // at the begin, the outermost first
  std::vector<std::uint32_t> left{};     // at the end, the innermost first
  // One a counter of the trace; used only with entered or left regions.
  std::vector<std::int64_t> counters_begin{}, counters_end{};
  // True for operations whose records outside the window are kept; without it all are.
  std::function<bool(const OperationPart&)> keep_outside{};
};

// Regions, communicators and counters of the events are those of `definitions`, in which those of the timeline's own
// trace come first. It must hold a region outside the cut when anything is kept there. Counters that are not reliable
// have no sample at the first edge, so that whoever reads them knows them as unreliable again.
void FeedTimeline(const Trace& definitions, const RankTimeline& timeline, const LocalRanks& local_ranks,
                  std::int32_t rank, const TimelineWindow& window, TimelineSink& sink);

// The whole timeline, with all it keeps outside its calls.
void FeedTimeline(const Trace& trace, const LocalRanks& local_ranks, std::size_t rank, TimelineSink& sink);

}  // namespace farscale
