// Messages and collective operations of the engine of tasks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "balance/task_engine.h"

namespace farscale {

const Link& TaskEngine::LinkOf(std::uint32_t message) const {
  const TaskMessage& of = tasks_.program.task_messages[message];
  return NodeOf(of.from) == NodeOf(of.to) ? network_->local : network_->remote;
}

// A message waits for its receiver or not by the link between its tasks when the first of them posts it.
void TaskEngine::PostSide(std::uint32_t message, Tick time, bool is_sender) {
  std::optional<bool>& waits = waits_for_receiver_[message];
  const TaskMessage& of = tasks_.program.task_messages[message];
  if (!waits) waits = of.may_rendezvous && (of.always_waits || of.bytes >= LinkOf(message).eager_limit);
  if (!*waits) {
    if (is_sender && of.is_awaited) Transfer(message, time);
  } else if (const auto start = LaterSide(first_posts_[message], time)) {
    Transfer(message, *start);
  }
}

// A message may start: where nodes limit their transfers it is queued, else its arrival is known.
void TaskEngine::Transfer(std::uint32_t message, Tick time) {
  const TaskMessage& of = tasks_.program.task_messages[message];
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
  const TaskMessage& of = tasks_.program.task_messages[message];
  const double seconds = network_->remote.TransferSeconds(static_cast<double>(of.bytes));
  const Tick start = transfers_.Start(NodeOf(of.from), NodeOf(of.to), time, Ticks(seconds));
  Deliver(message, start + Ticks(network_->remote.latency + seconds));
}

void TaskEngine::Deliver(std::uint32_t message, Tick time) {
  Notify(sent_[message], time);
  if (network_ != nullptr) Notify(received_[message], time);  // a sender that waits is free again
}

void TaskEngine::Arrive(std::uint32_t task, const Instruction& instruction, Tick time) {
  CollectiveState& operation = collectives_[instruction.target];
  operation.latest = std::max(operation.latest, time);
  bool frees_some = false;  // for whom others need not have arrived
  if (instruction.step == Step::kArriveAsRoot) {
    operation.root = time;
    operation.root_missing = false;
    frees_some = true;
  } else if (instruction.step == Step::kArriveInOrder) {
    frees_some = scans_.Arrive(tasks_.program, instruction.target, task, time);
  }
  if (--operation.missing > 0 && !frees_some) return;
  std::uint32_t waiter = std::exchange(operation.first_waiter, kNoWaiter);
  while (waiter != kNoWaiter) {
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
  const CollectiveState& operation = collectives_[instruction.target];
  Tick known = kUnknownTime;
  switch (instruction.step) {
    case Step::kWaitForRoot: known = operation.root_missing ? kUnknownTime : operation.root; break;
    case Step::kWaitForLower: known = scans_.TimeFor(tasks_.program, instruction.target, task); break;
    default: known = operation.missing > 0 ? kUnknownTime : operation.latest; break;
  }
  return known < 0 ? kUnknownTime : known + DelayOf(instruction.target);
}

// Calculated when first needed, with the members of its communicator where they are then.
Tick TaskEngine::DelayOf(std::uint32_t number) {
  CollectiveState& operation = collectives_[number];
  if (operation.delay >= 0) return operation.delay;
  operation.delay = 0;
  const CollectiveBytes& bytes = tasks_.program.task_collectives[number];
  if (network_ == nullptr || bytes.ranks == 0) return 0;
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
  const std::size_t count = std::min(bytes.ranks, processors.size());
  operation.delay = Ticks(CollectiveSeconds(*network_, type.kind, nodes.size() <= 1, bytes, count));
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
    received_[message] = kUnknownTime;
    Wake(task, state.clock);
    if (network_ != nullptr) Transfer(message, std::exchange(first_posts_[message], kReleased));
    ++result_.released;
  }
  return result_.released > before;
}

// Computation in the engine of tasks: one task at a time, or all ready ones in equal shares.

namespace {

// Work of a share below this is rounding; chosen: a thousandth of a tick.
constexpr double kNoWork = 1e-3;

}  // namespace

// True if the task has done its work; else it goes on when its share of the processor has done it.
bool TaskEngine::Work(std::uint32_t task, Tick compute, Tick overhead) {
  Task& state = states_[task];
  double scale = options_.scale != nullptr ? (*options_.scale)[task][state.iteration] : 1;
  if (cold_iteration_[task] == state.iteration && !options_.costs.are_free) scale *= 1 + options_.costs.cold_share;
  const Tick length = ScaledLength(compute, scale);
  if (!options_.shares_time) {
    CountComputed(state.clock, state.clock + length);
    state.clock += length + overhead;
    return true;
  }
  if (length + overhead <= 0) return true;
  const std::uint32_t processor = ProcessorOf(task);
  CountShares(processor, state.clock);
  state.work = static_cast<double>(length + overhead);
  shared_[processor].tasks.push_back(task);
  ScheduleShares(processor);
  return false;
}

void TaskEngine::CountComputed(Tick begin, Tick end) {
  auto period = std::upper_bound(periods_.begin(), periods_.end(), begin);
  for (; period != periods_.end() && begin < end; ++period) {
    const Tick until = std::min(*period, end);
    result_.computed[static_cast<std::size_t>(period - periods_.begin())] += until - begin;
    begin = until;
  }
}

// Counts the work done since the number of tasks changed last.
void TaskEngine::CountShares(std::uint32_t processor, Tick time) {
  Shared& shared = shared_[processor];
  if (!shared.tasks.empty()) {
    const double each = static_cast<double>(time - shared.since) / static_cast<double>(shared.tasks.size());
    for (const std::uint32_t task : shared.tasks) states_[task].work -= each;
    CountComputed(shared.since, time);
  }
  shared.since = time;
}

void TaskEngine::ScheduleShares(std::uint32_t processor) {
  Shared& shared = shared_[processor];
  shared.next = kUnknownTime;
  if (shared.tasks.empty()) return;
  double least = states_[shared.tasks.front()].work;
  for (const std::uint32_t task : shared.tasks) least = std::min(least, states_[task].work);
  const double until = least * static_cast<double>(shared.tasks.size());
  shared.next = shared.since + static_cast<Tick>(std::ceil(std::max(0.0, until - kNoWork)));
  Push(shared.next, EventKind::kShareDone, processor);
}

void TaskEngine::EndShares(std::uint32_t processor, Tick time) {
  Shared& shared = shared_[processor];
  if (shared.next != time) return;  // tasks came in the meantime
  CountShares(processor, time);
  std::vector<std::uint32_t> done;
  std::erase_if(shared.tasks, [&](std::uint32_t task) {
    if (states_[task].work > kNoWork) return false;
    done.push_back(task);
    return true;
  });
  ScheduleShares(processor);
  for (const std::uint32_t task : done) {
    states_[task].clock = time;
    Advance(task);
  }
}

}  // namespace farscale
