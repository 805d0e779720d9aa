#include "trace/timeline_feed.h"

#include <algorithm>
#include <limits>

namespace farscale {
namespace {

// True for records that belong to the leave of their call, not to the enter. A blocking send starts at the enter.
bool IsAtLeave(RecordKind kind) {
  const OperationPart part = PartOf(kind);
  return kind != RecordKind::kSend && (part.completes || !part.posts);
}

class Feed {
 public:
  Feed(const Trace& definitions, const RankTimeline& timeline, const LocalRanks& local_ranks, std::int32_t rank,
       const TimelineWindow& window, TimelineSink& sink)
      : definitions_(definitions),
        timeline_(timeline),
        local_ranks_(local_ranks),
        rank_(rank),
        window_(window),
        sink_(sink) {
    for (std::uint32_t i = 0; i < definitions.counters.size(); ++i) {
      if (timeline_.has_counter(i)) counters_.push_back(i);
    }
    CollectInterruptions();
  }

  void Run(const KeepOperation& keep_outside) {
    const std::size_t first = timeline_.first_record(window_.begin_call);
    const std::size_t end = timeline_.first_record(window_.end_call);
    Outside(0, first, window_.begin, keep_outside);
    for (const std::uint32_t region : window_.entered) {
      EdgeAt(window_.begin, [&](std::uint32_t counter) { return window_.counters_begin[counter]; });
      sink_.Enter(window_.begin, region);
    }
    std::size_t event = window_.begin_event;
    for (std::size_t call = window_.begin_call; call < window_.end_call; ++call) {
      while (event < window_.end_event && timeline_.region_event(event).call <= call) FeedEvent(event++);
      FeedCall(call);
    }
    while (event < window_.end_event) FeedEvent(event++);
    for (const std::uint32_t region : window_.left) {
      EdgeAt(window_.end, [&](std::uint32_t counter) { return window_.counters_end[counter]; });
      sink_.Leave(window_.end, region);
    }
    Outside(end, timeline_.records(), window_.end, keep_outside);
    InterruptUntil(std::numeric_limits<Tick>::max());
  }

 private:
  // At their ticks, as they are recorded: switched off at the begin, on at the end; a flush at its begin.
  void CollectInterruptions() {
    for (Interruption interruption : timeline_.interruptions()) {
      if (!window_.is_whole) {
        interruption.begin = std::max(interruption.begin, window_.begin);
        interruption.end = std::min(interruption.end, window_.end);
      }
      if (interruption.begin >= interruption.end) continue;
      interruptions_.emplace_back(interruption.begin, interruption);
      if (!interruption.is_flush) interruptions_.emplace_back(interruption.end, interruption);
    }
    std::ranges::stable_sort(interruptions_, {}, &std::pair<Tick, Interruption>::first);
  }

  void InterruptUntil(Tick until) {
    for (; next_interruption_ < interruptions_.size() && interruptions_[next_interruption_].first <= until;
         ++next_interruption_) {
      const auto& [tick, interruption] = interruptions_[next_interruption_];
      if (interruption.is_flush) {
        sink_.BufferFlush(tick, interruption.end);
      } else if (tick == interruption.begin) {
        sink_.MeasurementOff(tick);
      } else {
        sink_.MeasurementOn(tick);
      }
    }
  }

  template <typename ValueOf>
  void EdgeAt(Tick tick, ValueOf value_of) {
    InterruptUntil(tick);
    for (const std::uint32_t counter : counters_) {
      if (is_first_edge_ && !timeline_.counter_is_reliable(counter)) continue;
      sink_.SetCounter(tick, counter, value_of(counter));
    }
    is_first_edge_ = false;
  }

  void FeedEvent(std::size_t index) {
    const RankTimeline::RegionEvent event = timeline_.region_event(index);
    EdgeAt(event.tick, [&](std::uint32_t counter) { return timeline_.raw_counter_at_event(counter, index); });
    if (event.is_leave) {
      sink_.Leave(event.tick, event.region);
    } else {
      sink_.Enter(event.tick, event.region);
    }
  }

  // Counts in a call that is cut stay out of the window, as the time between its samples does not say
  // when it happened.
  void FeedCall(std::size_t call) {
    const bool begins_before = timeline_.enter(call) < window_.begin;
    const bool ends_after = timeline_.leave(call) > window_.end;
    const Tick enter = begins_before ? window_.begin : timeline_.enter(call);
    const Tick leave = ends_after ? window_.end : timeline_.leave(call);
    const auto at_enter = [&](std::uint32_t counter) {
      return begins_before ? timeline_.raw_counter_at_leave(counter, call)
                           : timeline_.raw_counter_at_enter(counter, call);
    };
    const auto at_leave = [&](std::uint32_t counter) {
      return ends_after ? at_enter(counter) : timeline_.raw_counter_at_leave(counter, call);
    };
    const std::uint32_t region = timeline_.region(call);
    EdgeAt(enter, at_enter);
    sink_.Enter(enter, region);
    bool completes = false;
    for (std::size_t record = timeline_.first_record(call); record < timeline_.first_record(call + 1); ++record) {
      completes |= IsAtLeave(timeline_.record_kind(record));
      FeedOneRecord(record, posts_.Next(timeline_, record), completes ? leave : enter);
    }
    EdgeAt(leave, at_leave);
    sink_.Leave(leave, region);
  }

  void Outside(std::size_t first, std::size_t end, Tick tick, const KeepOperation& keep) {
    bool is_open = false;
    for (std::size_t record = first; record < end; ++record) {
      const OperationPart operation = posts_.Next(timeline_, record);
      if (!keep(operation)) continue;
      if (!is_open) {
        InterruptUntil(tick);
        sink_.Enter(tick, OutsideRegion());
        is_open = true;
      }
      FeedOneRecord(record, operation, tick);
    }
    if (is_open) sink_.Leave(tick, OutsideRegion());
  }

  std::uint32_t OutsideRegion() const {
    const auto found = std::ranges::find_if(definitions_.regions, &Region::is_outside);
    return static_cast<std::uint32_t>(found - definitions_.regions.begin());
  }

  void FeedOneRecord(std::size_t index, const OperationPart& operation, Tick tick) {
    const RankTimeline::Record record = timeline_.record(index);
    FedRecord fed;
    fed.kind = record.kind;
    fed.tick = tick;
    fed.bytes = record.bytes;
    fed.received = record.received;
    fed.request = 3 * static_cast<std::uint64_t>(operation.ordinal) + static_cast<std::uint64_t>(operation.type);
    switch (record.kind) {
      case RecordKind::kSend:
      case RecordKind::kSendPost:
      case RecordKind::kReceive:
      case RecordKind::kReceiveComplete: {
        const Endpoint& endpoint = timeline_.endpoints()[record.target];
        fed.peer = local_ranks_.Peer(rank_, endpoint.communicator, endpoint.peer);
        fed.communicator = endpoint.communicator;
        fed.tag = endpoint.tag;
        break;
      }
      case RecordKind::kCollective:
      case RecordKind::kCollectiveComplete: {
        const CollectiveType& type = timeline_.collective_types()[record.target];
        fed.communicator = type.communicator;
        fed.collective = type.kind;
        if (type.root != kNoRoot) fed.root = local_ranks_.Root(type.communicator, type.root);
        break;
      }
      default: break;
    }
    sink_.Record(fed);
  }

  const Trace& definitions_;
  const RankTimeline& timeline_;
  const LocalRanks& local_ranks_;
  const std::int32_t rank_;
  const TimelineWindow& window_;
  TimelineSink& sink_;
  Posts posts_;
  std::vector<std::uint32_t> counters_;  // that the rank recorded
  std::vector<std::pair<Tick, Interruption>> interruptions_;
  std::size_t next_interruption_ = 0;
  bool is_first_edge_ = true;
};

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
                  std::int32_t rank, const TimelineWindow& window, const KeepOperation& keep_outside,
                  TimelineSink& sink) {
  Feed(definitions, timeline, local_ranks, rank, window, sink).Run(keep_outside);
}

void FeedTimeline(const Trace& trace, const LocalRanks& local_ranks, std::size_t rank, TimelineSink& sink) {
  const RankTimeline& timeline = trace.timelines[rank];
  TimelineWindow window{.end_call = timeline.calls(), .end_event = timeline.region_events(), .is_whole = true};
  window.begin = timeline.empty() ? trace.begin() : timeline.begin();
  window.end = timeline.empty() ? trace.begin() : timeline.end();
  const auto keep_all = [](const OperationPart&) { return true; };
  FeedTimeline(trace, timeline, local_ranks, static_cast<std::int32_t>(rank), window, keep_all, sink);
}

}  // namespace farscale
