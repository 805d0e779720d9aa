#include "imbalance/synchronization.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace farscale {

SyncPoint PointBefore(const WaitStates& states, const CollectiveWaits& collectives, std::uint32_t rank,
                      const WaitState& wait) {
  SyncPoint last;
  const std::vector<SyncMark>& marks = states.marks[rank];
  auto mark = std::lower_bound(marks.begin(), marks.end(), SyncMark{wait.delayer, wait.call, 0});
  while (mark != marks.begin() && std::prev(mark)->peer == wait.delayer) {
    --mark;
    if (mark->peer_call >= wait.delayer_call) continue;
    last = {mark->call, mark->peer_call};
    break;
  }
  using SyncCall = CollectiveWaits::SyncCall;
  const std::vector<SyncCall>& calls = collectives.sync_calls(rank);
  auto call = std::lower_bound(calls.begin(), calls.end(), wait.call,
                               [](const SyncCall& sync, std::uint32_t before) { return sync.call < before; });
  while (call != calls.begin()) {
    --call;
    if (last.call != kNoCall && call->call < last.call) break;
    const auto synced = collectives.Synchronises(call->operation, rank, wait.delayer);
    if (!synced || synced->call != call->call || synced->peer_call >= wait.delayer_call) continue;
    // One call may complete several operations.
    const bool is_later = last.call != synced->call || last.delayer_call < synced->peer_call;
    if (is_later) last = {synced->call, synced->peer_call};
  }
  return last;
}

}  // namespace farscale
