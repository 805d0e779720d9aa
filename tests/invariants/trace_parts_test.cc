// Real traces whose ranks lie with several processes are matched and replayed as by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "imbalance/factor_losses.h"
#include "replay/replay.h"
#include "replay/shared_replay.h"
#include "replay/unknown_waits.h"
#include "support/same_diagnosis.h"
#include "support/thread_job.h"
#include "support/trace_parts.h"
#include "support/traces.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

TEST(TraceParts, RealTracesAreMatchedAndReplayedAsByOneProcess) {
  Network network;
  network.remote = network.local = {1e-6, 5e9, 0.2e-6, 8192};
  network.collectives = StandardCollectives();
  const std::vector<std::string> paths = test::AllTraces();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Trace trace = ReadTrace(paths[i], {});
    const Matching whole = MatchTrace(trace);
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const std::size_t processes = std::array{2, 3, 7}[i % 3];
    const auto sharing = static_cast<test::Sharing>(i % 4);
    const std::vector<std::uint32_t> members = test::ShareRanks(trace.size(), processes, sharing, i);
    std::vector<PartMatching> parts(processes);
    test::InParts(trace, members, processes, [&](const TracePart& part, Exchange& exchange) {
      parts[exchange.own()] = MatchPart(part, exchange);
    });
    EXPECT_EQ(test::MatchingDifference(trace, whole, members, parts), "") << paths[i];
    for (const bool is_timed : {false, true}) {
      const Network* on = is_timed ? &network : nullptr;
      const ReplayOptions options = {{i % 2 == 0 ? RuleSet::kBsc : RuleSet::kCausal, 32768}, !is_timed, on};
      const ReplayResult one = Replay(trace, whole, cut, options);
      const ReplayResult several = test::ReplayInParts(trace, cut, options, members, processes);
      EXPECT_EQ(several.end, one.end) << paths[i];
      EXPECT_EQ(several.leave, one.leave) << paths[i];
      EXPECT_EQ(several.calls, one.calls) << paths[i];
    }
  }
}

// With slack, shapes and losses by factor.
TEST(TraceParts, RealTracesAreDiagnosedAsByOneProcess) {
  const std::vector<std::string> paths = test::TracesToTry();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Trace trace = ReadTrace(paths[i], {});  // without helpers, which do not read here
    const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
    const test::ThreadJob job({ReplayService({DiagnosisTask()})}, std::array{1, 2, 6}[i % 3]);
    const std::unique_ptr<SharedReplay> shared = SharedReplay::Begin(trace);
    if (shared == nullptr) continue;  // one rank
    const Matching of_all = shared->Match(), whole = MatchTrace(trace);
    DiagnosisOptions options;
    options.shapes = 3;
    const Diagnosis several = Diagnose(trace, of_all, cut, options), one = Diagnose(trace, whole, cut, options);
    EXPECT_EQ(test::DiagnosisDifference(several, one), "") << paths[i];
    if (FindUnknownWaits(trace, cut).any()) continue;
    FactorLosses by_all = SplitByFactor(trace, of_all, cut), by_one = SplitByFactor(trace, whole, cut);
    EXPECT_EQ(ToBytes(by_all), ToBytes(by_one)) << paths[i];
  }
}

}  // namespace
}  // namespace farscale
