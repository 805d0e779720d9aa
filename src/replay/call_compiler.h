// Turns the calls of one rank into instructions, wherever these calls come from. The rules of the replay are applied
// here and nowhere else.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "replay/matching.h"
#include "replay/program.h"
#include "replay/network.h"

namespace farscale {

// The fate of a message inside the windows. Its sender writes the first table, its receiver the second, so that
// ranks can be compiled in parallel.
enum : std::uint8_t {
  kSent = 1,
  kSenderWaits = 2,
  kRendezvous = 4,
  kRemote = 8,
  kAnySize = 16
};                                                               // the sender writes these
enum : std::uint8_t { kReceivePosted = 1, kReceiverWaits = 2 };  // the receiver

struct MessageFlags {
  std::vector<std::uint8_t> sender, receiver;
};

// The flags of a sender follow from this.
struct SentMessage {
  MpiCall call = MpiCall::kNone;  // that posts it
  std::uint64_t bytes = 0;
  bool is_remote = false;
  bool completes = false;  // within the call that posts it
};

// `network`: nothing for the ideal one.
std::uint8_t SenderFlags(const ReplayRules& rules, const Network* network, bool as_tasks, const SentMessage& message);

// A record of a call, with what it tells of its collective operation.
struct CompiledPart : RecordPart {
  CollectiveKind collective = CollectiveKind::kBarrier;
  bool has_root = false, is_root = false;
};

// Calls sink(instruction, part) for every instruction, with the index of its part or kNoPart, and sink.EndCall() after
// those of a call.
template <typename Sink>
class CallCompiler {
 public:
  static constexpr std::size_t kNoPart = std::numeric_limits<std::size_t>::max();

  struct Options {
    const ReplayRules& rules;
    const Network* network = nullptr;  // nothing: the ideal one
    double ticks_per_second = 1e9;
    bool as_tasks = false;
    bool every_call = false;  // also those that do nothing in the replay
  };

  CallCompiler(const Options& options, const MessageFlags& flags, Sink& sink)
      : options_(options), flags_(flags), sink_(sink) {}

  void Compute(Tick ticks) { compute_ += ticks; }
  void EndIteration(std::uint32_t number) { Emit(Step::kIterationEnd, number, kNoPart); }

  // `of_all`: operations of all ranks that no part tells of.
  void Call(std::span<const CompiledPart> parts, std::span<const std::uint32_t> of_all) {
    const std::size_t emitted = emitted_;
    if (options_.network != nullptr && !parts.empty()) AddOverhead(parts);
    for (std::size_t i = 0; i < parts.size(); ++i) Post(parts[i], i);
    for (const std::uint32_t operation : of_all) Emit(Step::kArrive, operation, kNoPart);
    for (std::size_t i = 0; i < parts.size(); ++i) Complete(parts[i], i);
    for (const std::uint32_t operation : of_all) Emit(Step::kWaitForAll, operation, kNoPart);
    if (!options_.every_call) return;
    if (emitted_ == emitted) Emit(Step::kNothing, 0, kNoPart);
    sink_.EndCall();
  }

  // The computation after the last call.
  Tick compute_after() const { return compute_; }
  std::vector<std::uint32_t> TakeCallMessages() { return std::move(call_messages_); }

 private:
  // Time that the call itself costs on a timed network: a remote one when any of its messages leaves the node.
  void AddOverhead(std::span<const CompiledPart> parts) {
    const std::size_t list = call_messages_.size();
    if (options_.as_tasks) call_messages_.push_back(0);
    bool is_remote = false;
    for (const CompiledPart& part : parts) {
      // Collectives, and messages that nobody completes, count as remote.
      is_remote = part.IsCollective() || !part.IsMatched() || (flags_.sender[part.number] & kRemote) != 0;
      if (is_remote) break;
      if (options_.as_tasks && (flags_.sender[part.number] & kSent) != 0) {
        call_messages_.push_back(part.number);
        ++call_messages_[list];
      }
    }
    if (!options_.as_tasks) {
      const Link& link = is_remote ? options_.network->remote : options_.network->local;
      compute_ += ToTicks(options_.ticks_per_second, link.overhead);
      return;
    }
    overhead_ = is_remote ? CallOverhead::kRemote : CallOverhead::kByMessages;
    if (is_remote) call_messages_.resize(list);
  }

  // Others may wait for what the record posts.
  void Post(const CompiledPart& part, std::size_t index) {
    if (!part.posts || !part.IsMatched()) return;
    if (part.IsCollective()) return Arrive(part, index);
    const bool sends = part.type == OperationClass::kSend;
    if (StartsTogether(part.number)) {
      Emit(sends ? Step::kSendRendezvous : Step::kReceiveRendezvous, part.number, index);
    } else if (sends ? (flags_.receiver[part.number] & kReceiverWaits) != 0
                     : (flags_.sender[part.number] & kSenderWaits) != 0) {
      Emit(sends ? Step::kSend : Step::kReceive, part.number, index);
    }
  }

  // On a timed network a rendezvous message starts when its send and its receive are posted. On the ideal one the later
  // of the two never waits, so nobody needs to know both times.
  bool StartsTogether(std::uint32_t message) const {
    constexpr std::uint8_t kBoth = kSent | kRendezvous;
    return options_.network != nullptr && (flags_.sender[message] & kBoth) == kBoth &&
           (flags_.receiver[message] & kReceivePosted) != 0;
  }

  CollectiveWait WaitIn(const CompiledPart& part) const {
    return WaitOf(part.collective, part.has_root, part.is_root, options_.rules.set);
  }

  void Arrive(const CompiledPart& part, std::size_t index) {
    const Step step = WaitIn(part) == CollectiveWait::kLower ? Step::kArriveInOrder
                      : part.is_root                         ? Step::kArriveAsRoot
                                                             : Step::kArrive;
    Emit(step, part.number, index);
  }

  // The record waits for what it completes.
  void Complete(const CompiledPart& part, std::size_t index) {
    if (!part.completes || !part.IsMatched()) return;
    if (part.IsCollective()) return WaitForCollective(part, index);
    if (part.type == OperationClass::kReceive) {
      if ((flags_.sender[part.number] & kSent) != 0) Emit(Step::kWaitForSend, part.number, index);
      return;
    }
    const bool waits = (part.posts || options_.rules.SendCompletionWaits()) &&
                       (flags_.sender[part.number] & kSenderWaits) != 0 &&
                       (flags_.receiver[part.number] & kReceivePosted) != 0;
    if (waits) Emit(Step::kWaitForReceive, part.number, index);
  }

  void WaitForCollective(const CompiledPart& part, std::size_t index) {
    switch (WaitIn(part)) {
      case CollectiveWait::kNothing: break;
      case CollectiveWait::kRoot: Emit(Step::kWaitForRoot, part.number, index); break;
      case CollectiveWait::kLower: Emit(Step::kWaitForLower, part.number, index); break;
      case CollectiveWait::kAll: Emit(Step::kWaitForAll, part.number, index); break;
    }
  }

  void Emit(Step step, std::uint32_t target, std::size_t part) {
    sink_(Instruction{std::exchange(compute_, 0), target, step, false, std::exchange(overhead_, CallOverhead::kNone)},
          part);
    ++emitted_;
  }

  const Options options_;
  const MessageFlags& flags_;
  Sink& sink_;
  Tick compute_ = 0;                             // before the next instruction
  CallOverhead overhead_ = CallOverhead::kNone;  // for the call whose first instruction comes next
  std::vector<std::uint32_t> call_messages_;     // as in RankProgram
  std::size_t emitted_ = 0;
};

// Fills Program::arrivals, root_arrives and scan_ranks, which have a place for every collective operation, from the
// instructions of all ranks.
void CountArrivals(Program& program);

}  // namespace farscale
