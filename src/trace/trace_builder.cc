#include "trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "base/diagnostics.h"
#include "trace/anomalies.h"
#include "trace/names.h"

namespace farscale {
namespace {

// Chosen: far beyond any clock (146 years in nanoseconds), yet sums and differences of a few of them do not overflow.
constexpr Tick kLargestTick = Tick{1} << 62;

// Messages between the calls of a window's access epochs: from post to complete, and from complete to wait.
constexpr std::uint32_t kPostTag = 0, kCompleteTag = 1;

// Fills the columns of a counter with its values at the edges of a timeline.
template <typename AtEnter, typename AtLeave, typename AtEvent, typename Data>
void FillColumns(const RankTimeline& timeline, AtEnter at_enter, AtLeave at_leave, AtEvent at_event, Data& data) {
  PackedColumnBuilder enter, in_call, event;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    const std::int64_t entered = at_enter(call), left = at_leave(call);
    enter.Append(entered);
    in_call.Append(data.is_double ? left : left - entered);
  }
  for (std::size_t i = 0; i < timeline.region_events(); ++i) event.Append(at_event(i));
  data.at_enter = enter.Finish();
  data.in_call = in_call.Finish();
  data.at_event = event.Finish();
}

// Takes out of a counter what it counts in the parts of a timeline without which it goes on.
template <typename Data>
void LeaveOutCounts(const RankTimeline& timeline, std::size_t counter,
                    const std::vector<std::pair<Tick, Tick>>& without, Data& data) {
  std::vector<std::pair<Tick, double>> edges;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    edges.emplace_back(timeline.enter(call), timeline.counter_at_enter(counter, call));
    edges.emplace_back(timeline.leave(call), timeline.counter_at_leave(counter, call));
  }
  for (std::size_t event = 0; event < timeline.region_events(); ++event) {
    edges.emplace_back(timeline.event_tick(event), timeline.counter_at_event(counter, event));
  }
  std::ranges::sort(edges);
  std::vector<double> removed = {0};  // before the first part, behind it, ...
  for (const auto& [begin, end] : without) {
    const auto after = std::ranges::lower_bound(edges, end, {}, &std::pair<Tick, double>::first);
    const auto from = std::ranges::upper_bound(edges, begin, {}, &std::pair<Tick, double>::first);
    double count = 0;
    if (from != edges.begin() && after != edges.end()) {
      const auto& [before_tick, before] = *(from - 1);
      const double share = static_cast<double>(end - begin) / static_cast<double>(after->first - before_tick);
      count = share * (after->second - before);
    }
    removed.push_back(removed.back() + count);
  }
  const auto raw = [&](Tick tick, double value) {
    const auto behind = std::ranges::upper_bound(without, tick, {}, &std::pair<Tick, Tick>::second);
    value -= removed[static_cast<std::size_t>(behind - without.begin())];
    return data.is_double ? std::bit_cast<std::int64_t>(value) : static_cast<std::int64_t>(std::llround(value));
  };
  FillColumns(
      timeline, [&](std::size_t call) { return raw(timeline.enter(call), timeline.counter_at_enter(counter, call)); },
      [&](std::size_t call) { return raw(timeline.leave(call), timeline.counter_at_leave(counter, call)); },
      [&](std::size_t event) { return raw(timeline.event_tick(event), timeline.counter_at_event(counter, event)); },
      data);
}

}  // namespace

std::size_t RankBuilder::Hash(const Endpoint& endpoint) {
  std::uint64_t hash = static_cast<std::uint32_t>(endpoint.peer) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ endpoint.communicator) * 0xC2B2AE3D27D4EB4Fu;
  hash = (hash ^ endpoint.tag) * 0x165667B19E3779F9u;
  return hash ^ (hash >> 32);
}

RankBuilder::RankBuilder(const Trace& trace, std::int32_t rank)
    : trace_(trace), rank_(rank), samples_(trace.counters.size()) {
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
    stood_still_ += std::max<Tick>(0, tick - backwards_at_.value_or(tick));
    backwards_at_ = tick;
    return last_tick_;
  }
  backwards_at_.reset();
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
  if (!entered.is_mpi && !entered.is_outside) AddRegionEvent(tick, region, false);
  if (!entered.is_mpi) return;
  call_enter_ = tick;
  call_region_ = region;
  call_edges_ = edges_;
  call_first_record_ = columns_.record_kind.size();
  // A region outside the cut between two calls: its records now count as those of the call before.
  const std::uint64_t between = columns_.enter.size() > 0 ? call_first_record_ - timeline_.call_records_end_ : 0;
  if (between > 0) diagnostics_.Add(anomaly::kRecordOutsideMpi, between, Place());
  for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i].at_call = SampleAt(tick, i);
}

void RankBuilder::Leave(Tick tick, std::uint32_t region) {
  tick = Advance(tick);
  const bool is_open = std::ranges::find(open_regions_, region) != open_regions_.end();
  while (is_open && open_regions_.back() != region) PopLeftOpen(tick, Place());
  edges_ += trace_.regions[region].is_outside ? 0 : 1;
  if (is_open) return Pop(tick);
  diagnostics_.Add(anomaly::kLeaveWithoutEnter, 1, Place());
}

// A call in which a run was killed is left open, and the last one of a part of a run. One that goes on while others
// begin and end has lost its leave, and hides them.
void RankBuilder::PopLeftOpen(Tick tick, const std::string& place) {
  const bool is_call = open_regions_.size() == call_depth_ && trace_.regions[open_regions_.back()].is_mpi;
  const bool hides_others = is_call && edges_ > call_edges_ + 1;
  diagnostics_.Add(hides_others ? anomaly::kCallEdgeMissing : anomaly::kRegionLeftOpen, 1, place);
  Pop(tick);
}

void RankBuilder::Pop(Tick tick) {
  const std::uint32_t region = open_regions_.back();
  const bool is_call = open_regions_.size() == call_depth_;
  open_regions_.pop_back();
  if (is_call) {
    call_depth_ = 0;
    if (is_outside_) {
      is_outside_ = false;
      // Before the first call, what follows begins behind these records.
      const auto records = static_cast<std::uint32_t>(columns_.record_kind.size());
      if (columns_.enter.size() == 0) timeline_.call_records_end_ = records;
      return;
    }
  } else if (call_depth_ == 0) {
    AddRegionEvent(tick, region, true);
  }
  timeline_.end_ = tick;
  if (!is_call) return;
  columns_.enter.Append(call_enter_);
  columns_.duration.Append(tick - call_enter_);
  columns_.call_region.Append(call_region_);
  columns_.first_record.Append(static_cast<std::int64_t>(call_first_record_));
  timeline_.call_records_end_ = static_cast<std::uint32_t>(columns_.record_kind.size());
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const std::int64_t at_leave = SampleAt(tick, i);
    samples_[i].at_enter.Append(samples_[i].at_call);
    samples_[i].in_call.Append(timeline_.counters_[i].is_double ? at_leave : at_leave - samples_[i].at_call);
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
    if (!is_leave) rare_.pauses.push_back({event, event});
    if (is_leave && !rare_.pauses.empty()) rare_.pauses.back().end_event = event;
  }
  for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i].at_event.Append(SampleAt(tick, i));
}

std::int64_t RankBuilder::SampleAt(Tick tick, std::size_t counter) {
  Samples& sample = samples_[counter];
  if (!timeline_.counters_[counter].recorded) return sample.value;
  if (!sample.cpu_times.empty()) return sample.value;  // the value here will be known at the end
  if (sample.tick != tick) diagnostics_.Add(anomaly::kCounterNotAtEdges, 1);
  // A sample a little ahead of its edge still shows what happened since the edge before.
  ++sample.edges;
  if (!sample.is_new && sample.tick != tick) ++sample.edges_without;
  sample.is_new = false;
  return sample.value;
}

void RankBuilder::SetCounter(Tick tick, std::uint32_t counter, std::int64_t value) {
  RankTimeline::CounterData& data = timeline_.counters_[counter];
  Samples& sample = samples_[counter];
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
  samples_[counter].cpu_times.push_back({samples_[counter].tick, value});
}

void RankBuilder::FinishCounter(std::size_t counter) {
  RankTimeline::CounterData& data = timeline_.counters_[counter];
  Samples& samples = samples_[counter];
  if (!data.recorded) return;
  if (samples.cpu_times.empty()) {
    const float without = static_cast<float>(samples.edges_without);
    if (samples.edges > 0) data.edge_share = 1 - without / static_cast<float>(samples.edges);
    data.at_enter = samples.at_enter.Finish();
    data.in_call = samples.in_call.Finish();
    data.at_event = samples.at_event.Finish();
    return;
  }
  data.edge_share = 1;
  const double counts_a_tick = CountsPerSecond(trace_.counters[counter]) / trace_.ticks_per_second;
  std::size_t of_calls = 0, of_events = 0;
  // The value between samples; ticks come in order, and `next` is the sample behind the last one.
  const auto at = [&, &times = samples.cpu_times](Tick tick, std::size_t& next) -> std::int64_t {
    while (next < times.size() && times[next].first <= tick) ++next;
    if (next == 0) return times[0].second;
    const auto& [last_tick, last] = times[next - 1];
    const double passed = static_cast<double>(tick - last_tick) * counts_a_tick;
    if (next < times.size()) {
      const std::int64_t at_next = std::max(last, times[next].second);
      if (passed >= static_cast<double>(at_next) - static_cast<double>(last)) return at_next;
    }
    return last + std::llround(std::min(passed, 1e18));
  };
  FillColumns(
      timeline_, [&](std::size_t call) { return at(timeline_.enter(call), of_calls); },
      [&](std::size_t call) { return at(timeline_.leave(call), of_calls); },
      [&](std::size_t event) { return at(timeline_.event_tick(event), of_events); }, data);
}

void RankBuilder::DistrustCounter(std::uint32_t counter) { timeline_.counters_[counter].unreliable = true; }

void RankBuilder::Team(TeamEvent::Kind kind, Tick tick, std::uint32_t team) {
  if (call_depth_ > 0) return;
  team_events_.push_back({kind, std::max(tick, last_tick_), static_cast<std::uint32_t>(columns_.enter.size()),
                          static_cast<std::uint32_t>(columns_.event_tick.size()), team});
}

void RankBuilder::MeasurementOff(Tick tick) {
  if (!off_since_) off_since_ = std::max(tick, last_tick_);
}

void RankBuilder::MeasurementOn(Tick tick) {
  if (off_since_ && tick > *off_since_) rare_.interruptions.push_back({*off_since_, tick, false});
  off_since_.reset();
}

void RankBuilder::BufferFlush(Tick begin, Tick end) {
  if (end > begin) rare_.interruptions.push_back({begin, end, true});
}

bool RankBuilder::InCall() {
  ++messages_;
  if (call_depth_ > 0) return true;
  diagnostics_.Add(anomaly::kRecordOutsideMpi, 1, Place());
  return false;
}

std::optional<std::uint32_t> RankBuilder::EndpointOf(std::uint32_t peer, std::uint32_t communicator,
                                                     std::uint32_t tag) {
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
  const std::size_t hash = Hash(endpoint);
  std::uint32_t& cached = endpoint_cache_[hash % endpoint_cache_.size()];
  if (cached != kNoEndpoint && timeline_.endpoints_[cached] == endpoint) return cached;
  const auto [entry, is_new] =
      endpoint_index_.try_emplace(endpoint, static_cast<std::uint32_t>(timeline_.endpoints_.size()));
  if (is_new) timeline_.endpoints_.push_back(endpoint);
  cached = entry->second;
  return cached;
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

void RankBuilder::AddRecord(RecordKind kind, std::uint32_t target, std::uint64_t back, std::uint64_t bytes,
                            std::uint64_t received) {
  columns_.record_kind.Append(static_cast<std::int64_t>(kind));
  columns_.record_target.Append(target);
  columns_.record_back.Append(static_cast<std::int64_t>(back));
  columns_.record_bytes.Append(static_cast<std::int64_t>(bytes));
  columns_.record_received.Append(static_cast<std::int64_t>(received));
}

void RankBuilder::Record(const FedRecord& r) {
  const OperationPart part = PartOf(r.kind);
  if (!part.posts && !part.completes) {
    const auto found = requests_.find(*r.request);
    if (found == requests_.end()) return;
    diagnostics_.Add(anomaly::kRequestCancelled, 1, fmt::format("request {} {}", *r.request, Place()));
    if (found->second.first == OperationClass::kSend && call_depth_ > 0) {
      AddRecord(RecordKind::kSendCancelled, 0, timeline_.sends() - 1 - found->second.second, 0, 0);
    }
    requests_.erase(found);
    return;
  }
  if (!InCall()) return;
  RecordKind kind = r.kind;
  std::optional<std::uint32_t> target = 0;
  std::uint64_t bytes = 0, received = 0;
  if (part.type == OperationClass::kSend ? part.posts : part.completes) {
    target = part.IsCollective() ? CollectiveTypeOf(r.collective, r.communicator, r.root)
                                 : EndpointOf(r.peer, r.communicator, r.tag);
    bytes = r.bytes;
    received = r.received;
  }
  if (!target) return;
  if (!part.posts) {
    const auto found = requests_.find(*r.request);
    if (found != requests_.end() && found->second.first == part.type) {
      AddRecord(kind, *target, timeline_.posts(part.type) - 1 - found->second.second, bytes, received);
      requests_.erase(found);
      return;
    }
    diagnostics_.Add(anomaly::kRequestUnknown, 1, fmt::format("request {} {}", *r.request, Place()));
    if (part.type == OperationClass::kSend) return;
    kind = part.IsCollective() ? RecordKind::kCollective : RecordKind::kReceive;  // posted now
  } else if (!part.completes && r.request) {
    const auto [posted, is_new] =
        requests_.insert_or_assign(*r.request, std::pair(part.type, std::uint64_t{timeline_.posts(part.type)}));
    if (!is_new) {
      diagnostics_.Add(anomaly::kRequestNeverCompleted, 1, fmt::format("request {} {}", *r.request, Place()));
    }
  } else if (!part.completes) {
    // As of every send of a Paraver trace; the first place alone is kept.
    const bool is_first = diagnostics_.count(anomaly::kCompletionUnknown) == 0;
    diagnostics_.Add(anomaly::kCompletionUnknown, 1, is_first ? Place() : "");
  }
  ++timeline_.posts_[static_cast<std::size_t>(part.type)];
  AddRecord(kind, *target, 0, bytes, received);
}

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

std::optional<std::int32_t> RankBuilder::LockTarget(std::uint32_t window, std::optional<std::uint32_t> target) {
  const std::vector<std::int32_t>& members = trace_.communicators[window].members;
  if (!InCall() || (target && *target >= members.size())) return std::nullopt;
  return target ? members[*target] : LockEpoch::kAllTargets;
}

// A writer may record both that a lock was asked for and that it was got: the first of them opens the epoch.
void RankBuilder::Lock(std::uint32_t window, std::optional<std::uint32_t> target, bool is_exclusive) {
  const std::optional<std::int32_t> rank = LockTarget(window, target);
  const auto call = static_cast<std::uint32_t>(columns_.enter.size());
  const auto is_it = [&](const LockEpoch& lock) { return lock.window == window && lock.target == rank; };
  if (rank && std::ranges::none_of(open_locks_, is_it))
    open_locks_.push_back({window, *rank, is_exclusive, call, call});
}

void RankBuilder::Unlock(std::uint32_t window, std::optional<std::uint32_t> target) {
  const std::optional<std::int32_t> rank = LockTarget(window, target);
  const auto is_it = [&](const LockEpoch& lock) { return lock.window == window && lock.target == rank; };
  const auto open = std::ranges::find_if(open_locks_, is_it);
  if (!rank || open == open_locks_.end()) return;
  open->unlock_call = static_cast<std::uint32_t>(columns_.enter.size());
  rare_.lock_epochs.push_back(*open);
  open_locks_.erase(open);
}

RankTimeline RankBuilder::Finish() {
  if (off_since_ && last_tick_ > *off_since_) rare_.interruptions.push_back({*off_since_, last_tick_, false});
  while (!open_regions_.empty()) PopLeftOpen(last_tick_, fmt::format("on rank {} at the end of the trace", rank_));
  if (!requests_.empty()) {
    diagnostics_.Add(anomaly::kRequestNeverCompleted, requests_.size(), fmt::format("on rank {}", rank_));
  }
  diagnostics_.AddPopulation(anomaly::kClockBackwards, edges_);
  diagnostics_.AddTime(anomaly::kClockBackwards, stood_still_, timeline_.end_ - timeline_.begin_);
  diagnostics_.AddPopulation(anomaly::kLeaveWithoutEnter, edges_);
  for (const Anomaly& anomaly :
       {anomaly::kRecordOutsideMpi, anomaly::kRequestUnknown, anomaly::kPeerOutsideCommunicator}) {
    diagnostics_.AddPopulation(anomaly, messages_);
  }
  timeline_.columns_ =
      std::apply([](auto&... column) { return TimelineColumns<PackedColumn>{column.Finish()...}; }, AllOf(columns_));
  for (std::size_t i = 0; i < samples_.size(); ++i) FinishCounter(i);
  timeline_.endpoints_.shrink_to_fit();
  timeline_.collective_types_.shrink_to_fit();
  rare_.interruptions.shrink_to_fit();
  rare_.pauses.shrink_to_fit();
  rare_.lock_epochs.shrink_to_fit();
  if (rare_ != RareRecords()) timeline_.rare_ = std::make_shared<const RareRecords>(std::move(rare_));
  return std::move(timeline_);
}

RankTimeline Retime(const RankTimeline& timeline, const NewTimes& times) {
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
  for (std::size_t i = 0; i < result.counters_.size() && !times.without.empty(); ++i) {
    if (result.counters_[i].recorded) LeaveOutCounts(timeline, i, times.without, result.counters_[i]);
  }
  RareRecords rare = timeline.Rare();
  rare.interruptions = times.interruptions;
  result.rare_ = rare == RareRecords() ? nullptr : std::make_shared<const RareRecords>(std::move(rare));
  if (!timeline.empty()) {
    result.begin_ = begin;
    result.end_ = end;
  }
  return result;
}

std::uint32_t TraceBuilder::AddRegion(const std::string& name) {
  const MpiCall call = ClassifyMpiCall(name);
  return AddRegion(Region{name, call != MpiCall::kNone, call});
}

void TraceBuilder::CopyHeader(const Trace& trace) {
  trace_.path = trace.path;
  trace_.format = trace.format;
  trace_.program = trace.program;
  trace_.creator = trace.creator;
  trace_.ticks_per_second = trace.ticks_per_second;
  trace_.nodes = trace.nodes;
  trace_.regions = trace.regions;
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
