#include "imbalance/waits/wait_states.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "imbalance/waits/collective_waits.h"
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

// A message received, for the search of those in wrong order.
struct Received {
  std::uint32_t call = 0;
  std::uint32_t source = 0;
  Tick sent = 0;
};

// The search in the calls of one rank, as far as it has come.
struct RankSearch {
  RankWaits waits;
  std::vector<SyncMark> marks;
  std::uint64_t needs = 0, violations = 0;

  std::uint32_t call = 0;
  Waiting how = Waiting::kNever;
  std::vector<Dependency> dependencies;  // late ones of the call
  bool is_released = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sends;  // endpoint and call of those posted in the phase
  std::optional<std::size_t> first_send;
  std::vector<std::uint32_t> probes;                                      // behind which no receive was posted so far
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> probes_of;  // keyed by the number of the receive
  std::uint32_t next_probe = 0;
  std::uint32_t epoch_begin = 0;  // behind the last complete
  std::vector<Received> received;
};

const RegionWaiting& WaitingIn(const RankRecords& records, const std::vector<RegionWaiting>& regions,
                               std::uint32_t call) {
  return regions[records.Region(call)];
}

void BeginCall(const RankRecords& records, const std::vector<RegionWaiting>& regions, RankSearch& search,
               std::uint32_t call) {
  search.call = call;
  search.how = WaitingIn(records, regions, call).how;
  // Probes have no records: they lie between the call with the last one and this.
  for (; search.next_probe < call; ++search.next_probe) {
    if (WaitingIn(records, regions, search.next_probe).how == Waiting::kForNext)
      search.probes.push_back(search.next_probe);
  }
  search.next_probe = call + 1;
  search.dependencies.clear();
  search.is_released = false;
}

bool IsLate(const RankRecords& records, const Dependency& dependency, std::uint32_t call) {
  return records.activities.enter(call) < dependency.enter && dependency.enter < records.activities.leave(call);
}

void MarkIfLate(const RankRecords& records, RankSearch& search, const Dependency& dependency) {
  if (IsLate(records, dependency, search.call)) search.marks.push_back({dependency.rank, search.call, dependency.call});
}

// Something that the call completes was there when it began.
void Release(RankSearch& search) { search.is_released = true; }

void NeedOther(const RankRecords& records, RankSearch& search, const Dependency& dependency) {
  if (search.how == Waiting::kNever) return;
  if (dependency.kind != WaitKind::kLateReceiver) {  // an eager send needs no receiver
    ++search.needs;
    search.violations += dependency.enter > records.activities.leave(search.call);
  }
  if (!IsLate(records, dependency, search.call)) return Release(search);
  search.dependencies.push_back(dependency);
  MarkIfLate(records, search, dependency);
}

void Need(const RankRecords& records, RankSearch& search, const Dependency& message) {
  message.rank == records.rank ? Release(search) : NeedOther(records, search, message);
}

// Sends posted before the phase are not in search.sends; their completions release whoever waits for the first.
void NeedReceive(const RankRecords& records, const MessageEnds& ends, const std::vector<RegionWaiting>& regions,
                 RankSearch& search, const RecordPart& part) {
  if (!search.first_send) {
    const std::size_t first_record = records.timeline.first_record(records.activities.first_call);
    search.first_send = PostsBefore(records.timeline, first_record)[OperationClass::kSend];
  }
  const std::size_t first = *search.first_send;
  if (part.ordinal < first || !part.IsMatched() || ends.received[part.number].call == kNoCall) return Release(search);
  const auto& [endpoint, post] = search.sends[part.ordinal - first];
  if (WaitingIn(records, regions, post).sends_locally) return Release(search);
  const auto peer = static_cast<std::uint32_t>(records.timeline.endpoints()[endpoint].peer);
  const MessageEnd& received = ends.received[part.number];
  Need(records, search, {peer, received.call, received.enter, WaitKind::kLateReceiver});
}

void AddWait(const RankRecords& records, RankSearch& search, std::uint32_t call, const Dependency& by) {
  search.waits.waits.push_back({call, by.rank, by.call, by.kind, by.enter - records.activities.enter(call)});
}

// MPI may wait for a post in the start of the epoch already, or in an operation.
bool NeedBefore(const RankRecords& records, const std::vector<RegionWaiting>& regions, RankSearch& search,
                const Dependency& post) {
  if (post.rank == records.rank || post.enter >= records.activities.enter(search.call)) return false;
  const auto call = CallAt(records.activities, search.epoch_begin, search.call, post.enter);
  if (!call || !WaitingIn(records, regions, *call).begins_access) return false;
  search.marks.push_back({post.rank, *call, post.call});
  AddWait(records, search, *call, post);
  return true;
}

void EndProbes(const RankRecords& records, RankSearch& search, std::size_t receive, const Dependency& message) {
  const auto probes = search.probes_of.find(receive);
  if (probes == search.probes_of.end()) return;
  for (const std::uint32_t probe : probes->second) {
    if (message.rank == records.rank || !IsLate(records, message, probe)) continue;
    search.marks.push_back({message.rank, probe, message.call});
    AddWait(records, search, probe, message);
  }
  search.probes_of.erase(probes);
}

void NeedSend(const RankRecords& records, const MessageEnds& ends, const std::vector<RegionWaiting>& regions,
              RankSearch& search, const RecordPart& part, std::uint32_t endpoint) {
  if (!part.IsMatched() || ends.sent[part.number].call == kNoCall) return Release(search);
  const MessageEnd& sent = ends.sent[part.number];
  const auto peer = static_cast<std::uint32_t>(records.timeline.endpoints()[endpoint].peer);
  const WaitKind kind = WaitingIn(records, regions, search.call).of_message;
  const Dependency message{peer, sent.call, sent.enter, kind};
  if (kind == WaitKind::kLateSender) {
    search.received.push_back({search.call, peer, sent.enter});
    EndProbes(records, search, part.ordinal, message);
  }
  if (kind == WaitKind::kLatePost && NeedBefore(records, regions, search, message)) return;
  Need(records, search, message);
}

void NeedCollective(const RankRecords& records, const CollectiveWaits& collectives,
                    const std::vector<RegionWaiting>& regions, RankSearch& search, std::uint32_t operation) {
  if (operation == kNoCollective) return Release(search);
  std::optional<Dependency> needed = collectives.FindDependency(operation, records.rank);
  if (!needed) return Release(search);
  if (needed->kind == WaitKind::kWaitAtBarrier) needed->kind = WaitingIn(records, regions, search.call).of_barrier;
  NeedOther(records, search, *needed);
  if (collectives.pattern(operation) != CollectivePattern::kToRoot || search.how == Waiting::kNever) return;
  // The root of an N-to-1 operation runs apart from every rank that came after it.
  for (const Participant& other : collectives.participants(operation)) {
    if (other.rank != records.rank && other.sends)
      MarkIfLate(records, search, {other.rank, other.call, other.enter, WaitKind::kEarlyReduce});
  }
}

void TakePart(const RankRecords& records, const MessageEnds& ends, const CollectiveWaits& collectives,
              const std::vector<RegionWaiting>& regions, RankSearch& search, std::size_t record,
              const RecordPart& part) {
  const std::uint32_t target = records.timeline.record_target(record);
  switch (part.type) {
    case OperationClass::kSend:
      if (part.posts) search.sends.emplace_back(target, search.call);
      if (part.completes) NeedReceive(records, ends, regions, search, part);
      break;
    case OperationClass::kReceive:
      // The receive posted next gets the messages that probes saw.
      if (part.posts && !search.probes.empty()) search.probes_of[part.ordinal].swap(search.probes);
      if (part.completes) NeedSend(records, ends, regions, search, part, target);
      break;
    case OperationClass::kCollective:
      if (part.completes) NeedCollective(records, collectives, regions, search, part.number);
      break;
  }
}

void EndCall(const RankRecords& records, const std::vector<RegionWaiting>& regions, RankSearch& search,
             std::uint32_t call) {
  if (call != kNoCall && WaitingIn(records, regions, call).of_message == WaitKind::kLatePost)
    search.epoch_begin = call + 1;
  if (call == kNoCall || search.dependencies.empty()) return;
  if (search.how == Waiting::kForFirst && search.is_released) return;
  // Among equals the lowest rank, then the kind that comes first.
  std::ranges::sort(search.dependencies, {}, [](const Dependency& d) { return std::tuple(d.rank, d.kind, d.call); });
  AddWait(records, search, call,
          search.how == Waiting::kForFirst ? *std::ranges::min_element(search.dependencies, {}, &Dependency::enter)
                                           : *std::ranges::max_element(search.dependencies, {}, &Dependency::enter));
}

// From the last message to the first, with the earliest sending of all received later.
void FindWrongOrder(const RankRecords& records, RankSearch& search) {
  constexpr Tick kNever = std::numeric_limits<Tick>::max();
  Tick earliest = kNever;
  std::unordered_map<std::uint32_t, Tick> earliest_of;
  std::size_t next = search.received.size();
  for (std::size_t i = search.waits.waits.size(); i-- > 0;) {
    const WaitState& wait = search.waits.waits[i];
    for (; next > 0 && search.received[next - 1].call > wait.call; --next) {
      const Received& later = search.received[next - 1];
      earliest = std::min(earliest, later.sent);
      Tick& of_source = earliest_of.try_emplace(later.source, kNever).first->second;
      of_source = std::min(of_source, later.sent);
    }
    if (wait.kind != WaitKind::kLateSender) continue;
    const Tick awaited = records.activities.enter(wait.call) + wait.length;
    if (awaited <= earliest) continue;
    const auto same = earliest_of.find(wait.delayer);
    search.waits.wrong_order.push_back(
        {static_cast<std::uint32_t>(i), same != earliest_of.end() && same->second < awaited});
  }
  std::ranges::reverse(search.waits.wrong_order);
}

RankSearch SearchRank(const RankRecords& records, const MessageEnds& ends, const CollectiveWaits& collectives,
                      const std::vector<RegionWaiting>& regions) {
  RankSearch search;
  std::uint32_t current = kNoCall;
  ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
    if (call != current) {
      EndCall(records, regions, search, current);
      BeginCall(records, regions, search, current = call);
    }
    TakePart(records, ends, collectives, regions, search, record, part);
  });
  EndCall(records, regions, search, current);
  std::vector<WaitState>& waits = search.waits.waits;
  // A start waits for the last of several posts.
  std::ranges::sort(waits, {}, [](const WaitState& wait) {
    return std::tuple(wait.call, -wait.length, wait.delayer, wait.delayer_call);
  });
  const auto same_call = [](const WaitState& one, const WaitState& other) { return one.call == other.call; };
  waits.erase(std::unique(waits.begin(), waits.end(), same_call), waits.end());
  FindWrongOrder(records, search);
  return search;
}

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

// Every other rank waits for the last one at the end of the phase.
void AddWaitsAtEnd(const Activities& activities, std::vector<RankWaits>& ranks) {
  const std::uint32_t last = FindLastRank(activities);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present || own.end() == activities.end) continue;
    ranks[rank].waits.push_back({static_cast<std::uint32_t>(own.calls), last,
                                 static_cast<std::uint32_t>(activities.ranks[last].calls), WaitKind::kWaitAtEnd,
                                 activities.end - own.end()});
  }
}

// Fills in the waits for messages and collectives, marks on the ranks that waited, and diagnostics.
void SearchRanks(const Trace& trace, const Matching& matching, const Activities& activities,
                 const CollectiveWaits& collectives, WaitStates& states) {
  const MessageEnds ends = FindMessageEnds(trace, matching, activities);
  const std::vector<RegionWaiting> regions = FindRegionWaiting(trace);
  states.ranks.resize(trace.size());
  states.marks.resize(trace.size());
  std::vector<std::array<std::uint64_t, 3>> counts(trace.size());  // needs, violations, flushes
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    RankSearch search = SearchRank(records, ends, collectives, regions);
    counts[rank] = {search.needs, search.violations, CountFlushes(trace, activities, rank)};
    states.ranks[rank] = std::move(search.waits);
    states.marks[rank] = std::move(search.marks);
  });
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto [needs, violations, flushes] = counts[rank];
    states.diagnostics.AddPopulation(anomaly::kEndedBeforeNeeded, needs);
    states.diagnostics.Add(anomaly::kEndedBeforeNeeded, violations, "on " + NameOfRank(trace, rank));
    states.diagnostics.Add(anomaly::kFlushesMayPoll, flushes, "on " + NameOfRank(trace, rank));
  }
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

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, const Activities& activities,
                          const CollectiveWaits& collectives) {
  WaitStates states;
  SearchRanks(trace, matching, activities, collectives, states);
  AddLockWaits(trace, activities, states);
  MirrorMarks(states.marks);
  AddLateCompletes(trace, activities, states.ranks);
  AddWaitsAtEnd(activities, states.ranks);
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
