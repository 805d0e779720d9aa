#include "imbalance/causes/measured_program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "imbalance/causes/find_causes.h"
#include "replay/call_compiler.h"
#include "replay/engine.h"
#include "replay/network.h"

namespace farscale {
namespace {

constexpr Tick kNotPosted = std::numeric_limits<Tick>::min();

// When both ends of every message were posted, and whether its sender waits for its receiver. Every entry is written by
// one rank.
struct MessageTimes {
  explicit MessageTimes(std::size_t messages)
      : sent(messages, kNotPosted), received(messages, kNotPosted), sender_waits(messages) {}

  std::vector<Tick> sent, received;
  std::vector<char> sender_waits;
};

void FindPosts(const RankRecords& records, MessageTimes& times) {
  ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
    if (part.IsCollective() || !part.posts || !part.IsMatched()) return;
    (part.type == OperationClass::kSend ? times.sent : times.received)[part.number] = records.activities.enter(call);
  });
}

// The wait states of a rank, call by call.
class WaitsByCall {
 public:
  explicit WaitsByCall(const std::vector<WaitState>& waits) : waits_(waits) {}

  // Calls are asked for in rising order.
  const WaitState* Of(std::uint32_t call) {
    while (next_ < waits_.size() && waits_[next_].call < call) ++next_;
    return next_ < waits_.size() && waits_[next_].call == call ? &waits_[next_] : nullptr;
  }

 private:
  const std::vector<WaitState>& waits_;
  std::size_t next_ = 0;
};

// What decides for all ranks alike how calls wait.
struct CallRules {
  explicit CallRules(const Trace& trace) : waiting(HowRegionsWait(trace)) {
    for (const Region& region : trace.regions) local_sends.push_back(IsLocalSend(region));
  }

  std::vector<Waiting> waiting;
  std::vector<bool> local_sends;
  ReplayRules sizes;  // from which on messages wait for their receivers
};

void FindWaitingSenders(const RankRecords& records, const CallRules& rules, const std::vector<WaitState>& waits,
                        MessageTimes& times) {
  struct Post {
    std::uint32_t region;
    std::uint64_t bytes;
  };
  std::vector<Post> posts;
  std::optional<std::size_t> first;
  WaitsByCall of_calls(waits);
  ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
    if (part.type != OperationClass::kSend) return;
    const std::uint32_t region = records.timeline.region(records.activities.first_call + call);
    if (part.posts) {
      if (!first) first = part.ordinal;
      posts.push_back({region, records.timeline.record_bytes(record)});
    }
    if (!part.completes || !part.IsMatched() || !first || part.ordinal < *first) return;
    const Post& post = posts[part.ordinal - *first];
    if (times.received[part.number] == kNotPosted || rules.local_sends[post.region]) return;
    if (rules.waiting[region] != Waiting::kForAll || times.received[part.number] >= records.activities.leave(call))
      return;
    const WaitState* wait = of_calls.Of(call);
    const bool has_waited = wait != nullptr && wait->kind == WaitKind::kLateReceiver;
    times.sender_waits[part.number] =
        has_waited || rules.sizes.IsRendezvous(records.regions[post.region].call, post.bytes);
  });
}

// By call path: what the shortest call takes beyond its waiting.
using ShortestCalls = std::vector<Tick>;

void FindShortest(const RankActivities& own, const std::vector<WaitState>& waits, ShortestCalls& shortest) {
  WaitsByCall of_calls(waits);
  for (std::uint32_t call = 0; call < own.calls; ++call) {
    const WaitState* wait = of_calls.Of(call);
    Tick& least = shortest[own.path_of_call(call)];
    least = std::min(least, own.leave(call) - own.enter(call) - (wait != nullptr ? wait->length : 0));
  }
}

ShortestCalls FindShortest(const Activities& activities, const WaitStates& states) {
  std::vector<ShortestCalls> of_ranks(activities.ranks.size());
  ParallelFor(of_ranks.size(), [&](std::size_t rank) {
    if (!activities.ranks[rank].present) return;
    of_ranks[rank].assign(activities.paths.size(), std::numeric_limits<Tick>::max());
    FindShortest(activities.ranks[rank], states.ranks[rank].waits, of_ranks[rank]);
  });
  ShortestCalls shortest(activities.paths.size(), std::numeric_limits<Tick>::max());
  for (const ShortestCalls& of_rank : of_ranks) {
    for (std::size_t path = 0; path < of_rank.size(); ++path) shortest[path] = std::min(shortest[path], of_rank[path]);
  }
  return shortest;
}

// Messages are under way while their receivers may do something else.
class TransitLinks {
 public:
  static constexpr bool kTimed = false;
  static constexpr bool kQueues = false;

  explicit TransitLinks(const Program& program) : program_(program) {}
  Tick Arrival(std::uint32_t message, Tick start) const { return start + program_.message_delays[message]; }
  Tick CollectiveDelay(std::uint32_t) const { return 0; }

 private:
  const Program& program_;
};

// Writes the program of one rank.
class RankWriter {
 public:
  // `shortest`: null: what calls take beyond their waiting is time of their ranks.
  RankWriter(const RankRecords& records, const CallRules& rules, const std::vector<WaitState>& waits,
             const MessageTimes& times, const CollectiveWaits& collectives, const ShortestCalls* shortest,
             RankProgram& program, std::vector<Tick>& delays, std::vector<std::uint32_t>& before_calls)
      : records_(records),
        own_(records.activities),
        rules_(rules),
        waits_(waits),
        times_(times),
        collectives_(collectives),
        shortest_(shortest),
        program_(program),
        delays_(delays),
        before_calls_(before_calls),
        left_(own_.begin()) {
    before_calls_.reserve(own_.calls + 1);
  }

  void Run() {
    ForEachRecord(records_, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
      while (next_ <= call) BeginCall();
      Take(part);
    });
    while (next_ < own_.calls) BeginCall();
    EndCall();
    ComputeUntil(own_.end());
    program_.compute_after = pending_;
    program_.instructions.shrink_to_fit();  // there are about as many as calls
  }

 private:
  void ComputeUntil(Tick tick) {
    before_calls_.push_back(static_cast<std::uint32_t>(program_.instructions.size()));
    pending_ += tick - left_;
  }

  void BeginCall() {
    EndCall();
    call_ = next_++;
    is_open_ = true;
    enter_ = released_ = own_.enter(call_);
    leave_ = own_.leave(call_);
    how_ = rules_.waiting[records_.timeline.region(own_.first_call + call_)];
    wait_ = waits_.Of(call_);
    ComputeUntil(enter_);
  }

  void EndCall() {
    if (!is_open_) return;
    const Tick transit = TransitOfCall();
    for (const Instruction& needed : needs_) {
      if (transit > 0 && IsSentAtOnce(needed)) delays_[needed.target] = transit;
      Append(needed.step, needed.target);
    }
    needs_.clear();
    pending_ += leave_ - released_ - transit;
    left_ = leave_;
    is_open_ = false;
  }

  bool IsSentAtOnce(const Instruction& needed) const {
    return needed.step == Step::kWaitForSend && times_.sender_waits[needed.target] == 0;
  }

  // Of the messages that the call waited for, where the last one was sent at once.
  Tick TransitOfCall() const {
    if (shortest_ == nullptr || released_ <= enter_) return 0;
    const bool is_last = std::ranges::any_of(needs_, [&](const Instruction& needed) {
      return IsSentAtOnce(needed) && times_.sent[needed.target] == released_;
    });
    return is_last ? std::max<Tick>(0, leave_ - released_ - (*shortest_)[own_.path_of_call(call_)]) : 0;
  }

  void Append(Step step, std::uint32_t target) {
    Instruction& instruction = program_.instructions.emplace_back();
    instruction.compute = std::exchange(pending_, 0);
    instruction.step = step;
    instruction.target = target;
  }

  void Take(const RecordPart& part) {
    if (!part.IsMatched()) return;
    if (part.IsCollective()) {
      if (part.posts) PostCollective(part.number);
      if (part.completes) NeedCollective(part.number);
      return;
    }
    const bool both_posted = times_.sent[part.number] != kNotPosted && times_.received[part.number] != kNotPosted;
    if (!both_posted) return;
    const bool is_send = part.type == OperationClass::kSend;
    if (part.posts && is_send) Append(Step::kSend, part.number);
    if (part.posts && !is_send && times_.sender_waits[part.number] != 0) Append(Step::kReceive, part.number);
    if (!part.completes) return;
    if (!is_send) Need(Step::kWaitForSend, part.number, times_.sent[part.number]);
    if (is_send && times_.sender_waits[part.number] != 0)
      Need(Step::kWaitForReceive, part.number, times_.received[part.number]);
  }

  // Of operations of which one is enough, the call needs the one that it waited for.
  void Need(Step step, std::uint32_t target, Tick since) {
    if (how_ == Waiting::kNever || since >= leave_) return;
    if (how_ == Waiting::kForFirst && (wait_ == nullptr || since != enter_ + wait_->length)) return;
    Instruction& needed = needs_.emplace_back();
    needed.step = step;
    needed.target = target;
    released_ = std::max(released_, since);
  }

  void PostCollective(std::uint32_t operation) {
    const Participant* self = collectives_.Find(operation, records_.rank);
    if (self == nullptr || !self->sends) return;
    switch (collectives_.pattern(operation)) {
      case CollectivePattern::kNone:
      case CollectivePattern::kPrefix: break;
      case CollectivePattern::kAllToAll: Append(Step::kArrive, operation); break;
      case CollectivePattern::kFromRoot:
        if (collectives_.IsRoot(operation, records_.rank)) Append(Step::kArriveAsRoot, operation);
        break;
      case CollectivePattern::kToRoot:
        if (!collectives_.IsRoot(operation, records_.rank)) Append(Step::kArrive, operation);
        break;
    }
  }

  void NeedCollective(std::uint32_t operation) {
    const Participant* self = collectives_.Find(operation, records_.rank);
    const CollectivePattern pattern = collectives_.pattern(operation);
    if (self == nullptr || self->depends_on == kNoParticipant || pattern == CollectivePattern::kNone ||
        pattern == CollectivePattern::kPrefix)
      return;
    const Tick since = collectives_.begin(0)[self->depends_on].enter;
    Need(pattern == CollectivePattern::kFromRoot ? Step::kWaitForRoot : Step::kWaitForAll, operation, since);
  }

  const RankRecords& records_;
  const RankActivities& own_;
  const CallRules& rules_;
  WaitsByCall waits_;
  const MessageTimes& times_;
  const CollectiveWaits& collectives_;
  const ShortestCalls* shortest_;
  RankProgram& program_;
  std::vector<Tick>& delays_;  // of messages; of each its receiver writes
  std::vector<std::uint32_t>& before_calls_;

  std::uint32_t next_ = 0;  // call to begin
  std::uint32_t call_ = 0;
  bool is_open_ = false;
  Tick enter_ = 0, leave_ = 0, released_ = 0, left_;
  Tick pending_ = 0;  // computation of the next instruction
  Waiting how_ = Waiting::kNever;
  const WaitState* wait_ = nullptr;
  std::vector<Instruction> needs_;  // of the call
};

}  // namespace

MeasuredProgram::MeasuredProgram(const Trace& trace, const Matching& matching, const Activities& activities,
                                 const WaitStates& states, const CollectiveWaits& collectives, Transit transit)
    : origin_(activities.end - activities.begin), instructions_(trace.size()) {
  const CallRules rules(trace);
  MessageTimes times(matching.messages);
  const auto for_each_rank = [&](const auto& body) {
    ParallelFor(trace.size(), [&](std::size_t rank) {
      if (activities.ranks[rank].present) body(rank, RecordsOf(trace, matching, activities, rank));
    });
  };
  for_each_rank([&](std::size_t, const RankRecords& records) { FindPosts(records, times); });
  for_each_rank([&](std::size_t rank, const RankRecords& records) {
    FindWaitingSenders(records, rules, states.ranks[rank].waits, times);
  });
  program_.ranks.resize(trace.size());
  program_.messages = matching.messages;
  program_.message_delays.assign(matching.messages, 0);
  ShortestCalls shortest;
  if (transit == Transit::kOfMessages) shortest = FindShortest(activities, states);
  for_each_rank([&](std::size_t rank, const RankRecords& records) {
    program_.ranks[rank].begin = origin_;
    RankWriter(records, rules, states.ranks[rank].waits, times, collectives, shortest.empty() ? nullptr : &shortest,
               program_.ranks[rank], program_.message_delays, instructions_[rank])
        .Run();
  });
  program_.arrivals.assign(matching.collectives.size(), 0);
  program_.root_arrives.assign(matching.collectives.size(), false);
  CountArrivals(program_);
}

Fix FixOf(std::vector<const std::vector<Saving>*> lists) {
  return [lists = std::move(lists)](const Save& save) {
    for (const std::vector<Saving>* list : lists) {
      for (const Saving& saving : *list) save(saving);
    }
  };
}

void MeasuredProgram::Apply(const Fix& fix, int times, Program& program) const {
  fix([&](const Saving& saving) {
    RankProgram& rank = program.ranks[saving.rank];
    const std::uint32_t at = instructions_[saving.rank][saving.call];
    Tick& compute = at < rank.instructions.size() ? rank.instructions[at].compute : rank.compute_after;
    compute -= times * saving.ticks;
  });
}

Tick MeasuredProgram::ReplayOne(const Fix& fix, Program& program) const {
  if (fix != nullptr) Apply(fix, 1, program);
  Engine<TransitLinks> engine(program, false);
  engine.Run();
  if (fix != nullptr) Apply(fix, -1, program);
  return engine.TakeResult().Duration() - origin_;
}

std::vector<Tick> MeasuredProgram::Replay(const std::vector<Fix>& fixes) {
  // A program is as large as a trace, so that there are few of them at a time; chosen.
  constexpr std::size_t kPrograms = 4;
  std::vector<Tick> durations(fixes.size());
  const std::size_t programs = std::min({kPrograms, ThreadsAtOnce(), fixes.size()});
  std::vector<Program> copies(std::max<std::size_t>(1, programs) - 1, program_);
  ParallelFor(programs, [&](std::size_t first) {
    Program& own = first == 0 ? program_ : copies[first - 1];
    for (std::size_t i = first; i < fixes.size(); i += programs) durations[i] = ReplayOne(fixes[i], own);
  });
  return durations;
}

// What a phase would gain if the calls of one call path were as short as the shortest of them, waits apart: messages
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
    const std::vector<WaitState>& waits = input.states.ranks[rank].waits;
    std::size_t wait = 0;
    for (std::uint32_t call = 0; own.present && call < own.calls; ++call) {
      while (wait < waits.size() && waits[wait].call < call) ++wait;
      const bool has_waited = wait < waits.size() && waits[wait].call == call;
      const Tick waited = has_waited ? waits[wait].length : 0;
      visit(rank, call, own.path_of_call(call), own.leave(call) - own.enter(call) - waited);
    }
  }
}

struct PathLatency {
  PathId path = 0;
  Tick least = std::numeric_limits<Tick>::max();  // of its calls
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
  MeasuredProgram program(input.trace, input.matching, input.activities, input.states, input.collectives,
                          Transit::kOfReceivers);
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
  const auto length = static_cast<double>(input.activities.end - input.activities.begin);
  const bool is_as_measured = std::abs(static_cast<double>(whole) - length) <= kMeasuredPrecision * length;
  if (!is_as_measured || static_cast<double>(gain) < kLeastGain * length) return std::nullopt;
  const PathLatency& path = paths[best - 1];
  const auto mean = static_cast<double>(path.all) / static_cast<double>(path.calls);
  return LatencyGain{input.diagnosis.paths.Name(path.path), input.trace.Seconds(gain),
                     mean / input.trace.ticks_per_second, input.trace.Seconds(path.least)};
}

}  // namespace farscale
