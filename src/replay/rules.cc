#include "replay/rules.h"

namespace farscale {

bool ReplayRules::IsRendezvous(MpiCall call, std::uint64_t bytes, std::uint64_t limit) const {
  switch (call) {
    case MpiCall::kBufferedSend:
    case MpiCall::kImmediateBufferedSend: return false;  // completes locally, whatever its size [MPI 4.0, 3.4]
    case MpiCall::kWindowPost:
    case MpiCall::kWindowComplete: return false;  // only announce
    case MpiCall::kCollective:
    case MpiCall::kImmediateCollective: return false;  // among neighbours: each waits for what it receives
    case MpiCall::kSynchronousSend:
    case MpiCall::kImmediateSynchronousSend: return set == RuleSet::kCausal || bytes >= limit;
    default: return bytes >= limit;
  }
}

CollectiveWait WaitOf(CollectiveKind kind, bool has_root, bool is_root, RuleSet set) {
  const bool rooted_in_data = set == RuleSet::kCausal;
  switch (kind) {
    case CollectiveKind::kScan:
    case CollectiveKind::kExscan: return CollectiveWait::kLower;
    case CollectiveKind::kReduce:
      if (!has_root) return CollectiveWait::kAll;
      return is_root ? CollectiveWait::kAll : CollectiveWait::kNothing;
    case CollectiveKind::kGather:
      if (!rooted_in_data || !has_root) return CollectiveWait::kAll;
      return is_root ? CollectiveWait::kAll : CollectiveWait::kNothing;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
      if (!rooted_in_data || !has_root) return CollectiveWait::kAll;
      return is_root ? CollectiveWait::kNothing : CollectiveWait::kRoot;
    // Dimemas knows no operations on communicators; new ones need the agreement of all members.
    case CollectiveKind::kCreateHandle: return set == RuleSet::kBsc ? CollectiveWait::kNothing : CollectiveWait::kAll;
    case CollectiveKind::kDestroyHandle: return CollectiveWait::kNothing;
    default: return CollectiveWait::kAll;
  }
}

std::string ToString(RuleSet set) { return set == RuleSet::kBsc ? "bsc" : "causal"; }

}  // namespace farscale
