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

// Its size says a message's time, the nodes of both its way.
void AddMessageDelays(const Trace& trace, const RankMatching& matching, const RankCut& cut, std::size_t rank,
                      const Network& network, Program& program) {
  const std::int32_t node = trace.ranks[rank].node;
  VisitSends(trace.timelines[rank], matching, cut, [&](std::uint32_t message, std::int32_t peer, std::uint64_t bytes) {
    const std::int32_t to = trace.ranks[static_cast<std::size_t>(peer)].node;
    const Link& link = to == node ? network.local : network.remote;
    const double transfer = link.TransferSeconds(static_cast<double>(bytes));
    program.message_delays[message] = ToTicks(trace, link.latency + transfer);
    if (network.HasContention())
      program.paths[message] = {node, to, ToTicks(trace, transfer), program.message_delays[message]};
  });
}

// Bytes of every collective operation, over the ranks whose windows it lies in.
struct OperationBytes {
  CollectiveBytes bytes;
  double ranks = 0;
};

void AddBytes(const RankTimeline& timeline, const RankMatching& matching, const RankCut& cut,
              std::vector<OperationBytes>& operations) {
  ForEachRecord(timeline, matching, cut.window.begin.call, cut.window.end.call,
                [&](std::size_t, std::size_t index, const RecordPart& part) {
                  if (!part.IsCollective() || !part.completes || !part.IsMatched()) return;
                  const RankTimeline::Record record = timeline.record(index);
                  const auto sent = static_cast<double>(record.bytes), received = static_cast<double>(record.received);
                  const bool is_one_way = sent == 0 || received == 0;
                  const double share = is_one_way ? std::max(sent, received) : std::min(sent, received);
                  OperationBytes& of = operations[part.number];
                  of.bytes.smallest = of.ranks == 0 ? share : std::min(of.bytes.smallest, share);
                  of.bytes.largest = std::max(of.bytes.largest, share);
                  of.bytes.largest_sum = std::max(of.bytes.largest_sum, sent + received);
                  of.bytes.mean += share;  // divided in the end
                  ++of.ranks;
                });
}

std::vector<OperationBytes> BytesOfOperations(const Trace& trace, const Matching& matching, const PhaseCut& cut) {
  std::vector<OperationBytes> operations(matching.collectives.size());
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) AddBytes(trace.timelines[rank], matching.ranks[rank], cut.ranks[rank], operations);
  }
  for (OperationBytes& of : operations) {
    if (of.ranks > 0) of.bytes.mean /= of.ranks;
  }
  return operations;
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

}  // namespace

void AddDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
               Program& program) {
  program.message_delays.assign(program.messages, 0);
  if (network.HasContention()) program.paths.resize(program.messages);
  program.sending = network.sending.value_or(0);
  program.receiving = network.receiving.value_or(0);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) {
      AddMessageDelays(trace, matching.ranks[rank], cut.ranks[rank], rank, network, program);
    }
  });
  const std::vector<OperationBytes> operations = BytesOfOperations(trace, matching, cut);
  double longest = 0;  // were everything to happen one after the other
  for (const Tick delay : program.message_delays) longest += static_cast<double>(delay);
  const std::vector<bool> is_local = FindLocalCommunicators(trace);
  program.collective_delays.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const OperationBytes& of = operations[i];
    if (of.ranks == 0) continue;
    const CollectiveOperation& operation = matching.collectives[i];
    program.collective_delays[i] =
        ToTicks(trace, CollectiveSeconds(network, operation.kind, static_cast<std::size_t>(of.ranks),
                                         is_local[operation.communicator], of.bytes));
    longest += static_cast<double>(program.collective_delays[i]);
  }
  if (longest > kLongestReplay) {
    throw Error(ErrorKind::kUsage, "network '" + network.name + "'",
                "is so slow that the times of a replay exceed the clock of the trace");
  }
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
    program.task_collectives.push_back({of.bytes, static_cast<std::uint32_t>(of.ranks)});
  }
}

}  // namespace farscale
