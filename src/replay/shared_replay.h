// Other processes of the job that match and replay a run together with the one that has read it, each for a block of
// its ranks: so that no process needs the memory of the matching and the program of all.
#pragma once

#include <memory>
#include <vector>

#include "parallel/exchange.h"
#include "parallel/job.h"
#include "replay/part_matching.h"
#include "replay/replay.h"
#include "trace/trace.h"

namespace farscale {

// What a process does for another that replays a run.
Service ReplayService();

class SharedReplay {
 public:
  // Gives the processes of the job that may be asked their ranks of the trace, which must live as long as this. Nothing
  // where there are none.
  static std::unique_ptr<SharedReplay> Begin(const Trace& trace);
  // The other processes may be asked for something else again.
  ~SharedReplay();
  SharedReplay(const SharedReplay&) = delete;
  SharedReplay& operator=(const SharedReplay&) = delete;

  // Called once. For replays alone, while this lives. Diagnostics are those of MatchTrace.
  Matching Match();
  // The result of Replay but for unknown waits. Ranks run as measured, on the ideal network.
  ReplayResult Replay(const PhaseCut& cut, const ReplayOptions& options);

 private:
  SharedReplay(const Trace& trace, std::unique_ptr<Helpers> helpers);

  std::unique_ptr<Helpers> helpers_;
  std::unique_ptr<Exchange> exchange_;
  TracePart part_;
  std::vector<std::vector<std::size_t>> ranks_;  // of every member
  PartMatching matching_;
};

}  // namespace farscale
