// A phase as the replay engine runs it: for every rank the computation between its calls, what it posts for others and
// what it waits for. The rules are applied here, once; the engine knows none of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "phases/phase_cut.h"
#include "replay/matching.h"
#include "replay/network.h"
#include "trace/trace.h"

namespace farscale {

enum class Step : std::uint8_t {
  kNothing,            // a call that neither posts nor waits
  kSend,               // posts that the message `target` is sent
  kWaitForSend,        // waits until it is
  kReceive,            // posts a receive for the message
  kWaitForReceive,     // waits until it is
  kSendRendezvous,     // on a timed network: posts one side of a message that starts when both are posted
  kReceiveRendezvous,  // and the other
  kArrive,             // at the collective operation `target`
  kArriveAsRoot,
  kArriveInOrder,  // at a scan
  kWaitForAll,     // until every participant has arrived
  kWaitForRoot,
  kWaitForLower,  // until the ranks up to this one have arrived
  kIterationEnd,  // in a task or a grown rank: its iteration `target` is over
};

// The call costs the overhead of a link, where that is not yet part of the computation.
enum class CallOverhead : std::uint8_t {
  kNone,
  kRemote,
  kByMessages,  // that of the remote link when any of its messages leaves the node
};

// Computes for `compute` ticks, then does its step. A call is some instructions, the last of which ends it; within a
// call everything it posts comes before anything it waits for.
struct Instruction {
  Tick compute = 0;
  std::uint32_t target = 0;
  Step step = Step::kNothing;
  bool ends_call = false;
  CallOverhead overhead = CallOverhead::kNone;  // for tasks: of the call that begins with this instruction
};

struct RankProgram {
  std::vector<Instruction> instructions;
  Tick begin = 0;          // its window begins, since the earliest window of any rank
  Tick compute_after = 0;  // behind the last call
  // For tasks: messages of the calls whose overhead depends on them, call by call, each list behind its length.
  std::vector<std::uint32_t> call_messages;
};

// Where a message travels between nodes, and how long it occupies what it travels on.
struct Path {
  std::int32_t from = 0, to = 0;  // nodes; equal for messages within one, which wait for nothing
  Tick transfer = 0;
  Tick delay = 0;  // from its start to its arrival
};

// A message, wherever its tasks lie.
struct TaskMessage {
  std::uint64_t bytes = 0;
  std::uint32_t from = 0, to = 0;
  bool is_sent = false;         // within the windows
  bool is_awaited = false;      // its receiver waits for it there
  bool always_waits = false;    // for its receiver, whatever the size
  bool may_rendezvous = false;  // else it is sent at once, whatever the link
};

// The ranks of a scan in the order of its communicator.
struct ScanOrder {
  std::uint32_t members = 0;
  std::vector<std::uint32_t> places;  // one a rank; `members` of those that are none
};

struct Program {
  std::vector<RankProgram> ranks;
  std::size_t nodes = 0;
  std::uint32_t messages = 0;
  std::uint32_t iterations = 0;  // whose ends are instructions and are to be known
  // For a timed network, else empty: from the start of a message to its arrival; its path, when nodes limit their
  // transfers; from the last arrival at a collective operation until it is over.
  std::vector<Tick> message_delays;
  std::vector<Path> paths;
  std::vector<Tick> collective_delays;
  // For tasks, in place of delays and paths.
  std::vector<TaskMessage> task_messages;
  std::vector<CollectiveBytes> task_collectives;  // tasks that take part within the windows count
  int sending = 0, receiving = 0;                 // transfers of a node at once; 0: any number
  std::vector<std::uint32_t> arrivals;  // number of participants of every collective operation that lie in the windows
  std::vector<bool> root_arrives;       // its root is among them
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> scan_ranks;  // participants of every scan there
  std::vector<ScanOrder> scan_orders;
  std::unordered_map<std::uint32_t, std::uint32_t> order_of_scan;
  std::uint64_t calls = 0;  // over all ranks
  Diagnostics diagnostics;
};

// With as_tasks, every message that some link would make wait for its receiver has the steps of one that does.
// With keep_calls, calls that do nothing in the replay become instructions too, so that the engine can say when each
// was left. What lies outside the windows counts as having happened at the start: sends there are received, messages
// from there are ready.
Program Compile(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options);

// Describes what a rank does at one of its instructions: "rank 3 in MPI_Recv at 1.2 s for a message from rank 2 with
// tag 5".
std::string DescribeInstruction(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                const ReplayOptions& options, std::size_t rank, std::size_t instruction);

// Parts of Compile, for programs that come from elsewhere than the records of a trace.

inline Tick ToTicks(double ticks_per_second, double seconds) {
  return static_cast<Tick>(std::llround(seconds * ticks_per_second));
}

Path PathOf(const Network& network, double ticks_per_second, std::int32_t from, std::int32_t to, std::uint64_t bytes);

// Throws a usage error where a replay could exceed the clock of the trace.
void RequireTimes(const Network& network, const Program& program);

// Fills Program::arrivals, root_arrives and scan_ranks, which have a place for every collective operation, from the
// instructions of all ranks.
void CountArrivals(Program& program);

// The fate of a message inside the windows. Its sender writes the first table, its receiver the second, so that
// ranks can be compiled in parallel.
struct MessageFlags {
  std::vector<std::uint8_t> sender, receiver;
};
inline constexpr std::uint8_t kSent = 1, kSenderWaits = 2, kRendezvous = 4, kRemote = 8, kAnySize = 16;
inline constexpr std::uint8_t kReceivePosted = 1, kReceiverWaits = 2;

// Those of a message that `call` posts and, maybe, completes.
std::uint8_t SenderFlags(const ReplayOptions& options, MpiCall call, std::uint64_t bytes, bool is_remote,
                         bool completes);

// A record of a call, with what it tells of its collective operation.
struct CompiledPart : RecordPart {
  CollectiveKind collective = CollectiveKind::kBarrier;
  bool has_root = false, is_root = false;
};

// Turns the calls of one rank into instructions. The rules of the replay are applied here and nowhere else.
class CallCompiler {
 public:
  CallCompiler(const ReplayOptions& options, double ticks_per_second)
      : options_(options), network_(TimedNetwork(options.network)), ticks_per_second_(ticks_per_second) {}

  void Reserve(std::size_t instructions) { result_.instructions.reserve(instructions); }
  void Compute(Tick ticks) { compute_ += ticks; }
  void EndIteration(std::uint32_t number) { Emit(Step::kIterationEnd, number); }
  // `of_all`: operations of all ranks that no part tells of.
  void Call(const MessageFlags& flags, std::span<const CompiledPart> parts, std::span<const std::uint32_t> of_all);
  RankProgram Finish();  // from tick 0 on

 private:
  void Post(const MessageFlags& flags, const CompiledPart& part);
  void Complete(const MessageFlags& flags, const CompiledPart& part);
  void Emit(Step step, std::uint32_t target);

  ReplayOptions options_;
  const Network* network_;  // nothing: the ideal one
  double ticks_per_second_;
  RankProgram result_;
  Tick compute_ = 0;                             // before the next instruction
  CallOverhead overhead_ = CallOverhead::kNone;  // for the call whose first instruction comes next
};

}  // namespace farscale
