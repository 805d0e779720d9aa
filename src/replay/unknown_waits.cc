#include "replay/unknown_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/text.h"
#include "base/parallel.h"
#include "phases/phase_cut.h"
#include "phases/rank_groups.h"
#include "trace/anomalies.h"
#include "trace/trace.h"

namespace farscale {
namespace {

// All of one kind on one rank.
struct Calls {
  std::size_t count = 0, first = 0;

  void Add(std::size_t call) {
    if (count++ == 0) first = call;
  }
};

// Bytes that any MPI sends at once; chosen.
constexpr std::uint64_t kSurelyEager = 1024;

// The search for calls of one rank in which it may have waited for others.
class CallSearch {
 public:
  CallSearch(const Trace& trace, std::size_t rank, const Interval& window)
      : trace_(trace), timeline_(trace.timelines[rank]), window_(window) {}

  // `has_immediate`: collectives that do not block.
  void FindUnsynchronised(bool has_immediate, bool as_measured) {
    // Calls in which locks that the trace records decide how long they wait, and flushes between: these wait for who
    // holds the lock, if the MPI puts off to get it, and else for nobody.
    std::vector<bool> calls_of_locks(timeline_.calls());
    if (as_measured) {
      for (const LockEpoch& epoch : timeline_.lock_epochs()) {
        for (std::size_t call = epoch.lock_call; call <= epoch.unlock_call; ++call) calls_of_locks[call] = true;
      }
    }
    // Collectives by their number: those that do not block and no record shows where they complete, as in Paraver
    // traces.
    std::vector<bool> never_completed(timeline_.collectives());
    Posts posts;
    for (std::size_t record = 0; has_immediate && record < timeline_.records(); ++record) {
      const OperationPart part = posts.Next(timeline_, record);
      if (part.IsCollective()) never_completed[part.ordinal] = !part.completes;
    }
    if (has_immediate) posts = PostsBefore(timeline_, timeline_.first_record(window_.begin.call));
    std::uint64_t pending = 0;  // collectives that may not be complete, and no record will show
    for (std::size_t call = window_.begin.call; call < window_.end.call; ++call) {
      const Region& function = FunctionOf(call);
      const MpiCall kind = function.call;
      const std::size_t first = timeline_.first_record(call), end = timeline_.first_record(call + 1);
      const bool has_record = first < end;
      operations += kind == MpiCall::kOneSided;
      if (IsOneSided(kind) && !calls_of_locks[call]) {
        if (kind == MpiCall::kWindowLock || (IsWindowSynchronisation(kind) && !has_record)) unknown.Add(call);
        if (kind == MpiCall::kWindowLockAll) lock_all.Add(call);
      }
      const OperationPart part = has_record ? PartOf(timeline_.record_kind(first)) : OperationPart{};
      const bool is_among_neighbours = has_record && !(part.IsCollective() && part.posts);
      bool takes_time = false;
      if (function.IsCollective() && !is_among_neighbours) {
        const bool is_immediate = kind == MpiCall::kImmediateCollective;
        const bool is_known =
            is_immediate && has_record ? !never_completed[posts[OperationClass::kCollective]] : has_record;
        if (!is_known && is_immediate) ++pending;
        takes_time = !is_known && !is_immediate;
      }
      // A wait without records is that for a collective; in one with records a collective may be completed, too.
      if (kind == MpiCall::kWait && pending > 0) {
        takes_time = true;
        if (!has_record) --pending;
      }
      if (takes_time) {
        collectives.Add(call);
        in_collectives += TimeWithin(call);
      }
      for (std::size_t record = first; has_immediate && record < end; ++record) posts.Next(timeline_, record);
    }
  }

  // Calls that wait for messages of which the trace has no record. Those from `shortest` on are no mere calls.
  void FindLostMessages(Tick shortest) {
    shortest_ = shortest;
    for (std::size_t call = 0; call < window_.end.call; ++call) {  // requests may be posted before the window
      first_record_ = timeline_.first_record(call);
      end_record_ = timeline_.first_record(call + 1);
      has_record_ = first_record_ < end_record_;
      for (std::size_t record = first_record_; record < end_record_; ++record) {
        open_sends_ -= timeline_.record_kind(record) == RecordKind::kSendComplete && open_sends_ > 0 ? 1 : 0;
      }
      switch (FunctionOf(call).call) {
        case MpiCall::kProbe: probe_ = call; break;
        case MpiCall::kReceive:  // a message found by a probe is received next
          if (probe_ && !has_record_) AddTime(*probe_);
          probe_.reset();
          [[fallthrough]];
        case MpiCall::kSend:
        case MpiCall::kSynchronousSend:
          if (!has_record_) AddTime(call);
          break;
        case MpiCall::kSendReceive:
          if (!has_record_) AddTime(call);
          if (has_record_ && OnlySends()) AddTime(call, 4);
          break;
        case MpiCall::kImmediateReceive:
        case MpiCall::kImmediateSend:
        case MpiCall::kImmediateSynchronousSend:
        case MpiCall::kStart: PostRequest(); break;
        case MpiCall::kWait: Wait(call); break;
        default: break;
      }
      if (call >= window_.begin.call) in_mpi += TimeWithin(call);
    }
  }

  std::uint64_t operations = 0;
  Calls unknown, lock_all, collectives, messages;
  Tick in_collectives = 0, in_messages = 0, in_mpi = 0;
  bool notices_collectives = false, notices_messages = false;

 private:
  const Region& FunctionOf(std::size_t call) const { return trace_.regions[timeline_.region(call)]; }

  Tick TimeWithin(std::size_t call) const {
    const Tick begin = std::max(timeline_.enter(call), window_.begin.tick);
    return std::max<Tick>(0, std::min(timeline_.leave(call), window_.end.tick) - begin);
  }

  void AddTime(std::size_t call, Tick times_shortest = 1) {
    if (call < window_.begin.call || timeline_.duration(call) < times_shortest * shortest_) return;
    messages.Add(call);
    in_messages += TimeWithin(call);
  }

  // A small message, which needs no receiver to be sent: where the call takes long, it waits for another.
  bool OnlySends() const {
    for (std::size_t record = first_record_; record < end_record_; ++record) {
      const OperationPart part = PartOf(timeline_.record_kind(record));
      if (part.type != OperationClass::kSend || timeline_.record_bytes(record) > kSurelyEager) return false;
    }
    return true;
  }

  void PostRequest() {
    if (!has_record_) {
      ++lost_requests_;
      return;
    }
    if (std::exchange(has_waited_, false)) open_sends_ = 0;  // the exchange before is over
    for (std::size_t record = first_record_; record < end_record_; ++record) {
      open_sends_ +=
          timeline_.record_kind(record) == RecordKind::kSendPost && timeline_.record_bytes(record) > kSurelyEager;
    }
  }

  bool WaitsForAll(std::size_t call) const {
    return ToLower(FunctionOf(call).name).find("waitall") != std::string::npos;
  }

  // A wait for a send has no record where completions of sends are not recorded, and may take time.
  void Wait(std::size_t call) {
    const bool completes_all = WaitsForAll(call);
    has_waited_ = true;
    if (!has_record_ && lost_requests_ > 0 && open_sends_ == 0) AddTime(call);
    if (completes_all && lost_requests_ > 0) {
      // Requests that others than the waits for all of some of them still wait for, before more are posted.
      std::uint64_t waits = 0;
      for (std::size_t next = call + 1; next < window_.end.call; ++next) {
        const MpiCall kind = FunctionOf(next).call;
        if (kind == MpiCall::kWait && WaitsForAll(next)) break;
        if (kind == MpiCall::kImmediateReceive || kind == MpiCall::kImmediateSend || kind == MpiCall::kStart ||
            kind == MpiCall::kImmediateCollective) {
          break;
        }
        waits += kind == MpiCall::kWait;
      }
      lost_requests_ = std::min(lost_requests_, waits);
    }
    if (has_record_) return;
    if (!completes_all) lost_requests_ -= lost_requests_ > 0 ? 1 : 0;
    open_sends_ -= open_sends_ > 0 ? 1 : 0;
    if (completes_all) open_sends_ = 0;
  }

  const Trace& trace_;
  const RankTimeline& timeline_;
  const Interval window_;
  Tick shortest_ = 0;
  std::size_t first_record_ = 0, end_record_ = 0;  // the call at hand
  bool has_record_ = false;
  std::uint64_t lost_requests_ = 0;  // without record
  std::uint64_t open_sends_ = 0;     // large ones with a record, which may not be complete
  bool has_waited_ = false;          // since the last post
  std::optional<std::size_t> probe_;
};

// The least time of a call that waits for a message. Those with MPI_PROC_NULL take as long as others that wait
// for nobody, 5 microseconds under Extrae with counters, and rarely five times that. Most of those that post requests
// wait for nobody, and a tenth at least of those that send. All numbers are chosen.
Tick ShortestWait(const Trace& trace) {
  constexpr double kTimesPost = 10, kLeast = 1e-6, kMost = 50e-6;
  std::vector<Tick> posts, sends;
  bool any_receive = false, any_message = false;
  for (const RankTimeline& timeline : trace.timelines) {
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      const MpiCall kind = trace.regions[timeline.region(call)].call;
      const Tick length = timeline.leave(call) - timeline.enter(call);
      if (kind == MpiCall::kImmediateReceive || kind == MpiCall::kImmediateSend) posts.push_back(length);
      if (kind == MpiCall::kSend) sends.push_back(length);
      if (kind != MpiCall::kReceive && kind != MpiCall::kImmediateReceive && kind != MpiCall::kSendReceive) continue;
      any_receive = true;
      any_message |= timeline.first_record(call) < timeline.first_record(call + 1);
    }
  }
  if (any_receive && !any_message) return 0;  // not all come from nobody
  const auto ticks = [&](double seconds) { return static_cast<Tick>(seconds * trace.ticks_per_second); };
  std::vector<Tick>& lengths = posts.empty() ? sends : posts;
  if (lengths.empty()) return ticks(kMost);
  const auto usual = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / (posts.empty() ? 10 : 2));
  std::nth_element(lengths.begin(), usual, lengths.end());
  return std::clamp(static_cast<Tick>(kTimesPost * static_cast<double>(*usual)), ticks(kLeast), ticks(kMost));
}

// True for a noticeable part of the rank's time in the phase.
bool IsNoticeable(Tick time, const PhaseCut& cut, std::size_t rank) {
  Tick length = 0;
  for (const Interval& interval : cut.CountedTime(rank)) length += interval.length();
  return static_cast<double>(time) > kNoticeableWaits * static_cast<double>(length);
}

std::string Describe(const Trace& trace, std::size_t rank, std::size_t call) {
  const RankTimeline& timeline = trace.timelines[rank];
  return fmt::format("rank {} in {} at {}", rank, trace.regions[timeline.region(call)].name,
                     FormatSeconds(trace.Seconds(timeline.enter(call) - trace.begin())));
}

}  // namespace

UnknownWaits FindUnknownWaits(const Trace& trace, const PhaseCut& cut, bool as_measured) {
  UnknownWaits waits;
  if (std::string missing = MissingCalls(trace); !missing.empty()) {
    for (const RankCut& rank : cut.ranks) waits.calls += rank.window.end.call - rank.window.begin.call;
    waits.example = std::move(missing);
    return waits;
  }
  const bool has_immediate = std::any_of(trace.regions.begin(), trace.regions.end(), [](const Region& region) {
    return region.call == MpiCall::kImmediateCollective;
  });
  const Tick shortest = ShortestWait(trace);
  std::vector<std::optional<CallSearch>> found(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    CallSearch& search = found[rank].emplace(trace, rank, cut.ranks[rank].window);
    search.FindUnsynchronised(has_immediate, as_measured);
    if (trace.size() > 1) search.FindLostMessages(shortest);
    search.notices_collectives = IsNoticeable(search.in_collectives, cut, rank);
    search.notices_messages = IsNoticeable(search.in_messages, cut, rank);
  });
  double in_messages = 0, in_mpi = 0;
  bool with_collectives = false, with_messages = false;
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    if (!found[rank]) continue;
    waits.operations += found[rank]->operations;
    in_messages += static_cast<double>(found[rank]->in_messages);
    in_mpi += static_cast<double>(found[rank]->in_mpi);
    with_collectives |= found[rank]->notices_collectives;
    with_messages |= found[rank]->notices_messages;
  }
  with_messages |= in_messages > kNoticeableWaits * in_mpi;
  constexpr double kNamed = 0.005;  // chosen: less may be interrupted calls with MPI_PROC_NULL
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    if (!found[rank]) continue;
    const auto add = [&](const Calls& calls) {
      if (waits.calls == 0 && calls.count > 0) waits.example = Describe(trace, rank, calls.first);
      waits.calls += calls.count;
    };
    add(found[rank]->unknown);
    if (waits.operations > 0) add(found[rank]->lock_all);
    if (with_collectives) add(found[rank]->collectives);
    const Calls& messages = found[rank]->messages;
    if (messages.count == 0 || in_messages <= kNamed * in_mpi) continue;
    if (waits.messages == 0) waits.message_example = Describe(trace, rank, messages.first);
    waits.messages += messages.count;
    if (!with_messages) continue;
    if (waits.calls == 0) waits.example = waits.message_example + ", which has no record of its message";
    waits.calls += messages.count;
  }
  if (trace.diagnostics.Share(anomaly::kMpiStateOutsideCall) > kNoticeableWaits) {
    if (waits.calls == 0) waits.example = trace.diagnostics.Example(anomaly::kMpiStateOutsideCall);
    waits.calls += trace.diagnostics.count(anomaly::kMpiStateOutsideCall);
  }
  return waits;
}

void RequireKnownWaits(const Trace& trace, const PhaseCut& cut, bool as_measured) {
  const UnknownWaits waits = FindUnknownWaits(trace, cut, as_measured);
  if (!waits.any()) return;
  throw Error(
      ErrorKind::kNotEnoughData, trace.path,
      fmt::format("the trace does not say for whom {} calls wait in phase '{}', such as {}, so the phase cannot be "
                  "replayed",
                  FormatCount(waits.calls), cut.spec.name, waits.example),
      MissingCalls(trace).empty()
          ? "choose a phase without them; fences, post, start, complete and wait are replayed from OTF2 traces of "
            "farscale trace or Score-P, collectives and messages where they have records, locks never"
          : "record all ranks, and the MPI calls of all threads that make any");
}

std::string MissingCalls(const Trace& trace) {
  std::vector<std::size_t> empty;
  for (std::size_t rank = 0; rank < trace.size() && !trace.IsCutOut(); ++rank) {
    if (trace.timelines[rank].empty()) empty.push_back(rank);
  }
  if (!empty.empty()) {
    return fmt::format("those with rank{} {}, which recorded nothing", empty.size() == 1 ? "" : "s",
                       FormatRanks(empty));
  }
  // Where all ranks were off at once, nothing is missing, and the trace has no such time any more.
  for (std::size_t rank = 0; trace.size() > 1 && rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    Tick off = 0;
    for (const Interruption& one : timeline.interruptions()) off += one.is_flush ? 0 : one.end - one.begin;
    const auto all = static_cast<double>(trace.end() - trace.begin());
    if (static_cast<double>(off) <= kNoticeableWaits * all) continue;
    return fmt::format("those of rank {}, which alone was not recorded for {} of the run", rank,
                       FormatPercent(static_cast<double>(off) / all));
  }
  for (const Finding& finding : trace.diagnostics.findings()) {
    if (finding.id != anomaly::kMpiOnWorkerThread.id) continue;
    const std::uint64_t all = std::max(finding.population, finding.count);
    if (static_cast<double>(finding.count) <= kNoticeableWaits * static_cast<double>(all)) continue;
    return fmt::format("those that other threads than the main ones answer, which make {} of {} MPI calls",
                       FormatCount(finding.count), FormatCount(all));
  }
  // Messages of which one end lies where recording was off on all ranks: more ends of one kind than of the other
  // between two ranks.
  if (trace.diagnostics.count(anomaly::kSwitchedOff) == 0) return "";
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>
      surplus;  // sends without a receive, by sender and receiver
  std::uint64_t sends = 0, missing = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const RankTimeline& timeline = trace.timelines[i];
    const auto rank = static_cast<std::int32_t>(i);
    for (std::size_t record = 0; record < timeline.records(); ++record) {
      const OperationPart part = PartOf(timeline.record_kind(record));
      const bool is_send = part.type == OperationClass::kSend;
      if (part.IsCollective() || !(is_send ? part.posts : part.completes)) continue;
      const std::int32_t peer = timeline.endpoints()[timeline.record_target(record)].peer;
      sends += is_send ? 1 : 0;
      surplus[is_send ? std::pair(rank, peer) : std::pair(peer, rank)] += is_send ? 1 : -1;
    }
  }
  for (const auto& [ranks, count] : surplus) missing += static_cast<std::uint64_t>(std::abs(count));
  if (static_cast<double>(missing) <= kNoticeableWaits * static_cast<double>(sends)) return "";
  return fmt::format("those while recording was off, as {} messages lack an end", FormatCount(missing));
}

}  // namespace farscale
