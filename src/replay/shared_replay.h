// Other processes of the job that match and replay a run together with the one that has read it, each for a block of
// its ranks: so that no process needs the memory of the matching and the program of all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/exchange.h"
#include "parallel/job.h"
#include "replay/part_matching.h"
#include "replay/part_program.h"
#include "replay/replay.h"
#include "trace/trace.h"

namespace farscale {

// Something else that all these processes do with their ranks, for another room.
struct SharedTask {
  std::string_view name;
  // What another process than the first does: `request` is for it to know how.
  std::function<void(const TracePart&, const PartMatching&, const PartCut&, std::string_view request, Exchange&)> run;
};

// What a process does for another that replays a run.
Service ReplayService(std::vector<SharedTask> tasks = {});

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
  // Calls own(part, matching, cut, exchange) while the other processes run the task.
  using OwnShare = std::function<void(const TracePart&, const PartMatching&, const PartCut&, Exchange&)>;
  void Run(std::string_view task, const PhaseCut& cut, const std::string& request, const OwnShare& own);

 private:
  SharedReplay(const Trace& trace, std::unique_ptr<Helpers> helpers);

  std::unique_ptr<Helpers> helpers_;
  std::unique_ptr<Exchange> exchange_;
  TracePart part_;
  std::vector<std::vector<std::size_t>> ranks_;  // of every member
  PartMatching matching_;
};

}  // namespace farscale
