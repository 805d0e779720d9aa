// Messages and collective operations of the engine of tasks.
#include <algorithm>
#include <set>

#include "balance/task_engine.h"
#include "replay/engine.h"

namespace farscale {

const Link& TaskEngine::LinkOf(std::uint32_t message) const {
  const TaskMessage& of = program_.task_messages[message];
  return NodeOf(of.from) == NodeOf(of.to) ? network_->local : network_->remote;
}

// Whether a message waits for its receiver depends on the link between its tasks when the first of them posts it.
TaskEngine::MessageMode TaskEngine::ModeOf(std::uint32_t message) {
  MessageMode& mode = modes_[message];
  if (mode != MessageMode::kUndecided) return mode;
  const TaskMessage& of = program_.task_messages[message];
  const bool waits = of.may_rendezvous && (of.always_waits || of.bytes >= LinkOf(message).eager_limit);
  return mode = waits ? MessageMode::kRendezvous : MessageMode::kEager;
}

// The later of the two sides starts a message that waits for its receiver.
void TaskEngine::PostSide(std::uint32_t message, Tick time, bool is_sender) {
  if (ModeOf(message) == MessageMode::kEager) {
    if (is_sender && program_.task_messages[message].is_awaited) Transfer(message, time);
    return;
  }
  Tick& first = first_posts_[message];
  if (first == kReleased) return;
  if (first == kUnknown) {
    first = time;
  } else {
    Transfer(message, std::max(first, time));
  }
}

// A message may start: where nodes limit their transfers it is queued, else its arrival is known.
void TaskEngine::Transfer(std::uint32_t message, Tick time) {
  const TaskMessage& of = program_.task_messages[message];
  ++result_.messages;
  result_.between_processors += ProcessorOf(of.from) != ProcessorOf(of.to);
  const bool is_remote = NodeOf(of.from) != NodeOf(of.to);
  result_.between_nodes += is_remote;
  if (network_ == nullptr) return Deliver(message, time);
  if (is_remote && network_->HasContention()) return Push(time, EventKind::kTransfer, message);
  const Link& link = LinkOf(message);
  Deliver(message, time + Ticks(link.latency + link.TransferSeconds(static_cast<double>(of.bytes))));
}

// The transfer is the next in line.
void TaskEngine::Serve(std::uint32_t message, Tick time) {
  const TaskMessage& of = program_.task_messages[message];
  const double seconds = network_->remote.TransferSeconds(static_cast<double>(of.bytes));
  TransferPlaces* out = sending_.empty() ? nullptr : &sending_[static_cast<std::size_t>(NodeOf(of.from))];
  TransferPlaces* in = receiving_.empty() ? nullptr : &receiving_[static_cast<std::size_t>(NodeOf(of.to))];
  Tick start = time;
  if (out != nullptr) start = std::max(start, out->NextFree());
  if (in != nullptr) start = std::max(start, in->NextFree());
  if (out != nullptr) out->TakeUntil(start + Ticks(seconds));
  if (in != nullptr) in->TakeUntil(start + Ticks(seconds));
  Deliver(message, start + Ticks(network_->remote.latency + seconds));
}

void TaskEngine::Deliver(std::uint32_t message, Tick time) {
  Notify(sent_[message], time);
  if (network_ != nullptr) Notify(received_[message], time);  // a sender that waits is free again
}

void TaskEngine::Arrive(std::uint32_t task, const Instruction& instruction, Tick time) {
  Collective& operation = collectives_[instruction.target];
  operation.latest = std::max(operation.latest, time);
  bool frees_some = false;  // for whom others need not have arrived
  if (instruction.step == Step::kArriveAsRoot) {
    operation.root = time;
    operation.root_missing = false;
    frees_some = true;
  } else if (instruction.step == Step::kArriveInOrder) {
    frees_some = scans_.Arrive(instruction.target, task, time);
  }
  if (--operation.missing > 0 && !frees_some) return;
  std::uint32_t waiter = std::exchange(operation.first_waiter, kNobody);
  while (waiter != kNobody) {
    const std::uint32_t next = states_[waiter].next_waiter;
    const Tick known = TimeFor(waiter, *states_[waiter].next);
    if (known >= 0) {
      Wake(waiter, known);
    } else {
      states_[waiter].next_waiter = std::exchange(operation.first_waiter, waiter);
    }
    waiter = next;
  }
}

// When the task may leave the operation; negative while that is unknown.
Tick TaskEngine::TimeFor(std::uint32_t task, const Instruction& instruction) {
  const Collective& operation = collectives_[instruction.target];
  Tick known = kUnknown;
  switch (instruction.step) {
    case Step::kWaitForRoot: known = operation.root_missing ? kUnknown : operation.root; break;
    case Step::kWaitForLower: known = scans_.TimeFor(instruction.target, task); break;
    default: known = operation.missing > 0 ? kUnknown : operation.latest; break;
  }
  return known < 0 ? kUnknown : known + DelayOf(instruction.target);
}

// By where the members of its communicator are when it is first needed.
Tick TaskEngine::DelayOf(std::uint32_t number) {
  Collective& operation = collectives_[number];
  if (operation.delay >= 0) return operation.delay;
  operation.delay = 0;
  const TaskCollective& of = program_.task_collectives[number];
  if (network_ == nullptr || of.tasks == 0) return 0;
  // Numbers go on where a phase is repeated.
  const std::vector<CollectiveOperation>& operations = tasks_.matching->collectives;
  const CollectiveOperation& type = operations[number % operations.size()];
  const Communicator& communicator = tasks_.trace->communicators[type.communicator];
  std::set<std::uint32_t> processors;
  std::set<std::int32_t> nodes;
  for (const std::vector<std::int32_t>* group : {&communicator.members, &communicator.remote}) {
    for (const std::int32_t member : *group) {
      processors.insert(ProcessorOf(static_cast<std::uint32_t>(member)));
      nodes.insert(NodeOf(static_cast<std::uint32_t>(member)));
    }
  }
  const std::size_t count = std::min<std::size_t>(of.tasks, processors.size());
  operation.delay = Ticks(CollectiveSeconds(*network_, type.kind, of.tasks, count, nodes.size() <= 1, of.bytes));
  return operation.delay;
}

// As in the plain replay: the trace proves that the program got on, so large sends that wait for each other did not
// wait in truth.
bool TaskEngine::ReleaseSenders() {
  const std::uint64_t before = result_.released;
  for (std::uint32_t task = 0; task < states_.size(); ++task) {
    const Task& state = states_[task];
    if (!state.waits || state.finished || state.next->step != Step::kWaitForReceive) continue;
    const std::uint32_t message = state.next->target;
    received_[message] = kUnknown;
    Wake(task, state.clock);
    if (network_ != nullptr) Transfer(message, std::exchange(first_posts_[message], kReleased));
    ++result_.released;
  }
  return result_.released > before;
}

}  // namespace farscale
