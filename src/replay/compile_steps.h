// Steps of Compile [replay/program.h], for one process that has all ranks and for several that share them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/call_compiler.h"
#include "replay/operations.h"
#include "replay/program.h"

namespace farscale {

struct PhaseFlags {
  std::vector<Posts> posts;  // of every rank, before its window
  MessageFlags messages;
};

PhaseFlags FlagPhase(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options);

// The ranks of a program, and how they arrive at collectives. `origin`: the earliest begin of a window.
Program CompileRanks(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options,
                     const PhaseFlags& flags, Tick origin);

// The order of ranks on the communicators of scans.
void OrderScans(const Trace& trace, const Matching& matching, Program& program);

// Of messages [first, end), those that are sent or received outside the windows.
std::uint64_t CountCutMessages(const MessageFlags& flags, std::uint32_t first, std::uint32_t end);

struct CutsAtEdge {
  std::uint64_t messages = 0, collectives = 0;

  void AddTo(Diagnostics& diagnostics, const std::string& phase) const;
};

// With the flags of the phase.
std::string DescribeInstruction(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                                const ReplayOptions& options, const PhaseFlags& flags, std::size_t rank,
                                std::size_t instruction);

// From here on in replay/delays.cc. How long the messages that are sent in the windows take; paths: nullptr where they
// are not wanted.
void AddMessageDelays(const Trace& trace, const Matching& matching, const PhaseCut& cut, const Network& network,
                      std::vector<Tick>& delays, std::vector<Path>* paths);

std::vector<OperationBytes> BytesOfOperations(const Trace& trace, const Matching& matching, const PhaseCut& cut);

// How long collective operations take.
class CollectiveDelays {
 public:
  CollectiveDelays(const Trace& trace, const Network& network);
  // 0 where no rank takes part.
  Tick Of(const CollectiveOperation& operation, const OperationBytes& bytes) const;

 private:
  const Trace& trace_;
  const Network& network_;
  std::vector<bool> is_local_;  // whether all members of every communicator share a node
};

// Throws a usage error where a replay could exceed the clock of the trace. `longest`: ticks of all messages and
// collectives, were everything to happen one after the other.
void RequireTimes(const Network& network, double longest);

}  // namespace farscale
