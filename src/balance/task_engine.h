// The engine of tasks. Unlike that of the plain replay it goes through events in the order of time, because what a
// processor does next depends on which task became ready first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "balance/task_replay.h"
#include "replay/replay.h"

namespace farscale {

class TaskEngine {
 public:
  // `periods`: ends of the periods in which computation is counted, not falling; empty: it is not.
  TaskEngine(const TaskProgram& tasks, const Machine& machine, const TaskReplayOptions& options,
             std::vector<Tick> periods = {});

  TaskReplayResult Run();

 private:
  // In this order at the same time: shares of processors that are done leave before others come; ready tasks are queued
  // before a processor selects the next one, and all requests for transfers of a time are known before the first is
  // served.
  enum class EventKind : std::uint8_t { kShareDone, kReady, kStop, kTransfer };

  // The task, the message of a transfer, or the processor whose first share is done.
  using Event = std::tuple<Tick, EventKind, std::uint32_t>;

  struct Task {
    Tick clock = 0;
    const Instruction* next = nullptr;
    const Instruction* end = nullptr;
    std::size_t call_message = 0;  // place in the list of messages of its calls
    std::uint32_t iteration = 0;
    std::uint32_t next_waiter = 0;  // list of those who wait for one collective operation
    bool has_computed = false;      // the part before the next instruction
    bool waits = false;             // at the next instruction, not yet knowing until when
    bool finished = false;
    double work = 0;  // ticks of a processor that are left, where processors share their time
  };

  // Tasks that compute on a processor at once, each at the same speed.
  struct Shared {
    std::vector<std::uint32_t> tasks;
    Tick since = 0;  // up to here their work is counted
    Tick next = -1;  // when the first of them is done
  };

  void Start(std::uint32_t task, Tick time);
  void Advance(std::uint32_t task);
  void Stop(std::uint32_t task);
  void GoOn(std::uint32_t task);
  void Release(std::uint32_t processor, Tick time);
  bool IsWait(const Instruction& instruction) const;
  void Do(std::uint32_t task, const Instruction& instruction);
  Tick OverheadOf(std::uint32_t task, const Instruction& instruction);
  Tick KnownTime(std::uint32_t task);

  const Link& LinkOf(std::uint32_t message) const;
  void PostSide(std::uint32_t message, Tick time, bool is_sender);
  void Transfer(std::uint32_t message, Tick time);
  void Serve(std::uint32_t message, Tick time);
  void Deliver(std::uint32_t message, Tick time);
  void Notify(Tick& slot, Tick time);
  void Wake(std::uint32_t task, Tick time);

  void Arrive(std::uint32_t task, const Instruction& instruction, Tick time);
  Tick TimeFor(std::uint32_t task, const Instruction& instruction);
  Tick DelayOf(std::uint32_t operation);

  void ReachPoint(std::uint32_t task);
  Tick Decide(std::size_t next);
  bool ReleaseSenders();
  [[noreturn]] void FailStuck() const;

  std::uint32_t ProcessorOf(std::uint32_t task) const { return placement_[task]; }
  std::int32_t NodeOf(std::uint32_t task) const { return machine_.nodes[placement_[task]]; }
  Tick Ticks(double seconds) const;
  bool Work(std::uint32_t task, Tick compute, Tick overhead);
  void CountComputed(Tick begin, Tick end);
  void CountShares(std::uint32_t processor, Tick time);
  void ScheduleShares(std::uint32_t processor);
  void EndShares(std::uint32_t processor, Tick time);
  void Push(Tick time, EventKind kind, std::uint32_t id) { events_.emplace(time, kind, id); }

  const TaskProgram& tasks_;
  const Machine machine_;
  const TaskReplayOptions options_;
  const Network* network_;  // nothing: the ideal one
  std::vector<Tick> periods_;
  TaskReplayResult result_;

  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Task> states_;
  std::vector<std::uint32_t> placement_;
  std::vector<std::deque<std::uint32_t>> ready_;  // tasks by processor
  std::vector<bool> busy_;                        // processors
  std::vector<std::uint32_t> last_task_;          // per processor; kNoTask: none yet
  std::vector<std::size_t> cold_iteration_;       // per task: after its last move
  std::vector<Shared> shared_;                    // per processor
  std::vector<Tick> free_since_;                  // when a processor that is not busy became so
  std::vector<Tick> sent_, received_;             // as in the plain engine
  std::vector<Tick> first_posts_;
  std::vector<std::optional<bool>> waits_for_receiver_;  // one a message; nothing: not decided
  std::vector<CollectiveState> collectives_;
  Scans scans_;
  TransferPlaces transfers_;
  std::size_t at_point_ = 0;  // tasks at the next balancing point
  Tick point_time_ = 0;
};

}  // namespace farscale
