#include "replay/part_replay.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "replay/anomalies.h"
#include "replay/engine.h"
#include "replay/links.h"
#include "replay/outside.h"

namespace farscale {
namespace {

// One round; false where nobody had anything to tell.
template <typename Engine>
bool RunRound(const PartMatching& matching, const PartProgram& program, Exchange& exchange, Outside& outside,
              CollectiveAnswerer& answerer, Engine& engine) {
  engine.RunReady();
  const std::vector<std::string> texts = exchange.Swap(outside.partners(), outside.TakeTexts());
  const auto answers = exchange.Agree<CollectiveAnswers>(
      outside.TakeNews(), [](CollectiveNews& into, const CollectiveNews& other) { into.Merge(other); },
      [&](const CollectiveNews& all) { return answerer.Answer(all); });
  ApplyTexts(texts, matching, engine);
  ApplyAnswers(answers, matching, program, engine);
  return !answers.is_quiet;
}

template <typename Links>
PartReplayResult RunPart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                         const ReplayOptions& options, Exchange& exchange) {
  PartProgram program = CompilePart(part, matching, cut, options, exchange);
  Outside outside(matching, program);
  CollectiveAnswerer answerer(program);
  Engine<Links, Outside> engine(program.program, options.keep_calls, &outside);
  PartReplayResult result;
  std::uint64_t released = 0;
  engine.Start();
  for (bool goes_on = true; goes_on;) {
    do {
      ++result.rounds;
    } while (RunRound(matching, program, exchange, outside, answerer, engine));
    const std::uint64_t more = exchange.Sum(engine.ReleaseSenders());
    released += more;
    goes_on = more > 0;
    // Before any rank runs on: a receiver that is free now must not start a message that is released.
    if (goes_on) ApplyTexts(exchange.Swap(outside.partners(), outside.TakeTexts()), matching, engine);
  }
  StuckRanks stuck;
  for (const std::size_t rank : part.OwnRanks(exchange)) {
    if (engine.finished(rank)) continue;
    stuck.Add(rank, [&] {
      return DescribeInstruction(part.trace, matching.matching, cut.cut, options, program.flags, rank,
                                 engine.instruction(rank));
    });
  }
  stuck = exchange.Agree<StuckRanks>(
      stuck, [](StuckRanks& into, const StuckRanks& other) { into.Merge(other); },
      [](const StuckRanks& all) { return all; });
  stuck.Throw(part.trace, cut.cut.spec.name);
  result.replay = engine.TakeResult();
  result.replay.diagnostics = {};
  if (!exchange.IsFirst()) return result;
  result.replay.diagnostics.Add(anomaly::kRendezvousReleased, released);
  result.replay.diagnostics.Merge(program.program.diagnostics);
  return result;
}

}  // namespace

PartReplayResult ReplayPart(const TracePart& part, const PartMatching& matching, const PartCut& cut,
                            const ReplayOptions& options, Exchange& exchange) {
  if (options.TimedNetwork() == nullptr) return RunPart<IdealLinks>(part, matching, cut, options, exchange);
  return RunPart<FreeLinks>(part, matching, cut, options, exchange);
}

}  // namespace farscale
