#include "imbalance/diagnosis.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {

std::vector<PathSegment> FindCriticalPath(const WaitStates& states) {
  const Activities& activities = states.activities;
  std::vector<PathSegment> segments;
  Tick end = activities.end;
  for (std::uint32_t rank = FindLastRank(activities); rank != kNoCall;) {
    const RankActivities& own = activities.ranks[rank];
    const std::vector<WaitState>& waits = states.ranks[rank].waits;
    // The last wait that was over by then: what follows on this rank went on without help from others.
    const auto behind =
        std::ranges::partition_point(waits, [&](const WaitState& w) { return own.leave(w.call) <= end; });
    const WaitState* wait = behind == waits.begin() ? nullptr : &*std::prev(behind);
    const Tick begin = wait == nullptr ? own.begin() : own.enter(wait->call) + wait->length;
    segments.push_back({rank, begin, end});
    rank = wait == nullptr ? kNoCall : wait->delayer;
    end = begin;
  }
  std::ranges::reverse(segments);
  return segments;
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

// Stretches of time next to each other, the last one first. Moments of all calls are far more than the trace, so that
// only those of some stretches are kept.
constexpr std::size_t kStretches = 8;         // at a time; chosen
constexpr std::size_t kStretchCalls = 32768;  // about, all ranks; chosen
constexpr std::size_t kSample = 64;           // calls of a rank; chosen

using Stretches = std::vector<Tick>;  // their begins, falling; a stretch ends where the one before begins
using MomentsByStretch = std::array<std::vector<Moment>, kStretches>;

// The calls of one rank, gone back over some stretches of time after the other. Only the slack of the calls in these is
// kept.
class RankSlack {
 public:
  RankSlack(const RankRecords& records, std::span<const WaitState> waits, Tick at_end)
      : slack(at_end),
        records_(records),
        waits_(waits),
        end_(records.activities.calls),
        end_wait_(waits.size()),
        activity_(records.activities.size() - 1),
        activity_slack_(at_end),
        activity_wait_(waits.size()) {
    for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive, OperationClass::kCollective}) {
      posts_[type] = records.timeline.posts(type);
    }
    Uncount(FirstRecord(end_), records.timeline.records());
  }

  Tick slack;  // at the moment

  // Slack when a call in the stretches is entered and when it is left.
  void SetBefore(std::size_t call, Tick ticks) { before_[call - first_] = ticks; }
  void SetAfter(std::size_t call, Tick ticks) { after_[call - first_] = ticks; }

  // Adds the moments in the next stretches.
  void Collect(const Stretches& stretches, MomentsByStretch& moments) {
    const Tick begin = stretches.back();
    if (is_begun_) end_ = unentered_;
    // The last call may be left behind the stretches.
    const std::size_t left = is_begun_ && first_ < end_ ? first_ : end_;
    const Tick after_left = left < end_ ? after_.front() : kNotNeeded;
    first_ = PartitionIndex(0, end_, [&](std::size_t call) { return own().leave(call) < begin; });
    before_.assign(end_ - first_, kNotNeeded);
    after_.assign(end_ - first_, kNotNeeded);
    if (left < end_) SetAfter(left, after_left);
    Uncount(FirstRecord(first_), FirstRecord(end_));
    while (end_wait_ > 0 && waits_[end_wait_ - 1].call >= first_) --end_wait_;
    unentered_ = first_;
    Posts posts = posts_;
    std::size_t next_wait = end_wait_;
    for (std::size_t call = first_; call < end_; ++call) {
      const Tick enter = own().enter(call), leave = own().leave(call);
      const bool enters = enter >= begin;
      const bool waits = next_wait < waits_.size() && waits_[next_wait].call == call;
      const WaitState* wait = waits ? &waits_[next_wait++] : nullptr;
      const auto add = [&](Tick tick, std::uint32_t target, Happening what) {
        const auto stretch = std::ranges::find_if(stretches, [&](Tick from) { return tick >= from; });
        moments[static_cast<std::size_t>(stretch - stretches.begin())].push_back(
            {tick, wait != nullptr ? enter + wait->length : enter, records_.rank, static_cast<std::uint32_t>(call),
             target, what, wait != nullptr && wait->kind == WaitKind::kLateReceiver});
      };
      if (waits && enters) add(enter, 0, Happening::kWaited);
      const std::size_t end_record = FirstRecord(call + 1);
      for (std::size_t record = FirstRecord(call); record < end_record; ++record) {
        const RecordPart part = NextPart(records_.timeline, records_.matching, record, posts);
        if (!part.IsMatched()) continue;
        const auto type = static_cast<std::size_t>(part.type);
        constexpr Happening kDone[] = {Happening::kSent, Happening::kReceived, Happening::kCollectiveDone};
        constexpr Happening kPosted[] = {Happening::kSendPosted, Happening::kReceivePosted,
                                         Happening::kCollectivePosted};
        if (part.completes && call < left) add(leave, part.number, kDone[type]);
        if (part.posts && enters) add(enter, part.number, kPosted[type]);
      }
      if (enters) continue;
      unentered_ = call + 1;
      posts_ = posts;
      end_wait_ = next_wait;
    }
    is_begun_ = true;
  }

  // Calls visit(path, execution, slack) for the activities that are over, the last one first.
  template <typename Visit>
  void VisitActivities(Visit visit) {
    std::size_t call = end_;
    while (activity_ > 0) {
      const bool is_call = call > 0 && own().activity_of(call - 1) == activity_ - 1;
      if (is_call && call == unentered_) return;
      --activity_;
      Tick execution = own().ticks(activity_);
      if (is_call) {
        if (after_[call - 1 - first_] < kNotNeeded) activity_slack_ = after_[call - 1 - first_];
        while (activity_wait_ > 0 && waits_[activity_wait_ - 1].call >= call) --activity_wait_;
        const WaitState* wait = activity_wait_ > 0 ? &waits_[activity_wait_ - 1] : nullptr;
        if (wait != nullptr && wait->call == call - 1) execution -= wait->length;
      }
      if (execution > 0) visit(own().path(activity_), execution, activity_slack_);
      if (!is_call) continue;
      --call;
      if (before_[call - first_] < kNotNeeded) activity_slack_ = before_[call - first_];
    }
  }

 private:
  const RankActivities& own() const { return records_.activities; }
  std::size_t FirstRecord(std::size_t call) const { return records_.timeline.first_record(own().first_call + call); }

  void Uncount(std::size_t first, std::size_t end) {
    for (std::size_t record = first; record < end; ++record) {
      const OperationPart part = PartOf(records_.timeline.record_kind(record));
      posts_[part.type] -= part.posts;
    }
  }

  const RankRecords records_;
  std::span<const WaitState> waits_;
  // Calls [first, end) are in the stretches, those from unentered on are entered there, too.
  std::size_t first_ = 0, unentered_ = 0, end_;
  bool is_begun_ = false;
  std::size_t end_wait_;              // waits before call unentered
  Posts posts_;                       // the same
  std::vector<Tick> before_, after_;  // for these calls; kNotNeeded for those that nobody depends on

  std::size_t activity_;  // the one visited last
  Tick activity_slack_;
  std::size_t activity_wait_;
};

// Ranks are taken in blocks, each of which has moments and results of its own.
constexpr std::size_t kBlocks = 32;  // chosen

void Lower(Tick slack, std::optional<Tick>& least) { least = std::min(least.value_or(slack), slack); }

// Walks back in time. The future is kept as the latest tick up to which something may be put off.
class SlackSearch {
 public:
  SlackSearch(const Trace& trace, const Matching& matching, const WaitStates& states)
      : states_(states),
        little_(static_cast<Tick>(kNearlyCritical * states.length())),
        ranks_(trace.size()),
        needed_by_receiver_(matching.messages, kNotNeeded),
        needed_by_sender_(matching.messages, kNotNeeded),
        needed_(states.collectives.operations(), kNotNeeded),
        of_rank_(trace.size()) {
    const Activities& activities = states.activities;
    for (Slack& block : blocks_) {
      block.of_path.resize(activities.paths.size());
      block.nearly_critical.resize(activities.paths.size());
    }
    ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
      ranks_[rank].emplace(records, states.ranks[rank].waits, activities.end - records.activities.end());
    });
  }

  Slack Find() {
    std::vector<Tick> samples;
    for (const RankActivities& rank : states_.activities.ranks) {
      for (std::size_t call = kSample / 2; call < rank.calls; call += kSample) samples.push_back(rank.enter(call));
    }
    std::vector<Tick> begins = BeginsOfStretches(std::move(samples), kStretchCalls / kSample);
    while (!begins.empty()) {
      Stretches stretches;
      for (; !begins.empty() && stretches.size() < kStretches; begins.pop_back()) stretches.push_back(begins.back());
      ForEachInBlocks(
          [&](std::size_t rank, std::size_t block) { ranks_[rank]->Collect(stretches, of_blocks_[block]); });
      ParallelFor(stretches.size(), [&](std::size_t i) {
        moments_[i].clear();
        for (MomentsByStretch& of_block : of_blocks_) {
          moments_[i].insert(moments_[i].end(), of_block[i].begin(), of_block[i].end());
          of_block[i].clear();
        }
        // From the last moment to the first; on one rank a call before those that precede it, left before entered.
        std::ranges::sort(moments_[i], [](const Moment& a, const Moment& b) {
          if (a.tick != b.tick) return a.tick > b.tick;
          return std::tuple(a.rank, b.call, a.what, a.target) < std::tuple(b.rank, a.call, b.what, b.target);
        });
      });
      for (std::size_t i = 0; i < stretches.size(); ++i) {
        for (const Moment& moment : moments_[i]) TakeMoment(moment);
      }
      ForEachInBlocks([&](std::size_t rank, std::size_t block) {
        ranks_[rank]->VisitActivities([&](PathId path, Tick execution, Tick slack) {
          Lower(slack, blocks_[block].of_path[path]);
          Lower(slack, of_rank_[rank]);
          if (slack <= little_) blocks_[block].nearly_critical[path] += static_cast<double>(execution);
        });
      });
    }
    const std::size_t paths = states_.activities.paths.size();
    Slack result{std::move(of_rank_), std::vector<std::optional<Tick>>(paths), std::vector<double>(paths)};
    for (const Slack& block : blocks_) {
      for (PathId path = 0; path < paths; ++path) {
        if (block.of_path[path]) Lower(*block.of_path[path], result.of_path[path]);
        result.nearly_critical[path] += block.nearly_critical[path];
      }
    }
    return result;
  }

 private:
  // Calls body(rank, block) for all that are present.
  template <typename Body>
  void ForEachInBlocks(Body body) {
    ParallelFor(kBlocks, [&](std::size_t block) {
      const std::size_t first = block * ranks_.size() / kBlocks, end = (block + 1) * ranks_.size() / kBlocks;
      for (std::size_t rank = first; rank < end; ++rank) {
        if (ranks_[rank]) body(rank, block);
      }
    });
  }

  void TakeMoment(const Moment& moment) {
    const CollectiveWaits& collectives = states_.collectives;
    RankSlack& rank = *ranks_[moment.rank];
    Tick& slack = rank.slack;
    const auto put_off = [&](Tick latest) { slack = std::min(slack, std::max<Tick>(0, latest - moment.tick)); };
    switch (moment.what) {
      case Happening::kReceived: needed_by_receiver_[moment.target] = moment.released + slack; break;
      case Happening::kSent:
        if (moment.waits_for_receiver) needed_by_sender_[moment.target] = moment.released + slack;
        break;
      case Happening::kCollectiveDone: {
        // Operations in which only some depend on others keep the earliest tick of those who do.
        const CollectivePattern pattern = collectives.pattern(moment.target);
        const bool depends =
            pattern == CollectivePattern::kAllToAll ||
            (pattern != CollectivePattern::kNone && collectives.FindNeeded(moment.target, moment.rank) != nullptr);
        if (depends) needed_[moment.target] = std::min(needed_[moment.target], moment.released + slack);
        break;
      }
      case Happening::kWaited: slack += moment.released - moment.tick; break;
      case Happening::kSendPosted: put_off(needed_by_receiver_[moment.target]); break;
      case Happening::kReceivePosted: put_off(needed_by_sender_[moment.target]); break;
      case Happening::kCollectivePosted: {
        // In prefixes, too, as if all higher ranks came after: slack is never said to be larger than it is.
        const CollectivePattern pattern = collectives.pattern(moment.target);
        const bool gives = pattern != CollectivePattern::kNone &&
                           (pattern != CollectivePattern::kFromRoot || collectives.IsRoot(moment.target, moment.rank));
        put_off(gives ? needed_[moment.target] : kNotNeeded);
        break;
      }
    }
    moment.what >= Happening::kWaited ? rank.SetBefore(moment.call, slack) : rank.SetAfter(moment.call, slack);
  }

  const WaitStates& states_;
  const Tick little_;
  std::vector<std::optional<RankSlack>> ranks_;
  std::vector<Tick> needed_by_receiver_, needed_by_sender_;  // one a message
  std::vector<Tick> needed_;                                 // one an operation
  MomentsByStretch moments_;
  std::vector<std::optional<Tick>> of_rank_;
  std::array<MomentsByStretch, kBlocks> of_blocks_;
  std::array<Slack, kBlocks> blocks_;
};

}  // namespace

Slack FindSlack(const Trace& trace, const Matching& matching, const WaitStates& states) {
  return SlackSearch(trace, matching, states).Find();
}

}  // namespace farscale
