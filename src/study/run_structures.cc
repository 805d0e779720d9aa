#include "study/run_structures.h"

#include "factors/thread_times.h"
#include "phases/loop_choice.h"
#include "replay/clock_repair.h"
#include "replay/processor_time.h"

namespace farscale {

RunStructures ReadStructures(const std::vector<std::string>& traces, const PhaseSpec& spec, bool is_automatic,
                             const ReadOptions& options, const ProgressSink& progress, std::size_t width) {
  RunStructures runs{spec, std::vector<PhaseStructure>(traces.size()),
                     std::vector<std::optional<Error>>(traces.size())};
  std::size_t done = 0;
  bool is_chosen = !is_automatic;
  for (const std::size_t i : LargestFirst(traces)) {
    try {
      Trace trace = ReadTrace(traces[i], options);
      const Matching matching = MatchSynchronised(trace);
      if (!is_chosen) runs.spec = WithLoopOf(trace, runs.spec);
      is_chosen = true;
      PhaseStructure& structure = runs.structures[i];
      structure = DescribePhase(trace, matching, runs.spec, width);
      structure.diagnostics.Merge(trace.diagnostics);
      structure.diagnostics.Merge(CheckProcessorTime(trace, {}));
      if (!trace.team_threads.empty()) structure.diagnostics.Merge(ThreadStates(trace).diagnostics());
      if (!runs.spec.shape) runs.spec.shape = structure.shape;
    } catch (const Error& error) {
      runs.errors[i] = error;
    }
    if (progress) progress(++done, traces.size(), traces[i]);
  }
  return runs;
}

}  // namespace farscale
