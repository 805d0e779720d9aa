// How calls wait, and what their waits are called, by what the name of a function says.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "imbalance/wait_states.h"

namespace farscale {

const std::array<WaitKindName, kWaitKinds>& WaitKindNames() {
  static const std::array<WaitKindName, kWaitKinds> names = {{
      {WaitKind::kLateSender, "lateSender", "Late sender"},
      {WaitKind::kLateReceiver, "lateReceiver", "Late receiver"},
      {WaitKind::kLateBroadcast, "lateBroadcast", "Late broadcast"},
      {WaitKind::kEarlyReduce, "earlyReduce", "Early reduce"},
      {WaitKind::kEarlyScan, "earlyScan", "Early scan"},
      {WaitKind::kWaitAtNxN, "waitAtNxN", "Wait at N×N"},
      {WaitKind::kWaitAtBarrier, "waitAtBarrier", "Wait at barrier"},
      {WaitKind::kWaitAtFence, "waitAtFence", "Wait at fence"},
      {WaitKind::kLatePost, "latePost", "Late post"},
      {WaitKind::kEarlyWait, "earlyWait", "Early wait"},
      {WaitKind::kWaitForLock, "waitForLock", "Wait for a lock"},
      {WaitKind::kLateNeighbour, "lateNeighbour", "Late neighbour"},
      {WaitKind::kWaitAtCreation, "waitAtCreation", "Wait at creation of communicators and files"},
      {WaitKind::kWaitAtFork, "waitAtFork", "Wait for an OpenMP fork"},
      {WaitKind::kWaitAtThreadBarrier, "waitAtThreadBarrier", "Wait at OpenMP barrier"},
      {WaitKind::kWaitAtImplicitBarrier, "waitAtImplicitBarrier", "Wait at implicit OpenMP barrier"},
      {WaitKind::kWaitAtEnd, "waitAtEnd", "Wait at the end"},
  }};
  return names;
}

std::vector<Waiting> HowRegionsWait(const Trace& trace) {
  std::vector<Waiting> waiting;
  for (const Region& region : trace.regions) {
    const std::string name = ToLower(region.name);
    const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
    Waiting how = Waiting::kNever;
    switch (region.call) {
      case MpiCall::kSend: how = has("rsend") ? Waiting::kNever : Waiting::kForAll; break;
      case MpiCall::kWait: how = has("waitany") || has("waitsome") ? Waiting::kForFirst : Waiting::kForAll; break;
      case MpiCall::kProbe: how = has("improbe") || has("iprobe") ? Waiting::kNever : Waiting::kForNext; break;
      case MpiCall::kSynchronousSend:
      case MpiCall::kReceive:
      case MpiCall::kSendReceive:
      case MpiCall::kCollective:
      case MpiCall::kWindowFence:
      case MpiCall::kWindowComplete:
      case MpiCall::kWindowWait:
      case MpiCall::kWindowOther:
      case MpiCall::kInputOutput:
      case MpiCall::kCollectiveInputOutput:
      case MpiCall::kOther: how = Waiting::kForAll; break;
      default: break;
    }
    waiting.push_back(how);
  }
  return waiting;
}

bool IsLocalSend(const Region& region) {
  return region.call == MpiCall::kBufferedSend || region.call == MpiCall::kImmediateBufferedSend ||
         IsOneSided(region.call) || IsAmongNeighbours(region.name) ||
         ToLower(region.name).find("rsend") != std::string::npos;
}

}  // namespace farscale
