#include "replay/unknown_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/format.h"
#include "base/parallel.h"
#include "replay/missing_calls.h"
#include "trace/operations.h"

namespace farscale {
namespace {

// Calls of one kind on one rank.
struct Calls {
  std::uint64_t count = 0;
  std::size_t first = 0;

  void Add(std::size_t call) {
    if (count++ == 0) first = call;
  }
};

// Of one rank.
struct Found {
  std::uint64_t operations = 0;
  Calls unknown, lock_all, collectives;
  Tick in_collectives = 0;
};

// Collectives of a rank by their number: whether they do not block and no record shows where they complete, as in
// Paraver traces.
std::vector<bool> NeverCompleted(const RankTimeline& timeline) {
  std::vector<bool> never(timeline.collectives());
  Posts posts;
  for (std::size_t record = 0; record < timeline.records(); ++record) {
    const OperationPart part = posts.Next(timeline, record);
    if (part.IsCollective()) never[part.ordinal] = !part.completes;
  }
  return never;
}

// Calls of a rank in which locks that the trace records decide how long they wait, and flushes between: these wait for
// who holds the lock, if the MPI puts off to get it, and else for nobody.
std::vector<bool> CallsOfLocks(const RankTimeline& timeline) {
  std::vector<bool> calls(timeline.calls());
  for (const LockEpoch& epoch : timeline.lock_epochs()) {
    calls[epoch.lock_call] = calls[epoch.unlock_call] = true;
    for (std::size_t call = epoch.lock_call; call < epoch.unlock_call; ++call) calls[call] = true;
  }
  return calls;
}

class UnknownWaitSearch {
 public:
  UnknownWaitSearch(const Trace& trace, const RankTimeline& timeline, const Interval& window, bool has_immediate,
                    LockOrder locks)
      : trace_(trace), timeline_(timeline), window_(window), has_immediate_(has_immediate) {
    if (locks == LockOrder::kAsMeasured && !timeline.lock_epochs().empty()) calls_of_locks_ = CallsOfLocks(timeline);
  }

  Found Run() {
    if (has_immediate_) {
      never_completed_ = NeverCompleted(timeline_);
      posts_ = PostsBefore(timeline_, timeline_.first_record(window_.begin.call));
    }
    for (std::size_t call = window_.begin.call; call < window_.end.call; ++call) {
      const Region& function = trace_.regions[timeline_.region(call)];
      if (IsOneSided(function.call)) AddOneSided(function.call, call);
      if (function.IsCollective()) AddCollective(function.call, call);
      if (function.call == MpiCall::kWait && pending_ > 0) AddCompletion(call);
      if (has_immediate_) CountPosts(call);
    }
    return found_;
  }

 private:
  bool HasRecord(std::size_t call) const { return timeline_.first_record(call) < timeline_.first_record(call + 1); }

  bool SendsMessages(std::size_t call) const {
    if (!HasRecord(call)) return false;
    const RecordKind kind = timeline_.record_kind(timeline_.first_record(call));
    return kind != RecordKind::kCollective && kind != RecordKind::kCollectivePost;
  }

  void CountPosts(std::size_t call) {
    for (std::size_t record = timeline_.first_record(call); record < timeline_.first_record(call + 1); ++record) {
      posts_.Next(timeline_, record);
    }
  }

  void AddOneSided(MpiCall kind, std::size_t call) {
    found_.operations += kind == MpiCall::kOneSided;
    if (call < calls_of_locks_.size() && calls_of_locks_[call]) return;
    if (kind == MpiCall::kWindowLock || (IsWindowSynchronisation(kind) && !HasRecord(call))) found_.unknown.Add(call);
    if (kind == MpiCall::kWindowLockAll) found_.lock_all.Add(call);
  }

  void AddCollective(MpiCall kind, std::size_t call) {
    if (SendsMessages(call)) return;  // among neighbours
    const bool is_posted = kind == MpiCall::kImmediateCollective && HasRecord(call);
    if (is_posted ? !never_completed_[posts_[OperationClass::kCollective]] : HasRecord(call)) return;
    if (kind == MpiCall::kImmediateCollective) {
      ++pending_;
    } else {
      AddTime(call);
    }
  }

  // A wait without records is that for a collective; in one with records a collective may be completed, too.
  void AddCompletion(std::size_t call) {
    AddTime(call);
    if (!HasRecord(call)) --pending_;
  }

  void AddTime(std::size_t call) {
    found_.collectives.Add(call);
    found_.in_collectives += std::max<Tick>(
        0, std::min(timeline_.leave(call), window_.end.tick) - std::max(timeline_.enter(call), window_.begin.tick));
  }

  const Trace& trace_;
  const RankTimeline& timeline_;
  const Interval& window_;
  const bool has_immediate_;           // collectives that do not block; without them nothing below is filled
  std::vector<bool> calls_of_locks_;   // nothing: they are not known
  std::vector<bool> never_completed_;  // by their number
  Posts posts_;                        // before the call
  Found found_;
  std::uint64_t pending_ = 0;  // collectives that may not be complete, and no record will show
};

// Whether the rank spends a noticeable part of its time in the phase in collectives without records.
bool IsNoticeable(const Found& found, const PhaseCut& cut, std::size_t rank) {
  Tick length = 0;
  for (const Interval& interval : cut.CountedTime(rank)) length += interval.length();
  return static_cast<double>(found.in_collectives) > kNoticeableCollectives * static_cast<double>(length);
}

std::string Describe(const Trace& trace, std::size_t rank, std::size_t call) {
  const RankTimeline& timeline = trace.timelines[rank];
  return fmt::format("rank {} in {} at {}", rank, trace.regions[timeline.region(call)].name,
                     FormatSeconds(trace.Seconds(timeline.enter(call) - trace.begin())));
}

}  // namespace

UnknownWaits FindUnknownWaits(const Trace& trace, const PhaseCut& cut, LockOrder locks) {
  UnknownWaits waits;
  if (std::string missing = MissingCalls(trace); !missing.empty()) {
    for (const RankCut& rank : cut.ranks) waits.calls += rank.window.end.call - rank.window.begin.call;
    waits.example = std::move(missing);
    return waits;
  }
  const bool has_any = std::any_of(trace.regions.begin(), trace.regions.end(), [](const Region& region) {
    return IsOneSided(region.call) || region.IsCollective();
  });
  if (!has_any) return waits;
  const bool has_immediate = std::any_of(trace.regions.begin(), trace.regions.end(), [](const Region& region) {
    return region.call == MpiCall::kImmediateCollective;
  });
  std::vector<Found> found(trace.size());
  std::vector<char> is_noticeable(trace.size());  // not bits: written by several threads
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    found[rank] = UnknownWaitSearch(trace, trace.timelines[rank], cut.ranks[rank].window, has_immediate, locks).Run();
    is_noticeable[rank] = IsNoticeable(found[rank], cut, rank) ? 1 : 0;
  });
  for (const Found& rank : found) waits.operations += rank.operations;
  const bool collectives_matter = std::count(is_noticeable.begin(), is_noticeable.end(), 1) > 0;
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    const auto add = [&](const Calls& calls) {
      if (waits.calls == 0 && calls.count > 0) waits.example = Describe(trace, rank, calls.first);
      waits.calls += calls.count;
    };
    add(found[rank].unknown);
    if (waits.operations > 0) add(found[rank].lock_all);
    if (collectives_matter) add(found[rank].collectives);
  }
  return waits;
}

void RequireKnownWaits(const Trace& trace, const PhaseCut& cut, LockOrder locks) {
  const UnknownWaits waits = FindUnknownWaits(trace, cut, locks);
  if (!waits.any()) return;
  throw Error(
      ErrorKind::kNotEnoughData, trace.path,
      fmt::format("the trace does not say for whom {} calls wait in phase '{}', such as {}, so the phase cannot be "
                  "replayed",
                  FormatCount(waits.calls), cut.spec.name, waits.example),
      MissingCalls(trace).empty()
          ? "choose a phase without them; fences, post, start, complete and wait are replayed from OTF2 traces of "
            "farscale trace or Score-P, collectives where they have records, locks never"
          : "record all ranks, and the MPI calls of all threads that make any");
}

}  // namespace farscale
