#include "replay/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"

namespace farscale {
namespace {

// Flags the messages, which the instructions of both their ranks need.
MessageFlags FlagMessages(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                          const ReplayOptions& options) {
  MessageFlags flags;
  flags.sender.resize(matching.messages);
  flags.receiver.resize(matching.messages);
  const bool is_ideal = TimedNetwork(options.network) == nullptr;
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const RankTimeline& timeline = trace.timelines[rank];
    const Interval& window = cut.ranks[rank].window;
    const auto flag = [&](std::size_t call, std::size_t index, const RecordPart& part) {
      if (part.IsCollective() || !part.IsMatched()) return;
      if (part.type == OperationClass::kReceive) {
        if (part.posts) flags.receiver[part.number] |= kReceivePosted;
        if (part.completes) flags.receiver[part.number] |= kReceiverWaits;
      } else if (part.posts && is_ideal && !part.completes && !options.rules.SendCompletionWaits()) {
        flags.sender[part.number] = kSent;  // whatever its size
      } else if (part.posts) {
        const RankTimeline::Record record = timeline.record(index);
        const auto peer = static_cast<std::size_t>(timeline.endpoints()[record.target].peer);
        const bool is_remote = !is_ideal && !options.as_tasks && trace.ranks[peer].node != trace.ranks[rank].node;
        flags.sender[part.number] =
            SenderFlags(options, trace.regions[timeline.region(call)].call, record.bytes, is_remote, part.completes);
      }
    };
    ForEachRecord(timeline, matching.ranks[rank], window.begin.call, window.end.call, flag);
  });
  return flags;
}

RankProgram CompileRank(const Trace& trace, const Matching& all, const PhaseCut& cut, const ReplayOptions& options,
                        const MessageFlags& flags, std::size_t rank) {
  const RankTimeline& timeline = trace.timelines[rank];
  const RankMatching& matching = all.ranks[rank];
  const auto& [begin, end] = cut.ranks[rank].window;
  const std::vector<Interval>& iterations = cut.ranks[rank].iterations;
  CallCompiler compiler(options, trace.ticks_per_second);
  std::size_t call = begin.call, record = timeline.first_record(call), iteration = 0;
  compiler.Reserve(timeline.first_record(end.call) - record);
  Posts posts = PostsBefore(timeline, record);
  std::vector<CompiledPart> parts;
  std::vector<std::uint32_t> of_all;
  Tick left = begin.tick;  // the call before, as measured
  const auto compute = [&](Tick until) {
    if (options.bursts != nullptr) {
      const std::vector<Tick>& bursts = (*options.bursts)[rank];
      return compiler.Compute(call < end.call ? bursts[call] : bursts.back());
    }
    // Ends iterations that end before the call. The last ends with the window.
    for (; options.as_tasks && iteration + 1 < iterations.size() && iterations[iteration].end.call <= call;
         ++iteration) {
      const Tick ended = std::max(left, iterations[iteration].end.tick);
      compiler.Compute(ended - std::exchange(left, ended));
      compiler.EndIteration(static_cast<std::uint32_t>(iteration));
    }
    compiler.Compute(std::max<Tick>(0, until - left));
  };
  for (; call < end.call; ++call) {
    compute(std::max(timeline.enter(call), begin.tick));
    left = timeline.leave(call);
    parts.clear();
    for (const std::size_t behind = timeline.first_record(call + 1); record < behind; ++record) {
      CompiledPart& part = parts.emplace_back(CompiledPart{NextPart(timeline, matching, record, posts)});
      if (!part.IsCollective() || !part.IsMatched()) continue;
      const CollectiveType& type = timeline.collective_types()[matching.collective_types[part.ordinal]];
      part.collective = type.kind;
      part.has_root = type.root != kNoRoot;
      part.is_root = part.has_root && static_cast<std::size_t>(type.root) == rank;
    }
    of_all.clear();
    if (matching.init != kNoCollective && call == matching.init_call) of_all.push_back(matching.init);
    if (matching.finalize != kNoCollective && call == matching.finalize_call && options.rules.FinalizeSynchronises())
      of_all.push_back(matching.finalize);
    compiler.Call(flags, parts, of_all);
  }
  compute(end.tick);
  RankProgram program = compiler.Finish();
  program.begin = begin.tick - cut.begin();
  return program;
}

// The order of ranks on the communicators of scans.
void OrderScans(const Trace& trace, const Matching& matching, Program& program) {
  std::unordered_map<std::uint32_t, std::uint32_t> of_communicators;
  for (const auto& [operation, ranks] : program.scan_ranks) {
    const std::uint32_t communicator = matching.collectives[operation].communicator;
    const auto [found, is_new] =
        of_communicators.try_emplace(communicator, static_cast<std::uint32_t>(program.scan_orders.size()));
    program.order_of_scan[operation] = found->second;
    if (!is_new) continue;
    const std::vector<std::int32_t>& members = trace.communicators[communicator].members;
    ScanOrder& order = program.scan_orders.emplace_back();
    order.members = static_cast<std::uint32_t>(members.size());
    order.places.assign(trace.size(), order.members);
    for (std::uint32_t i = 0; i < order.members; ++i) order.places[static_cast<std::size_t>(members[i])] = i;
  }
}

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

std::vector<CollectiveBytes> BytesOfOperations(const Trace& trace, const Matching& matching, const PhaseCut& cut) {
  std::vector<CollectiveBytes> operations(matching.collectives.size());
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

// Fills Program::message_delays, collective_delays and, when the network limits transfers, paths.
void AddDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
               Program& program) {
  program.message_delays.assign(program.messages, 0);
  if (network.HasContention()) program.paths.resize(program.messages);
  program.sending = network.sending.value_or(0);
  program.receiving = network.receiving.value_or(0);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    VisitSends(trace.timelines[rank], matching.ranks[rank], cut.ranks[rank],
               [&](std::uint32_t message, std::int32_t peer, std::uint64_t bytes) {
                 const std::int32_t to = trace.ranks[static_cast<std::size_t>(peer)].node;
                 const Path path = PathOf(network, trace.ticks_per_second, trace.ranks[rank].node, to, bytes);
                 program.message_delays[message] = path.delay;
                 if (!program.paths.empty()) program.paths[message] = path;
               });
  });
  const std::vector<CollectiveBytes> operations = BytesOfOperations(trace, matching, cut);
  std::vector<bool> is_local;  // all members of the communicator share a node
  for (const Communicator& communicator : trace.communicators) {
    const auto node_of = [&](std::int32_t rank) { return trace.ranks[static_cast<std::size_t>(rank)].node; };
    const auto is_elsewhere = [&](std::int32_t rank) { return node_of(rank) != node_of(communicator.members.front()); };
    is_local.push_back(communicator.members.empty() || (std::ranges::none_of(communicator.members, is_elsewhere) &&
                                                        std::ranges::none_of(communicator.remote, is_elsewhere)));
  }
  program.collective_delays.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].ranks == 0) continue;
    const CollectiveOperation& operation = matching.collectives[i];
    program.collective_delays[i] =
        ToTicks(trace.ticks_per_second,
                CollectiveSeconds(network, operation.kind, is_local[operation.communicator], operations[i]));
  }
  RequireTimes(network, program);
}

// Fills Program::task_messages and task_collectives.
void AddTaskSizes(const Trace& trace, const Matching& matching, const PhaseCut& cut, const MessageFlags& flags,
                  Program& program) {
  program.task_messages.resize(program.messages);
  for (std::size_t i = 0; i < program.task_messages.size(); ++i) {
    TaskMessage& message = program.task_messages[i];
    message.is_sent = (flags.sender[i] & kSent) != 0;
    message.is_awaited = (flags.receiver[i] & kReceiverWaits) != 0;
    message.may_rendezvous = (flags.sender[i] & kRendezvous) != 0;
    message.always_waits = (flags.sender[i] & kAnySize) != 0;
  }
  for (std::uint32_t rank = 0; rank < trace.size(); ++rank) {
    if (!cut.ranks[rank].present) continue;
    VisitSends(trace.timelines[rank], matching.ranks[rank], cut.ranks[rank],
               [&](std::uint32_t message, std::int32_t peer, std::uint64_t bytes) {
                 TaskMessage& of = program.task_messages[message];
                 of.bytes = bytes;
                 of.from = rank;
                 of.to = static_cast<std::uint32_t>(peer);
               });
  }
  program.task_collectives = BytesOfOperations(trace, matching, cut);
}

// The arrivals that a rank waits for before it leaves a collective: that of the root, those of all ranks up to itself
// in the order of the communicator, all, or none.
Step WaitIn(const CompiledPart& part, RuleSet set) {
  const bool rooted_in_data = set == RuleSet::kCausal;
  switch (part.collective) {
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan: return Step::kWaitForLower;
    case CollectiveKind::kReduce: return part.has_root && !part.is_root ? Step::kNothing : Step::kWaitForAll;
    case CollectiveKind::kGather:
      return rooted_in_data && part.has_root && !part.is_root ? Step::kNothing : Step::kWaitForAll;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      if (!rooted_in_data || !part.has_root) return Step::kWaitForAll;
      return part.is_root ? Step::kNothing : Step::kWaitForRoot;
    // Dimemas knows no operations on communicators; new ones need the agreement of all members.
    case CollectiveKind::kCreateHandle: return set == RuleSet::kBsc ? Step::kNothing : Step::kWaitForAll;
    case CollectiveKind::kDestroyHandle: return Step::kNothing;
    default: return Step::kWaitForAll;
  }
}

}  // namespace

std::uint8_t SenderFlags(const ReplayOptions& options, MpiCall call, std::uint64_t bytes, bool is_remote,
                         bool completes) {
  const ReplayRules& rules = options.rules;
  const Network* network = TimedNetwork(options.network);
  const bool may_wait = completes || rules.SendCompletionWaits();
  if (network == nullptr && !may_wait) return kSent;
  std::uint64_t limit = rules.Limit();
  bool starts_at_receive = false;                                   // and when it is sent, whichever is later
  const bool is_anywhere = options.as_tasks && network != nullptr;  // wherever its task lies
  if (is_anywhere) {
    limit = std::min(network->local.eager_limit, network->remote.eager_limit);
  } else if (network != nullptr) {
    const Link& link = is_remote ? network->remote : network->local;
    limit = link.eager_limit;
    starts_at_receive = link.starts_at_receive;
  }
  const bool is_rendezvous = rules.IsRendezvous(call, bytes, limit);
  std::uint8_t flags = kSent;
  if (is_rendezvous || starts_at_receive) flags |= kRendezvous;
  if (is_rendezvous && may_wait) flags |= kSenderWaits;
  if (is_remote) flags |= kRemote;
  if (is_anywhere && rules.IsRendezvous(call, 0, 1)) flags |= kAnySize;
  return flags;
}

void CountArrivals(Program& program) {
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (const Instruction& instruction : program.ranks[rank].instructions) {
      switch (instruction.step) {
        case Step::kArriveInOrder:
          program.scan_ranks[instruction.target].push_back(rank);
          ++program.arrivals[instruction.target];
          break;
        case Step::kArriveAsRoot: program.root_arrives[instruction.target] = true; [[fallthrough]];
        case Step::kArrive: ++program.arrivals[instruction.target]; break;
        default: break;
      }
    }
  }
}

Path PathOf(const Network& network, double ticks_per_second, std::int32_t from, std::int32_t to, std::uint64_t bytes) {
  const Link& link = to == from ? network.local : network.remote;
  const double transfer = link.TransferSeconds(static_cast<double>(bytes));
  return {from, to, ToTicks(ticks_per_second, transfer), ToTicks(ticks_per_second, link.latency + transfer)};
}

void RequireTimes(const Network& network, const Program& program) {
  constexpr double kLongestReplay = 1e18;  // ticks; room for computation and overhead before 2^63
  double longest = 0;
  for (const Tick delay : program.message_delays) longest += static_cast<double>(delay);
  for (const Tick delay : program.collective_delays) longest += static_cast<double>(delay);
  if (longest <= kLongestReplay) return;
  throw Error(ErrorKind::kUsage, "network '" + network.name + "'",
              "is so slow that the times of a replay exceed the clock of the trace");
}

void CallCompiler::Call(const MessageFlags& flags, std::span<const CompiledPart> parts,
                        std::span<const std::uint32_t> of_all) {
  const std::size_t before = result_.instructions.size();
  if (network_ != nullptr && !parts.empty()) {
    // Time that the call itself costs on a timed network: a remote one when any of its messages leaves the node.
    const std::size_t list = result_.call_messages.size();
    if (options_.as_tasks) result_.call_messages.push_back(0);
    bool is_remote = false;
    for (const CompiledPart& part : parts) {
      // Collectives, and messages that nobody completes, count as remote.
      is_remote = part.IsCollective() || !part.IsMatched() || (flags.sender[part.number] & kRemote) != 0;
      if (is_remote) break;
      if (options_.as_tasks && (flags.sender[part.number] & kSent) != 0) {
        result_.call_messages.push_back(part.number);
        ++result_.call_messages[list];
      }
    }
    if (options_.as_tasks) {
      overhead_ = is_remote ? CallOverhead::kRemote : CallOverhead::kByMessages;
      if (is_remote) result_.call_messages.resize(list);
    } else {
      compute_ += ToTicks(ticks_per_second_, (is_remote ? network_->remote : network_->local).overhead);
    }
  }
  for (const CompiledPart& part : parts) Post(flags, part);
  for (const std::uint32_t operation : of_all) Emit(Step::kArrive, operation);
  for (const CompiledPart& part : parts) Complete(flags, part);
  for (const std::uint32_t operation : of_all) Emit(Step::kWaitForAll, operation);
  if (!options_.keep_calls && !options_.as_tasks) return;
  if (result_.instructions.size() == before) Emit(Step::kNothing, 0);
  result_.instructions.back().ends_call = true;
}

// Others may wait for what the record posts.
void CallCompiler::Post(const MessageFlags& flags, const CompiledPart& part) {
  if (!part.posts || !part.IsMatched()) return;
  const bool sends = part.type == OperationClass::kSend;
  if (part.IsCollective()) {
    const bool in_order = WaitIn(part, options_.rules.set) == Step::kWaitForLower;
    Emit(in_order ? Step::kArriveInOrder : part.is_root ? Step::kArriveAsRoot : Step::kArrive, part.number);
    return;
  }
  // On a timed network a rendezvous message starts when its send and its receive are posted. On the ideal one the later
  // of the two never waits, so nobody needs to know both times.
  const std::uint32_t message = part.number;
  constexpr std::uint8_t kBoth = kSent | kRendezvous;
  if (network_ != nullptr && (flags.sender[message] & kBoth) == kBoth &&
      (flags.receiver[message] & kReceivePosted) != 0) {
    Emit(sends ? Step::kSendRendezvous : Step::kReceiveRendezvous, message);
  } else if (sends ? (flags.receiver[message] & kReceiverWaits) != 0 : (flags.sender[message] & kSenderWaits) != 0) {
    Emit(sends ? Step::kSend : Step::kReceive, message);
  }
}

// The record waits for what it completes.
void CallCompiler::Complete(const MessageFlags& flags, const CompiledPart& part) {
  if (!part.completes || !part.IsMatched()) return;
  if (part.IsCollective()) {
    const Step wait = WaitIn(part, options_.rules.set);
    if (wait != Step::kNothing) Emit(wait, part.number);
  } else if (part.type == OperationClass::kReceive) {
    if ((flags.sender[part.number] & kSent) != 0) Emit(Step::kWaitForSend, part.number);
  } else if ((part.posts || options_.rules.SendCompletionWaits()) && (flags.sender[part.number] & kSenderWaits) != 0 &&
             (flags.receiver[part.number] & kReceivePosted) != 0) {
    Emit(Step::kWaitForReceive, part.number);
  }
}

void CallCompiler::Emit(Step step, std::uint32_t target) {
  result_.instructions.push_back(
      {std::exchange(compute_, 0), target, step, false, std::exchange(overhead_, CallOverhead::kNone)});
}

RankProgram CallCompiler::Finish() {
  result_.compute_after = compute_;
  return std::move(result_);
}

Program Compile(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  const MessageFlags flags = FlagMessages(trace, matching, cut, options);
  Program program;
  program.ranks.resize(trace.size());
  program.messages = matching.messages;
  program.nodes = trace.nodes.size();
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (cut.ranks[rank].present) program.ranks[rank] = CompileRank(trace, matching, cut, options, flags, rank);
  });
  program.arrivals.assign(matching.collectives.size(), 0);
  program.root_arrives.assign(matching.collectives.size(), false);
  for (const RankCut& rank : cut.ranks) {
    if (rank.present) program.calls += rank.window.end.call - rank.window.begin.call;
  }
  CountArrivals(program);
  OrderScans(trace, matching, program);
  std::uint64_t messages = 0, collectives = 0;  // that the phase cuts
  for (std::uint32_t message = 0; message < matching.matched; ++message) {
    const bool sent = (flags.sender[message] & kSent) != 0;
    const bool received = (flags.receiver[message] & kReceivePosted) != 0;
    messages += sent != received;
  }
  for (std::size_t i = 0; i < program.arrivals.size(); ++i) {
    collectives += program.arrivals[i] > 0 && program.arrivals[i] < matching.collectives[i].participants;
  }
  program.diagnostics.Add(anomaly::kMessageCutAtEdge, messages, "in phase " + cut.spec.name);
  program.diagnostics.Add(anomaly::kCollectiveCutAtEdge, collectives, "in phase " + cut.spec.name);
  if (options.as_tasks) {
    AddTaskSizes(trace, matching, cut, flags, program);
  } else if (const Network* network = TimedNetwork(options.network)) {
    AddDelays(trace, matching, cut, *network, program);
  }
  return program;
}

std::string DescribeInstruction(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                const ReplayOptions& options, std::size_t rank, std::size_t instruction) {
  // Compiled so that every call has an instruction, without which it has none where nothing is to be done.
  ReplayOptions with_calls = options;
  with_calls.keep_calls = true;
  const MessageFlags flags = FlagMessages(trace, matching, cut, options);
  const std::vector<Instruction> all = CompileRank(trace, matching, cut, with_calls, flags, rank).instructions;
  std::size_t call = cut.ranks[rank].window.begin.call, place = 0;
  for (std::size_t before = 0; place + 1 < all.size(); ++place) {
    before += options.keep_calls || options.as_tasks || all[place].step != Step::kNothing;
    if (before > instruction) break;
    call += all[place].ends_call;
  }
  const auto [compute, target, step, ends_call, overhead] = all[place];
  const RankTimeline& timeline = trace.timelines[rank];
  const std::string text = fmt::format("rank {} in {} at {} for ", rank, trace.regions[timeline.region(call)].name,
                                       FormatSeconds(trace.Seconds(timeline.enter(call) - trace.begin())));
  if (step == Step::kWaitForReceive) return text + "its receiver";
  Posts posts = PostsBefore(timeline, timeline.first_record(call));
  for (std::size_t record = timeline.first_record(call); record < timeline.first_record(call + 1); ++record) {
    const RecordPart part = NextPart(timeline, matching.ranks[rank], record, posts);
    if (part.number != target || !part.completes || part.IsCollective() != (step != Step::kWaitForSend)) continue;
    if (part.IsCollective()) {
      const CollectiveType& type = timeline.collective_types()[timeline.record_target(record)];
      return text + fmt::format("a {} on {}", ToString(type.kind), trace.communicators[type.communicator].name);
    }
    if (part.type == OperationClass::kSend) continue;
    const Endpoint& from = timeline.endpoints()[timeline.record_target(record)];
    return text + fmt::format("a message from rank {} with tag {}", from.peer, from.tag);
  }
  return text + "all ranks";
}

}  // namespace farscale
