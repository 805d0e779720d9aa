#include "imbalance/waits/wait_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "imbalance/waits/collective_waits.h"
#include "trace/location_trace.h"

namespace farscale {
namespace {

void FindEnds(const RankRecords& input, MessageEnds& ends) {
  ForEachRecord(input, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
    if (part.IsCollective() || !part.posts || !part.IsMatched()) return;
    (part.type == OperationClass::kSend ? ends.sent : ends.received)[part.number] = {input.activities.enter(call),
                                                                                     call};
  });
}

// A message received, for the search of those in wrong order.
struct Received {
  std::uint32_t call = 0;
  std::uint32_t source = 0;
  Tick sent = 0;
};

// How waits are called in calls of a function.
struct KindsOfRegion {
  WaitKind of_message = WaitKind::kLateSender;  // that it receives
  WaitKind of_barrier = WaitKind::kWaitAtBarrier;
  bool is_access = false;  // begins an access epoch, or is an operation in it
};

KindsOfRegion KindsOf(const Region& region) {
  switch (region.call) {
    case MpiCall::kWindowComplete: return {.of_message = WaitKind::kLatePost};
    case MpiCall::kWindowWait: return {.of_message = WaitKind::kEarlyWait};
    case MpiCall::kOneSided: return {.is_access = true};
    case MpiCall::kWindowOther: return {.is_access = ToLower(region.name).find("win_start") != std::string::npos};
    case MpiCall::kWindowFence: return {.of_barrier = WaitKind::kWaitAtFence};
    case MpiCall::kCollective:
      if (IsAmongNeighbours(region.name)) return {.of_message = WaitKind::kLateNeighbour};
      return {};
    default: return {};
  }
}

class RankSearch {
 public:
  RankSearch(const RankRecords& input, const MessageEnds& ends, const CollectiveWaits& collectives,
             const std::vector<Waiting>& waiting, const std::vector<bool>& local_sends,
             const std::vector<KindsOfRegion>& kinds)
      : input_(input),
        ends_(ends),
        collectives_(collectives),
        waiting_(waiting),
        local_sends_(local_sends),
        kinds_(kinds) {}

  void Run() {
    std::uint32_t current = kNoCall;
    ForEachRecord(input_, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
      if (call != current) {
        EndCall(current);
        BeginCall(current = call);
      }
      Take(record, part);
    });
    EndCall(current);
    SortWaits();
    FindWrongOrder();
  }

  RankWaits TakeWaits() { return std::move(waits_); }
  std::vector<SyncMark> TakeMarks() { return std::move(marks_); }
  std::uint64_t violations() const { return violations_; }
  std::uint64_t needs() const { return needs_; }

 private:
  std::uint32_t RegionOf(std::uint32_t call) const {
    return input_.timeline.region(input_.activities.first_call + call);
  }

  void BeginCall(std::uint32_t call) {
    call_ = call;
    how_ = waiting_[RegionOf(call)];
    // Probes have no records: they lie between the call with the last one and this.
    for (; next_probe_ < call; ++next_probe_) {
      if (waiting_[RegionOf(next_probe_)] == Waiting::kForNext) probes_.push_back(next_probe_);
    }
    next_probe_ = call + 1;
    dependencies_.clear();
    is_released_ = false;
  }

  void Take(std::size_t record, const RecordPart& part) {
    const std::uint32_t target = input_.timeline.record_target(record);
    switch (part.type) {
      case OperationClass::kSend:
        if (part.posts) sends_.push_back({target, call_});
        if (part.completes) NeedReceive(part);
        break;
      case OperationClass::kReceive:
        if (part.posts) BindProbes(part.ordinal);
        if (part.completes) NeedSend(part, target);
        break;
      case OperationClass::kCollective:
        if (part.completes) NeedCollective(part.number);
        break;
    }
  }

  // Sends posted before the phase are not in sends_; their completions release whoever waits for the first.
  void NeedReceive(const RecordPart& part) {
    const std::size_t first = FirstSend();
    if (part.ordinal < first || !part.IsMatched() || ends_.received[part.number].call == kNoCall) return Release();
    const SendPost& post = sends_[part.ordinal - first];
    if (local_sends_[RegionOf(post.call)]) return Release();
    const auto peer = static_cast<std::uint32_t>(input_.timeline.endpoints()[post.endpoint].peer);
    Need(peer, ends_.received[part.number], WaitKind::kLateReceiver);
  }

  std::size_t FirstSend() {
    if (!first_send_) {
      const std::size_t first_record = input_.timeline.first_record(input_.activities.first_call);
      first_send_ = PostsBefore(input_.timeline, first_record)[OperationClass::kSend];
    }
    return *first_send_;
  }

  void NeedSend(const RecordPart& part, std::uint32_t endpoint) {
    if (!part.IsMatched() || ends_.sent[part.number].call == kNoCall) return Release();
    const MessageEnd& sent = ends_.sent[part.number];
    const auto peer = static_cast<std::uint32_t>(input_.timeline.endpoints()[endpoint].peer);
    const WaitKind kind = kinds_[RegionOf(call_)].of_message;
    if (kind == WaitKind::kLateSender) {
      received_.push_back({call_, peer, sent.enter});
      EndProbes(part.ordinal, {peer, sent.call, sent.enter, kind});
    }
    if (kind == WaitKind::kLatePost && NeedBefore({peer, sent.call, sent.enter, kind})) return;
    Need(peer, sent, kind);
  }

  // MPI may wait for a post in the start of the epoch already, or in an operation.
  bool NeedBefore(const Dependency& post) {
    if (post.rank == input_.rank || post.enter >= input_.activities.enter(call_)) return false;
    const auto call = CallAt(input_.activities, epoch_begin_, call_, post.enter);
    if (!call || !kinds_[RegionOf(*call)].is_access) return false;
    marks_.push_back({post.rank, *call, post.call});
    AddWait(*call, post);
    return true;
  }

  void NeedCollective(std::uint32_t operation) {
    if (operation == kNoCollective) return Release();
    const std::optional<Dependency> dependency = collectives_.DependencyOf(operation, input_.rank);
    if (!dependency) return Release();
    Dependency needed = *dependency;
    if (needed.kind == WaitKind::kWaitAtBarrier) needed.kind = kinds_[RegionOf(call_)].of_barrier;
    Take(needed);
    if (collectives_.pattern(operation) == CollectivePattern::kToRoot) MarkLateSenders(operation);
  }

  // The root of an N-to-1 operation runs apart from every rank that came after it.
  void MarkLateSenders(std::uint32_t operation) {
    if (how_ == Waiting::kNever) return;
    for (const Participant* other = collectives_.begin(operation); other != collectives_.end(operation); ++other) {
      if (other->rank != input_.rank && other->sends)
        MarkIfLate({other->rank, other->call, other->enter, WaitKind::kEarlyReduce});
    }
  }

  void Need(std::uint32_t peer, const MessageEnd& end, WaitKind kind) {
    if (peer == input_.rank) return Release();
    Take({peer, end.call, end.enter, kind});
  }

  void Take(const Dependency& dependency) {
    if (how_ == Waiting::kNever) return;
    if (dependency.kind != WaitKind::kLateReceiver) {  // an eager send needs no receiver
      ++needs_;
      violations_ += dependency.enter > input_.activities.leave(call_);
    }
    if (!IsLate(dependency, call_)) return Release();
    dependencies_.push_back(dependency);
    MarkIfLate(dependency);
  }

  void MarkIfLate(const Dependency& dependency) {
    if (IsLate(dependency, call_)) marks_.push_back({dependency.rank, call_, dependency.call});
  }

  // Something that the call completes was there when it began.
  void Release() { is_released_ = true; }

  bool IsLate(const Dependency& dependency, std::uint32_t call) const {
    return input_.activities.enter(call) < dependency.enter && dependency.enter < input_.activities.leave(call);
  }

  void EndCall(std::uint32_t call) {
    if (call != kNoCall && kinds_[RegionOf(call)].of_message == WaitKind::kLatePost) epoch_begin_ = call + 1;
    if (call == kNoCall || dependencies_.empty()) return;
    if (how_ == Waiting::kForFirst && is_released_) return;
    // Of equals the lowest rank, then the kind that comes first.
    std::ranges::sort(dependencies_, {}, [](const Dependency& d) { return std::tuple(d.rank, d.kind, d.call); });
    AddWait(call, how_ == Waiting::kForFirst ? *std::ranges::min_element(dependencies_, {}, &Dependency::enter)
                                             : *std::ranges::max_element(dependencies_, {}, &Dependency::enter));
  }

  void AddWait(std::uint32_t call, const Dependency& by) {
    waits_.waits.push_back({call, by.rank, by.call, by.kind, by.enter - input_.activities.enter(call)});
  }

  // What probes saw is what the receive posted next gets.
  void BindProbes(std::size_t receive) {
    if (!probes_.empty()) probes_of_[receive].swap(probes_);
  }

  void EndProbes(std::size_t receive, const Dependency& message) {
    const auto probes = probes_of_.find(receive);
    if (probes == probes_of_.end()) return;
    for (const std::uint32_t probe : probes->second) {
      if (message.rank == input_.rank || !IsLate(message, probe)) continue;
      marks_.push_back({message.rank, probe, message.call});
      AddWait(probe, message);
    }
    probes_of_.erase(probes);
  }

  // A start waits for the last of several posts.
  void SortWaits() {
    std::ranges::sort(waits_.waits, {}, [](const WaitState& wait) {
      return std::tuple(wait.call, -wait.length, wait.delayer, wait.delayer_call);
    });
    const auto same_call = [](const WaitState& a, const WaitState& b) { return a.call == b.call; };
    waits_.waits.erase(std::unique(waits_.waits.begin(), waits_.waits.end(), same_call), waits_.waits.end());
  }

  // From the last message to the first, with the earliest sending of all received later.
  void FindWrongOrder() {
    constexpr Tick kNever = std::numeric_limits<Tick>::max();
    Tick earliest = kNever;
    std::unordered_map<std::uint32_t, Tick> earliest_of;
    std::size_t next = received_.size();
    for (std::size_t i = waits_.waits.size(); i-- > 0;) {
      const WaitState& wait = waits_.waits[i];
      for (; next > 0 && received_[next - 1].call > wait.call; --next) {
        const Received& later = received_[next - 1];
        earliest = std::min(earliest, later.sent);
        Tick& of_source = earliest_of.try_emplace(later.source, kNever).first->second;
        of_source = std::min(of_source, later.sent);
      }
      if (wait.kind != WaitKind::kLateSender) continue;
      const Tick awaited = input_.activities.enter(wait.call) + wait.length;
      if (awaited <= earliest) continue;
      const auto same = earliest_of.find(wait.delayer);
      waits_.wrong_order.push_back(
          {static_cast<std::uint32_t>(i), same != earliest_of.end() && same->second < awaited});
    }
    std::reverse(waits_.wrong_order.begin(), waits_.wrong_order.end());
  }

  struct SendPost {
    std::uint32_t endpoint = 0;
    std::uint32_t call = 0;
  };

  const RankRecords& input_;
  const MessageEnds& ends_;
  const CollectiveWaits& collectives_;
  const std::vector<Waiting>& waiting_;
  const std::vector<bool>& local_sends_;
  const std::vector<KindsOfRegion>& kinds_;

  std::uint32_t call_ = 0;
  Waiting how_ = Waiting::kNever;
  std::vector<Dependency> dependencies_;  // late ones of the call
  bool is_released_ = false;
  std::vector<SendPost> sends_;  // of the phase
  std::optional<std::size_t> first_send_;
  std::vector<std::uint32_t> probes_;                                      // behind which no receive was posted so far
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> probes_of_;  // by the number of the receive
  std::uint32_t next_probe_ = 0;
  std::uint32_t epoch_begin_ = 0;  // behind the last complete
  std::vector<Received> received_;

  RankWaits waits_;
  std::vector<SyncMark> marks_;
  std::uint64_t needs_ = 0, violations_ = 0;
};

}  // namespace

MessageEnds FindMessageEnds(const Trace& trace, const Matching& matching, const Activities& activities) {
  MessageEnds ends{std::vector<MessageEnd>(matching.messages), std::vector<MessageEnd>(matching.messages)};
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (activities.ranks[rank].present) FindEnds(RecordsOf(trace, matching, activities, rank), ends);
  });
  return ends;
}

std::vector<SearchCounts> SearchRanks(const Trace& trace, const Matching& matching, const Activities& activities,
                                      const CollectiveWaits& collectives, const MessageEnds& ends, WaitStates& states) {
  const std::vector<Waiting> waiting = HowRegionsWait(trace);
  std::vector<bool> local_sends;
  std::vector<KindsOfRegion> kinds;
  for (const Region& region : trace.regions) {
    local_sends.push_back(IsLocalSend(region));
    kinds.push_back(KindsOf(region));
  }
  states.ranks.resize(trace.size());
  states.marks.resize(trace.size());
  std::vector<SearchCounts> counts(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!activities.ranks[rank].present) return;
    const RankRecords input = RecordsOf(trace, matching, activities, rank);
    RankSearch search(input, ends, collectives, waiting, local_sends, kinds);
    search.Run();
    counts[rank] = {search.needs(), search.violations(), CountFlushes(trace, activities, rank)};
    states.ranks[rank] = search.TakeWaits();
    states.marks[rank] = search.TakeMarks();
  });
  return counts;
}

void MirrorMarks(std::vector<std::vector<SyncMark>>& marks) {
  std::vector<std::size_t> own;
  for (const std::vector<SyncMark>& of_rank : marks) own.push_back(of_rank.size());
  for (std::uint32_t rank = 0; rank < marks.size(); ++rank) {
    for (std::size_t i = 0; i < own[rank]; ++i) {
      const SyncMark mark = marks[rank][i];
      marks[mark.peer].push_back({rank, mark.peer_call, mark.call});
    }
  }
}

void SortMarks(std::vector<std::vector<SyncMark>>& marks) {
  ParallelFor(marks.size(), [&](std::size_t rank) {
    std::sort(marks[rank].begin(), marks[rank].end());
    marks[rank].erase(std::unique(marks[rank].begin(), marks[rank].end()), marks[rank].end());
  });
}

LastRank FindLastRank(const Activities& activities) {
  for (std::uint32_t rank = 0; rank < activities.ranks.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    if (own.present && own.end() == activities.end) return {rank, static_cast<std::uint32_t>(own.calls)};
  }
  return {};
}

void AddWaitsAtEnd(const Activities& activities, const LastRank& last, std::vector<RankWaits>& ranks) {
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present || own.end() == activities.end) continue;
    ranks[rank].waits.push_back({static_cast<std::uint32_t>(own.calls), last.rank, last.call, WaitKind::kWaitAtEnd,
                                 activities.end - own.end()});
  }
}

Diagnostics DiagnosticsOf(const Trace& trace, const std::vector<SearchCounts>& counts) {
  Diagnostics diagnostics;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    diagnostics.AddPopulation(anomaly::kEndedBeforeNeeded, counts[rank].needs);
    diagnostics.Add(anomaly::kEndedBeforeNeeded, counts[rank].violations, "on " + NameOfRank(trace, rank));
    diagnostics.Add(anomaly::kFlushesMayPoll, counts[rank].flushes, "on " + NameOfRank(trace, rank));
  }
  return diagnostics;
}

WaitStates FindWaitStates(const Trace& trace, const Matching& matching, const Activities& activities,
                          const CollectiveWaits& collectives) {
  WaitStates states;
  const std::vector<SearchCounts> counts =
      SearchRanks(trace, matching, activities, collectives, FindMessageEnds(trace, matching, activities), states);
  AddLockWaits(trace, activities, states);
  MirrorMarks(states.marks);
  SortMarks(states.marks);
  const auto done_of = [&](const WaitState& wait) {
    return DoneBefore(trace, activities, wait.delayer, wait.delayer_call);
  };
  AddLateCompletes(activities, done_of, states.ranks);
  AddWaitsAtEnd(activities, FindLastRank(activities), states.ranks);
  states.diagnostics = DiagnosticsOf(trace, counts);
  return states;
}

// How calls wait, and what their waits are called, by what the name of a function says.

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

std::vector<Waiting> HowRegionsWait(const Trace& trace) {
  std::vector<Waiting> waiting;
  for (const Region& region : trace.regions) {
    const std::string name = ToLower(region.name);
    const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
    Waiting how = Waiting::kNever;
    switch (region.call) {
      case MpiCall::kSend: how = has("rsend") ? Waiting::kNever : Waiting::kForAll; break;
      case MpiCall::kWait: how = has("waitany") || has("waitsome") ? Waiting::kForFirst : Waiting::kForAll; break;
      case MpiCall::kProbe: how = has("improbe") || has("iprobe") ? Waiting::kNever : Waiting::kForNext; break;
      case MpiCall::kSynchronousSend:
      case MpiCall::kReceive:
      case MpiCall::kSendReceive:
      case MpiCall::kCollective:
      case MpiCall::kWindowFence:
      case MpiCall::kWindowComplete:
      case MpiCall::kWindowWait:
      case MpiCall::kWindowOther:
      case MpiCall::kInputOutput:
      case MpiCall::kCollectiveInputOutput:
      case MpiCall::kOther: how = Waiting::kForAll; break;
      default: break;
    }
    waiting.push_back(how);
  }
  return waiting;
}

bool IsLocalSend(const Region& region) {
  return region.call == MpiCall::kBufferedSend || region.call == MpiCall::kImmediateBufferedSend ||
         IsOneSided(region.call) || IsAmongNeighbours(region.name) ||
         ToLower(region.name).find("rsend") != std::string::npos;
}

}  // namespace farscale
