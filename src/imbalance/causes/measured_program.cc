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

// Everything that all ranks share. Every entry of sender_waits is written by one rank.
struct ProgramInput {
  const std::vector<RegionWaiting> regions;
  const MessageEnds ends;
  std::vector<Tick> shortest;      // one a call path; empty: calls beyond their waiting are time of their ranks
  std::vector<char> sender_waits;  // one a message: its sender waits for its receiver

  bool AreBothPosted(std::uint32_t message) const {
    return ends.sent[message].call != kNoCall && ends.received[message].call != kNoCall;
  }
};

void FindWaitingSenders(const Trace& trace, const RankRecords& records, const std::vector<WaitState>& waits,
                        ProgramInput& input) {
  const ReplayRules rules;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> posts;  // region and bytes
  std::optional<std::size_t> first;
  WaitsByCall of_calls(waits);
  ForEachRecord(records, [&](std::uint32_t call, std::size_t record, const RecordPart& part) {
    if (part.type != OperationClass::kSend) return;
    const std::uint32_t region = records.Region(call);
    if (part.posts) {
      if (!first) first = part.ordinal;
      posts.emplace_back(region, records.timeline.record_bytes(record));
    }
    if (!part.completes || !part.IsMatched() || !first || part.ordinal < *first) return;
    const auto& [posted_in, bytes] = posts[part.ordinal - *first];
    const MessageEnd& received = input.ends.received[part.number];
    if (received.call == kNoCall || input.regions[posted_in].sends_locally) return;
    if (input.regions[region].how != Waiting::kForAll || received.enter >= records.activities.leave(call)) return;
    const WaitState* wait = of_calls.Find(call);
    const bool has_waited = wait != nullptr && wait->kind == WaitKind::kLateReceiver;
    input.sender_waits[part.number] = has_waited || rules.IsRendezvous(trace.regions[posted_in].call, bytes);
  });
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

// A rank's program as far as it is written.
struct Writing {
  RankProgram program{};
  std::vector<std::uint32_t> before_calls{};  // the instruction that computes what lies before each call
  WaitsByCall waits;
  Tick pending = 0;        // computation of the next instruction
  std::uint32_t next = 0;  // call to begin
  // The call begun last.
  std::uint32_t call = 0;
  Tick enter = 0, leave = 0, released = 0;
  Waiting how = Waiting::kNever;
  const WaitState* wait = nullptr;
  std::vector<Instruction> needs{};  // it waits for
};

void ComputeUntil(Writing& writing, Tick tick) {
  writing.before_calls.push_back(static_cast<std::uint32_t>(writing.program.instructions.size()));
  writing.pending += tick - writing.leave;
}

bool IsSentAtOnce(const ProgramInput& input, const Instruction& needed) {
  return needed.step == Step::kWaitForSend && input.sender_waits[needed.target] == 0;
}

// The transit of the messages that the call waited for, where the last one was sent at once.
Tick TransitOfCall(const RankRecords& records, const ProgramInput& input, const Writing& writing) {
  if (input.shortest.empty() || writing.released <= writing.enter) return 0;
  const bool is_last = std::ranges::any_of(writing.needs, [&](const Instruction& needed) {
    return IsSentAtOnce(input, needed) && input.ends.sent[needed.target].enter == writing.released;
  });
  return is_last ? std::max<Tick>(0, writing.leave - writing.released -
                                         input.shortest[records.activities.path_of_call(writing.call)])
                 : 0;
}

void AppendStep(Writing& writing, Step step, std::uint32_t target) {
  Instruction& instruction = writing.program.instructions.emplace_back();
  instruction.compute = std::exchange(writing.pending, 0);
  instruction.step = step;
  instruction.target = target;
}

void EndCall(const RankRecords& records, const ProgramInput& input, Writing& writing, std::vector<Tick>& delays) {
  const Tick transit = TransitOfCall(records, input, writing);
  for (const Instruction& needed : writing.needs) {
    if (transit > 0 && IsSentAtOnce(input, needed)) delays[needed.target] = transit;
    AppendStep(writing, needed.step, needed.target);
  }
  writing.needs.clear();
  writing.pending += writing.leave - writing.released - transit;
}

void BeginCall(const RankRecords& records, const ProgramInput& input, Writing& writing, std::vector<Tick>& delays) {
  EndCall(records, input, writing, delays);
  writing.call = writing.next++;
  ComputeUntil(writing, records.activities.enter(writing.call));
  writing.enter = writing.released = records.activities.enter(writing.call);
  writing.leave = records.activities.leave(writing.call);
  writing.how = input.regions[records.Region(writing.call)].how;
  writing.wait = writing.waits.Find(writing.call);
}

// If one of several operations is enough, the call needs the one that it waited for.
void AddNeed(Writing& writing, Step step, std::uint32_t target, Tick since) {
  if (writing.how == Waiting::kNever || since >= writing.leave) return;
  if (writing.how == Waiting::kForFirst && (writing.wait == nullptr || since != writing.enter + writing.wait->length))
    return;
  Instruction& needed = writing.needs.emplace_back();
  needed.step = step;
  needed.target = target;
  writing.released = std::max(writing.released, since);
}

void PostCollective(const RankRecords& records, const CollectiveWaits& collectives, Writing& writing,
                    std::uint32_t operation) {
  const Participant* self = collectives.Find(operation, records.rank);
  if (self == nullptr || !self->sends) return;
  switch (collectives.pattern(operation)) {
    case CollectivePattern::kNone:
    case CollectivePattern::kPrefix: break;
    case CollectivePattern::kAllToAll: AppendStep(writing, Step::kArrive, operation); break;
    case CollectivePattern::kFromRoot:
      if (collectives.IsRoot(operation, records.rank)) AppendStep(writing, Step::kArriveAsRoot, operation);
      break;
    case CollectivePattern::kToRoot:
      if (!collectives.IsRoot(operation, records.rank)) AppendStep(writing, Step::kArrive, operation);
      break;
  }
}

void NeedCollective(const RankRecords& records, const CollectiveWaits& collectives, Writing& writing,
                    std::uint32_t operation) {
  const Participant* self = collectives.Find(operation, records.rank);
  const CollectivePattern pattern = collectives.pattern(operation);
  if (self == nullptr || self->depends_on == kNoParticipant || pattern == CollectivePattern::kNone ||
      pattern == CollectivePattern::kPrefix)
    return;
  const Tick since = collectives.participant(self->depends_on).enter;
  AddNeed(writing, pattern == CollectivePattern::kFromRoot ? Step::kWaitForRoot : Step::kWaitForAll, operation, since);
}

void WriteRecord(const RankRecords& records, const ProgramInput& input, const CollectiveWaits& collectives,
                 Writing& writing, const RecordPart& part) {
  if (!part.IsMatched()) return;
  if (part.IsCollective()) {
    if (part.posts) PostCollective(records, collectives, writing, part.number);
    if (part.completes) NeedCollective(records, collectives, writing, part.number);
    return;
  }
  if (!input.AreBothPosted(part.number)) return;
  const bool is_send = part.type == OperationClass::kSend;
  if (part.posts && is_send) AppendStep(writing, Step::kSend, part.number);
  if (part.posts && !is_send && input.sender_waits[part.number] != 0) AppendStep(writing, Step::kReceive, part.number);
  if (!part.completes) return;
  if (!is_send) AddNeed(writing, Step::kWaitForSend, part.number, input.ends.sent[part.number].enter);
  if (is_send && input.sender_waits[part.number] != 0)
    AddNeed(writing, Step::kWaitForReceive, part.number, input.ends.received[part.number].enter);
}

Writing WriteRank(const RankRecords& records, const std::vector<WaitState>& waits, const ProgramInput& input,
                  const CollectiveWaits& collectives, std::vector<Tick>& delays) {
  const Tick begin = records.activities.begin();
  Writing writing{.waits = WaitsByCall(waits), .enter = begin, .leave = begin, .released = begin};
  writing.before_calls.reserve(records.activities.calls + 1);
  ForEachRecord(records, [&](std::uint32_t call, std::size_t, const RecordPart& part) {
    while (writing.next <= call) BeginCall(records, input, writing, delays);
    WriteRecord(records, input, collectives, writing, part);
  });
  while (writing.next < records.activities.calls) BeginCall(records, input, writing, delays);
  EndCall(records, input, writing, delays);
  ComputeUntil(writing, records.activities.end());
  writing.program.compute_after = writing.pending;
  writing.program.instructions.shrink_to_fit();  // there are about as many as calls
  return writing;
}

}  // namespace

MeasuredProgram::MeasuredProgram(const Trace& trace, const Matching& matching, const Activities& activities,
                                 const WaitStates& states, const CollectiveWaits& collectives, Transit transit)
    : origin_(activities.end - activities.begin), instructions_(trace.size()) {
  ProgramInput input{
      FindRegionWaiting(trace), FindMessageEnds(trace, matching, activities), {}, std::vector<char>(matching.messages)};
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    FindWaitingSenders(trace, records, states.ranks[rank].waits, input);
  });
  if (transit == Transit::kOfMessages) input.shortest = FindShortest(activities, states);
  program_.ranks.resize(trace.size());
  program_.messages = matching.messages;
  program_.message_delays.assign(matching.messages, 0);
  ForEachRank(trace, matching, activities, [&](std::size_t rank, const RankRecords& records) {
    Writing written = WriteRank(records, states.ranks[rank].waits, input, collectives, program_.message_delays);
    program_.ranks[rank] = std::move(written.program);
    program_.ranks[rank].begin = origin_;
    instructions_[rank] = std::move(written.before_calls);
  });
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
  const bool is_as_measured =
      std::abs(static_cast<double>(whole) - input.length()) <= kMeasuredPrecision * input.length();
  if (!is_as_measured || static_cast<double>(gain) < kLeastGain * input.length()) return std::nullopt;
  const PathLatency& path = paths[best - 1];
  const auto mean = static_cast<double>(path.all) / static_cast<double>(path.calls);
  return LatencyGain{input.diagnosis.paths.Name(path.path), input.trace.Seconds(gain),
                     mean / input.trace.ticks_per_second, input.trace.Seconds(path.least)};
}

}  // namespace farscale
