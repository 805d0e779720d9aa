#include "replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "replay/anomalies.h"
#include "replay/engine.h"
#include "replay/links.h"
#include "replay/program.h"

namespace farscale {

Tick ReplayResult::Duration() const {
  return std::accumulate(end.begin(), end.end(), Tick{0}, [](Tick a, Tick b) { return std::max(a, b); });
}

Tick ReplayResult::TimeAt(const RankTimeline& timeline, const RankCut& cut, std::size_t rank, const Edge& edge) const {
  const std::size_t calls_before = edge.call - cut.window.begin.call;
  if (calls_before == 0) return begin[rank] + (edge.tick - cut.window.begin.tick);
  return leave[rank][calls_before - 1] + std::max<Tick>(0, edge.tick - timeline.leave(edge.call - 1));
}

namespace {

template <typename Links>
ReplayResult RunProgram(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options,
                        const Program& program) {
  Engine<Links> engine(trace, matching, program, options.keep_calls);
  engine.Run(cut);
  std::vector<std::string> stuck;
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    if (engine.finished(rank) || ++count > 4) continue;
    stuck.push_back(DescribeInstruction(trace, matching, cut, options, rank, engine.instruction(rank)));
  }
  if (count > 0) {
    throw Error(ErrorKind::kInput, trace.path,
                fmt::format("the calls of phase '{}' cannot complete in program order; {} of {} ranks wait: {}{}",
                            cut.spec.name, count, trace.size(), Join(stuck, "; "), count > 4 ? "; ..." : ""),
                "the trace is damaged or its messages were recorded wrongly");
  }
  return engine.TakeResult();
}

}  // namespace

ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  const Program program = Compile(trace, matching, cut, options);
  const Network* network = options.TimedNetwork();
  ReplayResult result = network == nullptr         ? RunProgram<IdealLinks>(trace, matching, cut, options, program)
                        : network->HasContention() ? RunProgram<SharedLinks>(trace, matching, cut, options, program)
                                                   : RunProgram<FreeLinks>(trace, matching, cut, options, program);
  result.diagnostics.Merge(program.diagnostics);
  result.unknown_waits = FindUnknownWaits(trace, cut);
  if (network != nullptr) {
    result.diagnostics.Add(anomaly::kOneSidedTakesNoTime, result.unknown_waits.operations, "in phase " + cut.spec.name);
  }
  return result;
}

}  // namespace farscale
