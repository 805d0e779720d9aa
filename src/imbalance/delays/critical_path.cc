#include "imbalance/delays/critical_path.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>

#include "base/parallel.h"
#include "base/search.h"

namespace farscale {

std::vector<PathSegment> FindCriticalPath(const Activities& activities, const WaitStates& states) {
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

std::map<std::pair<std::uint32_t, PathId>, Tick> CriticalTicks(const Activities& activities,
                                                               const std::vector<PathSegment>& segments) {
  std::map<std::pair<std::uint32_t, PathId>, Tick> profile;
  for (const PathSegment& segment : segments) {
    const RankActivities& own = activities.ranks[segment.rank];
    std::size_t a = PartitionIndex(0, own.size() + 1, [&](std::size_t i) { return own.edge(i) <= segment.begin; }) - 1;
    for (; a < own.size() && own.edge(a) < segment.end; ++a) {
      const Tick ticks = std::min(own.edge(a + 1), segment.end) - std::max(own.edge(a), segment.begin);
      if (ticks > 0) profile[{segment.rank, own.path(a)}] += ticks;
    }
  }
  return profile;
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
constexpr std::size_t kStretchCalls = 32768;  // about, all ranks; chosen
constexpr std::size_t kSample = 64;           // calls of a rank; chosen

struct Stretches {
  std::array<Tick, kStretches> begins{};  // falling; a stretch ends where the one before begins
  std::size_t count = 0;

  Tick begin() const { return begins[count - 1]; }
  std::size_t Find(Tick tick) const {
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

// The calls of one rank, gone back over some stretches of time after the other. Only the slack of the calls in these is
// kept.
struct RankSlack {
  RankRecords records;
  std::span<const WaitState> waits;
  Tick slack;  // at the moment
  // Calls [first, end) are in the stretches, those from unentered on are entered there, too.
  std::size_t first = 0, unentered = 0, end = 0;
  bool is_begun = false;
  std::size_t end_wait = 0;             // waits before call unentered
  Posts posts{};                        // the same
  std::vector<Tick> before{}, after{};  // for these calls; kNotNeeded for those that nobody depends on

  std::size_t activity = 0;  // the one visited last
  Tick activity_slack = 0;
  std::size_t activity_wait = 0;

  // Slack when a call in the stretches is entered and when it is left.
  void SetBefore(std::size_t call, Tick ticks) { before[call - first] = ticks; }
  void SetAfter(std::size_t call, Tick ticks) { after[call - first] = ticks; }
};

std::size_t FirstRecord(const RankSlack& rank, std::size_t call) {
  return rank.records.timeline.first_record(rank.records.activities.first_call + call);
}

void Uncount(RankSlack& rank, std::size_t first, std::size_t end) {
  for (std::size_t record = first; record < end; ++record) {
    const OperationPart part = PartOf(rank.records.timeline.record_kind(record));
    rank.posts[part.type] -= part.posts;
  }
}

RankSlack BeginRank(const RankRecords& records, std::span<const WaitState> waits, Tick at_end) {
  RankSlack rank{records, waits, at_end};
  rank.end = records.activities.calls;
  rank.end_wait = rank.activity_wait = waits.size();
  rank.activity = records.activities.size() - 1;
  rank.activity_slack = at_end;
  for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive, OperationClass::kCollective}) {
    rank.posts[type] = records.timeline.posts(type);
  }
  Uncount(rank, FirstRecord(rank, rank.end), records.timeline.records());
  return rank;
}

// `enters`, `leaves`: it does in the stretches. `wait` and `posts` go on behind the call.
void CollectCall(const RankSlack& rank, std::size_t call, bool enters, bool leaves, const Stretches& stretches,
                 std::size_t& wait, Posts& posts, MomentsByStretch& moments) {
  const Tick enter = rank.records.activities.enter(call), leave = rank.records.activities.leave(call);
  const bool waits = wait < rank.waits.size() && rank.waits[wait].call == call;
  const bool waits_for_receiver = waits && rank.waits[wait].kind == WaitKind::kLateReceiver;
  const Tick released = waits ? enter + rank.waits[wait].length : enter;
  wait += waits;
  const auto add = [&](Tick tick, std::uint32_t target, Happening what) {
    moments[stretches.Find(tick)].push_back(
        {tick, released, rank.records.rank, static_cast<std::uint32_t>(call), target, what, waits_for_receiver});
  };
  if (waits && enters) add(enter, 0, Happening::kWaited);
  const std::size_t end = FirstRecord(rank, call + 1);
  for (std::size_t record = FirstRecord(rank, call); record < end; ++record) {
    const RecordPart part = NextPart(rank.records.timeline, rank.records.matching, record, posts);
    if (!part.IsMatched()) continue;
    const auto type = static_cast<std::size_t>(part.type);
    constexpr Happening kDone[] = {Happening::kSent, Happening::kReceived, Happening::kCollectiveDone};
    constexpr Happening kPosted[] = {Happening::kSendPosted, Happening::kReceivePosted, Happening::kCollectivePosted};
    if (part.completes && leaves) add(leave, part.number, kDone[type]);
    if (part.posts && enters) add(enter, part.number, kPosted[type]);
  }
}

// Adds the moments in the next stretches.
void Collect(RankSlack& rank, const Stretches& stretches, MomentsByStretch& moments) {
  const Tick begin = stretches.begin();
  if (rank.is_begun) rank.end = rank.unentered;
  // The last call may be left behind the stretches.
  const std::size_t left = rank.is_begun && rank.first < rank.end ? rank.first : rank.end;
  const Tick after_left = left < rank.end ? rank.after.front() : kNotNeeded;
  rank.first =
      PartitionIndex(0, rank.end, [&](std::size_t call) { return rank.records.activities.leave(call) < begin; });
  rank.before.assign(rank.end - rank.first, kNotNeeded);
  rank.after.assign(rank.end - rank.first, kNotNeeded);
  if (left < rank.end) rank.SetAfter(left, after_left);
  Uncount(rank, FirstRecord(rank, rank.first), FirstRecord(rank, rank.end));
  while (rank.end_wait > 0 && rank.waits[rank.end_wait - 1].call >= rank.first) --rank.end_wait;
  rank.unentered = rank.first;
  Posts posts = rank.posts;
  std::size_t wait = rank.end_wait;
  for (std::size_t call = rank.first; call < rank.end; ++call) {
    const bool enters = rank.records.activities.enter(call) >= begin;
    CollectCall(rank, call, enters, call < left, stretches, wait, posts, moments);
    if (enters) continue;
    rank.unentered = call + 1;
    rank.posts = posts;
    rank.end_wait = wait;
  }
  rank.is_begun = true;
}

Tick WaitInCall(RankSlack& rank, std::size_t call) {
  while (rank.activity_wait > 0 && rank.waits[rank.activity_wait - 1].call > call) --rank.activity_wait;
  const bool waits = rank.activity_wait > 0 && rank.waits[rank.activity_wait - 1].call == call;
  return waits ? rank.waits[rank.activity_wait - 1].length : 0;
}

// Calls visit(path, execution, slack) for the activities that are over, the last one first.
template <typename Visit>
void VisitActivities(RankSlack& rank, Visit visit) {
  std::size_t call = rank.end;
  while (rank.activity > 0) {
    const bool is_call = call > 0 && rank.records.activities.activity_of(call - 1) == rank.activity - 1;
    if (is_call && call == rank.unentered) return;
    --rank.activity;
    Tick execution = rank.records.activities.ticks(rank.activity);
    if (is_call) {
      if (rank.after[call - 1 - rank.first] < kNotNeeded) rank.activity_slack = rank.after[call - 1 - rank.first];
      execution -= WaitInCall(rank, call - 1);
    }
    if (execution > 0) visit(rank.records.activities.path(rank.activity), execution, rank.activity_slack);
    if (!is_call) continue;
    --call;
    if (rank.before[call - rank.first] < kNotNeeded) rank.activity_slack = rank.before[call - rank.first];
  }
}

// Ranks are taken in blocks, each of which has results of its own.
constexpr std::size_t kBlocks = 32;  // chosen

struct Block {
  MomentsByStretch moments;
  std::vector<std::optional<Tick>> of_path;
  std::vector<double> nearly_critical;
};

// Walks back in time. The future is kept as the latest tick up to which something may be put off.
struct SlackSearch {
  Tick little = 0;
  std::vector<std::optional<RankSlack>> ranks;
  std::vector<Tick> needed_by_receiver, needed_by_sender;  // one a message
  std::vector<Tick> needed;                                // one an operation
  MomentsByStretch moments;
  std::vector<std::optional<Tick>> of_rank;
  std::array<Block, kBlocks> blocks;
};

void Lower(Tick slack, std::optional<Tick>& least) { least = std::min(least.value_or(slack), slack); }

// Calls body(rank, block) for all that are present.
template <typename Body>
void ForEachInBlocks(SlackSearch& search, Body body) {
  ParallelFor(kBlocks, [&](std::size_t block) {
    const std::size_t first = block * search.ranks.size() / kBlocks, end = (block + 1) * search.ranks.size() / kBlocks;
    for (std::size_t rank = first; rank < end; ++rank) {
      if (search.ranks[rank]) body(rank, search.blocks[block]);
    }
  });
}

// Operations in which only some depend on others keep the earliest tick of those who do.
void PutOffCollective(const CollectiveWaits& collectives, SlackSearch& search, const Moment& moment, Tick latest) {
  const CollectivePattern pattern = collectives.pattern(moment.target);
  const bool depends = collectives.FindDependency(moment.target, moment.rank).has_value();
  if (pattern == CollectivePattern::kNone || (pattern != CollectivePattern::kAllToAll && !depends)) return;
  search.needed[moment.target] = std::min(search.needed[moment.target], latest);
}

// In prefixes, too, as if all higher ranks came after: slack is never said to be larger than it is.
Tick LatestFor(const CollectiveWaits& collectives, const SlackSearch& search, const Moment& moment) {
  const CollectivePattern pattern = collectives.pattern(moment.target);
  if (pattern == CollectivePattern::kNone) return kNotNeeded;
  const bool gives = pattern != CollectivePattern::kFromRoot || collectives.IsRoot(moment.target, moment.rank);
  return gives ? search.needed[moment.target] : kNotNeeded;
}

void TakeMoment(const CollectiveWaits& collectives, SlackSearch& search, const Moment& moment) {
  RankSlack& rank = *search.ranks[moment.rank];
  Tick& slack = rank.slack;
  const auto put_off = [&](Tick latest) { slack = std::min(slack, std::max<Tick>(0, latest - moment.tick)); };
  switch (moment.what) {
    case Happening::kReceived: search.needed_by_receiver[moment.target] = moment.released + slack; break;
    case Happening::kSent:
      if (moment.waits_for_receiver) search.needed_by_sender[moment.target] = moment.released + slack;
      break;
    case Happening::kCollectiveDone: PutOffCollective(collectives, search, moment, moment.released + slack); break;
    case Happening::kWaited: slack += moment.released - moment.tick; break;
    case Happening::kSendPosted: put_off(search.needed_by_receiver[moment.target]); break;
    case Happening::kReceivePosted: put_off(search.needed_by_sender[moment.target]); break;
    case Happening::kCollectivePosted: put_off(LatestFor(collectives, search, moment)); break;
  }
  moment.what >= Happening::kWaited ? rank.SetBefore(moment.call, slack) : rank.SetAfter(moment.call, slack);
}

void Walk(const CollectiveWaits& collectives, SlackSearch& search, const Stretches& stretches) {
  ForEachInBlocks(search,
                  [&](std::size_t rank, Block& block) { Collect(*search.ranks[rank], stretches, block.moments); });
  ParallelFor(stretches.count, [&](std::size_t i) {
    search.moments[i].clear();
    for (Block& block : search.blocks) {
      search.moments[i].insert(search.moments[i].end(), block.moments[i].begin(), block.moments[i].end());
      block.moments[i].clear();
    }
    // As a lambda, which is inlined.
    std::ranges::sort(search.moments[i], [](const Moment& a, const Moment& b) { return IsLater(a, b); });
  });
  for (std::size_t i = 0; i < stretches.count; ++i) {
    for (const Moment& moment : search.moments[i]) TakeMoment(collectives, search, moment);
  }
  ForEachInBlocks(search, [&](std::size_t rank, Block& block) {
    VisitActivities(*search.ranks[rank], [&](PathId path, Tick execution, Tick slack) {
      Lower(slack, block.of_path[path]);
      Lower(slack, search.of_rank[rank]);
      if (slack <= search.little) block.nearly_critical[path] += static_cast<double>(execution);
    });
  });
}

}  // namespace

Slack FindSlack(const Trace& trace, const Matching& matching, const Activities& activities, const WaitStates& states,
                const CollectiveWaits& collectives) {
  SlackSearch search;
  search.little = static_cast<Tick>(kNearlyCritical * static_cast<double>(activities.end - activities.begin));
  search.ranks.resize(trace.size());
  search.of_rank.resize(trace.size());
  search.needed_by_receiver.assign(matching.messages, kNotNeeded);
  search.needed_by_sender.assign(matching.messages, kNotNeeded);
  search.needed.assign(collectives.operations(), kNotNeeded);
  for (Block& block : search.blocks) {
    block.of_path.resize(activities.paths.size());
    block.nearly_critical.resize(activities.paths.size());
  }
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    search.ranks[rank].emplace(BeginRank(records, states.ranks[rank].waits, activities.end - records.activities.end()));
  });
  std::vector<Tick> begins = BeginsOfStretches(activities);
  while (!begins.empty()) Walk(collectives, search, TakeLast(begins));
  Slack result{std::move(search.of_rank), std::vector<std::optional<Tick>>(search.blocks[0].of_path.size()),
               std::vector<double>(search.blocks[0].of_path.size())};
  for (const Block& block : search.blocks) {
    for (PathId path = 0; path < block.of_path.size(); ++path) {
      if (block.of_path[path]) Lower(*block.of_path[path], result.of_path[path]);
      result.nearly_critical[path] += block.nearly_critical[path];
    }
  }
  return result;
}

}  // namespace farscale
