#include "imbalance/delays/critical_path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/search.h"
#include "imbalance/waits/collective_waits.h"

namespace farscale {

PathStep StepBack(const Activities& activities, const WaitStates& states, std::uint32_t rank, Tick end) {
  const RankActivities& own = activities.ranks[rank];
  const std::vector<WaitState>& waits = states.ranks[rank].waits;
  // The last wait that was over by then: what follows on this rank went on without help from others.
  const auto behind = std::partition_point(waits.begin(), waits.end(),
                                           [&](const WaitState& wait) { return own.leave(wait.call) <= end; });
  if (behind == waits.begin()) return {own.begin(), nullptr};
  const WaitState& wait = *std::prev(behind);
  return {own.enter(wait.call) + wait.length, &wait};
}

std::vector<PathSegment> FindCriticalPath(const Activities& activities, const WaitStates& states) {
  std::vector<PathSegment> segments;
  std::uint32_t rank = FindLastRank(activities).rank;
  if (rank == kNoCall) return segments;
  Tick end = activities.end;
  while (true) {
    const PathStep step = StepBack(activities, states, rank, end);
    segments.push_back({rank, step.begin, end});
    if (step.wait == nullptr) break;
    rank = step.wait->delayer;
    end = step.begin;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

std::vector<RankPathTicks> ProfileOf(const Activities& activities, const std::vector<PathSegment>& segments) {
  std::map<std::pair<std::uint32_t, PathId>, Tick> profile;
  for (const PathSegment& segment : segments) {
    const RankActivities& own = activities.ranks[segment.rank];
    std::size_t a = PartitionIndex(0, own.size() + 1, [&](std::size_t i) { return own.edge(i) <= segment.begin; }) - 1;
    for (; a < own.size() && own.edge(a) < segment.end; ++a) {
      const Tick ticks = std::min(own.edge(a + 1), segment.end) - std::max(own.edge(a), segment.begin);
      if (ticks > 0) profile[{segment.rank, own.path(a)}] += ticks;
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
  Tick released = 0;  // from when on the call goes on by itself
  std::uint32_t rank = 0;
  std::uint32_t call = 0;
  std::uint32_t target = 0;  // message or operation
  Happening what = Happening::kWaited;
  bool waits_for_receiver = false;
};

// From the last moment to the first; on one rank a call before those that precede it, left before entered.
bool IsLater(const Moment& a, const Moment& b) {
  if (a.tick != b.tick) return a.tick > b.tick;
  return std::tuple(a.rank, b.call, a.what, a.target) < std::tuple(b.rank, a.call, b.what, b.target);
}

// Stretches of time next to each other, the last one first. Moments of all calls are far more than the trace, so that
// only those of some stretches are kept.
constexpr std::size_t kStretches = 8;         // at a time; chosen
constexpr std::size_t kStretchCalls = 32768;  // of all ranks, about; chosen
constexpr std::size_t kSample = 64;           // calls of a rank; chosen

struct Stretches {
  std::array<Tick, kStretches> begins{};  // falling; a stretch ends where the one before begins
  std::size_t count = 0;

  Tick begin() const { return begins[count - 1]; }
  // That a tick lies in.
  std::size_t Of(Tick tick) const {
    std::size_t i = 0;
    while (tick < begins[i]) ++i;
    return i;
  }
};
using MomentsByStretch = std::array<std::vector<Moment>, kStretches>;

// Begins of all stretches, rising; the first has none.
std::vector<Tick> BeginsOfStretches(const Activities& activities) {
  std::vector<Tick> samples;
  for (const RankActivities& rank : activities.ranks) {
    for (std::size_t call = kSample / 2; call < rank.calls; call += kSample) samples.push_back(rank.enter(call));
  }
  std::ranges::sort(samples);
  std::vector<Tick> begins = {std::numeric_limits<Tick>::min()};
  constexpr std::size_t kStep = kStretchCalls / kSample;
  for (std::size_t i = kStep; i < samples.size(); i += kStep) begins.push_back(samples[i]);
  return begins;
}

Stretches TakeLast(std::vector<Tick>& begins) {
  Stretches stretches;
  for (; !begins.empty() && stretches.count < kStretches; begins.pop_back()) {
    stretches.begins[stretches.count++] = begins.back();
  }
  return stretches;
}

// Goes back over the calls of one rank, some stretches of time after the other, and keeps the slack of the calls in
// them alone.
class RankSlack {
 public:
  RankSlack(const RankRecords& records, const std::vector<WaitState>& waits, Tick at_end)
      : slack(at_end),
        timeline_(records.timeline),
        matching_(records.matching),
        own_(records.activities),
        rank_(records.rank),
        waits_(waits),
        end_(own_.calls),
        end_wait_(waits.size()),
        activity_(own_.size() - 1),
        activity_slack_(at_end),
        activity_wait_(waits.size()) {
    for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive, OperationClass::kCollective}) {
      posts_[type] = timeline_.posts(type);
    }
    Uncount(RecordOf(end_), timeline_.records());
  }

  Tick slack;  // of the rank at the moment

  // Of a call in the stretches, when it is entered and when it is left.
  void SetBefore(std::size_t call, Tick ticks) { before_[call - first_] = ticks; }
  void SetAfter(std::size_t call, Tick ticks) { after_[call - first_] = ticks; }

  // Adds the moments in the next stretches.
  void Collect(const Stretches& stretches, MomentsByStretch& moments) {
    const Tick begin = stretches.begin();
    if (is_begun_) end_ = unentered_;
    // The last call may be left behind the stretches.
    const std::size_t left = is_begun_ && first_ < end_ ? first_ : end_;
    const Tick after_left = left < end_ ? after_.front() : kNotNeeded;
    first_ = PartitionIndex(0, end_, [&](std::size_t call) { return own_.leave(call) < begin; });
    before_.assign(end_ - first_, kNotNeeded);
    after_.assign(end_ - first_, kNotNeeded);
    if (left < end_) SetAfter(left, after_left);
    Uncount(RecordOf(first_), RecordOf(end_));
    while (end_wait_ > 0 && waits_[end_wait_ - 1].call >= first_) --end_wait_;
    unentered_ = first_;
    Posts posts = posts_;
    std::size_t wait = end_wait_;
    for (std::size_t call = first_; call < end_; ++call) {
      const bool enters = own_.enter(call) >= begin;
      CollectCall(call, enters, call < left, stretches, wait, posts, moments);
      if (enters) continue;
      unentered_ = call + 1;
      posts_ = posts;
      end_wait_ = wait;
    }
    is_begun_ = true;
  }

  // Calls visit(path, execution, slack) for the activities that are over, the last one first.
  template <typename Visit>
  void VisitActivities(Visit visit) {
    std::size_t call = end_;
    while (activity_ > 0) {
      const bool is_call = call > 0 && own_.activity_of(call - 1) == activity_ - 1;
      if (is_call && call == unentered_) return;
      --activity_;
      Tick execution = own_.ticks(activity_);
      if (is_call) {
        if (after_[call - 1 - first_] < kNotNeeded) activity_slack_ = after_[call - 1 - first_];
        execution -= WaitIn(call - 1);
      }
      if (execution > 0) visit(own_.path(activity_), execution, activity_slack_);
      if (!is_call) continue;
      --call;
      if (before_[call - first_] < kNotNeeded) activity_slack_ = before_[call - first_];
    }
  }

 private:
  std::size_t RecordOf(std::size_t call) const { return timeline_.first_record(own_.first_call + call); }

  void Uncount(std::size_t first, std::size_t end) {
    for (std::size_t record = first; record < end; ++record) {
      const OperationPart part = PartOf(timeline_.record_kind(record));
      posts_[part.type] -= part.posts;
    }
  }

  // `enters`, `leaves`: whether it does in the stretches. `wait` and `posts` go on behind the call.
  void CollectCall(std::size_t call, bool enters, bool leaves, const Stretches& stretches, std::size_t& wait,
                   Posts& posts, MomentsByStretch& moments) const {
    const Tick enter = own_.enter(call), leave = own_.leave(call);
    const bool waits = wait < waits_.size() && waits_[wait].call == call;
    const bool waits_for_receiver = waits && waits_[wait].kind == WaitKind::kLateReceiver;
    const Tick released = waits ? enter + waits_[wait].length : enter;
    wait += waits;
    const auto add = [&](Tick tick, std::uint32_t target, Happening what) {
      moments[stretches.Of(tick)].push_back(
          {tick, released, rank_, static_cast<std::uint32_t>(call), target, what, waits_for_receiver});
    };
    if (waits && enters) add(enter, 0, Happening::kWaited);
    const std::size_t end = RecordOf(call + 1);
    for (std::size_t record = RecordOf(call); record < end; ++record) {
      const RecordPart part = NextPart(timeline_, matching_, record, posts);
      if (!part.IsMatched()) continue;
      const auto type = static_cast<std::size_t>(part.type);
      constexpr Happening kDone[] = {Happening::kSent, Happening::kReceived, Happening::kCollectiveDone};
      constexpr Happening kPosted[] = {Happening::kSendPosted, Happening::kReceivePosted, Happening::kCollectivePosted};
      if (part.completes && leaves) add(leave, part.number, kDone[type]);
      if (part.posts && enters) add(enter, part.number, kPosted[type]);
    }
  }

  Tick WaitIn(std::size_t call) {
    while (activity_wait_ > 0 && waits_[activity_wait_ - 1].call > call) --activity_wait_;
    const bool waits = activity_wait_ > 0 && waits_[activity_wait_ - 1].call == call;
    return waits ? waits_[activity_wait_ - 1].length : 0;
  }

  const RankTimeline& timeline_;
  const RankMatching& matching_;
  const RankActivities& own_;
  const std::uint32_t rank_;
  const std::vector<WaitState>& waits_;

  // Calls [first_, end_) are in the stretches, those from unentered_ on are entered there, too.
  std::size_t first_ = 0, unentered_ = 0, end_;
  bool is_begun_ = false;
  std::size_t end_wait_;              // waits before call unentered_
  Posts posts_;                       // the same
  std::vector<Tick> before_, after_;  // of these calls; kNotNeeded for those that nobody depends on

  std::size_t activity_;  // the one visited last
  Tick activity_slack_;
  std::size_t activity_wait_;
};

// Walks back in time. What matters of the future is kept as the latest tick up to which something may be put off.
class SlackWalk {
 public:
  SlackWalk(const CollectiveWaits& collectives, std::uint32_t messages, std::vector<std::optional<RankSlack>>& ranks)
      : collectives_(collectives),
        ranks_(ranks),
        needed_by_receiver_(messages, kNotNeeded),
        needed_by_sender_(messages, kNotNeeded),
        needed_(collectives.operations(), kNotNeeded) {}

  void Take(const Moment& moment) {
    RankSlack& rank = *ranks_[moment.rank];
    Tick& slack = rank.slack;
    const auto put_off = [&](Tick latest) { slack = std::min(slack, std::max<Tick>(0, latest - moment.tick)); };
    switch (moment.what) {
      case Happening::kReceived: needed_by_receiver_[moment.target] = moment.released + slack; break;
      case Happening::kSent:
        if (moment.waits_for_receiver) needed_by_sender_[moment.target] = moment.released + slack;
        break;
      case Happening::kCollectiveDone: NeedCollective(moment, moment.released + slack); break;
      case Happening::kWaited: slack += moment.released - moment.tick; break;
      case Happening::kSendPosted: put_off(needed_by_receiver_[moment.target]); break;
      case Happening::kReceivePosted: put_off(needed_by_sender_[moment.target]); break;
      case Happening::kCollectivePosted: put_off(LatestFor(moment)); break;
    }
    moment.what >= Happening::kWaited ? rank.SetBefore(moment.call, slack) : rank.SetAfter(moment.call, slack);
  }

 private:
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

  const CollectiveWaits& collectives_;
  std::vector<std::optional<RankSlack>>& ranks_;
  std::vector<Tick> needed_by_receiver_, needed_by_sender_;  // of messages
  std::vector<Tick> needed_;                                 // of operations
};

// Ranks are taken in blocks, each of which has results of its own.
constexpr std::size_t kBlocks = 32;  // chosen

class SlackSearch {
 public:
  SlackSearch(const Trace& trace, const Matching& matching, const Activities& activities, const WaitStates& states,
              const CollectiveWaits& collectives)
      : little_(static_cast<Tick>(kNearlyCritical * static_cast<double>(activities.end - activities.begin))),
        ranks_(trace.size()),
        walk_(collectives, matching.messages, ranks_),
        of_rank_(trace.size()) {
    for (Block& block : blocks_) {
      block.of_path.resize(activities.paths.size());
      block.nearly_critical.resize(activities.paths.size());
    }
    ForEachRank([&](std::size_t rank, Block&) {
      const RankActivities& own = activities.ranks[rank];
      if (!own.present) return;
      ranks_[rank].emplace(RecordsOf(trace, matching, activities, rank), states.ranks[rank].waits,
                           activities.end - own.end());
    });
  }

  Slack Run(std::vector<Tick> begins) {
    while (!begins.empty()) Walk(TakeLast(begins));
    Slack result{std::move(of_rank_), std::vector<std::optional<Tick>>(blocks_[0].of_path.size()),
                 std::vector<double>(blocks_[0].of_path.size())};
    for (const Block& block : blocks_) {
      for (PathId path = 0; path < block.of_path.size(); ++path) {
        if (block.of_path[path]) Lower(*block.of_path[path], result.of_path[path]);
        result.nearly_critical[path] += block.nearly_critical[path];
      }
    }
    return result;
  }

 private:
  struct Block {
    MomentsByStretch moments;
    std::vector<std::optional<Tick>> of_path;
    std::vector<double> nearly_critical;
  };

  static void Lower(Tick slack, std::optional<Tick>& least) { least = std::min(least.value_or(slack), slack); }

  // Calls body(rank, block).
  template <typename Body>
  void ForEachRank(Body body) {
    ParallelFor(kBlocks, [&](std::size_t block) {
      const std::size_t first = block * ranks_.size() / kBlocks, end = (block + 1) * ranks_.size() / kBlocks;
      for (std::size_t rank = first; rank < end; ++rank) body(rank, blocks_[block]);
    });
  }

  void Walk(const Stretches& stretches) {
    ForEachRank([&](std::size_t rank, Block& block) {
      if (ranks_[rank]) ranks_[rank]->Collect(stretches, block.moments);
    });
    ParallelFor(stretches.count, [&](std::size_t i) {
      moments_[i].clear();
      for (Block& block : blocks_) {
        moments_[i].insert(moments_[i].end(), block.moments[i].begin(), block.moments[i].end());
        block.moments[i].clear();
      }
      // As a lambda, which is inlined.
      std::ranges::sort(moments_[i], [](const Moment& a, const Moment& b) { return IsLater(a, b); });
    });
    for (std::size_t i = 0; i < stretches.count; ++i) {
      for (const Moment& moment : moments_[i]) walk_.Take(moment);
    }
    ForEachRank([&](std::size_t rank, Block& block) {
      if (!ranks_[rank]) return;
      ranks_[rank]->VisitActivities([&](PathId path, Tick execution, Tick slack) {
        Lower(slack, block.of_path[path]);
        Lower(slack, of_rank_[rank]);
        if (slack <= little_) block.nearly_critical[path] += static_cast<double>(execution);
      });
    });
  }

  const Tick little_;
  std::vector<std::optional<RankSlack>> ranks_;
  SlackWalk walk_;
  MomentsByStretch moments_;
  std::vector<std::optional<Tick>> of_rank_;
  std::array<Block, kBlocks> blocks_;
};

}  // namespace

Slack FindSlack(const Trace& trace, const Matching& matching, const Activities& activities, const WaitStates& states,
                const CollectiveWaits& collectives) {
  return SlackSearch(trace, matching, activities, states, collectives).Run(BeginsOfStretches(activities));
}

}  // namespace farscale
