#include "imbalance/causes/measured_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "imbalance/causes/find_causes.h"
#include "replay/engine.h"
#include "replay/network.h"

namespace farscale {
namespace {

std::vector<char> FindWaitingSenders(const Trace& trace, const Matching& matching, const Activities& activities,
                                     const WaitStates& states, const std::vector<RegionWaiting>& regions,
                                     const MessageEnds& ends) {
  std::vector<char> sender_waits(matching.messages);  // every entry is written by one rank
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    const ReplayRules rules;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> posts;  // region and bytes
    std::optional<std::size_t> first;
    WaitsByCall of_calls(states.ranks[rank].waits);
    ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
      if (part.type != OperationClass::kSend) return;
      const std::uint32_t region = records.Region(call);
      if (part.posts) {
        if (!first) first = part.ordinal;
        posts.emplace_back(region, records.timeline.record_bytes(record));
      }
      if (!part.completes || !part.IsMatched() || !first || part.ordinal < *first) return;
      const auto& [posted_in, bytes] = posts[part.ordinal - *first];
      const MessageEnd& received = ends.received[part.number];
      if (received.call == kNoCall || regions[posted_in].sends_locally) return;
      if (regions[region].how != Waiting::kForAll || received.enter >= records.activities.leave(call)) return;
      const WaitState* wait = of_calls.Find(call);
      const bool has_waited = wait != nullptr && wait->kind == WaitKind::kLateReceiver;
      sender_waits[part.number] = has_waited || rules.IsRendezvous(trace.regions[posted_in].call, bytes);
    });
  });
  return sender_waits;
}

// The time of the shortest call of every path beyond its waiting.
std::vector<Tick> FindShortest(const Activities& activities, const WaitStates& states) {
  constexpr Tick kNone = std::numeric_limits<Tick>::max();
  std::vector<std::vector<Tick>> of_ranks(activities.ranks.size());
  ParallelFor(of_ranks.size(), [&](std::size_t rank) {
    const RankActivities& own = activities.ranks[rank];
    if (!own.present) return;
    of_ranks[rank].assign(activities.paths.size(), kNone);
    WaitsByCall waits(states.ranks[rank].waits);
    for (std::uint32_t call = 0; call < own.calls; ++call) {
      Tick& least = of_ranks[rank][own.path_of_call(call)];
      least = std::min(least, own.leave(call) - own.enter(call) - waits.Length(call));
    }
  });
  std::vector<Tick> shortest(activities.paths.size(), kNone);
  for (const std::vector<Tick>& of_rank : of_ranks) {
    for (std::size_t path = 0; path < of_rank.size(); ++path) shortest[path] = std::min(shortest[path], of_rank[path]);
  }
  return shortest;
}

}  // namespace

// Writes the program of one rank.
class MeasuredProgram::Writer {
 public:
  Writer(const RankRecords& records, const std::vector<WaitState>& waits, const std::vector<RegionWaiting>& regions,
         const MessageEnds& ends, const CollectiveWaits& collectives, MeasuredProgram& result)
      : records_(records),
        regions_(regions),
        ends_(ends),
        collectives_(collectives),
        result_(result),
        program_(result.program_.ranks[records.rank]),
        before_calls_(result.instructions_[records.rank]),
        waits_(waits) {
    program_.begin = result.origin_;
    enter_ = leave_ = released_ = records.activities.begin();
    before_calls_.reserve(records.activities.calls + 1);
    ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
      while (next_ <= call) BeginCall();
      WriteRecord(part);
    });
    while (next_ < records.activities.calls) BeginCall();
    EndCall();
    ComputeUntil(records.activities.end());
    program_.compute_after = pending_;
    program_.instructions.shrink_to_fit();  // there are about as many as calls
  }

 private:
  bool SenderWaits(std::uint32_t message) const { return result_.sender_waits_[message] != 0; }

  void ComputeUntil(Tick tick) {
    before_calls_.push_back(static_cast<std::uint32_t>(program_.instructions.size()));
    pending_ += tick - leave_;
  }

  void Append(Step step, std::uint32_t target) {
    program_.instructions.push_back({std::exchange(pending_, 0), target, step});
  }

  bool IsSentAtOnce(const Instruction& needed) const {
    return needed.step == Step::kWaitForSend && !SenderWaits(needed.target);
  }

  // The transit of the messages that the call waited for, where the last one was sent at once.
  Tick TransitOfCall() const {
    if (result_.shortest_.empty() || released_ <= enter_) return 0;
    const bool is_last = std::ranges::any_of(needs_, [&](const Instruction& needed) {
      return IsSentAtOnce(needed) && ends_.sent[needed.target].enter == released_;
    });
    const PathId path = records_.activities.path_of_call(call_);
    return is_last ? std::max<Tick>(0, leave_ - released_ - result_.shortest_[path]) : 0;
  }

  void BeginCall() {
    EndCall();
    call_ = next_++;
    enter_ = released_ = records_.activities.enter(call_);
    ComputeUntil(enter_);
    leave_ = records_.activities.leave(call_);
    how_ = regions_[records_.Region(call_)].how;
    wait_ = waits_.Find(call_);
  }

  void EndCall() {
    const Tick transit = TransitOfCall();
    for (const Instruction& needed : needs_) {
      if (transit > 0 && IsSentAtOnce(needed)) result_.program_.message_delays[needed.target] = transit;
      Append(needed.step, needed.target);
    }
    needs_.clear();
    pending_ += leave_ - released_ - transit;
  }

  // If one of several operations is enough, the call needs the one that it waited for.
  void Need(Step step, std::uint32_t target, Tick since) {
    if (how_ == Waiting::kNever || since >= leave_) return;
    if (how_ == Waiting::kForFirst && (wait_ == nullptr || since != enter_ + wait_->length)) return;
    needs_.push_back({0, target, step});
    released_ = std::max(released_, since);
  }

  void PostCollective(std::uint32_t operation) {
    const Participant* self = collectives_.Find(operation, records_.rank);
    if (self == nullptr || !self->sends) return;
    const CollectivePattern pattern = collectives_.pattern(operation);
    const bool is_root = collectives_.IsRoot(operation, records_.rank);
    if (pattern == CollectivePattern::kAllToAll || (pattern == CollectivePattern::kToRoot && !is_root))
      Append(Step::kArrive, operation);
    if (pattern == CollectivePattern::kFromRoot && is_root) Append(Step::kArriveAsRoot, operation);
  }

  void NeedCollective(std::uint32_t operation) {
    const Participant* self = collectives_.Find(operation, records_.rank);
    const CollectivePattern pattern = collectives_.pattern(operation);
    if (self == nullptr || self->depends_on == kNoParticipant || pattern == CollectivePattern::kNone ||
        pattern == CollectivePattern::kPrefix)
      return;
    const Tick since = collectives_.participant(self->depends_on).enter;
    Need(pattern == CollectivePattern::kFromRoot ? Step::kWaitForRoot : Step::kWaitForAll, operation, since);
  }

  void WriteRecord(const RecordPart& part) {
    if (!part.IsMatched()) return;
    const std::uint32_t number = part.number;
    if (part.IsCollective()) {
      if (part.posts) PostCollective(number);
      if (part.completes) NeedCollective(number);
      return;
    }
    const MessageEnd &sent = ends_.sent[number], &received = ends_.received[number];
    if (sent.call == kNoCall || received.call == kNoCall) return;
    const bool is_send = part.type == OperationClass::kSend;
    if (part.posts && (is_send || SenderWaits(number))) Append(is_send ? Step::kSend : Step::kReceive, number);
    if (!part.completes) return;
    if (!is_send) Need(Step::kWaitForSend, number, sent.enter);
    if (is_send && SenderWaits(number)) Need(Step::kWaitForReceive, number, received.enter);
  }

  const RankRecords& records_;
  const std::vector<RegionWaiting>& regions_;
  const MessageEnds& ends_;
  const CollectiveWaits& collectives_;
  MeasuredProgram& result_;
  RankProgram& program_;
  std::vector<std::uint32_t>& before_calls_;
  WaitsByCall waits_;
  Tick pending_ = 0;        // computation of the next instruction
  std::uint32_t next_ = 0;  // call to begin
  // The call begun last.
  std::uint32_t call_ = 0;
  Tick enter_ = 0, leave_ = 0, released_ = 0;
  Waiting how_ = Waiting::kNever;
  const WaitState* wait_ = nullptr;
  std::vector<Instruction> needs_;  // it waits for
};

MeasuredProgram::MeasuredProgram(const Trace& trace, const Matching& matching, const Activities& activities,
                                 const WaitStates& states, const CollectiveWaits& collectives, bool receivers_transmit)
    : origin_(activities.end - activities.begin), instructions_(trace.size()) {
  const std::vector<RegionWaiting> regions = FindRegionWaiting(trace);
  const MessageEnds ends = FindMessageEnds(trace, matching, activities);
  sender_waits_ = FindWaitingSenders(trace, matching, activities, states, regions, ends);
  if (!receivers_transmit) shortest_ = FindShortest(activities, states);
  program_.ranks.resize(trace.size());
  program_.messages = matching.messages;
  program_.message_delays.assign(matching.messages, 0);
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    Writer(records, states.ranks[rank].waits, regions, ends, collectives, *this);
  });
  shortest_ = std::vector<Tick>();  // {} would keep their memory
  sender_waits_ = std::vector<char>();
  program_.arrivals.assign(matching.collectives.size(), 0);
  program_.root_arrives.assign(matching.collectives.size(), false);
  CountArrivals(program_);
}

Fix MakeFix(std::vector<const std::vector<Saving>*> lists) {
  return [lists = std::move(lists)](const Save& save) {
    for (const std::vector<Saving>* list : lists) {
      for (const Saving& saving : *list) save(saving);
    }
  };
}

void MeasuredProgram::Apply(const Fix& fix, int times, Program& program) const {
  if (fix == nullptr) return;
  fix([&](const Saving& saving) {
    RankProgram& rank = program.ranks[saving.rank];
    const std::uint32_t at = instructions_[saving.rank][saving.call];
    Tick& compute = at < rank.instructions.size() ? rank.instructions[at].compute : rank.compute_after;
    compute -= times * saving.ticks;
  });
}

std::vector<Tick> MeasuredProgram::Replay(const std::vector<Fix>& fixes) {
  // A program is as large as a trace, so that there are few of them at a time; chosen.
  constexpr std::size_t kPrograms = 4;
  std::vector<Tick> durations(fixes.size());
  const std::size_t programs = std::min({kPrograms, ThreadsAtOnce(), fixes.size()});
  std::vector<Program> copies(std::max<std::size_t>(1, programs) - 1, program_);
  ParallelFor(programs, [&](std::size_t first) {
    Program& own = first == 0 ? program_ : copies[first - 1];
    for (std::size_t i = first; i < fixes.size(); i += programs) {
      Apply(fixes[i], 1, own);
      StuckRanks stuck;
      // Messages are under way while their receivers may do something else.
      durations[i] = RunProgram(own, false, false, stuck).Duration() - origin_;
      Apply(fixes[i], -1, own);
    }
  });
  return durations;
}

// The gain of a phase if the calls of one call path were as short as the shortest of them, waits apart: messages
// without latency [docs/formulas.md, causes and gains].

namespace {

constexpr std::size_t kPathsTried = 4;  // those that take longest; chosen

// Functions in which messages or collectives may be under way.
bool HasLatency(MpiCall call) {
  switch (call) {
    case MpiCall::kSend:
    case MpiCall::kSynchronousSend:
    case MpiCall::kReceive:
    case MpiCall::kSendReceive:
    case MpiCall::kWait:
    case MpiCall::kCollective: return true;
    default: return IsWindowSynchronisation(call);
  }
}

// Calls visit(rank, call, path, ticks) for every call of the phase, with what it takes beyond its waiting.
template <typename Visit>
void ForEachCall(const CauseInput& input, Visit visit) {
  for (std::uint32_t rank = 0; rank < input.trace.size(); ++rank) {
    const RankActivities& own = input.activities.ranks[rank];
    WaitsByCall waits(input.states.ranks[rank].waits);
    for (std::uint32_t call = 0; own.present && call < own.calls; ++call) {
      visit(rank, call, own.path_of_call(call), own.leave(call) - own.enter(call) - waits.Length(call));
    }
  }
}

struct PathLatency {
  PathId path = 0;
  Tick least = std::numeric_limits<Tick>::max();  // for one of its calls
  Tick all = 0;
  std::int64_t calls = 0;

  Tick Excess() const { return calls == 0 ? 0 : all - calls * least; }
};

std::vector<PathLatency> LongestPaths(const CauseInput& input) {
  const CallPaths& paths = input.diagnosis.paths;
  std::vector<PathLatency> latencies(paths.size());
  for (PathId path = 0; path < paths.size(); ++path) latencies[path].path = path;
  ForEachCall(input, [&](std::uint32_t, std::uint32_t, PathId path, Tick ticks) {
    PathLatency& latency = latencies[path];
    latency.least = std::min(latency.least, ticks);
    latency.all += ticks;
    ++latency.calls;
  });
  std::erase_if(latencies, [&](const PathLatency& latency) {
    const PathId path = latency.path;
    const bool counts = paths.is_mpi(path) && !paths.is_before_phase(path) && !input.diagnosis.IsOutside(path);
    return !counts || latency.Excess() <= 0 || !HasLatency(ClassifyMpiCall(paths.region_name(path)));
  });
  std::ranges::stable_sort(latencies, std::greater(), &PathLatency::Excess);
  latencies.resize(std::min(kPathsTried, latencies.size()));
  return latencies;
}

}  // namespace

std::optional<LatencyGain> FindLatencyGain(const CauseInput& input) {
  const std::vector<PathLatency> paths = LongestPaths(input);
  if (paths.empty()) return std::nullopt;
  MeasuredProgram program(input.trace, input.matching, input.activities, input.states, input.collectives, true);
  std::vector<Fix> fixes = {nullptr};
  for (const PathLatency& latency : paths) {
    fixes.push_back([&](const Save& save) {
      ForEachCall(input, [&](std::uint32_t rank, std::uint32_t call, PathId path, Tick ticks) {
        if (path == latency.path && ticks > latency.least) save({rank, call + 1, ticks - latency.least});
      });
    });
  }
  const std::vector<Tick> durations = program.Replay(fixes);
  const std::size_t best =
      static_cast<std::size_t>(std::min_element(durations.begin() + 1, durations.end()) - durations.begin());
  const Tick whole = durations.front(), gain = whole - durations[best];
  const bool is_as_measured =
      std::abs(static_cast<double>(whole) - input.length()) <= kMeasuredPrecision * input.length();
  if (!is_as_measured || static_cast<double>(gain) < kLeastGain * input.length()) return std::nullopt;
  const PathLatency& path = paths[best - 1];
  const auto mean = static_cast<double>(path.all) / static_cast<double>(path.calls);
  return LatencyGain{input.diagnosis.paths.Name(path.path), input.trace.Seconds(gain),
                     mean / input.trace.ticks_per_second, input.trace.Seconds(path.least)};
}

}  // namespace farscale
