#include "balance/task_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "balance/task_engine.h"
#include "base/diagnostics.h"

namespace farscale {
namespace {

constexpr std::size_t kNever = static_cast<std::size_t>(-1);
constexpr std::uint32_t kNoTask = static_cast<std::uint32_t>(-1);

}  // namespace

TaskEngine::TaskEngine(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options,
                       std::vector<Tick> periods)
    : tasks_(tasks),
      machine_(machine),
      options_(options),
      network_(TimedNetwork(machine.network)),
      periods_(std::move(periods)),
      placement_(options.placement) {
  states_.resize(tasks.tasks());
  ready_.resize(machine.processors());
  busy_.assign(machine.processors(), false);
  free_since_.assign(machine.processors(), 0);
  last_task_.assign(machine.processors(), kNoTask);
  cold_iteration_.assign(tasks.tasks(), kNever);
  shared_.resize(machine.processors());
  sent_.assign(tasks_.program.messages, kUnknownTime);
  received_.assign(tasks_.program.messages, kUnknownTime);
  if (network_ != nullptr) {
    first_posts_.assign(tasks_.program.messages, kUnknownTime);
    waits_for_receiver_.assign(tasks_.program.messages, std::nullopt);
    const auto nodes = static_cast<std::size_t>(*std::max_element(machine.nodes.begin(), machine.nodes.end())) + 1;
    transfers_ = TransferPlaces(nodes, network_->sending.value_or(0), network_->receiving.value_or(0));
  }
  collectives_.resize(tasks_.program.arrivals.size());
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    collectives_[i].missing = tasks_.program.arrivals[i];
    collectives_[i].root_missing = tasks_.program.root_arrives[i];
  }
  result_.end.assign(tasks.tasks(), 0);
  result_.iteration_end.assign(tasks.iterations, 0);
  result_.computed.assign(periods_.size(), 0);
  result_.placements.emplace_back(0, placement_);
  result_.loads = LoadsOf(tasks, options.scale);
}

TaskReplayResult TaskEngine::Run() {
  for (std::uint32_t task = 0; task < states_.size(); ++task) {
    const RankProgram& program = tasks_.program.ranks[task];
    states_[task].next = program.instructions.data();
    states_[task].end = states_[task].next + program.instructions.size();
    Push(program.begin, EventKind::kReady, task);
  }
  do {
    while (!events_.empty()) {
      const auto [time, kind, id] = events_.top();
      events_.pop();
      switch (kind) {
        case EventKind::kShareDone: EndShares(id, time); break;
        case EventKind::kStop: Stop(id); break;
        case EventKind::kTransfer: Serve(id, time); break;
        case EventKind::kReady:
          if (options_.shares_time) {
            states_[id].clock = std::max(states_[id].clock, time);
            Advance(id);
          } else if (busy_[ProcessorOf(id)]) {
            ready_[ProcessorOf(id)].push_back(id);
          } else {
            Start(id, time);
          }
      }
    }
  } while (ReleaseSenders());
  for (const Task& task : states_) {
    if (!task.finished) FailStuck();
  }
  result_.iteration_end.back() = std::max(result_.iteration_end.back(), result_.Makespan());
  return std::move(result_);
}

// The task gets its processor. A sender that is released was ready before now, but not its processor.
void TaskEngine::Start(std::uint32_t task, Tick time) {
  const std::uint32_t processor = ProcessorOf(task);
  busy_[processor] = true;
  states_[task].clock = std::max({states_[task].clock, time, free_since_[processor]});
  const std::uint32_t before = std::exchange(last_task_[processor], task);
  if (before != kNoTask && before != task) {
    ++result_.switches;
    if (!options_.costs.are_free) states_[task].clock += Ticks(options_.costs.switch_seconds);
  }
  Advance(task);
}

// Runs until the task has to wait or is through; what it does by then happens at its own times, later than now.
void TaskEngine::Advance(std::uint32_t task) {
  Task& state = states_[task];
  while (state.next != state.end) {
    if (!state.has_computed) {
      state.has_computed = true;
      if (!Work(task, state.next->compute, OverheadOf(task, *state.next))) return;
    }
    if (IsWait(*state.next)) {
      const Tick known = KnownTime(task);
      if (known < 0 || known > state.clock) return Push(state.clock, EventKind::kStop, task);
    } else {
      Do(task, *state.next);
    }
    ++state.next;
    state.has_computed = false;
  }
  if (!state.has_computed) {
    state.has_computed = true;
    if (!Work(task, tasks_.program.ranks[task].compute_after, 0)) return;
  }
  Push(state.clock, EventKind::kStop, task);
}

// It is now the time at which the task reaches a wait, or its end.
void TaskEngine::Stop(std::uint32_t task) {
  Task& state = states_[task];
  if (state.next == state.end) {
    state.finished = true;
    result_.end[task] = state.clock;
    return Release(ProcessorOf(task), state.clock);
  }
  if (state.next->step == Step::kIterationEnd) return ReachPoint(task);
  const Tick known = KnownTime(task);
  if (known >= 0 && known <= state.clock) {
    GoOn(task);
    return Advance(task);
  }
  const std::uint32_t processor = ProcessorOf(task);
  const Tick time = state.clock;
  const Instruction& instruction = *state.next;
  if (known >= 0) {
    Wake(task, known);
  } else {
    state.waits = true;
    switch (instruction.step) {
      case Step::kWaitForSend: sent_[instruction.target] = WaiterCode(task); break;
      case Step::kWaitForReceive: received_[instruction.target] = WaiterCode(task); break;
      default: state.next_waiter = std::exchange(collectives_[instruction.target].first_waiter, task); break;
    }
  }
  Release(processor, time);
}

// The next instruction is over.
void TaskEngine::GoOn(std::uint32_t task) {
  Task& state = states_[task];
  ++state.next;
  state.has_computed = false;
  state.waits = false;
}

void TaskEngine::Release(std::uint32_t processor, Tick time) {
  if (options_.shares_time) return;
  busy_[processor] = false;
  free_since_[processor] = time;
  if (ready_[processor].empty()) return;
  const std::uint32_t task = ready_[processor].front();
  ready_[processor].pop_front();
  Start(task, time);
}

bool TaskEngine::IsWait(const Instruction& instruction) const {
  switch (instruction.step) {
    case Step::kWaitForSend:
    case Step::kWaitForReceive:
    case Step::kWaitForAll:
    case Step::kWaitForRoot:
    case Step::kWaitForLower: return true;
    case Step::kIterationEnd: return options_.interval > 0 && (instruction.target + 1) % options_.interval == 0;
    default: return false;
  }
}

void TaskEngine::Do(std::uint32_t task, const Instruction& instruction) {
  Task& state = states_[task];
  switch (instruction.step) {
    case Step::kSend: Transfer(instruction.target, state.clock); break;
    case Step::kSendRendezvous: PostSide(instruction.target, state.clock, true); break;
    case Step::kReceiveRendezvous: PostSide(instruction.target, state.clock, false); break;
    case Step::kReceive: Notify(received_[instruction.target], state.clock); break;
    case Step::kArrive:
    case Step::kArriveAsRoot:
    case Step::kArriveInOrder: Arrive(task, instruction, state.clock); break;
    case Step::kIterationEnd: {
      Tick& end = result_.iteration_end[instruction.target];
      end = std::max(end, state.clock);
      state.iteration = instruction.target + 1;
      break;
    }
    default: break;
  }
}

Tick TaskEngine::OverheadOf(std::uint32_t task, const Instruction& instruction) {
  if (network_ == nullptr || instruction.overhead == CallOverhead::kNone) return 0;
  bool is_remote = instruction.overhead == CallOverhead::kRemote;
  if (instruction.overhead == CallOverhead::kByMessages) {
    const std::vector<std::uint32_t>& messages = tasks_.program.ranks[task].call_messages;
    std::size_t& place = states_[task].call_message;
    const std::size_t end = place + 1 + messages[place];
    for (++place; place < end; ++place) {
      const TaskMessage& message = tasks_.program.task_messages[messages[place]];
      is_remote = is_remote || NodeOf(message.from) != NodeOf(message.to);
    }
  }
  return Ticks((is_remote ? network_->remote : network_->local).overhead);
}

// When what the task waits for is there; negative while that is unknown.
Tick TaskEngine::KnownTime(std::uint32_t task) {
  const Instruction& instruction = *states_[task].next;
  switch (instruction.step) {
    case Step::kWaitForSend: return sent_[instruction.target] < 0 ? kUnknownTime : sent_[instruction.target];
    case Step::kWaitForReceive:
      if (network_ != nullptr && waits_for_receiver_[instruction.target] == false) return 0;
      return received_[instruction.target] < 0 ? kUnknownTime : received_[instruction.target];
    case Step::kIterationEnd: return kUnknownTime;  // a balancing point
    default: return TimeFor(task, instruction);
  }
}

void TaskEngine::Notify(Tick& slot, Tick time) {
  const Tick before = std::exchange(slot, time);
  if (before < kUnknownTime) Wake(WaiterOf(before), time);
}

// The task waits until that time and goes on then.
void TaskEngine::Wake(std::uint32_t task, Tick time) {
  GoOn(task);
  Push(std::max(time, states_[task].clock), EventKind::kReady, task);
}

Tick TaskEngine::Ticks(double seconds) const {
  return static_cast<Tick>(std::llround(seconds * tasks_.ticks_per_second));
}

// The task reaches a balancing point; the last one of all opens it.
void TaskEngine::ReachPoint(std::uint32_t task) {
  const Tick time = states_[task].clock;
  Do(task, *states_[task].next);
  states_[task].waits = true;
  point_time_ = std::max(point_time_, time);
  if (++at_point_ < states_.size()) return Release(ProcessorOf(task), time);
  busy_[ProcessorOf(task)] = false;
  free_since_[ProcessorOf(task)] = time;
  at_point_ = 0;
  const std::size_t next = states_.front().iteration;
  Tick until = point_time_;
  if (!options_.costs.are_free) until += Ticks(BarrierSeconds(machine_));
  result_.barriers += until - point_time_;
  ++result_.balancing_points;
  if (options_.strategy != nullptr && options_.strategy->moves) until += Decide(next);
  result_.placements.emplace_back(next, placement_);
  if (result_.balancing_points == 1) {
    result_.first_resume = until;
    result_.first_cost = until - point_time_;
    result_.first_migration = result_.migration;
  }
  for (std::uint32_t other = 0; other < states_.size(); ++other) Wake(other, until);
}

// Chooses places for the iterations from `next` on; returns what that and the migrations cost.
Tick TaskEngine::Decide(std::size_t next) {
  const BalancingCosts& costs = options_.costs;
  // Processors of a machine are equal.
  BalancingProblem problem{.processors = machine_.processors(),
                           .placement = placement_,
                           .loads = PredictLoads(result_.loads, next, options_.interval, options_.predictor),
                           .edges = tasks_.edges,
                           .nodes = machine_.nodes};
  for (double& load : problem.loads) load /= tasks_.ticks_per_second;
  BalancingDecision decision = options_.strategy->decide(problem, options_.tolerance);
  const auto largest = [&](const std::vector<std::uint32_t>& placement) {
    return std::ranges::max(ProcessorLoads(problem, placement));
  };
  const bool is_better = largest(decision.placement) < largest(placement_);
  if (!is_better && !options_.always_migrates) decision.placement = placement_;
  Tick cost = 0;
  if (!costs.are_free) {
    const Tick deciding = Ticks(DecisionSeconds(machine_, *options_.strategy, decision, states_.size(), costs));
    const Tick moving = Ticks(MigrationSeconds(machine_, placement_, decision.placement, costs.task_bytes));
    result_.strategy += deciding;
    result_.migration += moving;
    cost = deciding + moving;
  }
  for (std::size_t task = 0; task < placement_.size(); ++task) {
    if (placement_[task] == decision.placement[task]) continue;
    cold_iteration_[task] = next;
    ++result_.migrations;
    if (!costs.task_bytes.empty()) result_.migrated_bytes += costs.task_bytes[task];
  }
  placement_ = std::move(decision.placement);
  return cost;
}

// Names the first task that waits for something other than a balancing point.
void TaskEngine::FailStuck() const {
  const auto waits = [](const Task& task) { return !task.finished && task.next->step != Step::kIterationEnd; };
  std::string first;
  if (const auto state = std::ranges::find_if(states_, waits); state != states_.end()) {
    const auto task = static_cast<std::size_t>(state - states_.begin());
    // Repetitions are alike, with the end of an iteration between them.
    const std::vector<Instruction>& instructions = tasks_.program.ranks[task].instructions;
    const std::size_t of_one = (instructions.size() + 1) / tasks_.repeats;
    first = DescribeInstruction(*tasks_.trace, *tasks_.matching, *tasks_.cut, tasks_.options, task,
                                static_cast<std::size_t>(state->next - instructions.data()) % of_one);
  }
  if (at_point_ > 0) {
    throw Error(ErrorKind::kNotEnoughData, tasks_.trace->path,
                fmt::format("iterations depend on later iterations of other ranks, so a balancing point every {} of "
                            "them would never be passed: {} waits",
                            options_.interval, first));
  }
  throw Error(
      ErrorKind::kInput, tasks_.trace->path,
      fmt::format("the calls of phase '{}' cannot complete in program order: {} waits", tasks_.cut->spec.name, first),
      "the trace is damaged or its messages were recorded wrongly");
}

Tick TaskReplayResult::Makespan() const { return end.empty() ? 0 : std::ranges::max(end); }

TaskReplayResult ReplayTasks(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options) {
  TaskReplayResult result = TaskEngine(tasks, machine, options).Run();
  if (!options.counts_computation) return result;
  // The ends of iterations are known only now. The second run takes the same course.
  return TaskEngine(tasks, machine, options, result.iteration_end).Run();
}

}  // namespace farscale
