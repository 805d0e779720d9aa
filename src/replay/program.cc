#include "replay/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/parallel.h"
#include "replay/anomalies.h"
#include "replay/operations.h"

namespace farscale {
namespace {

// What happens to a message inside the windows. Its sender writes the first table, its receiver the second, so that
// ranks can be compiled in parallel.
enum : std::uint8_t { kSent = 1, kSenderWaits = 2, kRendezvous = 4, kRemote = 8, kAnySize = 16 };  // by the sender
enum : std::uint8_t { kReceivePosted = 1, kReceiverWaits = 2 };                                    // by the receiver

struct MessageFlags {
  std::vector<std::uint8_t> sender, receiver;
};

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

// What the sender knows of a message on a timed network.
struct Sending {
  bool is_remote = false;
  bool rendezvous = false;
  bool any_size = false;           // whatever the limit
  bool starts_at_receive = false;  // and when it is sent, whichever is later
};

Sending SendingOf(const RankView& view, MpiCall call, const RankTimeline::Record& record) {
  if (view.network == nullptr) return {false, view.rules.IsRendezvous(call, record.bytes)};
  if (view.as_tasks) {
    const std::uint64_t limit = std::min(view.network->local.eager_limit, view.network->remote.eager_limit);
    return {false, view.rules.IsRendezvous(call, record.bytes, limit), view.rules.IsRendezvous(call, 0, 1)};
  }
  const bool is_remote = view.NodeOf(view.timeline.endpoints()[record.target].peer) != view.Node();
  const Link& link = is_remote ? view.network->remote : view.network->local;
  return {is_remote, view.rules.IsRendezvous(call, record.bytes, link.eager_limit), false, link.starts_at_receive};
}

std::uint8_t SenderFlags(const RankView& view, std::size_t call, std::size_t record, bool completes) {
  const bool may_wait = completes || view.rules.SendCompletionWaits();
  if (view.network == nullptr && !may_wait) return kSent;
  const Sending sending = SendingOf(view, view.CallKind(call), view.timeline.record(record));
  std::uint8_t flags = kSent;
  if (sending.rendezvous || sending.starts_at_receive) flags |= kRendezvous;
  if (sending.rendezvous && may_wait) flags |= kSenderWaits;
  if (sending.is_remote) flags |= kRemote;
  if (sending.any_size) flags |= kAnySize;
  return flags;
}

void FlagMessages(const RankView& view, const Posts& posts, MessageFlags& flags) {
  const Interval& window = view.cut.window;
  ForEachRecord(view.timeline, view.matching, window.begin.call, window.end.call, posts,
                [&](std::size_t call, std::size_t record, const RecordPart& part) {
                  if (part.IsCollective() || !part.IsMatched()) return;
                  if (part.type == OperationClass::kSend) {
                    if (part.posts) flags.sender[part.number] = SenderFlags(view, call, record, part.completes);
                    return;
                  }
                  if (part.posts) flags.receiver[part.number] |= kReceivePosted;
                  if (part.completes) flags.receiver[part.number] |= kReceiverWaits;
                });
}

// Turns the calls of one rank into instructions; calls sink(instruction, call, record) for each, with record npos for
// steps that no record says.
template <typename Sink>
class RankCompiler {
 public:
  static constexpr std::size_t kNoRecord = std::numeric_limits<std::size_t>::max();

  RankCompiler(const RankView& view, const MessageFlags& flags, bool every_call, Posts posts, Sink& sink)
      : view_(view), flags_(flags), every_call_(every_call), posts_(posts), sink_(sink) {}

  // Returns the computation after the last call.
  Tick Run() {
    const Interval& window = view_.cut.window;
    left_ = window.begin.tick;
    std::size_t record = view_.first_record();
    for (call_ = window.begin.call; call_ < window.end.call; ++call_) {
      Compute(std::max(view_.timeline.enter(call_), window.begin.tick));
      left_ = view_.timeline.leave(call_);
      const std::size_t end = view_.timeline.first_record(call_ + 1);
      CompileCall(record, end);
      record = end;
    }
    Compute(window.end.tick);
    return compute_;
  }

  std::vector<std::uint32_t> TakeCallMessages() { return std::move(call_messages_); }

 private:
  // The computation since the call before, until that at `call_` or the end of the window.
  void Compute(Tick until) {
    if (view_.bursts != nullptr) {
      compute_ += call_ < view_.cut.window.end.call ? (*view_.bursts)[call_] : view_.bursts->back();
      return;
    }
    if (view_.as_tasks) EndIterations();
    compute_ += std::max<Tick>(0, until - left_);
  }

  // Of iterations that end before the call at `call_`. The last ends with the window.
  void EndIterations() {
    const std::vector<Interval>& iterations = view_.cut.iterations;
    while (iteration_ + 1 < iterations.size() && iterations[iteration_].end.call <= call_) {
      const Tick end = std::max(left_, iterations[iteration_].end.tick);
      compute_ += end - left_;
      left_ = end;
      Emit(Step::kIterationEnd, static_cast<std::uint32_t>(iteration_++), kNoRecord);
    }
  }

  void CompileCall(std::size_t first, std::size_t end) {
    const std::size_t emitted = emitted_;
    parts_.clear();
    for (std::size_t record = first; record < end; ++record) {
      parts_.push_back(NextPart(view_.timeline, view_.matching, record, posts_));
    }
    if (view_.network != nullptr && first < end) AddOverhead();
    for (std::size_t i = 0; i < parts_.size(); ++i) Post(parts_[i], first + i);
    const bool is_init = view_.matching.init != kNoCollective && call_ == view_.matching.init_call;
    const bool is_finalize = view_.matching.finalize != kNoCollective && call_ == view_.matching.finalize_call &&
                             view_.rules.FinalizeSynchronises();
    if (is_init) Emit(Step::kArrive, view_.matching.init, kNoRecord);
    if (is_finalize) Emit(Step::kArrive, view_.matching.finalize, kNoRecord);
    for (std::size_t i = 0; i < parts_.size(); ++i) Complete(parts_[i], first + i);
    if (is_init) Emit(Step::kWaitForAll, view_.matching.init, kNoRecord);
    if (is_finalize) Emit(Step::kWaitForAll, view_.matching.finalize, kNoRecord);
    if (!every_call_) return;
    if (emitted_ == emitted) Emit(Step::kNothing, 0, kNoRecord);
    sink_.EndCall();
  }

  // Time that the call itself costs on a timed network: a remote one when any of its messages leaves the node.
  void AddOverhead() {
    const std::size_t list = call_messages_.size();
    if (view_.as_tasks) call_messages_.push_back(0);
    bool is_remote = false;
    for (const RecordPart& part : parts_) {
      // Collectives, and messages that nobody completes, count as remote.
      is_remote = part.IsCollective() || !part.IsMatched() || (flags_.sender[part.number] & kRemote) != 0;
      if (is_remote) break;
      if (view_.as_tasks && (flags_.sender[part.number] & kSent) != 0) {
        call_messages_.push_back(part.number);
        ++call_messages_[list];
      }
    }
    if (!view_.as_tasks) {
      compute_ += ToTicks(view_.trace, (is_remote ? view_.network->remote : view_.network->local).overhead);
      return;
    }
    overhead_ = is_remote ? CallOverhead::kRemote : CallOverhead::kByMessages;
    if (is_remote) call_messages_.resize(list);
  }

  // What the record posts, others may wait for.
  void Post(const RecordPart& part, std::size_t record) {
    if (!part.posts || !part.IsMatched()) return;
    if (part.IsCollective()) return Arrive(part, record);
    const bool sends = part.type == OperationClass::kSend;
    if (StartsTogether(part.number)) {
      Emit(sends ? Step::kSendRendezvous : Step::kReceiveRendezvous, part.number, record);
    } else if (sends ? (flags_.receiver[part.number] & kReceiverWaits) != 0
                     : (flags_.sender[part.number] & kSenderWaits) != 0) {
      Emit(sends ? Step::kSend : Step::kReceive, part.number, record);
    }
  }

  // On a timed network a rendezvous message starts when its send and its receive are posted. On the ideal one the later
  // of the two never waits, so nobody needs to know both times.
  bool StartsTogether(std::uint32_t message) const {
    constexpr std::uint8_t kBoth = kSent | kRendezvous;
    return view_.network != nullptr && (flags_.sender[message] & kBoth) == kBoth &&
           (flags_.receiver[message] & kReceivePosted) != 0;
  }

  void Arrive(const RecordPart& part, std::size_t record) {
    const CollectiveType& type = TypeOf(part.ordinal);
    const bool is_root = IsRoot(type);
    const CollectiveWait wait = WaitOf(type.kind, type.root != kNoRoot, is_root, view_.rules.set);
    const Step step = wait == CollectiveWait::kLower ? Step::kArriveInOrder
                      : is_root                      ? Step::kArriveAsRoot
                                                     : Step::kArrive;
    Emit(step, part.number, record);
  }

  // What the record completes, it waits for.
  void Complete(const RecordPart& part, std::size_t record) {
    if (!part.completes || !part.IsMatched()) return;
    if (part.IsCollective()) return WaitForCollective(part, record);
    if (part.type == OperationClass::kReceive) {
      if ((flags_.sender[part.number] & kSent) != 0) Emit(Step::kWaitForSend, part.number, record);
      return;
    }
    const bool waits = (part.posts || view_.rules.SendCompletionWaits()) &&
                       (flags_.sender[part.number] & kSenderWaits) != 0 &&
                       (flags_.receiver[part.number] & kReceivePosted) != 0;
    if (waits) Emit(Step::kWaitForReceive, part.number, record);
  }

  void WaitForCollective(const RecordPart& part, std::size_t record) {
    const CollectiveType& type = TypeOf(part.ordinal);
    switch (WaitOf(type.kind, type.root != kNoRoot, IsRoot(type), view_.rules.set)) {
      case CollectiveWait::kNothing: break;
      case CollectiveWait::kRoot: Emit(Step::kWaitForRoot, part.number, record); break;
      case CollectiveWait::kLower: Emit(Step::kWaitForLower, part.number, record); break;
      case CollectiveWait::kAll: Emit(Step::kWaitForAll, part.number, record); break;
    }
  }

  const CollectiveType& TypeOf(std::size_t collective) const {
    return view_.timeline.collective_types()[view_.matching.collective_types[collective]];
  }

  bool IsRoot(const CollectiveType& type) const {
    return type.root != kNoRoot && &view_.timeline == &view_.trace.timelines[static_cast<std::size_t>(type.root)];
  }

  // An instruction is held back until it is known whether it ends its call.
  void Emit(Step step, std::uint32_t target, std::size_t record) {
    sink_(Instruction{std::exchange(compute_, 0), target, step, false, std::exchange(overhead_, CallOverhead::kNone)},
          call_, record);
    ++emitted_;
  }

  const RankView& view_;
  const MessageFlags& flags_;
  const bool every_call_;
  Posts posts_;
  std::vector<RecordPart> parts_;  // of the call
  Sink& sink_;
  Tick compute_ = 0;
  Tick left_ = 0;  // when the last call was, as measured
  std::size_t iteration_ = 0;
  CallOverhead overhead_ = CallOverhead::kNone;  // of the call whose first instruction comes next
  std::vector<std::uint32_t> call_messages_;     // as in RankProgram
  std::size_t call_ = 0;
  std::size_t emitted_ = 0;
};

struct Append {
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

struct PhaseFlags {
  std::vector<Posts> posts;  // of every rank, before its window
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

void CountArrivals(std::uint32_t rank, Program& program) {
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

// What the rules say of the messages of tasks.
void AddTaskRules(const MessageFlags& flags, Program& program) {
  for (std::size_t i = 0; i < program.task_messages.size(); ++i) {
    TaskMessage& message = program.task_messages[i];
    message.is_sent = (flags.sender[i] & kSent) != 0;
    message.is_awaited = (flags.receiver[i] & kReceiverWaits) != 0;
    message.may_rendezvous = (flags.sender[i] & kRendezvous) != 0;
    message.always_waits = (flags.sender[i] & kAnySize) != 0;
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

}  // namespace

Program Compile(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  const PhaseFlags flags = FlagPhase(trace, matching, cut, options);
  Program program;
  program.ranks.resize(trace.size());
  program.messages = matching.messages;
  const Tick origin = cut.begin();
  ParallelFor(trace.size(), [&](std::size_t rank) {
    if (!cut.ranks[rank].present) return;
    const RankView view = ViewOf(trace, matching, cut, options, rank);
    RankProgram& result = program.ranks[rank];
    result.begin = view.cut.window.begin.tick - origin;
    result.instructions.reserve(view.end_record() - view.first_record());
    Append append{result.instructions};
    RankCompiler<Append> compiler(view, flags.messages, options.keep_calls || options.as_tasks, flags.posts[rank],
                                  append);
    result.compute_after = compiler.Run();
    result.call_messages = compiler.TakeCallMessages();
  });
  program.arrivals.assign(matching.collectives.size(), 0);
  program.root_arrives.assign(matching.collectives.size(), false);
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    CountArrivals(static_cast<std::uint32_t>(rank), program);
    if (cut.ranks[rank].present) {
      program.calls += cut.ranks[rank].window.end.call - cut.ranks[rank].window.begin.call;
    }
  }
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
