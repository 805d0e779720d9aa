// Tells a rank's timeline again, event by event in the order of the trace: for those who write traces, and for those
// who make one trace out of another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace farscale {

class RankBuilder;

enum class OperationClass : std::uint8_t { kSend, kReceive, kCollective };

// Which operation of its class a record belongs to, by the number of its post.
struct Operation {
  OperationClass type = OperationClass::kSend;
  std::size_t ordinal = 0;
};

// Numbers operations; wants every record of a timeline from the first on.
class OperationCounter {
 public:
  Operation Next(RecordKind kind, std::size_t back);

 private:
  std::size_t posts_[3] = {};  // by class
};

// Local ranks of world ranks: the reverse of Communicator::members and remote.
class LocalRanks {
 public:
  explicit LocalRanks(const Trace& trace);

  // How `rank` names another rank on a communicator; the peer must be in it.
  std::uint32_t Peer(std::int32_t rank, std::uint32_t communicator, std::int32_t peer) const;
  std::uint32_t Root(std::uint32_t communicator, std::int32_t root) const;

 private:
  using Group = std::vector<std::pair<std::int32_t, std::uint32_t>>;  // world and local rank, sorted
  struct Groups {
    Group members, remote;
    bool is_self = false;
  };
  static std::optional<std::uint32_t> Find(const Group& group, std::int32_t rank);

  std::vector<Groups> communicators_;
};

// A record as RankBuilder wants it. What a kind does not have is 0; `request` is unique within the rank.
struct FedRecord {
  RecordKind kind = RecordKind::kSend;
  Tick tick = 0;  // posts at the enter of their call, completions at its leave
  std::uint32_t peer = 0;
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t received = 0;
  std::uint64_t request = 0;
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::optional<std::uint32_t> root;
};

class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void Enter(Tick tick, std::uint32_t region) = 0;
  virtual void Leave(Tick tick, std::uint32_t region) = 0;
  virtual void Record(const FedRecord& record) = 0;
  // Comes before the edge it belongs to.
  virtual void SetCounter(Tick tick, std::uint32_t counter, std::int64_t value) = 0;
  virtual void MeasurementOff(Tick tick) = 0;
  virtual void MeasurementOn(Tick tick) = 0;
  virtual void BufferFlush(Tick begin, Tick end) = 0;
};

// A record for a sink that builds another trace.
void AddRecordTo(const FedRecord& record, RankBuilder& rank);

// Part of a timeline, from one place between calls and events to another. Calls that reach beyond `begin` or `end` are
// cut there.
struct TimelineWindow {
  Tick begin = 0, end = 0;
  std::size_t begin_call = 0, end_call = 0;
  std::size_t begin_event = 0, end_event = 0;
  bool is_whole = false;  // else interruptions are cut at the edges too
};

TimelineWindow WholeTimeline(const RankTimeline& timeline);

// Which records outside the window to tell, by their operation.
using KeepOperation = std::function<bool(const Operation&)>;

// What is open at the window's edges. Regions entered before the window are entered at its begin, those left after it
// are left at its end, the innermost first.
struct WindowEdges {
  std::vector<std::uint32_t> entered;        // at the begin, the outermost first
  std::vector<std::uint32_t> left;           // at the end, the innermost first
  std::vector<std::int64_t> counters_begin;  // one a counter of the trace; used only with entered or left regions
  std::vector<std::int64_t> counters_end;
};

// `definitions` are those the events are told in: the regions, communicators and counters of the timeline's own trace
// come first in them. They must hold a region outside the cut when anything is kept there. Counters that are not
// reliable are told from the second edge on: whoever reads them knows them as unreliable again.
void FeedTimeline(const Trace& definitions, const RankTimeline& timeline, const LocalRanks& local_ranks,
                  std::int32_t rank, const TimelineWindow& window, const WindowEdges& edges,
                  const KeepOperation& keep_outside, TimelineSink& sink);

// The whole timeline, with all it keeps outside its calls.
void FeedTimeline(const Trace& trace, const LocalRanks& local_ranks, std::size_t rank, TimelineSink& sink);

}  // namespace farscale
