#include "imbalance/waits/wait_states.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/search.h"
#include "replay/clock_repair.h"

namespace farscale {
namespace {

std::pair<CollectivePattern, WaitKind> Flow(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier: return {CollectivePattern::kAllToAll, WaitKind::kWaitAtBarrier};
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kAllreduce:
    case CollectiveKind::kReduceScatter: return {CollectivePattern::kAllToAll, WaitKind::kWaitAtNxN};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter: return {CollectivePattern::kFromRoot, WaitKind::kLateBroadcast};
    case CollectiveKind::kReduce:
    case CollectiveKind::kGather: return {CollectivePattern::kToRoot, WaitKind::kEarlyReduce};
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan: return {CollectivePattern::kPrefix, WaitKind::kEarlyScan};
    case CollectiveKind::kCreateHandle: return {CollectivePattern::kAllToAll, WaitKind::kWaitAtCreation};
    case CollectiveKind::kFork: return {CollectivePattern::kFromRoot, WaitKind::kWaitAtFork};
    case CollectiveKind::kThreadBarrier: return {CollectivePattern::kAllToAll, WaitKind::kWaitAtThreadBarrier};
    case CollectiveKind::kImplicitBarrier: return {CollectivePattern::kAllToAll, WaitKind::kWaitAtImplicitBarrier};
    case CollectiveKind::kDestroyHandle: break;
  }
  return {CollectivePattern::kNone, WaitKind::kWaitAtNxN};
}

std::vector<std::pair<Participant, OperationType>> FindPosted(const Trace& trace, const RankRecords& records,
                                                              const std::vector<bool>& region_has_sizes) {
  std::vector<std::pair<Participant, OperationType>> found;
  const auto set_done = [&](std::uint32_t call, Participant& participant) {
    participant.done = call;
    participant.done_enter = records.activities.enter(call);
    participant.done_leave = records.activities.leave(call);
  };
  std::unordered_map<std::size_t, std::size_t> pending;  // posts without completion, by number
  ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
    if (!part.IsCollective() || !part.IsMatched()) return;
    const std::uint32_t region = records.Region(call);
    if (!part.posts) {
      const auto post = pending.find(part.ordinal);
      // Nobody waits in a test.
      const bool waits = trace.regions[region].call != MpiCall::kTest;
      if (waits && post != pending.end()) set_done(call, found[post->second].first);
      return;
    }
    Participant participant;
    participant.rank = records.rank;
    participant.operation = part.number;
    participant.call = call;
    participant.enter = records.activities.enter(call);
    participant.is_blocking = part.completes;
    if (part.completes) {
      const RankTimeline::Record sizes = records.timeline.record(record);
      participant.sends = sizes.bytes > 0;
      participant.receives = sizes.received > 0;
      set_done(call, participant);
    } else {
      pending[part.ordinal] = found.size();
    }
    const std::uint32_t number = records.matching.collective_types[part.ordinal];
    const CollectiveType& type = records.timeline.collective_types()[number];
    const auto [pattern, kind] = Flow(type.kind);
    // Groups of intercommunicators depend on each other in ways that traces do not record.
    const bool is_between_groups = !trace.communicators[type.communicator].remote.empty();
    found.push_back(
        {participant,
         {type.root == kNoRoot ? kNoParticipant : static_cast<std::uint32_t>(type.root), type.communicator,
          is_between_groups ? CollectivePattern::kNone : pattern, kind, part.completes && region_has_sizes[region]}});
  });
  return found;
}

// Waits of one-sided communication beyond messages and collectives. Locks are given out one after the other, or to
// several who share, in an order that the trace shows by when they are given back.

// An epoch within the phase. Calls are those of Activities.
struct Holding {
  std::uint32_t window = 0;
  std::int32_t target = 0;
  bool is_exclusive = false;
  std::uint32_t rank = 0;
  std::uint32_t lock_call = 0, unlock_call = 0;
  Tick unlock_enter = 0, unlock_leave = 0;

  bool IsOfSameLock(const Holding& other) const { return window == other.window && target == other.target; }
};

// Sorted by lock, then in the order in which they were given back; of equals the lowest rank first.
std::vector<Holding> FindHoldings(const Trace& trace, const Activities& activities) {
  // Ranks whose windows somebody has to himself at a time.
  std::map<std::uint32_t, std::set<std::int32_t>> locked;
  for (const RankTimeline& timeline : trace.timelines) {
    for (const LockEpoch& epoch : timeline.lock_epochs()) {
      if (epoch.is_exclusive) locked[epoch.window].insert(epoch.target);
    }
  }
  std::vector<Holding> holdings;
  for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present) continue;
    for (const LockEpoch& epoch : trace.timelines[rank].lock_epochs()) {
      if (epoch.unlock_call < own.first_call || epoch.unlock_call >= own.first_call + own.calls) continue;
      const auto within = [&](std::uint32_t call) {
        return static_cast<std::uint32_t>(std::max<std::size_t>(call, own.first_call) - own.first_call);
      };
      const std::uint32_t unlock = within(epoch.unlock_call);
      const Holding holding{epoch.window, epoch.target,      epoch.is_exclusive, rank, within(epoch.lock_call),
                            unlock,       own.enter(unlock), own.leave(unlock)};
      if (epoch.target != LockEpoch::kAllTargets) {
        holdings.push_back(holding);
      } else if (const auto found = locked.find(epoch.window); found != locked.end()) {
        for (const std::int32_t target : found->second) holdings.emplace_back(holding).target = target;
      }
    }
  }
  std::ranges::sort(holdings, {}, [](const Holding& holding) {
    return std::tuple(holding.window, holding.target, holding.unlock_leave, holding.rank, holding.unlock_call);
  });
  return holdings;
}

// Whom holding `i` had to wait for: the last other rank that gave the lock back before, if one of the two has it for
// itself. `last_exclusive`: of every holding that of the same lock before it which is exclusive.
const Holding* HolderBefore(const std::vector<Holding>& holdings, const std::vector<std::size_t>& last_exclusive,
                            std::size_t i) {
  const Holding& own = holdings[i];
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t before = own.is_exclusive ? i - 1 : last_exclusive[i];
  while (before != kNone && holdings[before].IsOfSameLock(own)) {
    if (holdings[before].rank != own.rank) return &holdings[before];
    before = own.is_exclusive ? before - 1 : last_exclusive[before];
  }
  return nullptr;
}

// When a rank was done with its operations in the epoch that it ends with a complete: it left the last one, or began
// the epoch.
Tick DoneBefore(const Trace& trace, const Activities& activities, std::uint32_t rank, std::uint32_t complete) {
  const RankActivities& own = activities.ranks[rank];
  for (std::uint32_t call = complete; call-- > 0;) {
    switch (trace.regions[trace.timelines[rank].region(own.first_call + call)].call) {
      case MpiCall::kOneSided:
      case MpiCall::kWindowOther:  // start, too
      case MpiCall::kWindowComplete:
      case MpiCall::kWindowFence: return own.leave(call);
      default: break;
    }
  }
  return own.begin();
}

}  // namespace

CollectiveWaits::CollectiveWaits(const Trace& trace, const Matching& matching, const Activities& activities)
    : types_(matching.collectives.size()), first_(types_.size() + 1), sync_calls_(trace.size()) {
  local_ranks_.resize(trace.communicators.size());
  std::vector<bool> region_has_sizes;
  for (const Region& region : trace.regions)
    region_has_sizes.push_back(region.IsCollective() && HasSizesOfItsOwn(region.name));
  std::vector<Posted> posted(trace.size());
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    posted[rank] = FindPosted(trace, records, region_has_sizes);
  });
  for (const Posted& of_rank : posted) {
    for (const auto& [participant, type] : of_rank) ++first_[participant.operation + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  participants_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const Posted& of_rank : posted) {
    for (const auto& [participant, type] : of_rank) {
      participants_[next[participant.operation]++] = participant;
      OperationType& known = types_[participant.operation];
      const bool has_sizes = known.has_sizes || type.has_sizes;
      known = type;  // where ranks differ, the highest one's counts
      known.has_sizes = has_sizes;
    }
  }
  posted = {};
  for (const OperationType& type : types_) {
    if (type.pattern != CollectivePattern::kPrefix) continue;
    std::vector<std::uint32_t>& local = local_ranks_[type.communicator];
    if (!local.empty()) continue;
    local.assign(trace.size(), 0);
    const std::vector<std::int32_t>& members = trace.communicators[type.communicator].members;
    for (std::uint32_t i = 0; i < members.size(); ++i) local[static_cast<std::size_t>(members[i])] = i;
  }
  ParallelFor(types_.size(), [&](std::size_t i) { Resolve(static_cast<std::uint32_t>(i)); });
  for (const Participant& one : participants_) {
    const CollectivePattern pattern = types_[one.operation].pattern;
    const bool synchronises = pattern == CollectivePattern::kAllToAll || pattern == CollectivePattern::kPrefix;
    if (!synchronises && !types_[one.operation].IsFork()) continue;
    std::vector<SyncCall>& calls = sync_calls_[one.rank];
    calls.push_back({one.call, one.operation});
    if (one.done != kNoCall && one.done != one.call) calls.push_back({one.done, one.operation});
  }
  ParallelFor(trace.size(), [&](std::size_t rank) { std::ranges::sort(sync_calls_[rank], {}, &SyncCall::first); });
}

void CollectiveWaits::Resolve(std::uint32_t operation) {
  const std::span own = std::span(participants_).subspan(first_[operation], first_[operation + 1] - first_[operation]);
  const OperationType& type = types_[operation];
  const bool sizes_known =
      type.has_sizes && std::ranges::any_of(own, [](const Participant& p) { return p.sends || p.receives; });
  if (!sizes_known) {
    for (Participant& p : own) p.sends = p.receives = true;
  }
  const auto index = [&](const Participant* p) { return static_cast<std::uint32_t>(p - participants_.data()); };
  switch (type.pattern) {
    case CollectivePattern::kNone: break;
    case CollectivePattern::kAllToAll: {
      const std::uint32_t latest = Latest(operation, kNoParticipant);
      for (Participant& p : own) p.depends_on = p.receives ? latest : kNoParticipant;
      break;
    }
    case CollectivePattern::kFromRoot: {
      const Participant* root = Find(operation, type.root);
      for (Participant& p : own) {
        if (root != nullptr && &p != root && p.receives) p.depends_on = index(root);
      }
      break;
    }
    case CollectivePattern::kToRoot:
      for (Participant& p : own) {
        if (p.rank == type.root) p.depends_on = Latest(operation, p.rank);
      }
      break;
    case CollectivePattern::kPrefix: {
      std::vector<Participant*> order;
      for (Participant& p : own) order.push_back(&p);
      const std::vector<std::uint32_t>& local = local_ranks_[type.communicator];
      std::ranges::sort(order, {}, [&](const Participant* p) { return local[p->rank]; });
      const Participant* latest = nullptr;
      for (Participant* p : order) {
        if (latest != nullptr) p->depends_on = index(latest);
        if (latest == nullptr || p->enter > latest->enter || (p->enter == latest->enter && p->rank < latest->rank))
          latest = p;
      }
      break;
    }
  }
}

// The participant that gives something and comes last; of equals the lowest rank.
std::uint32_t CollectiveWaits::Latest(std::uint32_t operation, std::uint32_t except) const {
  std::uint32_t latest = kNoParticipant;
  for (std::uint32_t i = first_[operation]; i < first_[operation + 1]; ++i) {
    if (participants_[i].rank == except || !participants_[i].sends) continue;
    if (latest == kNoParticipant || participants_[i].enter > participants_[latest].enter) latest = i;
  }
  return latest;
}

const Participant* CollectiveWaits::FindNeeded(std::uint32_t operation, std::uint32_t rank) const {
  const Participant* self = Find(operation, rank);
  if (self == nullptr || self->depends_on == kNoParticipant) return nullptr;
  const Participant& other = participants_[self->depends_on];
  return other.rank == rank ? nullptr : &other;
}

const Participant* CollectiveWaits::Find(std::uint32_t operation, std::uint32_t rank) const {
  const std::span<const Participant> all = participants(operation);
  // On MPI_COMM_WORLD every rank is at its own place.
  if (rank < all.size() && all[rank].rank == rank) return &all[rank];
  const auto found = std::ranges::lower_bound(all, rank, {}, &Participant::rank);
  return found != all.end() && found->rank == rank ? &*found : nullptr;
}

// The trace shows that one waited for the other, and it can in such an operation.
bool CollectiveWaits::HasWaitedFor(const OperationType& type, const Participant& self, const Participant& other) const {
  if (self.done == kNoCall || other.enter <= self.done_enter || other.enter >= self.done_leave) return false;
  if (type.pattern == CollectivePattern::kAllToAll) return self.receives && other.sends;
  const std::vector<std::uint32_t>& local = local_ranks_[type.communicator];
  return local[other.rank] < local[self.rank];
}

std::optional<SyncMark> CollectiveWaits::FindMark(std::uint32_t operation, std::uint32_t rank,
                                                  std::uint32_t peer) const {
  const Participant *self = Find(operation, rank), *other = Find(operation, peer);
  if (self == nullptr || other == nullptr) return std::nullopt;
  const OperationType& type = types_[operation];
  // None does anything for a team before the fork.
  if (type.IsFork()) return SyncMark{peer, self->call, other->call};
  if (type.pattern == CollectivePattern::kAllToAll && self->is_blocking && other->is_blocking) {
    const bool is_synced = (self->receives && other->sends) || (self->sends && other->receives);
    return is_synced ? std::optional(SyncMark{peer, self->call, other->call}) : std::nullopt;
  }
  if (HasWaitedFor(type, *self, *other)) return SyncMark{peer, self->done, other->call};
  if (HasWaitedFor(type, *other, *self)) return SyncMark{peer, self->call, other->done};
  return std::nullopt;
}

std::optional<std::uint32_t> CallAt(const RankActivities& activities, std::uint32_t first, std::uint32_t end,
                                    Tick tick) {
  const std::size_t call = PartitionIndex(first, end, [&](std::size_t i) { return activities.leave(i) <= tick; });
  return call < end && activities.enter(call) < tick ? std::optional(static_cast<std::uint32_t>(call)) : std::nullopt;
}

void AddWindowWaits(const Trace& trace, WaitStates& states) {
  const Activities& activities = states.activities;
  const std::vector<Holding> holdings = FindHoldings(trace, activities);
  std::vector<std::size_t> last_exclusive(holdings.size(), static_cast<std::size_t>(-1));
  for (std::size_t i = 1; i < holdings.size(); ++i) {
    if (holdings[i - 1].IsOfSameLock(holdings[i]))
      last_exclusive[i] = holdings[i - 1].is_exclusive ? i - 1 : last_exclusive[i - 1];
  }
  std::vector<std::vector<WaitState>> added(trace.size());
  for (std::size_t i = 0; i < holdings.size(); ++i) {
    const Holding* before = HolderBefore(holdings, last_exclusive, i);
    if (before == nullptr) continue;
    const Holding& own = holdings[i];
    const RankActivities& waiting = activities.ranks[own.rank];
    if (!waiting.present) continue;
    // From the lock to the unlock; no computation.
    const auto call = CallAt(waiting, own.lock_call, own.unlock_call + 1, before->unlock_enter);
    if (!call) continue;
    const std::uint32_t region = trace.timelines[own.rank].region(waiting.first_call + *call);
    if (!IsOneSided(trace.regions[region].call)) continue;
    added[own.rank].push_back({*call, before->rank, before->unlock_call, WaitKind::kWaitForLock,
                               before->unlock_enter - waiting.enter(*call)});
    states.marks[own.rank].push_back({before->rank, *call, before->unlock_call});
  }
  for (std::size_t rank = 0; rank < added.size(); ++rank) {
    if (added[rank].empty()) continue;
    std::vector<WaitState>& waits = states.ranks[rank].waits;
    std::vector<std::uint32_t> calls;  // messages in wrong order name their waits by place
    for (const auto& [wait, same_source] : states.ranks[rank].wrong_order) calls.push_back(waits[wait].call);
    waits.insert(waits.end(), added[rank].begin(), added[rank].end());
    // Where one call waits for two locks, the later one keeps it.
    std::ranges::sort(waits, {}, [](const WaitState& wait) { return std::pair(wait.call, -wait.length); });
    const auto are_of_one = [](const WaitState& a, const WaitState& b) { return a.call == b.call; };
    waits.erase(std::unique(waits.begin(), waits.end(), are_of_one), waits.end());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto place = std::ranges::lower_bound(waits, calls[i], {}, &WaitState::call);
      states.ranks[rank].wrong_order[i].first = static_cast<std::uint32_t>(place - waits.begin());
    }
  }
  ParallelFor(states.ranks.size(), [&](std::size_t rank) {
    RankWaits& own = states.ranks[rank];
    for (std::uint32_t i = 0; i < own.waits.size(); ++i) {
      const WaitState& wait = own.waits[i];
      if (wait.kind != WaitKind::kEarlyWait) continue;
      const Tick enter = activities.ranks[rank].enter(wait.call);
      const Tick done = DoneBefore(trace, activities, wait.delayer, wait.delayer_call);
      own.late_completes.emplace_back(i, enter + wait.length - std::max(enter, done));
    }
  });
}

}  // namespace farscale
