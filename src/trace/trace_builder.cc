#include "trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "trace/anomalies.h"
#include "trace/counters.h"

namespace farscale {
namespace {

// Far beyond any clock (146 years in nanoseconds), yet sums and differences of a few of them do not overflow.
constexpr Tick kLargestTick = Tick{1} << 62;
constexpr std::uint32_t kNoEndpoint = std::numeric_limits<std::uint32_t>::max();

TimelineColumns<PackedColumn> FinishColumns(TimelineColumns<PackedColumnBuilder>& columns) {
  return std::apply([](auto&... column) { return TimelineColumns<PackedColumn>{column.Finish()...}; }, AllOf(columns));
}

CounterColumns<PackedColumn> FinishColumns(CounterColumns<PackedColumnBuilder>& c) {
  return {c.at_enter.Finish(), c.in_call.Finish(), c.at_event.Finish()};
}

}  // namespace

RankBuilder::RankBuilder(const Trace& trace, std::int32_t rank)
    : trace_(trace),
      rank_(rank),
      counter_columns_(trace.counters.size()),
      counters_at_enter_(trace.counters.size()),
      samples_(trace.counters.size()),
      cpu_times_(trace.counters.size()) {
  timeline_.counters_.resize(trace.counters.size());
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    timeline_.counters_[i].is_double = trace.counters[i].is_double;
  }
  endpoint_cache_.fill(kNoEndpoint);
}

std::string RankBuilder::Place() const { return fmt::format("on rank {} at tick {}", rank_, last_tick_); }

// A clock that runs backwards stands still until it has caught up.
Tick RankBuilder::Advance(Tick tick) {
  if (tick < last_tick_) {
    diagnostics_.Add(anomaly::kClockBackwards, 1, Place());
    return last_tick_;
  }
  if (tick > kLargestTick || tick < -kLargestTick) {
    throw Error(ErrorKind::kInput, fmt::format("{}, rank {}", trace_.path, rank_),
                fmt::format("an event has the time stamp {}, which no clock reaches", tick), "the trace is damaged");
  }
  last_tick_ = tick;
  return tick;
}

void RankBuilder::Enter(Tick tick, std::uint32_t region) {
  const Region& entered = trace_.regions[region];
  const bool nothing_yet = open_regions_.empty() && columns_.enter.size() == 0 && columns_.event_tick.size() == 0;
  if (nothing_yet && !entered.is_outside) timeline_.begin_ = std::max(tick, last_tick_);
  tick = Advance(tick);
  open_regions_.push_back(region);
  edges_ += entered.is_outside ? 0 : 1;
  if (call_depth_ > 0) return;  // inside MPI
  is_outside_ = entered.is_outside;
  if (entered.is_mpi || entered.is_outside) call_depth_ = open_regions_.size();
  if (entered.is_mpi) BeginCall(tick, region);
  if (!entered.is_mpi && !entered.is_outside) AddRegionEvent(tick, region, false);
}

void RankBuilder::Leave(Tick tick, std::uint32_t region) {
  tick = Advance(tick);
  edges_ += trace_.regions[region].is_outside ? 0 : 1;
  const auto found = std::find(open_regions_.rbegin(), open_regions_.rend(), region);
  if (found == open_regions_.rend()) {
    diagnostics_.Add(anomaly::kLeaveWithoutEnter, 1, Place());
    return;
  }
  for (auto left_open = found - open_regions_.rbegin(); left_open > 0; --left_open) {
    diagnostics_.Add(anomaly::kRegionLeftOpen, 1, Place());
    Pop(tick);
  }
  Pop(tick);
}

void RankBuilder::Pop(Tick tick) {
  const std::uint32_t region = open_regions_.back();
  const std::size_t depth = open_regions_.size();
  open_regions_.pop_back();
  if (depth == call_depth_) {
    call_depth_ = 0;
    if (is_outside_) return EndOutside();
    EndCall(tick);
  } else if (call_depth_ == 0) {
    AddRegionEvent(tick, region, true);
  }
  timeline_.end_ = tick;
}

// Before the first call, what follows begins behind these records.
void RankBuilder::EndOutside() {
  is_outside_ = false;
  if (columns_.enter.size() == 0) timeline_.call_records_end_ = columns_.record_kind.size();
}

void RankBuilder::BeginCall(Tick tick, std::uint32_t region) {
  call_enter_ = tick;
  call_region_ = region;
  call_first_record_ = columns_.record_kind.size();
  // A region outside the cut between two calls: its records now count as those of the call before.
  const std::uint64_t between = columns_.enter.size() > 0 ? call_first_record_ - timeline_.call_records_end_ : 0;
  if (between > 0) diagnostics_.Add(anomaly::kRecordOutsideMpi, between, Place());
  for (std::size_t i = 0; i < samples_.size(); ++i) counters_at_enter_[i] = SampleAt(tick, i);
}

void RankBuilder::EndCall(Tick tick) {
  columns_.enter.Append(call_enter_);
  columns_.duration.Append(tick - call_enter_);
  columns_.call_region.Append(call_region_);
  columns_.first_record.Append(static_cast<std::int64_t>(call_first_record_));
  timeline_.call_records_end_ = columns_.record_kind.size();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const std::int64_t at_leave = SampleAt(tick, i);
    counter_columns_[i].at_enter.Append(counters_at_enter_[i]);
    counter_columns_[i].in_call.Append(timeline_.counters_[i].is_double ? at_leave : at_leave - counters_at_enter_[i]);
  }
  const bool has_record = columns_.record_kind.size() > call_first_record_;
  if (!has_record && trace_.regions[call_region_].IsCollective()) {
    diagnostics_.Add(anomaly::kCollectiveWithoutRecord, 1,
                     fmt::format("{} {}", trace_.regions[call_region_].name, Place()));
  }
  const MpiCall call = trace_.regions[call_region_].call;
  const bool locks = call == MpiCall::kWindowLock || call == MpiCall::kWindowLockAll;
  if (locks || (!has_record && IsWindowSynchronisation(call))) {
    diagnostics_.Add(anomaly::kOneSidedNotReplayed, 1,
                     fmt::format("{} {}", trace_.regions[call_region_].name, Place()));
  }
}

void RankBuilder::AddRegionEvent(Tick tick, std::uint32_t region, bool is_leave) {
  columns_.event_tick.Append(tick);
  columns_.event_code.Append(static_cast<std::int64_t>(region) << 1 | (is_leave ? 1 : 0));
  columns_.event_call.Append(static_cast<std::int64_t>(columns_.enter.size()));
  if (trace_.regions[region].is_pause) {
    const auto event = static_cast<std::uint32_t>(columns_.event_tick.size() - 1);
    if (!is_leave) timeline_.pauses_.push_back({event, event});
    if (is_leave && !timeline_.pauses_.empty()) timeline_.pauses_.back().end_event = event;
  }
  for (std::size_t i = 0; i < samples_.size(); ++i) counter_columns_[i].at_event.Append(SampleAt(tick, i));
}

std::int64_t RankBuilder::SampleAt(Tick tick, std::size_t counter) {
  Sample& sample = samples_[counter];
  if (!timeline_.counters_[counter].recorded) return sample.value;
  if (!cpu_times_[counter].empty()) return sample.value;  // what it is here will be known at the end
  if (sample.tick != tick) diagnostics_.Add(anomaly::kCounterNotAtEdges, 1);
  // A sample a little ahead of its edge still tells what happened since the edge before.
  ++sample.edges;
  if (!sample.is_new && sample.tick != tick) ++sample.edges_without;
  sample.is_new = false;
  return sample.value;
}

void RankBuilder::SetCounter(Tick tick, std::uint32_t counter, std::int64_t value) {
  RankTimeline::CounterData& data = timeline_.counters_[counter];
  Sample& sample = samples_[counter];
  const bool fell =
      data.is_double ? std::bit_cast<double>(value) < std::bit_cast<double>(sample.value) : value < sample.value;
  if (data.recorded && fell) {
    data.unreliable = true;
    diagnostics_.Add(anomaly::kCounterBackwards, 1, fmt::format("{} {}", trace_.counters[counter].name, Place()));
  }
  if (!data.recorded && edges_ > 0) {
    data.unreliable = true;
    diagnostics_.Add(anomaly::kCounterNotAtEdges, edges_, fmt::format("{} {}", trace_.counters[counter].name, Place()));
  }
  data.recorded = true;
  sample.value = value;
  sample.tick = std::max(tick, last_tick_);
  sample.is_new = true;
}

void RankBuilder::SetCpuTime(Tick tick, std::uint32_t counter, std::int64_t value) {
  SetCounter(tick, counter, value);
  cpu_times_[counter].push_back({samples_[counter].tick, value});
}

namespace {

// Walks with the edges of a rank along its samples of CPU time.
template <typename Samples>
class PassingCpuTime {
 public:
  PassingCpuTime(const Samples& samples, double counts_a_tick) : samples_(samples), counts_a_tick_(counts_a_tick) {}

  // Ticks come in order.
  std::int64_t At(Tick tick) {
    while (next_ < samples_.size() && samples_[next_].tick <= tick) ++next_;
    if (next_ == 0) return samples_[0].value;
    const auto& last = samples_[next_ - 1];
    const double passed = static_cast<double>(tick - last.tick) * counts_a_tick_;
    if (next_ < samples_.size()) {
      const std::int64_t at_next = std::max(last.value, samples_[next_].value);
      if (passed >= static_cast<double>(at_next) - static_cast<double>(last.value)) return at_next;
    }
    return last.value + std::llround(std::min(passed, 1e18));
  }

 private:
  const Samples& samples_;
  const double counts_a_tick_;
  std::size_t next_ = 0;
};

}  // namespace

CounterColumns<PackedColumn> RankBuilder::CpuTimeAtEdges(std::size_t counter) const {
  const double counts_a_tick = CountsPerSecond(trace_.counters[counter]) / trace_.ticks_per_second;
  PassingCpuTime at_call(cpu_times_[counter], counts_a_tick), at_event(cpu_times_[counter], counts_a_tick);
  CounterColumns<PackedColumnBuilder> columns;
  for (std::size_t call = 0; call < timeline_.calls(); ++call) {
    const std::int64_t at_enter = at_call.At(timeline_.enter(call));
    columns.at_enter.Append(at_enter);
    columns.in_call.Append(at_call.At(timeline_.leave(call)) - at_enter);
  }
  for (std::size_t event = 0; event < timeline_.region_events(); ++event) {
    columns.at_event.Append(at_event.At(timeline_.event_tick(event)));
  }
  return FinishColumns(columns);
}

void RankBuilder::DistrustCounter(std::uint32_t counter) { timeline_.counters_[counter].unreliable = true; }

bool RankBuilder::InCall() {
  ++messages_;
  if (call_depth_ > 0) return true;
  diagnostics_.Add(anomaly::kRecordOutsideMpi, 1, Place());
  return false;
}

std::size_t RankBuilder::EndpointHash::operator()(const Endpoint& endpoint) const {
  std::uint64_t hash = static_cast<std::uint32_t>(endpoint.peer) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ endpoint.communicator) * 0xC2B2AE3D27D4EB4Fu;
  hash = (hash ^ endpoint.tag) * 0x165667B19E3779F9u;
  return hash ^ (hash >> 32);
}

std::optional<std::uint32_t> RankBuilder::EndpointOf(std::uint32_t peer, std::uint32_t communicator,
                                                     std::uint32_t tag) {
  if (!InCall()) return std::nullopt;
  const Communicator& group = trace_.communicators[communicator];
  std::int32_t world_peer = rank_;
  if (!group.is_self) {
    const bool in_members =
        group.remote.empty() || std::find(group.members.begin(), group.members.end(), rank_) == group.members.end();
    const std::vector<std::int32_t>& peers = in_members ? group.members : group.remote;
    if (peer >= peers.size()) {
      diagnostics_.Add(anomaly::kPeerOutsideCommunicator, 1, fmt::format("peer {} {}", peer, Place()));
      return std::nullopt;
    }
    world_peer = peers[peer];
  }
  const Endpoint endpoint{world_peer, communicator, tag};
  const std::size_t hash = EndpointHash()(endpoint);
  std::uint32_t& cached = endpoint_cache_[hash % endpoint_cache_.size()];
  if (cached != kNoEndpoint && timeline_.endpoints_[cached] == endpoint) return cached;
  const auto [entry, is_new] =
      endpoint_index_.try_emplace(endpoint, static_cast<std::uint32_t>(timeline_.endpoints_.size()));
  if (is_new) timeline_.endpoints_.push_back(endpoint);
  cached = entry->second;
  return cached;
}

void RankBuilder::AddRecord(RecordKind kind, std::uint32_t target, std::uint64_t back, std::uint64_t bytes,
                            std::uint64_t received) {
  columns_.record_kind.Append(static_cast<std::int64_t>(kind));
  columns_.record_target.Append(target);
  columns_.record_back.Append(static_cast<std::int64_t>(back));
  columns_.record_bytes.Append(static_cast<std::int64_t>(bytes));
  columns_.record_received.Append(static_cast<std::int64_t>(received));
}

void RankBuilder::Remember(std::uint64_t request, Operation operation, std::uint64_t ordinal) {
  const auto [entry, is_new] = requests_.insert_or_assign(request, Request{operation, ordinal});
  if (!is_new) diagnostics_.Add(anomaly::kRequestNeverCompleted, 1, fmt::format("request {} {}", request, Place()));
}

std::optional<std::uint64_t> RankBuilder::TakeRequest(std::uint64_t request, Operation operation) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.operation != operation) {
    diagnostics_.Add(anomaly::kRequestUnknown, 1, fmt::format("request {} {}", request, Place()));
    return std::nullopt;
  }
  const std::uint64_t ordinal = found->second.ordinal;
  requests_.erase(found);
  return ordinal;
}

void RankBuilder::Send(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (!endpoint) return;
  ++timeline_.sends_;
  AddRecord(RecordKind::kSend, *endpoint, 0, bytes);
}

void RankBuilder::SendPost(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes,
                           std::optional<std::uint64_t> request) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (!endpoint) return;
  if (request) Remember(*request, Operation::kSend, timeline_.sends_);
  if (!request) diagnostics_.Add(anomaly::kCompletionUnknown, 1, Place());
  ++timeline_.sends_;
  AddRecord(RecordKind::kSendPost, *endpoint, 0, bytes);
}

void RankBuilder::SendComplete(std::uint64_t request) {
  if (!InCall()) return;
  const auto ordinal = TakeRequest(request, Operation::kSend);
  if (!ordinal) return;
  AddRecord(RecordKind::kSendComplete, 0, timeline_.sends_ - 1 - *ordinal, 0);
}

void RankBuilder::Receive(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag, std::uint64_t bytes) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (!endpoint) return;
  ++timeline_.receives_;
  AddRecord(RecordKind::kReceive, *endpoint, 0, bytes);
}

void RankBuilder::ReceivePost(std::uint64_t request) {
  if (!InCall()) return;
  Remember(request, Operation::kReceive, timeline_.receives_++);
  AddRecord(RecordKind::kReceivePost, 0, 0, 0);
}

void RankBuilder::ReceiveComplete(std::uint32_t peer, std::uint32_t communicator, std::uint32_t tag,
                                  std::uint64_t bytes, std::uint64_t request) {
  const auto endpoint = EndpointOf(peer, communicator, tag);
  if (!endpoint) return;
  const auto ordinal = TakeRequest(request, Operation::kReceive);
  if (!ordinal) {
    ++timeline_.receives_;
    AddRecord(RecordKind::kReceive, *endpoint, 0, bytes);
    return;
  }
  AddRecord(RecordKind::kReceiveComplete, *endpoint, timeline_.receives_ - 1 - *ordinal, bytes);
}

void RankBuilder::RequestCancelled(std::uint64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  diagnostics_.Add(anomaly::kRequestCancelled, 1, fmt::format("request {} {}", request, Place()));
  if (found->second.operation == Operation::kSend && call_depth_ > 0) {
    AddRecord(RecordKind::kSendCancelled, 0, timeline_.sends_ - 1 - found->second.ordinal, 0);
  }
  requests_.erase(found);
}

std::uint32_t RankBuilder::CollectiveTypeOf(CollectiveKind kind, std::uint32_t communicator,
                                            std::optional<std::uint32_t> root) {
  CollectiveType type{communicator, kind, kNoRoot};
  const Communicator& group = trace_.communicators[communicator];
  const std::vector<std::int32_t>& roots = group.remote.empty() ? group.members : group.remote;
  if (root && group.is_self) type.root = rank_;
  if (root && !group.is_self && *root < roots.size()) type.root = roots[*root];
  std::vector<CollectiveType>& types = timeline_.collective_types_;
  const auto [entry, is_new] = collective_index_.try_emplace(type, static_cast<std::uint32_t>(types.size()));
  if (is_new) types.push_back(type);
  return entry->second;
}

void RankBuilder::Collective(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                             std::uint64_t sent, std::uint64_t received) {
  if (!InCall()) return;
  ++timeline_.collectives_;
  AddRecord(RecordKind::kCollective, CollectiveTypeOf(kind, communicator, root), 0, sent, received);
}

void RankBuilder::CollectivePost(std::optional<std::uint64_t> request) {
  if (!InCall()) return;
  if (request) Remember(*request, Operation::kCollective, timeline_.collectives_);
  if (!request) diagnostics_.Add(anomaly::kCompletionUnknown, 1, Place());
  ++timeline_.collectives_;
  AddRecord(RecordKind::kCollectivePost, 0, 0, 0);
}

void RankBuilder::CollectiveComplete(CollectiveKind kind, std::uint32_t communicator, std::optional<std::uint32_t> root,
                                     std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
  if (!InCall()) return;
  const std::uint32_t type = CollectiveTypeOf(kind, communicator, root);
  const auto ordinal = TakeRequest(request, Operation::kCollective);
  if (!ordinal) {
    ++timeline_.collectives_;
    AddRecord(RecordKind::kCollective, type, 0, sent, received);
    return;
  }
  AddRecord(RecordKind::kCollectiveComplete, type, timeline_.collectives_ - 1 - *ordinal, sent, received);
}

namespace {

// Messages between the calls of a window's access epochs: from post to complete, and from complete to wait.
constexpr std::uint32_t kPostTag = 0, kCompleteTag = 1;

}  // namespace

void RankBuilder::SynchroniseGroup(std::uint32_t window, const std::vector<std::int32_t>& group, std::uint32_t alone) {
  if (!InCall()) return;
  const MpiCall call = trace_.regions[call_region_].call;
  const bool posts = call == MpiCall::kWindowPost, completes = call == MpiCall::kWindowComplete;
  const bool waits = call == MpiCall::kWindowWait || call == MpiCall::kWindowTest;
  if (!posts && !completes && !waits) return;  // a start may return before its partners have posted
  if (group.empty()) return Collective(CollectiveKind::kBarrier, alone, std::nullopt, 0, 0);
  const std::vector<std::int32_t>& members = trace_.communicators[window].members;
  for (const std::int32_t rank : group) {
    const auto peer = static_cast<std::uint32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
    if (posts) Send(peer, window, kPostTag, 0);
    if (completes) Receive(peer, window, kPostTag, 0);
    if (completes) Send(peer, window, kCompleteTag, 0);
    if (waits) Receive(peer, window, kCompleteTag, 0);
  }
}

void RankBuilder::Team(TeamEvent::Kind kind, Tick tick, std::uint32_t team) {
  if (call_depth_ > 0) return;
  team_events_.push_back({kind, std::max(tick, last_tick_), static_cast<std::uint32_t>(columns_.enter.size()),
                          static_cast<std::uint32_t>(columns_.event_tick.size()), team});
}

void RankBuilder::MeasurementOff(Tick tick) {
  if (!off_since_) off_since_ = std::max(tick, last_tick_);
}

void RankBuilder::MeasurementOn(Tick tick) {
  if (off_since_ && tick > *off_since_) timeline_.interruptions_.push_back({*off_since_, tick, false});
  off_since_.reset();
}

void RankBuilder::BufferFlush(Tick begin, Tick end) {
  if (end > begin) timeline_.interruptions_.push_back({begin, end, true});
}

RankTimeline RankBuilder::Finish() {
  if (off_since_ && last_tick_ > *off_since_) timeline_.interruptions_.push_back({*off_since_, last_tick_, false});
  while (!open_regions_.empty()) {
    diagnostics_.Add(anomaly::kRegionLeftOpen, 1, fmt::format("on rank {} at the end of the trace", rank_));
    Pop(last_tick_);
  }
  if (!requests_.empty()) {
    diagnostics_.Add(anomaly::kRequestNeverCompleted, requests_.size(), fmt::format("on rank {}", rank_));
  }
  diagnostics_.AddPopulation(anomaly::kClockBackwards, edges_);
  diagnostics_.AddPopulation(anomaly::kLeaveWithoutEnter, edges_);
  for (const Anomaly& anomaly :
       {anomaly::kRecordOutsideMpi, anomaly::kRequestUnknown, anomaly::kPeerOutsideCommunicator}) {
    diagnostics_.AddPopulation(anomaly, messages_);
  }
  timeline_.columns_ = FinishColumns(columns_);
  for (std::size_t i = 0; i < counter_columns_.size(); ++i) {
    if (!timeline_.counters_[i].recorded) continue;
    if (!cpu_times_[i].empty()) {
      timeline_.counters_[i].edge_share = 1;
      timeline_.counters_[i].columns = CpuTimeAtEdges(i);
      continue;
    }
    if (samples_[i].edges > 0) {
      timeline_.counters_[i].edge_share =
          1 - static_cast<float>(samples_[i].edges_without) / static_cast<float>(samples_[i].edges);
    }
    timeline_.counters_[i].columns = FinishColumns(counter_columns_[i]);
  }
  timeline_.endpoints_.shrink_to_fit();
  timeline_.collective_types_.shrink_to_fit();
  timeline_.interruptions_.shrink_to_fit();
  timeline_.pauses_.shrink_to_fit();
  return std::move(timeline_);
}

RankTimeline RankBuilder::Retime(const RankTimeline& timeline, const NewTimes& times) {
  RankTimeline result = timeline;
  PackedColumnBuilder enter, duration, event_tick;
  Tick begin = std::numeric_limits<Tick>::max(), end = std::numeric_limits<Tick>::min();
  for (std::size_t call = 0; call < times.enter.size(); ++call) {
    enter.Append(times.enter[call]);
    duration.Append(times.leave[call] - times.enter[call]);
    begin = std::min(begin, times.enter[call]);
    end = std::max(end, times.leave[call]);
  }
  for (const Tick tick : times.events) {
    event_tick.Append(tick);
    begin = std::min(begin, tick);
    end = std::max(end, tick);
  }
  result.columns_.enter = enter.Finish();
  result.columns_.duration = duration.Finish();
  result.columns_.event_tick = event_tick.Finish();
  result.interruptions_ = times.interruptions;
  if (!timeline.empty()) {
    result.begin_ = begin;
    result.end_ = end;
  }
  return result;
}

RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times) {
  return RankBuilder::Retime(timeline, times);
}

std::uint32_t TraceBuilder::AddRegion(const std::string& name) {
  const MpiCall call = ClassifyMpiCall(name);
  return AddRegion(Region{name, call != MpiCall::kNone, call});
}

void TraceBuilder::AddRank(Rank rank) {
  trace_.ranks.push_back(std::move(rank));
  trace_.timelines.emplace_back();
}

std::uint32_t TraceBuilder::AddWorld(std::int32_t ranks) {
  const auto node = static_cast<std::int32_t>(AddNode("node0"));
  Communicator world;
  world.name = "MPI_COMM_WORLD";
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    AddRank({node, 1, fmt::format("rank {}", rank)});
    world.members.push_back(rank);
  }
  return AddCommunicator(std::move(world));
}

void TraceBuilder::SetTimeline(RankBuilder& rank) {
  trace_.timelines[static_cast<std::size_t>(rank.rank())] = rank.Finish();
  trace_.diagnostics.Merge(rank.diagnostics());
}

}  // namespace farscale
