// Waits of one-sided communication beyond messages and collectives. Locks are given out one after the other, or to
// several who share, in an order that the trace shows by when they are given back.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "imbalance/wait_steps.h"

namespace farscale {
namespace {

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

// Ranks whose windows somebody has to himself at a time.
using LockedWindows = std::map<std::uint32_t, std::set<std::int32_t>>;

LockedWindows FindExclusive(const Trace& trace) {
  LockedWindows locked;
  for (const RankTimeline& timeline : trace.timelines) {
    for (const LockEpoch& epoch : timeline.lock_epochs()) {
      if (epoch.is_exclusive) locked[epoch.window].insert(epoch.target);
    }
  }
  return locked;
}

// By lock, then in the order in which they were given back; of equals the lowest rank first.
std::vector<Holding> HoldingsOf(const Trace& trace, const Activities& activities) {
  const LockedWindows locked = FindExclusive(trace);
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

// The call from the lock to the unlock in which the rank was at that time; no computation.
std::optional<std::uint32_t> CallIn(const Trace& trace, const RankActivities& own, const Holding& holding, Tick tick) {
  const auto call = CallAt(own, holding.lock_call, holding.unlock_call + 1, tick);
  if (!call) return std::nullopt;
  const std::uint32_t region = trace.timelines[holding.rank].region(own.first_call + *call);
  return IsOneSided(trace.regions[region].call) ? call : std::nullopt;
}

// Messages in wrong order name their waits by place.
void InsertWaits(std::vector<WaitState> added, RankWaits& rank) {
  if (added.empty()) return;
  std::vector<std::uint32_t> calls;
  for (const WrongOrder& wrong : rank.wrong_order) calls.push_back(rank.waits[wrong.wait].call);
  rank.waits.insert(rank.waits.end(), added.begin(), added.end());
  // Where one call waits for two locks, the later one keeps it.
  std::ranges::sort(rank.waits, {}, [](const WaitState& wait) { return std::pair(wait.call, -wait.length); });
  const auto are_of_one = [](const WaitState& a, const WaitState& b) { return a.call == b.call; };
  rank.waits.erase(std::unique(rank.waits.begin(), rank.waits.end(), are_of_one), rank.waits.end());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto place = std::ranges::lower_bound(rank.waits, calls[i], {}, &WaitState::call);
    rank.wrong_order[i].wait = static_cast<std::uint32_t>(place - rank.waits.begin());
  }
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

}  // namespace

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

std::optional<std::uint32_t> CallAt(const RankActivities& activities, std::uint32_t first, std::uint32_t end,
                                    Tick tick) {
  const std::uint32_t behind = end;
  while (first < end) {  // the first that is left later
    const std::uint32_t middle = first + (end - first) / 2;
    activities.leave(middle) <= tick ? first = middle + 1 : end = middle;
  }
  return first < behind && activities.enter(first) < tick ? std::optional(first) : std::nullopt;
}

std::uint64_t CountFlushes(const Trace& trace, const Activities& activities, std::size_t rank) {
  std::uint64_t flushes = 0;
  const RankActivities& own = activities.ranks[rank];
  for (const LockEpoch& epoch : trace.timelines[rank].lock_epochs()) {
    if (epoch.is_exclusive) continue;
    const std::size_t end = std::min<std::size_t>(epoch.unlock_call, own.first_call + own.calls);
    for (std::size_t call = std::max<std::size_t>(epoch.lock_call + 1, own.first_call); call < end; ++call)
      flushes += trace.regions[trace.timelines[rank].region(call)].call == MpiCall::kWindowLockAll;
  }
  return flushes;
}

void AddLateCompletes(const Activities& activities, const DoneOf& done_of, std::vector<RankWaits>& ranks) {
  ParallelFor(ranks.size(), [&](std::size_t rank) {
    for (std::uint32_t i = 0; i < ranks[rank].waits.size(); ++i) {
      const WaitState& wait = ranks[rank].waits[i];
      if (wait.kind != WaitKind::kEarlyWait) continue;
      const Tick enter = activities.ranks[rank].enter(wait.call);
      ranks[rank].late_completes.push_back({i, enter + wait.length - std::max(enter, done_of(wait))});
    }
  });
}

void AddLockWaits(const Trace& trace, const Activities& activities, WaitStates& states) {
  const std::vector<Holding> holdings = HoldingsOf(trace, activities);
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
    const auto call = CallIn(trace, waiting, own, before->unlock_enter);
    if (!call) continue;
    added[own.rank].push_back({*call, before->rank, before->unlock_call, WaitKind::kWaitForLock,
                               before->unlock_enter - waiting.enter(*call)});
    states.marks[own.rank].push_back({before->rank, *call, before->unlock_call});
  }
  for (std::size_t rank = 0; rank < added.size(); ++rank) InsertWaits(std::move(added[rank]), states.ranks[rank]);
}

}  // namespace farscale
