#include "imbalance/waits/wait_states.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "trace/location_trace.h"

namespace farscale {
namespace {

// Follows from the call and what its name says beyond that.
RegionWaiting FindWaiting(const Region& region) {
  const std::string name = ToLower(region.name);
  const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
  RegionWaiting waiting;
  waiting.sends_locally = region.call == MpiCall::kBufferedSend || region.call == MpiCall::kImmediateBufferedSend ||
                          IsOneSided(region.call) || IsAmongNeighbours(region.name) || has("rsend");
  if (IsAmongNeighbours(region.name) && region.call == MpiCall::kCollective)
    waiting.of_message = WaitKind::kLateNeighbour;
  switch (region.call) {
    case MpiCall::kOneSided: waiting.begins_access = true; return waiting;
    case MpiCall::kSend:
      if (has("rsend")) return waiting;
      break;
    case MpiCall::kWait:
      waiting.how = has("waitany") || has("waitsome") ? Waiting::kForFirst : Waiting::kForAll;
      return waiting;
    case MpiCall::kProbe:
      if (!has("improbe") && !has("iprobe")) waiting.how = Waiting::kForNext;
      return waiting;
    case MpiCall::kWindowFence: waiting.of_barrier = WaitKind::kWaitAtFence; break;
    case MpiCall::kWindowComplete: waiting.of_message = WaitKind::kLatePost; break;
    case MpiCall::kWindowWait: waiting.of_message = WaitKind::kEarlyWait; break;
    case MpiCall::kWindowOther: waiting.begins_access = has("win_start"); break;
    case MpiCall::kSynchronousSend:
    case MpiCall::kReceive:
    case MpiCall::kSendReceive:
    case MpiCall::kCollective:
    case MpiCall::kInputOutput:
    case MpiCall::kCollectiveInputOutput:
    case MpiCall::kOther: break;
    default: return waiting;
  }
  waiting.how = Waiting::kForAll;
  return waiting;
}

// The search in the calls of one rank.
class RankSearch {
 public:
  RankSearch(const RankRecords& records, const MessageEnds& ends, const CollectiveWaits& collectives,
             const std::vector<RegionWaiting>& regions)
      : records_(records), ends_(ends), collectives_(collectives), regions_(regions) {
    ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
      if (call != call_) {
        EndCall();
        call_ = call;
        how_ = WaitingIn(call).how;
        // Probes have no records: they lie between the call with the last one and this.
        for (; next_probe_ < call; ++next_probe_) {
          if (WaitingIn(next_probe_).how == Waiting::kForNext) probes_.push_back(next_probe_);
        }
        next_probe_ = call + 1;
        dependencies_.clear();
        is_released_ = false;
      }
      const std::uint32_t target = records.timeline.record_target(record);
      switch (part.type) {
        case OperationClass::kSend:
          if (part.posts) sends_.emplace_back(target, call);
          if (part.completes) NeedReceive(part);
          break;
        case OperationClass::kReceive:
          // The receive posted next gets the messages that probes saw.
          if (part.posts && !probes_.empty()) probes_of_[part.ordinal].swap(probes_);
          if (part.completes) NeedSend(part, target);
          break;
        case OperationClass::kCollective:
          if (part.completes) NeedCollective(part.number);
          break;
      }
    });
    EndCall();
    // A start waits for the last of several posts.
    std::ranges::sort(waits.waits, {}, [](const WaitState& wait) {
      return std::tuple(wait.call, -wait.length, wait.delayer, wait.delayer_call);
    });
    const auto same_call = [](const WaitState& one, const WaitState& other) { return one.call == other.call; };
    waits.waits.erase(std::unique(waits.waits.begin(), waits.waits.end(), same_call), waits.waits.end());
    FindWrongOrder();
  }

  RankWaits waits;
  std::vector<SyncMark> marks;
  std::uint64_t needs = 0, violations = 0;

 private:
  const RegionWaiting& WaitingIn(std::uint32_t call) const { return regions_[records_.Region(call)]; }
  Tick Enter(std::uint32_t call) const { return records_.activities.enter(call); }
  // The wait in a call that needs another rank to enter a call of its own at that time.
  WaitState WaitIn(std::uint32_t call, WaitKind kind, std::uint32_t rank, std::uint32_t rank_call, Tick enter) const {
    return {call, rank, rank_call, kind, enter - Enter(call)};
  }
  Tick NeededAt(const WaitState& wait) const { return Enter(wait.call) + wait.length; }
  bool IsLate(const WaitState& wait) const {
    return wait.length > 0 && NeededAt(wait) < records_.activities.leave(wait.call);
  }

  void EndCall() {
    if (call_ == kNoCall) return;
    if (WaitingIn(call_).of_message == WaitKind::kLatePost) epoch_begin_ = call_ + 1;
    if (dependencies_.empty() || (how_ == Waiting::kForFirst && is_released_)) return;
    // Among equals the lowest rank, then the kind that comes first.
    std::ranges::sort(dependencies_, {},
                      [](const WaitState& d) { return std::tuple(d.delayer, d.kind, d.delayer_call); });
    waits.waits.push_back(how_ == Waiting::kForFirst ? std::ranges::min(dependencies_, {}, &WaitState::length)
                                                     : std::ranges::max(dependencies_, {}, &WaitState::length));
  }

  // Something that the call completes was there when it began.
  void Release() { is_released_ = true; }

  void Need(const WaitState& needed) {
    if (needed.delayer == records_.rank) return Release();
    if (how_ == Waiting::kNever) return;
    if (needed.kind != WaitKind::kLateReceiver) {  // an eager send needs no receiver
      ++needs;
      violations += NeededAt(needed) > records_.activities.leave(call_);
    }
    if (!IsLate(needed)) return Release();
    dependencies_.push_back(needed);
    Mark(needed);
  }

  // Sends posted before the phase are not in `sends_`; their completions release whoever waits for the first.
  void NeedReceive(const RecordPart& part) {
    if (!first_send_) {
      const std::size_t first_record = records_.timeline.first_record(records_.activities.first_call);
      first_send_ = PostsBefore(records_.timeline, first_record)[OperationClass::kSend];
    }
    if (part.ordinal < *first_send_ || !part.IsMatched() || ends_.received[part.number].call == kNoCall)
      return Release();
    const auto& [endpoint, post] = sends_[part.ordinal - *first_send_];
    if (WaitingIn(post).sends_locally) return Release();
    const auto peer = static_cast<std::uint32_t>(records_.timeline.endpoints()[endpoint].peer);
    const MessageEnd& received = ends_.received[part.number];
    Need(WaitIn(call_, WaitKind::kLateReceiver, peer, received.call, received.enter));
  }

  void NeedSend(const RecordPart& part, std::uint32_t endpoint) {
    if (!part.IsMatched() || ends_.sent[part.number].call == kNoCall) return Release();
    const MessageEnd& sent = ends_.sent[part.number];
    const auto peer = static_cast<std::uint32_t>(records_.timeline.endpoints()[endpoint].peer);
    const WaitKind kind = WaitingIn(call_).of_message;
    const WaitState message = WaitIn(call_, kind, peer, sent.call, sent.enter);
    if (kind == WaitKind::kLateSender) {
      received_.push_back(message);
      if (const auto probes = probes_of_.find(part.ordinal); probes != probes_of_.end()) {
        for (const std::uint32_t probe : probes->second) {
          const WaitState wait = WaitIn(probe, kind, peer, sent.call, sent.enter);
          if (peer != records_.rank && IsLate(wait)) AddMarkedWait(wait);
        }
        probes_of_.erase(probes);
      }
    }
    if (kind == WaitKind::kLatePost && NeedBefore(message)) return;
    Need(message);
  }

  // MPI may wait for a post in the start of the epoch already, or in an operation.
  bool NeedBefore(const WaitState& post) {
    if (post.delayer == records_.rank || post.length >= 0) return false;
    const auto call = CallAt(records_.activities, epoch_begin_, call_, NeededAt(post));
    if (!call || !WaitingIn(*call).begins_access) return false;
    AddMarkedWait(WaitIn(*call, post.kind, post.delayer, post.delayer_call, NeededAt(post)));
    return true;
  }

  void NeedCollective(std::uint32_t operation) {
    if (operation == kNoCollective) return Release();
    const Participant* needed = collectives_.FindNeeded(operation, records_.rank);
    if (needed == nullptr) return Release();
    const WaitKind kind = collectives_.kind(operation);
    Need(WaitIn(call_, kind == WaitKind::kWaitAtBarrier ? WaitingIn(call_).of_barrier : kind, needed->rank,
                needed->call, needed->enter));
    if (collectives_.pattern(operation) != CollectivePattern::kToRoot || how_ == Waiting::kNever) return;
    // The root of an N-to-1 operation runs apart from every rank that came after it.
    for (const Participant& other : collectives_.participants(operation)) {
      const WaitState wait = WaitIn(call_, WaitKind::kEarlyReduce, other.rank, other.call, other.enter);
      if (other.rank != records_.rank && other.sends && IsLate(wait)) Mark(wait);
    }
  }

  void Mark(const WaitState& wait) { marks.push_back({wait.delayer, wait.call, wait.delayer_call}); }
  void AddMarkedWait(const WaitState& wait) {
    Mark(wait);
    waits.waits.push_back(wait);
  }

  // From the last message to the first, with the earliest sending of all received later.
  void FindWrongOrder() {
    constexpr Tick kNever = std::numeric_limits<Tick>::max();
    Tick earliest = kNever;
    std::unordered_map<std::uint32_t, Tick> earliest_of;
    std::size_t next = received_.size();
    for (std::size_t i = waits.waits.size(); i-- > 0;) {
      const WaitState& wait = waits.waits[i];
      for (; next > 0 && received_[next - 1].call > wait.call; --next) {
        const Tick sent = NeededAt(received_[next - 1]);
        earliest = std::min(earliest, sent);
        Tick& of_source = earliest_of.try_emplace(received_[next - 1].delayer, kNever).first->second;
        of_source = std::min(of_source, sent);
      }
      if (wait.kind != WaitKind::kLateSender) continue;
      const Tick awaited = NeededAt(wait);
      if (awaited <= earliest) continue;
      const auto same = earliest_of.find(wait.delayer);
      waits.wrong_order.emplace_back(static_cast<std::uint32_t>(i),
                                     same != earliest_of.end() && same->second < awaited);
    }
    std::ranges::reverse(waits.wrong_order);
  }

  const RankRecords records_;
  const MessageEnds& ends_;
  const CollectiveWaits& collectives_;
  const std::vector<RegionWaiting>& regions_;
  // The call at hand.
  std::uint32_t call_ = kNoCall;
  Waiting how_ = Waiting::kNever;
  std::vector<WaitState> dependencies_;  // late ones
  bool is_released_ = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sends_;  // endpoint and call of those posted in the phase
  std::optional<std::size_t> first_send_;
  std::vector<std::uint32_t> probes_;                                      // behind which no receive was posted so far
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> probes_of_;  // keyed by the number of the receive
  std::uint32_t next_probe_ = 0;
  std::uint32_t epoch_begin_ = 0;    // behind the last complete
  std::vector<WaitState> received_;  // messages, waited for or not
};

// Puts every mark on both of its ranks, and in order.
void MirrorMarks(std::vector<std::vector<SyncMark>>& marks) {
  std::vector<std::size_t> own;
  for (const std::vector<SyncMark>& of_rank : marks) own.push_back(of_rank.size());
  for (std::uint32_t rank = 0; rank < marks.size(); ++rank) {
    for (std::size_t i = 0; i < own[rank]; ++i) {
      const SyncMark mark = marks[rank][i];
      marks[mark.peer].push_back({rank, mark.peer_call, mark.call});
    }
  }
  ParallelFor(marks.size(), [&](std::size_t rank) {
    std::ranges::sort(marks[rank]);
    marks[rank].erase(std::unique(marks[rank].begin(), marks[rank].end()), marks[rank].end());
  });
}

}  // namespace

MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities) {
  MessageEnds ends{std::vector<MessageEnd>(matching.messages), std::vector<MessageEnd>(matching.messages)};
  ForEachRank(trace, matching, activities, [&](std::size_t, const RankRecords& records) {
    ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
      if (part.IsCollective() || !part.posts || !part.IsMatched()) return;
      std::vector<MessageEnd>& table = part.type == OperationClass::kSend ? ends.sent : ends.received;
      table[part.number] = {records.activities.enter(call), call};
    });
  });
  return ends;
}

std::uint32_t FindLastRank(const Activities& activities) {
  const auto last = std::ranges::find_if(
      activities.ranks, [&](const RankActivities& own) { return own.present && own.end() == activities.end; });
  return last == activities.ranks.end() ? kNoCall : static_cast<std::uint32_t>(last - activities.ranks.begin());
}

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, Activities activities) {
  CollectiveWaits collectives(trace, matching, activities);
  WaitStates states{std::move(activities), std::move(collectives)};
  const std::vector<RegionWaiting> regions = FindRegionWaiting(trace);
  states.ranks.resize(trace.size());
  states.marks.resize(trace.size());
  std::vector<std::array<std::uint64_t, 3>> counts(trace.size());  // needs, violations, flushes
  {
    const MessageEnds ends = FindMessageEnds(trace, matching, states.activities);
    ForEachRank(trace, matching, states.activities, [&](std::size_t rank, const RankRecords& records) {
      RankSearch search(records, ends, states.collectives, regions);
      std::uint64_t flushes = 0;  // on windows that the rank shares
      const std::size_t first_call = records.activities.first_call, end_call = first_call + records.activities.calls;
      for (const LockEpoch& epoch : records.timeline.lock_epochs()) {
        const std::size_t end = epoch.is_exclusive ? 0 : std::min<std::size_t>(epoch.unlock_call, end_call);
        for (std::size_t call = std::max<std::size_t>(epoch.lock_call + 1, first_call); call < end; ++call)
          flushes += trace.regions[records.timeline.region(call)].call == MpiCall::kWindowLockAll;
      }
      counts[rank] = {search.needs, search.violations, flushes};
      states.ranks[rank] = std::move(search.waits);
      states.marks[rank] = std::move(search.marks);
    });
  }
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto [needs, violations, flushes] = counts[rank];
    states.diagnostics.AddPopulation(anomaly::kEndedBeforeNeeded, needs);
    states.diagnostics.Add(anomaly::kEndedBeforeNeeded, violations, "on " + NameOfRank(trace, rank));
    states.diagnostics.Add(anomaly::kFlushesMayPoll, flushes, "on " + NameOfRank(trace, rank));
  }
  AddWindowWaits(trace, states);
  MirrorMarks(states.marks);
  // Every other rank waits for the last one at the end of the phase.
  const std::uint32_t last = FindLastRank(states.activities);
  for (std::uint32_t rank = 0; rank < states.ranks.size(); ++rank) {
    const RankActivities& own = states.activities.ranks[rank];
    if (!own.present || own.end() == states.activities.end) continue;
    const auto last_call = static_cast<std::uint32_t>(states.activities.ranks[last].calls);
    states.ranks[rank].waits.push_back({static_cast<std::uint32_t>(own.calls), last, last_call, WaitKind::kWaitAtEnd,
                                        states.activities.end - own.end()});
  }
  return states;
}

const std::array<WaitKindName, kWaitKinds>& WaitKindNames() {
  static const std::array<WaitKindName, kWaitKinds> names = {{
      {WaitKind::kLateSender, "lateSender", "Late sender"},
      {WaitKind::kLateReceiver, "lateReceiver", "Late receiver"},
      {WaitKind::kLateBroadcast, "lateBroadcast", "Late broadcast"},
      {WaitKind::kEarlyReduce, "earlyReduce", "Early reduce"},
      {WaitKind::kEarlyScan, "earlyScan", "Early scan"},
      {WaitKind::kWaitAtNxN, "waitAtNxN", "Wait at N×N"},
      {WaitKind::kWaitAtBarrier, "waitAtBarrier", "Wait at barrier"},
      {WaitKind::kWaitAtFence, "waitAtFence", "Wait at fence"},
      {WaitKind::kLatePost, "latePost", "Late post"},
      {WaitKind::kEarlyWait, "earlyWait", "Early wait"},
      {WaitKind::kWaitForLock, "waitForLock", "Wait for a lock"},
      {WaitKind::kLateNeighbour, "lateNeighbour", "Late neighbour"},
      {WaitKind::kWaitAtCreation, "waitAtCreation", "Wait at creation of communicators and files"},
      {WaitKind::kWaitAtFork, "waitAtFork", "Wait for an OpenMP fork"},
      {WaitKind::kWaitAtThreadBarrier, "waitAtThreadBarrier", "Wait at OpenMP barrier"},
      {WaitKind::kWaitAtImplicitBarrier, "waitAtImplicitBarrier", "Wait at implicit OpenMP barrier"},
      {WaitKind::kWaitAtEnd, "waitAtEnd", "Wait at the end"},
  }};
  return names;
}

std::vector<RegionWaiting> FindRegionWaiting(const Trace& trace) {
  std::vector<RegionWaiting> waiting;
  for (const Region& region : trace.regions) waiting.push_back(FindWaiting(region));
  return waiting;
}

}  // namespace farscale
