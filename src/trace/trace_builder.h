// Readers and tests make a trace like this: definitions first, then for every rank its events in the order of the
// trace. A RankBuilder knows nothing of other ranks, so ranks can be built in parallel.
//
//   TraceBuilder builder;
//   const auto send = builder.AddRegion("MPI_Send");
//   const auto world = builder.AddWorld(2);
//   RankBuilder rank0(builder.definitions(), 0);
//   rank0.Enter(10, send);
//   rank0.Send(1, world, 0, 1024);
//   rank0.Leave(12, send);
//   builder.SetTimeline(0, rank0);
//   ...
//   Trace trace = std::move(builder).Finish();
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace farscale {

// A record of an MPI call, or of the region outside the cut before the first call or after the last. Only the post of a
// send and what completes another operation say with whom it is, and how many bytes; others leave that out. Peers and
// roots are local ranks of the communicator, requests any numbers unique among those pending in the rank. Posts without
// a request do not say when they complete, and nobody waits for them.
struct FedRecord {
  RecordKind kind = RecordKind::kSend;
  std::uint32_t peer = 0;
  std::uint32_t communicator = 0;
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> request{};
  CollectiveKind collective = CollectiveKind::kBarrier;
  std::optional<std::uint32_t> root{};  // nothing for collectives without one
  std::uint64_t received = 0;
  Tick tick = 0;  // posts at the enter of their call, completions at its leave
};

// Takes the events of one rank.
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

// Collects what one rank did. Tolerates what damaged or unusual traces contain and counts it in diagnostics();
// throws an input error only for times beyond what can be computed with.
class RankBuilder final : public TimelineSink {
 public:
  // `trace` holds the definitions and must outlive the builder.
  RankBuilder(const Trace& trace, std::int32_t rank);

  void Enter(Tick tick, std::uint32_t region) override;
  void Leave(Tick tick, std::uint32_t region) override;

  void Record(const FedRecord& record) override;
  // The same by the kind of the record.
  void Send(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
    Record({RecordKind::kSend, peer, communicator, tag, bytes});
  }
  void SendPost(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes,
                std::optional<std::uint64_t> request) {
    Record({RecordKind::kSendPost, peer, communicator, tag, bytes, request});
  }
  void SendComplete(std::uint64_t request) { Record({.kind = RecordKind::kSendComplete, .request = request}); }
  void Receive(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
    Record({RecordKind::kReceive, peer, communicator, tag, bytes});
  }
  void ReceivePost(std::uint64_t request) { Record({.kind = RecordKind::kReceivePost, .request = request}); }
  void ReceiveComplete(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes,
                       std::uint64_t request) {
    Record({RecordKind::kReceiveComplete, peer, communicator, tag, bytes, request});
  }
  void RequestCancelled(std::uint64_t request) { Record({.kind = RecordKind::kSendCancelled, .request = request}); }
  void Collective(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                  std::uint64_t sent, std::uint64_t received) {
    Record({RecordKind::kCollective, 0, communicator, 0, sent, {}, kind, root, received});
  }
  void CollectivePost(std::optional<std::uint64_t> request) {
    Record({.kind = RecordKind::kCollectivePost, .request = request});
  }
  void CollectiveComplete(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                          std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
    Record({RecordKind::kCollectiveComplete, 0, communicator, 0, sent, request, kind, root, received});
  }

  // The call around it synchronises the rank with these ranks of a window, which is a communicator of its own: a post
  // notifies each of them, a complete waits for the post of each and notifies them, a wait waits for their completes.
  // Members are world ranks. With nobody at all it is a barrier on `alone`, a communicator of the rank itself.
  void SynchroniseGroup(std::uint32_t window, const std::vector<std::int32_t>& group, std::uint32_t alone);

  // The call around it asks for the lock of a rank's window, or gives it back. Locks that are never given back are left
  // out. `target`: local rank; nothing: those of all ranks.
  void Lock(std::uint32_t window, std::optional<std::uint32_t> target, bool is_exclusive);
  void Unlock(std::uint32_t window, std::optional<std::uint32_t> target);

  // An operation on a window or a file that moved so many bytes.
  void MoveOneSided(std::uint64_t bytes) { rare_.one_sided += {1, bytes}; }
  void MoveOnFile(std::uint64_t bytes) { rare_.on_files += {1, bytes}; }

  // The value of an accumulating counter from now on: an integer, or the bits of a double.
  // Comes before the edge it belongs to.
  void SetCounter(Tick tick, std::uint32_t counter, std::int64_t value) override;

  // The same of CPU time that is sampled now and then, not at every edge: after a sample it passes like time as far as
  // the next one lets it, so what a thread did not run lies right before the later sample. Counts are integers.
  void SetCpuTime(Tick tick, std::uint32_t counter, std::int64_t value);

  // For a counter whose samples do not show all that happened between them.
  void DistrustCounter(std::uint32_t counter);

  // Where the thread forks, joins, enters or leaves a team; left out within MPI calls.
  void Team(TeamEvent::Kind kind, Tick tick, std::uint32_t team = 0);

  void MeasurementOff(Tick tick) override;
  void MeasurementOn(Tick tick) override;
  void BufferFlush(Tick begin, Tick end) override;

  std::int32_t rank() const { return rank_; }
  const Trace& definitions() const { return trace_; }
  Diagnostics& diagnostics() { return diagnostics_; }

  // Closes what is open and hands over; the builder is done, but for its team events.
  RankTimeline Finish();
  std::vector<TeamEvent> TakeTeamEvents() { return std::move(team_events_); }

 private:
  // A counter, whose columns are built here, with its last sample.
  struct Samples {
    PackedColumnBuilder at_enter, in_call, at_event;
    std::int64_t value = 0;
    Tick tick = std::numeric_limits<Tick>::min();
    bool is_new = false;      // since the last edge
    std::uint64_t edges = 0;  // since the first sample
    std::uint64_t edges_without = 0;
    std::int64_t at_call = 0;                                // at the enter of the call at hand
    std::vector<std::pair<Tick, std::int64_t>> cpu_times{};  // all samples, where they are taken now and then
  };

  Tick Advance(Tick tick);
  void Pop(Tick tick);
  void PopLeftOpen(Tick tick, const std::string& place);
  void AddRegionEvent(Tick tick, std::uint32_t region, bool is_leave);
  bool InCall();
  std::optional<std::int32_t> LockTarget(std::uint32_t window, std::optional<std::uint32_t> target);
  std::optional<std::uint32_t> EndpointOf(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag);
  std::uint32_t CollectiveTypeOf(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root);
  void AddRecord(RecordKind kind, std::uint32_t target, std::uint64_t back, std::uint64_t bytes,
                 std::uint64_t received);
  std::int64_t SampleAt(Tick tick, std::size_t counter);
  void FinishCounter(std::size_t counter);
  std::string Place() const;

  const Trace& trace_;
  std::int32_t rank_;
  RareRecords rare_;       // part of the timeline
  RankTimeline timeline_;  // all but its columns, which are built in:
  TimelineColumns<PackedColumnBuilder> columns_;
  Diagnostics diagnostics_;
  std::vector<TeamEvent> team_events_;

  std::vector<std::uint32_t> open_regions_;
  std::size_t call_depth_ = 0;  // open_regions_[call_depth_ - 1] is the MPI call we are in; 0 outside MPI
  bool is_outside_ = false;     // it is no call but the region outside the cut
  Tick call_enter_ = 0;
  std::uint32_t call_region_ = 0;
  std::uint64_t call_edges_ = 0;  // recorded up to its enter
  std::size_t call_first_record_ = 0;

  Tick last_tick_ = std::numeric_limits<Tick>::min();
  std::optional<Tick> backwards_at_;  // last tick that the clock must catch up from
  Tick stood_still_ = 0;              // while it ran on below last_tick_
  std::uint64_t edges_ = 0;
  std::uint64_t messages_ = 0;
  std::optional<Tick> off_since_;

  std::vector<Samples> samples_;                                                          // one a counter
  std::unordered_map<std::uint64_t, std::pair<OperationClass, std::uint64_t>> requests_;  // with numbers of posts
  static std::size_t Hash(const Endpoint& endpoint);
  std::unordered_map<Endpoint, std::uint32_t, std::size_t (*)(const Endpoint&)> endpoint_index_{16, Hash};
  static constexpr std::uint32_t kNoEndpoint = std::numeric_limits<std::uint32_t>::max();
  std::array<std::uint32_t, 64> endpoint_cache_;  // index of an endpoint by the low bits of its hash
  std::map<CollectiveType, std::uint32_t> collective_index_;
  std::vector<LockEpoch> open_locks_;
};

// Times of everything a rank did, each as many as the timeline has, in ascending order.
struct NewTimes {
  std::vector<Tick> enter, leave;  // calls
  std::vector<Tick> events;        // region events
  std::vector<Interruption> interruptions;
  // Parts of the old times that are left out, in order and apart, with what counters count in them: their share of what
  // they count between the edges around each.
  std::vector<std::pair<Tick, Tick>> without;
};

// A timeline with the calls, records, regions and counters of another one, at the times given.
RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times);

// Holds the definitions while ranks are built, then the whole trace.
class TraceBuilder {
 public:
  // Copies what a trace made out of another one has in common with it: path, format, program, creator, clock, nodes,
  // regions.
  void CopyHeader(const Trace& trace);
  // MPI functions are recognised by name.
  std::uint32_t AddRegion(const std::string& name);
  std::uint32_t AddRegion(Region region) { return Append(std::move(region), trace_.regions); }
  std::uint32_t AddCounter(Counter counter) { return Append(std::move(counter), trace_.counters); }
  std::uint32_t AddCommunicator(Communicator added) { return Append(std::move(added), trace_.communicators); }
  void AddTopology(CartesianTopology topology) { trace_.topologies.push_back(std::move(topology)); }
  std::uint32_t AddNode(std::string name) { return Append(std::move(name), trace_.nodes); }
  void AddRank(Rank rank);
  // `ranks` ranks on one node and their MPI_COMM_WORLD; returns the communicator.
  std::uint32_t AddWorld(std::int32_t ranks);

  Trace& trace() { return trace_; }
  const Trace& definitions() const { return trace_; }

  // Takes the rank's events and adds its diagnostics. Call from one thread.
  void SetTimeline(RankBuilder& rank);
  Trace Finish() && { return std::move(trace_); }

 private:
  template <typename Element>
  static std::uint32_t Append(Element element, std::vector<Element>& elements) {
    elements.push_back(std::move(element));
    return static_cast<std::uint32_t>(elements.size() - 1);
  }

  Trace trace_;
};

}  // namespace farscale
