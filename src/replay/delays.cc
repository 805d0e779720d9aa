#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "replay/operations.h"
#include "replay/program.h"

namespace farscale {
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

// Whether all members of every communicator share a node.
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
