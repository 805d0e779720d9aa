#include "replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "replay/anomalies.h"
#include "replay/engine.h"
#include "replay/links.h"
#include "replay/missing_calls.h"
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

// Runs the program on a network; calls on_stuck(ranks, instructions) when some cannot complete.
template <typename Links, typename OnStuck>
ReplayResult RunOn(const Program& program, bool keep_calls, const OnStuck& on_stuck) {
  Engine<Links> engine(program, keep_calls);
  engine.Run();
  std::vector<std::pair<std::size_t, std::size_t>> stuck;  // rank and instruction
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    if (!engine.finished(rank)) stuck.emplace_back(rank, engine.instruction(rank));
  }
  if (!stuck.empty()) on_stuck(stuck);
  return engine.TakeResult();
}

template <typename OnStuck>
ReplayResult Run(const Program& program, const Network* network, bool keep_calls, const OnStuck& on_stuck) {
  if (network == nullptr) return RunOn<IdealLinks>(program, keep_calls, on_stuck);
  if (network->HasContention()) return RunOn<SharedLinks>(program, keep_calls, on_stuck);
  return RunOn<FreeLinks>(program, keep_calls, on_stuck);
}

using StuckAt = std::vector<std::pair<std::size_t, std::size_t>>;

// Throws an input error naming who waits for whom.
[[noreturn]] void ThrowStuck(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                             const ReplayOptions& options, const StuckAt& stuck) {
  constexpr std::size_t kDescribed = 4;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(kDescribed, stuck.size()); ++i)
    some.push_back(DescribeInstruction(trace, matching, cut, options, stuck[i].first, stuck[i].second));
  throw Error(
      ErrorKind::kInput, trace.path,
      fmt::format("the calls of phase '{}' cannot complete in program order; {} of {} ranks wait: {}{}", cut.spec.name,
                  stuck.size(), trace.size(), Join(some, "; "), stuck.size() > kDescribed ? "; ..." : ""),
      "the trace is damaged or its messages were recorded wrongly");
}

ReplayResult ReplayHere(const Trace& trace, const Matching& matching, const PhaseCut& cut,
                        const ReplayOptions& options) {
  const Program program = Compile(trace, matching, cut, options);
  const Network* network = options.TimedNetwork();
  ReplayResult result = Run(program, network, options.keep_calls,
                            [&](const StuckAt& stuck) { ThrowStuck(trace, matching, cut, options, stuck); });
  result.diagnostics.Merge(program.diagnostics);
  return result;
}

// Nobody waits for anybody.
Matching WithoutPartners(const Trace& trace) {
  Matching matching;
  for (const RankTimeline& timeline : trace.timelines) {
    RankMatching& rank = matching.ranks.emplace_back();
    rank.sends.assign(timeline.sends(), kNoMessage);
    rank.receives.assign(timeline.receives(), kNoMessage);
    rank.collectives.assign(timeline.collectives(), kNoCollective);
    rank.collective_types.resize(timeline.collectives());
  }
  return matching;
}

}  // namespace

ReplayResult Replay(const Trace& trace, const Matching& matching, const PhaseCut& cut, const ReplayOptions& options) {
  ReplayResult result;
  if (!MissingCalls(trace).empty()) {
    // What is there need not fit together, so that ranks might wait for ever.
    result = ReplayHere(trace, WithoutPartners(trace), cut, options);
  } else {
    result = ReplayHere(trace, matching, cut, options);
  }
  result.unknown_waits = FindUnknownWaits(trace, cut);
  result.clocks_unknown = matching.clocks_unknown.has_value();
  if (options.TimedNetwork() != nullptr) {
    result.diagnostics.Add(anomaly::kOneSidedTakesNoTime, result.unknown_waits.operations, "in phase " + cut.spec.name);
  }
  result.diagnostics.Add(anomaly::kMessageWithoutRecord, result.unknown_waits.messages,
                         fmt::format("{} in phase {}", result.unknown_waits.message_example, cut.spec.name));
  return result;
}

ReplayResult ReplayProgram(const Program& program, const Network* network, const std::string& what) {
  return Run(program, network, false, [&](const StuckAt& stuck) {
    throw Error(ErrorKind::kNotEnoughData, what,
                fmt::format("{} of {} ranks wait for ever, rank {} in its step {} first", stuck.size(),
                            program.ranks.size(), stuck.front().first, stuck.front().second));
  });
}

}  // namespace farscale
