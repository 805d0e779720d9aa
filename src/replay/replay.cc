#include "replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/parallel.h"
#include "base/text.h"
#include "replay/anomalies.h"
#include "replay/engine.h"

namespace farscale {

Tick ReplayResult::Duration() const {
  return std::accumulate(end.begin(), end.end(), Tick{0}, [](Tick a, Tick b) { return std::max(a, b); });
}

Tick ReplayResult::TimeAt(const RankTimeline& timeline, const RankCut& cut, std::size_t rank, const Edge& edge) const {
  const std::size_t calls_before = edge.call - cut.window.begin.call;
  if (calls_before == 0) return begin[rank] + (edge.tick - cut.window.begin.tick);
  return leave[rank][calls_before - 1] + std::max<Tick>(0, edge.tick - timeline.leave(edge.call - 1));
}

namespace {

// Runs the program on a network; calls on_stuck(ranks, instructions) when some cannot complete.
template <typename Links, typename OnStuck>
ReplayResult RunOn(const Program& program, bool keep_calls, const OnStuck& on_stuck) {
  Engine<Links> engine(program, keep_calls);
  engine.Run();
  std::vector<std::pair<std::size_t, std::size_t>> stuck;  // rank and instruction
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    if (!engine.finished(rank)) stuck.emplace_back(rank, engine.instruction(rank));
  }
  if (!stuck.empty()) on_stuck(stuck);
  return engine.TakeResult();
}

template <typename OnStuck>
ReplayResult Run(const Program& program, const Network* network, bool keep_calls, const OnStuck& on_stuck) {
  if (network == nullptr) return RunOn<IdealLinks>(program, keep_calls, on_stuck);
  if (network->HasContention()) return RunOn<SharedLinks>(program, keep_calls, on_stuck);
  return RunOn<FreeLinks>(program, keep_calls, on_stuck);
}

using StuckAt = std::vector<std::pair<std::size_t, std::size_t>>;

// Throws an input error naming who waits for whom.
[[noreturn]] void ThrowStuck(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                             const ReplayOptions& options, const StuckAt& stuck) {
  constexpr std::size_t kDescribed = 4;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(kDescribed, stuck.size()); ++i)
    some.push_back(DescribeInstruction(trace, matching, cut, options, stuck[i].first, stuck[i].second));
  throw Error(
      ErrorKind::kInput, trace.path,
      fmt::format("the calls of phase '{}' cannot complete in program order; {} of {} ranks wait: {}{}", cut.spec.name,
                  stuck.size(), trace.size(), Join(some, "; "), stuck.size() > kDescribed ? "; ..." : ""),
      "the trace is damaged or its messages were recorded wrongly");
}

ReplayResult ReplayHere(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const ReplayOptions& options) {
  const Program program = Compile(trace, matching, cut, options);
  const Network* network = options.TimedNetwork();
  ReplayResult result = Run(program, network, options.keep_calls,
                            [&](const StuckAt& stuck) { ThrowStuck(trace, matching, cut, options, stuck); });
  result.diagnostics.Merge(program.diagnostics);
  return result;
}

// Nobody waits for anybody.
Matching WithoutPartners(const Trace& trace) {
  Matching matching;
  for (const RankTimeline& timeline : trace.timelines) {
    RankMatching& rank = matching.ranks.emplace_back();
    rank.sends.assign(timeline.sends(), kNoMessage);
    rank.receives.assign(timeline.receives(), kNoMessage);
    rank.collectives.assign(timeline.collectives(), kNoCollective);
    rank.collective_types.resize(timeline.collectives());
  }
  return matching;
}

}  // namespace

ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  ReplayResult result;
  if (!MissingCalls(trace).empty()) {
    // The rest need not fit together, so that ranks might wait for ever.
    result = ReplayHere(trace, WithoutPartners(trace), cut, options);
  } else {
    result = ReplayHere(trace, matching, cut, options);
  }
  result.unknown_waits = FindUnknownWaits(trace, cut);
  result.clocks_unknown = matching.clocks_unknown.has_value();
  if (options.TimedNetwork() != nullptr) {
    result.diagnostics.Add(anomaly::kOneSidedTakesNoTime, result.unknown_waits.operations, "in phase " + cut.spec.name);
  }
  result.diagnostics.Add(anomaly::kMessageWithoutRecord, result.unknown_waits.messages,
                         fmt::format("{} in phase {}", result.unknown_waits.message_example, cut.spec.name));
  return result;
}

ReplayResult ReplayProgram(const Program& program, const Network* network, const std::string& what) {
  return Run(program, network, false, [&](const StuckAt& stuck) {
    throw Error(ErrorKind::kNotEnoughData, what,
                fmt::format("{} of {} ranks wait for ever, rank {} in its step {} first", stuck.size(),
                            program.ranks.size(), stuck.front().first, stuck.front().second));
  });
}

namespace {

constexpr double kLongestReplay = 1e18;  // ticks; room for computation and overhead before 2^63

// Calls visit(message, peer, bytes) for every message sent in a rank's window.
template <typename Visit>
void VisitSends(const RankTimeline& timeline, const RankMatching& matching, const RankCut& cut, const Visit& visit) {
  ForEachRecord(timeline, matching, cut.window.begin.call, cut.window.end.call,
                [&](std::size_t, std::size_t record, const RecordPart& part) {
                  if (part.type != OperationClass::kSend || !part.posts || !part.IsMatched()) return;
                  visit(part.number, timeline.endpoints()[timeline.record_target(record)].peer,
                        timeline.record_bytes(record));
                });
}

// True if all members of every communicator share a node.
std::vector<bool> FindLocalCommunicators(const Trace& trace) {
  std::vector<bool> local;
  for (const Communicator& communicator : trace.communicators) {
    const auto node_of = [&](std::int32_t rank) { return trace.ranks[static_cast<std::size_t>(rank)].node; };
    const auto is_elsewhere = [&](std::int32_t rank) { return node_of(rank) != node_of(communicator.members.front()); };
    const auto none_elsewhere = [&](const std::vector<std::int32_t>& ranks) {
      return std::none_of(ranks.begin(), ranks.end(), is_elsewhere);
    };
    local.push_back(communicator.members.empty() ||
                    (none_elsewhere(communicator.members) && none_elsewhere(communicator.remote)));
  }
  return local;
}

// Its size says a message's time, the nodes of both its way.
void AddMessageDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
                      Program& program) {
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const std::int32_t node = trace.ranks[rank].node;
    VisitSends(trace.timelines[rank], matching.ranks[rank], cut.ranks[rank],
               [&](std::uint32_t message, std::int32_t peer, std::uint64_t bytes) {
                 const std::int32_t to = trace.ranks[static_cast<std::size_t>(peer)].node;
                 const Path path = PathOf(network, trace.ticks_per_second, node, to, bytes);
                 program.message_delays[message] = path.delay;
                 if (!program.paths.empty()) program.paths[message] = path;
               });
  });
}

std::vector<OperationBytes> BytesOfOperations(const Trace& trace, const Matching& matching, const PhaseCut& cut) {
  std::vector<OperationBytes> operations(matching.collectives.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    const RankTimeline& timeline = trace.timelines[rank];
    ForEachRecord(timeline, matching.ranks[rank], cut.ranks[rank].window.begin.call, cut.ranks[rank].window.end.call,
                  [&](std::size_t, std::size_t index, const RecordPart& part) {
                    if (!part.IsCollective() || !part.completes || !part.IsMatched()) return;
                    const RankTimeline::Record record = timeline.record(index);
                    operations[part.number].Add(static_cast<double>(record.bytes),
                                                static_cast<double>(record.received));
                  });
  }
  return operations;
}

}  // namespace

Path PathOf(const Network& network, double ticks_per_second, std::int32_t from, std::int32_t to, std::uint64_t bytes) {
  const Link& link = to == from ? network.local : network.remote;
  const double transfer = link.TransferSeconds(static_cast<double>(bytes));
  return {from, to, ToTicks(ticks_per_second, transfer), ToTicks(ticks_per_second, link.latency + transfer)};
}

void OperationBytes::Add(double sent, double received) {
  const bool is_one_way = sent == 0 || received == 0;
  const double share = is_one_way ? std::max(sent, received) : std::min(sent, received);
  sums_.smallest = ranks_ == 0 ? share : std::min(sums_.smallest, share);
  sums_.largest = std::max(sums_.largest, share);
  sums_.largest_sum = std::max(sums_.largest_sum, sent + received);
  sums_.mean += share;
  ++ranks_;
}

CollectiveBytes OperationBytes::Bytes() const {
  CollectiveBytes bytes = sums_;
  if (ranks_ > 0) bytes.mean /= static_cast<double>(ranks_);
  return bytes;
}

void RequireTimes(const Network& network, const Program& program) {
  double longest = 0;
  for (const Tick delay : program.message_delays) longest += static_cast<double>(delay);
  for (const Tick delay : program.collective_delays) longest += static_cast<double>(delay);
  if (longest <= kLongestReplay) return;
  throw Error(ErrorKind::kUsage, "network '" + network.name + "'",
              "is so slow that the times of a replay exceed the clock of the trace");
}

void AddDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
               Program& program) {
  program.message_delays.assign(program.messages, 0);
  if (network.HasContention()) program.paths.resize(program.messages);
  program.sending = network.sending.value_or(0);
  program.receiving = network.receiving.value_or(0);
  AddMessageDelays(trace, matching, cut, network, program);
  const std::vector<OperationBytes> operations = BytesOfOperations(trace, matching, cut);
  const std::vector<bool> is_local = FindLocalCommunicators(trace);
  program.collective_delays.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].ranks() == 0) continue;
    const CollectiveOperation& operation = matching.collectives[i];
    program.collective_delays[i] =
        ToTicks(trace.ticks_per_second, CollectiveSeconds(network, operation.kind, operations[i].ranks(),
                                                          is_local[operation.communicator], operations[i].Bytes()));
  }
  RequireTimes(network, program);
}

void AddTaskSizes(const Trace& trace, const Matching& matching, const PhaseCut& cut, Program& program) {
  program.task_messages.resize(program.messages);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    VisitSends(trace.timelines[rank], matching.ranks[rank], cut.ranks[rank],
               [&](std::uint32_t message, std::int32_t peer, std::uint64_t bytes) {
                 TaskMessage& of = program.task_messages[message];
                 of.bytes = bytes;
                 of.from = static_cast<std::uint32_t>(rank);
                 of.to = static_cast<std::uint32_t>(peer);
               });
  }
  for (const OperationBytes& of : BytesOfOperations(trace, matching, cut)) {
    program.task_collectives.push_back({of.Bytes(), static_cast<std::uint32_t>(of.ranks())});
  }
}

}  // namespace farscale
