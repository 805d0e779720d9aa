#include "imbalance/critical_path.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/parallel.h"

namespace farscale {

std::vector<PathSegment> FindCriticalPath(const Activities& activities, const WaitStates& states) {
  std::vector<PathSegment> segments;
  std::uint32_t rank = 0;
  bool is_found = false;
  for (std::uint32_t r = 0; r < activities.ranks.size(); ++r) {
    const RankActivities& other = activities.ranks[r];
    if (!other.present || (is_found && other.end() <= activities.ranks[rank].end())) continue;
    rank = r;
    is_found = true;
  }
  if (!is_found) return segments;
  Tick end = activities.ranks[rank].end();
  while (true) {
    const RankActivities& own = activities.ranks[rank];
    const std::vector<WaitState>& waits = states.ranks[rank].waits;
    // The last wait that was over by then: what follows on this rank went on without help from others.
    const auto behind = std::partition_point(waits.begin(), waits.end(),
                                             [&](const WaitState& wait) { return own.leave(wait.call) <= end; });
    if (behind == waits.begin()) {
      segments.push_back({rank, own.begin(), end});
      break;
    }
    const WaitState& wait = *std::prev(behind);
    const Tick released = own.enter(wait.call) + wait.length;
    segments.push_back({rank, released, end});
    rank = wait.delayer;
    end = released;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::vector<RankPathTicks> ProfileOf(const Activities& activities, const std::vector<PathSegment>& segments) {
  std::map<std::pair<std::uint32_t, PathId>, Tick> profile;
  for (const PathSegment& segment : segments) {
    const RankActivities& own = activities.ranks[segment.rank];
    auto a = static_cast<std::size_t>(std::upper_bound(own.edges.begin(), own.edges.end(), segment.begin) -
                                      own.edges.begin() - 1);
    for (; a < own.size() && own.edges[a] < segment.end; ++a) {
      const Tick ticks = std::min(own.edges[a + 1], segment.end) - std::max(own.edges[a], segment.begin);
      if (ticks > 0) profile[{segment.rank, own.path[a]}] += ticks;
    }
  }
  std::vector<RankPathTicks> result;
  for (const auto& [key, ticks] : profile) result.push_back({key.first, key.second, static_cast<double>(ticks)});
  return result;
}

namespace {

constexpr Tick kNotNeeded = std::numeric_limits<Tick>::max() / 4;

enum class Happening : std::uint8_t {
  // When a call is left.
  kReceived,
  kSent,
  kCollectiveDone,
  // When it is entered.
  kWaited,
  kSendPosted,
  kReceivePosted,
  kCollectivePosted,
};

struct Moment {
  Tick tick = 0;
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  std::uint32_t target = 0;  // message or operation
  Happening what = Happening::kWaited;
};

// From the last moment to the first; on one rank a call before those that precede it, left before entered.
bool IsLater(const Moment& a, const Moment& b) {
  if (a.tick != b.tick) return a.tick > b.tick;
  return std::tuple(a.rank, b.call, a.what, a.target) < std::tuple(b.rank, a.call, b.what, b.target);
}

void CollectMoments(const RankRecords& records, std::vector<Moment>& moments) {
  ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
    if (!part.IsMatched()) return;
    const auto type = static_cast<std::size_t>(part.type);
    constexpr Happening kDone[] = {Happening::kSent, Happening::kReceived, Happening::kCollectiveDone};
    constexpr Happening kPosted[] = {Happening::kSendPosted, Happening::kReceivePosted, Happening::kCollectivePosted};
    const RankActivities& own = records.activities;
    if (part.completes) moments.push_back({own.leave(call), records.rank, call, part.number, kDone[type]});
    if (part.posts) moments.push_back({own.enter(call), records.rank, call, part.number, kPosted[type]});
  });
}

// Walks back in time. What matters of the future is kept as the latest tick up to which something may be put off.
class SlackWalk {
 public:
  SlackWalk(const Activities& activities, const WaitStates& states, const CollectiveWaits& collectives,
            std::uint32_t messages)
      : activities_(activities),
        states_(states),
        collectives_(collectives),
        needed_by_receiver_(messages, kNotNeeded),
        needed_by_sender_(messages, kNotNeeded),
        needed_(collectives.operations(), kNotNeeded),
        slack_(activities.ranks.size()),
        before_(activities.ranks.size()),
        after_(activities.ranks.size()) {
    for (std::size_t rank = 0; rank < slack_.size(); ++rank) {
      const RankActivities& own = activities.ranks[rank];
      if (!own.present) continue;
      slack_[rank] = activities.end - own.end();
      before_[rank].assign(own.call_activity.size(), kNotNeeded);
      after_[rank].assign(own.call_activity.size(), kNotNeeded);
    }
  }

  void Run(const std::vector<Moment>& moments) {
    for (const Moment& moment : moments) Take(moment);
  }

  // Slack when a call is entered and when it is left; kNotNeeded for calls that nobody depends on.
  const std::vector<Tick>& before(std::size_t rank) const { return before_[rank]; }
  const std::vector<Tick>& after(std::size_t rank) const { return after_[rank]; }

 private:
  void Take(const Moment& moment) {
    Tick& slack = slack_[moment.rank];
    const WaitState* wait = WaitOf(moment);
    // From when on the call goes on by itself.
    const Tick released = activities_.ranks[moment.rank].enter(moment.call) + (wait == nullptr ? 0 : wait->length);
    const auto put_off = [&](Tick latest) { slack = std::min(slack, std::max<Tick>(0, latest - moment.tick)); };
    switch (moment.what) {
      case Happening::kReceived:
        needed_by_receiver_[moment.target] = released + slack;
        after_[moment.rank][moment.call] = slack;
        break;
      case Happening::kSent:
        if (wait != nullptr && wait->kind == WaitKind::kLateReceiver)
          needed_by_sender_[moment.target] = released + slack;
        after_[moment.rank][moment.call] = slack;
        break;
      case Happening::kCollectiveDone:
        NeedCollective(moment, released + slack);
        after_[moment.rank][moment.call] = slack;
        break;
      case Happening::kWaited: slack += wait->length; break;
      case Happening::kSendPosted: put_off(needed_by_receiver_[moment.target]); break;
      case Happening::kReceivePosted: put_off(needed_by_sender_[moment.target]); break;
      case Happening::kCollectivePosted: put_off(LatestFor(moment)); break;
    }
    if (moment.what >= Happening::kWaited) before_[moment.rank][moment.call] = slack;
  }

  const WaitState* WaitOf(const Moment& moment) const {
    const std::vector<WaitState>& waits = states_.ranks[moment.rank].waits;
    const auto found = std::ranges::lower_bound(waits, moment.call, {}, &WaitState::call);
    return found != waits.end() && found->call == moment.call ? &*found : nullptr;
  }

  // Operations in which only some depend on others keep the earliest tick of those who do.
  void NeedCollective(const Moment& moment, Tick latest) {
    const CollectivePattern pattern = collectives_.pattern(moment.target);
    const bool depends = collectives_.DependencyOf(moment.target, moment.rank).has_value();
    if (pattern == CollectivePattern::kNone || (pattern != CollectivePattern::kAllToAll && !depends)) return;
    needed_[moment.target] = std::min(needed_[moment.target], latest);
  }

  // Of a prefix, too, as if all higher ranks came after: slack is never said to be larger than it is.
  Tick LatestFor(const Moment& moment) const {
    const CollectivePattern pattern = collectives_.pattern(moment.target);
    if (pattern == CollectivePattern::kNone) return kNotNeeded;
    const bool gives = pattern != CollectivePattern::kFromRoot || collectives_.IsRoot(moment.target, moment.rank);
    return gives ? needed_[moment.target] : kNotNeeded;
  }

  const Activities& activities_;
  const WaitStates& states_;
  const CollectiveWaits& collectives_;
  std::vector<Tick> needed_by_receiver_, needed_by_sender_;  // of messages
  std::vector<Tick> needed_;                                 // of operations
  std::vector<Tick> slack_;                                  // of every rank, at the moment
  std::vector<std::vector<Tick>> before_, after_;
};

// The slack of every activity of one rank from its last to its first: that of the call behind it.
template <typename Visit>
void ForEachActivity(const RankActivities& own, const SlackWalk& walk, std::size_t rank, Tick at_end, Visit visit) {
  Tick slack = at_end;
  std::size_t call = own.calls;
  for (std::size_t a = own.size() - 1; a-- > 0;) {
    const bool is_call = call > 0 && own.call_activity[call - 1] == a;
    if (is_call && walk.after(rank)[call - 1] < kNotNeeded) slack = walk.after(rank)[call - 1];
    visit(a, slack);
    if (!is_call) continue;
    --call;
    if (walk.before(rank)[call] < kNotNeeded) slack = walk.before(rank)[call];
  }
}

}  // namespace

Slack FindSlack(const Trace& trace, const Matching& matching, const Activities& activities, const WaitStates& states,
                const CollectiveWaits& collectives) {
  std::vector<std::vector<Moment>> of_ranks(trace.size());
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!activities.ranks[rank].present) return;
    CollectMoments(RecordsOf(trace, matching, activities, rank), of_ranks[rank]);
    for (const WaitState& wait : states.ranks[rank].waits) {
      if (wait.kind == WaitKind::kWaitAtEnd) continue;
      of_ranks[rank].push_back({activities.ranks[rank].enter(wait.call), static_cast<std::uint32_t>(rank), wait.call, 0,
                                Happening::kWaited});
    }
  });
  std::vector<Moment> moments;
  for (std::vector<Moment>& of_rank : of_ranks) {
    moments.insert(moments.end(), of_rank.begin(), of_rank.end());
    std::vector<Moment>().swap(of_rank);
  }
  std::sort(moments.begin(), moments.end(), IsLater);
  SlackWalk walk(activities, states, collectives, matching.messages);
  walk.Run(moments);
  Slack result{std::vector<std::optional<Tick>>(trace.size()),
               std::vector<std::optional<Tick>>(activities.paths.size()), std::vector<double>(activities.paths.size())};
  const auto little = static_cast<Tick>(kNearlyCritical * static_cast<double>(activities.end - activities.begin));
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present) continue;
    std::vector<Tick> waits(own.size());
    for (const WaitState& wait : states.ranks[rank].waits) waits[own.call_activity[wait.call]] = wait.length;
    ForEachActivity(own, walk, rank, activities.end - own.end(), [&](std::size_t a, Tick slack) {
      const Tick execution = own.edges[a + 1] - own.edges[a] - waits[a];
      if (execution <= 0) return;
      for (std::optional<Tick>* least : {&result.of_path[own.path[a]], &result.of_rank[rank]}) {
        *least = std::min(least->value_or(slack), slack);
      }
      if (slack <= little) result.nearly_critical[own.path[a]] += static_cast<double>(execution);
    });
  }
  return result;
}

}  // namespace farscale
