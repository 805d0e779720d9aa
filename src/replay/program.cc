#include "replay/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/call_compiler.h"

namespace farscale {
namespace {

// Everything about one rank's part of the phase.
struct RankView {
  const Trace& trace;
  const RankTimeline& timeline;
  const RankMatching& matching;
  const RankCut& cut;
  const ReplayRules& rules;
  const Network* network;           // nothing: the ideal one
  const std::vector<Tick>* bursts;  // nothing: as measured
  bool as_tasks = false;

  std::size_t first_record() const { return timeline.first_record(cut.window.begin.call); }
  std::size_t end_record() const { return timeline.first_record(cut.window.end.call); }
  MpiCall CallKind(std::size_t call) const { return trace.regions[timeline.region(call)].call; }
  std::int32_t Node() const { return NodeOf(static_cast<std::int32_t>(&timeline - trace.timelines.data())); }
  std::int32_t NodeOf(std::int32_t rank) const { return trace.ranks[static_cast<std::size_t>(rank)].node; }
};

std::uint8_t FlagsOf(const RankView& view, std::size_t call, std::size_t index, bool completes) {
  if (view.network == nullptr && !completes && !view.rules.SendCompletionWaits()) return kSent;  // whatever its size
  const RankTimeline::Record record = view.timeline.record(index);
  const bool is_remote = view.network != nullptr && !view.as_tasks &&
                         view.NodeOf(view.timeline.endpoints()[record.target].peer) != view.Node();
  return SenderFlags(view.rules, view.network, view.as_tasks,
                     {view.CallKind(call), record.bytes, is_remote, completes});
}

void FlagMessages(const RankView& view, const Posts& posts, MessageFlags& flags) {
  const Interval& window = view.cut.window;
  ForEachRecord(view.timeline, view.matching, window.begin.call, window.end.call, posts,
                [&](std::size_t call, std::size_t record, const RecordPart& part) {
                  if (part.IsCollective() || !part.IsMatched()) return;
                  if (part.type == OperationClass::kSend) {
                    if (part.posts) flags.sender[part.number] = FlagsOf(view, call, record, part.completes);
                    return;
                  }
                  if (part.posts) flags.receiver[part.number] |= kReceivePosted;
                  if (part.completes) flags.receiver[part.number] |= kReceiverWaits;
                });
}

// Compiles the calls of one rank; calls sink(instruction, call, record) for every instruction, with record npos for
// steps that no record says.
template <typename Sink>
class RankCompiler {
 public:
  static constexpr std::size_t kNoRecord = std::numeric_limits<std::size_t>::max();

  RankCompiler(const RankView& view, const MessageFlags& flags, bool every_call, Posts posts, Sink& sink)
      : view_(view),
        posts_(posts),
        place_{sink},
        compiler_({view.rules, view.network, view.trace.ticks_per_second, view.as_tasks, every_call}, flags, place_) {}

  // Returns the computation after the last call.
  Tick Run() {
    const Interval& window = view_.cut.window;
    left_ = window.begin.tick;
    std::size_t record = view_.first_record();
    for (place_.call = window.begin.call; place_.call < window.end.call; ++place_.call) {
      Compute(std::max(view_.timeline.enter(place_.call), window.begin.tick));
      left_ = view_.timeline.leave(place_.call);
      const std::size_t end = view_.timeline.first_record(place_.call + 1);
      CompileCall(record, end);
      record = end;
    }
    Compute(window.end.tick);
    return compiler_.compute_after();
  }

  std::vector<std::uint32_t> TakeCallMessages() { return compiler_.TakeCallMessages(); }

 private:
  // Where the instructions come from.
  struct Place {
    Sink& sink;
    std::size_t call = 0;
    std::size_t first_record = 0;

    void operator()(const Instruction& instruction, std::size_t part) {
      sink(instruction, call, part == CallCompiler<Place>::kNoPart ? kNoRecord : first_record + part);
    }
    void EndCall() { sink.EndCall(); }
  };

  // The computation since the call before, until that at `place_.call` or the end of the window.
  void Compute(Tick until) {
    if (view_.bursts != nullptr) {
      compiler_.Compute(place_.call < view_.cut.window.end.call ? (*view_.bursts)[place_.call] : view_.bursts->back());
      return;
    }
    if (view_.as_tasks) EndIterations();
    compiler_.Compute(std::max<Tick>(0, until - left_));
  }

  // Ends iterations that end before the call at `place_.call`. The last ends with the window.
  void EndIterations() {
    const std::vector<Interval>& iterations = view_.cut.iterations;
    while (iteration_ + 1 < iterations.size() && iterations[iteration_].end.call <= place_.call) {
      const Tick end = std::max(left_, iterations[iteration_].end.tick);
      compiler_.Compute(end - left_);
      left_ = end;
      compiler_.EndIteration(static_cast<std::uint32_t>(iteration_++));
    }
  }

  void CompileCall(std::size_t first, std::size_t end) {
    place_.first_record = first;
    parts_.clear();
    for (std::size_t record = first; record < end; ++record) {
      parts_.push_back({NextPart(view_.timeline, view_.matching, record, posts_)});
      if (parts_.back().IsCollective() && parts_.back().IsMatched()) AddType(parts_.back());
    }
    std::array<std::uint32_t, 2> of_all{};
    std::size_t count = 0;
    if (view_.matching.init != kNoCollective && place_.call == view_.matching.init_call)
      of_all[count++] = view_.matching.init;
    if (view_.matching.finalize != kNoCollective && place_.call == view_.matching.finalize_call &&
        view_.rules.FinalizeSynchronises())
      of_all[count++] = view_.matching.finalize;
    compiler_.Call(parts_, std::span(of_all).first(count));
  }

  void AddType(CompiledPart& part) const {
    const CollectiveType& type = view_.timeline.collective_types()[view_.matching.collective_types[part.ordinal]];
    part.collective = type.kind;
    part.has_root = type.root != kNoRoot;
    part.is_root = part.has_root && &view_.timeline == &view_.trace.timelines[static_cast<std::size_t>(type.root)];
  }

  const RankView& view_;
  Posts posts_;
  Place place_;
  CallCompiler<Place> compiler_;
  std::vector<CompiledPart> parts_;  // the call has
  Tick left_ = 0;                    // when the last call was, as measured
  std::size_t iteration_ = 0;
};

struct AppendInstruction {
  std::vector<Instruction>& instructions;

  void operator()(const Instruction& instruction, std::size_t, std::size_t) { instructions.push_back(instruction); }
  void EndCall() { instructions.back().ends_call = true; }
};

// Remembers which call and record the wanted instruction came from.
struct Find {
  std::size_t wanted = 0;
  std::size_t seen = 0;
  std::size_t call = 0, record = 0;

  void operator()(const Instruction&, std::size_t at_call, std::size_t at_record) {
    if (seen++ != wanted) return;
    call = at_call;
    record = at_record;
  }
  void EndCall() {}
};

RankView ViewOf(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options,
                std::size_t rank) {
  return {trace,
          trace.timelines[rank],
          matching.ranks[rank],
          cut.ranks[rank],
          options.rules,
          options.TimedNetwork(),
          options.bursts != nullptr ? &(*options.bursts)[rank] : nullptr,
          options.as_tasks};
}

// The rules for messages of tasks.
void AddTaskRules(const MessageFlags& flags, Program& program) {
  for (std::size_t i = 0; i < program.task_messages.size(); ++i) {
    TaskMessage& message = program.task_messages[i];
    message.is_sent = (flags.sender[i] & kSent) != 0;
    message.is_awaited = (flags.receiver[i] & kReceiverWaits) != 0;
    message.may_rendezvous = (flags.sender[i] & kRendezvous) != 0;
    message.always_waits = (flags.sender[i] & kAnySize) != 0;
  }
}

struct PhaseFlags {
  std::vector<Posts> posts;  // one a rank, before its window
  MessageFlags messages;
};

PhaseFlags FlagPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  PhaseFlags flags;
  flags.posts.resize(trace.size());
  flags.messages.sender.resize(matching.messages);
  flags.messages.receiver.resize(matching.messages);
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const RankView view = ViewOf(trace, matching, cut, options, rank);
    flags.posts[rank] = PostsBefore(view.timeline, view.first_record());
    FlagMessages(view, flags.posts[rank], flags.messages);
  });
  return flags;
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

void CountCuts(const Matching& matching, const MessageFlags& flags, const std::string& phase, Program& program) {
  std::uint64_t messages = 0, collectives = 0;
  for (std::uint32_t message = 0; message < matching.matched; ++message) {
    const bool sent = (flags.sender[message] & kSent) != 0;
    const bool received = (flags.receiver[message] & kReceivePosted) != 0;
    messages += sent != received;
  }
  for (std::size_t i = 0; i < program.arrivals.size(); ++i) {
    collectives += program.arrivals[i] > 0 && program.arrivals[i] < matching.collectives[i].participants;
  }
  program.diagnostics.Add(anomaly::kMessageCutAtEdge, messages, "in phase " + phase);
  program.diagnostics.Add(anomaly::kCollectiveCutAtEdge, collectives, "in phase " + phase);
}

// The ranks of a program, and how they arrive at collectives.
Program CompileRanks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options,
                     const PhaseFlags& flags) {
  Program program;
  program.ranks.resize(trace.size());
  program.messages = matching.messages;
  program.nodes = trace.nodes.size();
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const RankView view = ViewOf(trace, matching, cut, options, rank);
    RankProgram& result = program.ranks[rank];
    result.begin = view.cut.window.begin.tick - cut.begin();
    result.instructions.reserve(view.end_record() - view.first_record());
    AppendInstruction append{result.instructions};
    RankCompiler<AppendInstruction> compiler(view, flags.messages, options.keep_calls || options.as_tasks,
                                             flags.posts[rank], append);
    result.compute_after = compiler.Run();
    result.call_messages = compiler.TakeCallMessages();
  });
  program.arrivals.assign(matching.collectives.size(), 0);
  program.root_arrives.assign(matching.collectives.size(), false);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (cut.ranks[rank].present) {
      program.calls += cut.ranks[rank].window.end.call - cut.ranks[rank].window.begin.call;
    }
  }
  CountArrivals(program);
  return program;
}

}  // namespace

std::uint8_t SenderFlags(const ReplayRules& rules, const Network* network, bool as_tasks, const SentMessage& message) {
  const bool may_wait = message.completes || rules.SendCompletionWaits();
  if (network == nullptr && !may_wait) return kSent;
  std::uint64_t limit = rules.Limit();
  bool starts_at_receive = false;                           // and when it is sent, whichever is later
  const bool is_anywhere = as_tasks && network != nullptr;  // wherever its task lies
  if (is_anywhere) {
    limit = std::min(network->local.eager_limit, network->remote.eager_limit);
  } else if (network != nullptr) {
    const Link& link = message.is_remote ? network->remote : network->local;
    limit = link.eager_limit;
    starts_at_receive = link.starts_at_receive;
  }
  const bool is_rendezvous = rules.IsRendezvous(message.call, message.bytes, limit);
  std::uint8_t flags = kSent;
  if (is_rendezvous || starts_at_receive) flags |= kRendezvous;
  if (is_rendezvous && may_wait) flags |= kSenderWaits;
  if (message.is_remote) flags |= kRemote;
  if (is_anywhere && rules.IsRendezvous(message.call, 0, 1)) flags |= kAnySize;
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

Program Compile(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  const PhaseFlags flags = FlagPhase(trace, matching, cut, options);
  Program program = CompileRanks(trace, matching, cut, options, flags);
  OrderScans(trace, matching, program);
  CountCuts(matching, flags.messages, cut.spec.name, program);
  if (options.as_tasks) {
    AddTaskSizes(trace, matching, cut, program);
    AddTaskRules(flags.messages, program);
  } else if (const Network* network = options.TimedNetwork()) {
    AddDelays(trace, matching, cut, *network, program);
  }
  return program;
}

std::string DescribeInstruction(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                const ReplayOptions& options, std::size_t rank, std::size_t instruction) {
  const PhaseFlags flags = FlagPhase(trace, matching, cut, options);
  const RankView view = ViewOf(trace, matching, cut, options, rank);
  Find find{instruction};
  RankCompiler<Find>(view, flags.messages, options.keep_calls || options.as_tasks, flags.posts[rank], find).Run();
  const RankTimeline& timeline = view.timeline;
  std::string text = fmt::format("rank {} in {} at {}", rank, trace.regions[timeline.region(find.call)].name,
                                 FormatSeconds(trace.Seconds(timeline.enter(find.call) - trace.begin())));
  if (find.record == RankCompiler<Find>::kNoRecord) return text + " for all ranks";
  const RankTimeline::Record record = timeline.record(find.record);
  switch (record.kind) {
    case RecordKind::kReceive:
    case RecordKind::kReceiveComplete: {
      const Endpoint& from = timeline.endpoints()[record.target];
      return text + fmt::format(" for a message from rank {} with tag {}", from.peer, from.tag);
    }
    case RecordKind::kCollective:
    case RecordKind::kCollectiveComplete: {
      const CollectiveType& type = timeline.collective_types()[record.target];
      return text + fmt::format(" for a {} on {}", ToString(type.kind), trace.communicators[type.communicator].name);
    }
    default: return text + " for its receiver";
  }
}

}  // namespace farscale
