#include "trace/timeline_feed.h"

#include <algorithm>
#include <limits>

namespace farscale {
namespace {

// At their ticks, as they are recorded: switched off at the begin, on at the end; a flush at its begin.
std::vector<std::pair<Tick, Interruption>> InterruptionsIn(const TimelineWindow& window, const RankTimeline& timeline) {
  std::vector<std::pair<Tick, Interruption>> edges;
  for (Interruption interruption : timeline.interruptions()) {
    if (!window.is_whole) {
      interruption.begin = std::max(interruption.begin, window.begin);
      interruption.end = std::min(interruption.end, window.end);
    }
    if (interruption.begin >= interruption.end) continue;
    edges.emplace_back(interruption.begin, interruption);
    if (!interruption.is_flush) edges.emplace_back(interruption.end, interruption);
  }
  std::ranges::stable_sort(edges, {}, &std::pair<Tick, Interruption>::first);
  return edges;
}

FedRecord FedFrom(const RankTimeline& timeline, std::size_t index, const OperationPart& operation,
                  const LocalRanks& local_ranks, std::int32_t rank) {
  const RankTimeline::Record record = timeline.record(index);
  FedRecord fed{.kind = record.kind, .bytes = record.bytes, .received = record.received};
  fed.request = 3 * static_cast<std::uint64_t>(operation.ordinal) + static_cast<std::uint64_t>(operation.type);
  switch (record.kind) {
    case RecordKind::kSend:
    case RecordKind::kSendPost:
    case RecordKind::kReceive:
    case RecordKind::kReceiveComplete: {
      const Endpoint& endpoint = timeline.endpoints()[record.target];
      fed.peer = local_ranks.Peer(rank, endpoint.communicator, endpoint.peer);
      fed.communicator = endpoint.communicator;
      fed.tag = endpoint.tag;
      break;
    }
    case RecordKind::kCollective:
    case RecordKind::kCollectiveComplete: {
      const CollectiveType& type = timeline.collective_types()[record.target];
      fed.communicator = type.communicator;
      fed.collective = type.kind;
      if (type.root != kNoRoot) fed.root = local_ranks.Root(type.communicator, type.root);
      break;
    }
    default: break;
  }
  return fed;
}

}  // namespace

LocalRanks::LocalRanks(const Trace& trace) {
  const auto reverse = [](const std::vector<std::int32_t>& world_ranks) {
    Group group;
    for (std::uint32_t local = 0; local < world_ranks.size(); ++local) group.emplace_back(world_ranks[local], local);
    std::sort(group.begin(), group.end());
    return group;
  };
  for (const Communicator& communicator : trace.communicators) {
    communicators_.emplace_back(reverse(communicator.members), reverse(communicator.remote));
    if (communicator.is_self) communicators_.back() = {};
  }
}

std::optional<std::uint32_t> LocalRanks::Find(const Group& group, std::int32_t rank) {
  const auto found = std::lower_bound(group.begin(), group.end(), std::pair(rank, std::uint32_t{0}));
  if (found == group.end() || found->first != rank) return std::nullopt;
  return found->second;
}

// The other group of an intercommunicator for its members, as RankBuilder reads it.
std::uint32_t LocalRanks::Peer(std::int32_t rank, std::uint32_t communicator, std::int32_t peer) const {
  const auto& [members, remote] = communicators_[communicator];
  if (members.empty() && remote.empty()) return 0;
  const bool in_members = remote.empty() || !Find(members, rank);
  return Find(in_members ? members : remote, peer).value();
}

std::uint32_t LocalRanks::Root(std::uint32_t communicator, std::int32_t root) const {
  const auto& [members, remote] = communicators_[communicator];
  if (members.empty() && remote.empty()) return 0;
  return Find(remote.empty() ? members : remote, root).value();
}

void FeedTimeline(const Trace& definitions, const RankTimeline& timeline, const LocalRanks& local_ranks,
                  std::int32_t rank, const TimelineWindow& window, TimelineSink& sink) {
  std::vector<std::uint32_t> counters;  // that the rank recorded
  for (std::uint32_t i = 0; i < definitions.counters.size(); ++i) {
    if (timeline.has_counter(i)) counters.push_back(i);
  }
  const std::vector<std::pair<Tick, Interruption>> interruptions = InterruptionsIn(window, timeline);
  auto next_interruption = interruptions.begin();
  const auto interrupt_until = [&](Tick until) {
    for (; next_interruption != interruptions.end() && next_interruption->first <= until; ++next_interruption) {
      const auto& [tick, interruption] = *next_interruption;
      if (interruption.is_flush) {
        sink.BufferFlush(tick, interruption.end);
      } else if (tick == interruption.begin) {
        sink.MeasurementOff(tick);
      } else {
        sink.MeasurementOn(tick);
      }
    }
  };
  bool is_first_edge = true;
  // Enters or leaves a region, with the values of counters there.
  const auto feed_edge = [&](Tick tick, std::uint32_t region, bool is_leave, auto value_of) {
    interrupt_until(tick);
    for (const std::uint32_t counter : counters) {
      if (!is_first_edge || timeline.counter_is_reliable(counter)) sink.SetCounter(tick, counter, value_of(counter));
    }
    is_first_edge = false;
    is_leave ? sink.Leave(tick, region) : sink.Enter(tick, region);
  };
  const auto feed_event = [&](std::size_t index) {
    const RankTimeline::RegionEvent event = timeline.region_event(index);
    feed_edge(event.tick, event.region, event.is_leave,
              [&](std::uint32_t counter) { return timeline.raw_counter_at_event(counter, index); });
  };
  Posts posts;
  const auto feed_record = [&](std::size_t index, const OperationPart& operation, Tick tick) {
    FedRecord fed = FedFrom(timeline, index, operation, local_ranks, rank);
    fed.tick = tick;
    sink.Record(fed);
  };
  const auto feed_outside = [&](std::size_t first, std::size_t end, Tick tick) {
    const auto region = static_cast<std::uint32_t>(std::ranges::find_if(definitions.regions, &Region::is_outside) -
                                                   definitions.regions.begin());
    bool is_open = false;
    for (std::size_t record = first; record < end; ++record) {
      const OperationPart operation = posts.Next(timeline, record);
      if (window.keep_outside && !window.keep_outside(operation)) continue;
      if (!is_open) {
        interrupt_until(tick);
        sink.Enter(tick, region);
        is_open = true;
      }
      feed_record(record, operation, tick);
    }
    if (is_open) sink.Leave(tick, region);
  };

  feed_outside(0, timeline.first_record(window.begin_call), window.begin);
  for (const std::uint32_t region : window.entered) {
    feed_edge(window.begin, region, false, [&](std::uint32_t counter) { return window.counters_begin[counter]; });
  }
  std::size_t event = window.begin_event;
  for (std::size_t call = window.begin_call; call < window.end_call; ++call) {
    while (event < window.end_event && timeline.region_event(event).call <= call) feed_event(event++);
    // Counts in a call that is cut stay out of the window, as the time between its samples does not say
    // when it happened.
    const bool begins_before = window.begin > timeline.enter(call), ends_after = timeline.leave(call) > window.end;
    const Tick enter = begins_before ? window.begin : timeline.enter(call);
    const Tick leave = ends_after ? window.end : timeline.leave(call);
    const auto at_enter = [&](std::uint32_t counter) {
      return begins_before ? timeline.raw_counter_at_leave(counter, call)
                           : timeline.raw_counter_at_enter(counter, call);
    };
    const auto at_leave = [&](std::uint32_t counter) {
      return ends_after ? at_enter(counter) : timeline.raw_counter_at_leave(counter, call);
    };
    feed_edge(enter, timeline.region(call), false, at_enter);
    bool completes = false;
    for (std::size_t record = timeline.first_record(call); record < timeline.first_record(call + 1); ++record) {
      const OperationPart part = posts.Next(timeline, record);
      // A blocking send starts at the enter.
      completes |= timeline.record_kind(record) != RecordKind::kSend && (part.completes || !part.posts);
      feed_record(record, part, completes ? leave : enter);
    }
    feed_edge(leave, timeline.region(call), true, at_leave);
  }
  while (event < window.end_event) feed_event(event++);
  for (const std::uint32_t region : window.left) {
    feed_edge(window.end, region, true, [&](std::uint32_t counter) { return window.counters_end[counter]; });
  }
  feed_outside(timeline.first_record(window.end_call), timeline.records(), window.end);
  interrupt_until(std::numeric_limits<Tick>::max());
}

void FeedTimeline(const Trace& trace, const LocalRanks& local_ranks, std::size_t rank, TimelineSink& sink) {
  const RankTimeline& timeline = trace.timelines[rank];
  TimelineWindow window{.end_call = timeline.calls(), .end_event = timeline.region_events(), .is_whole = true};
  window.begin = timeline.empty() ? trace.begin() : timeline.begin();
  window.end = timeline.empty() ? trace.begin() : timeline.end();
  FeedTimeline(trace, timeline, local_ranks, static_cast<std::int32_t>(rank), window, sink);
}

}  // namespace farscale
