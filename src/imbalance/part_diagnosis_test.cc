// Processes that share a run diagnose it as one does, to the last bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbalance/diagnosis.h"
#include "imbalance/factor_losses.h"
#include "replay/shared_replay.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/repeats.h"
#include "support/same_diagnosis.h"
#include "support/thread_job.h"

namespace farscale {
namespace {

DiagnosisOptions WithoutCauses(std::uint64_t seed) {
  DiagnosisOptions options;
  options.delays.rules = static_cast<DelayRules>(seed % 3);
  options.slack = seed % 4 != 3;
  if (seed % 2 == 0) options.groups = {{"first", {0}, true, {}}, {"second", {1}, true, {}}};
  if (seed % 3 != 2) options.shapes = seed % 5;
  return options;
}

TEST(PartDiagnosis, IsThatOfOneProcess) {
  for (const std::size_t helpers : {1, 2, 6}) {
    const test::ThreadJob job({ReplayService({DiagnosisTask()})}, helpers);
    for (std::uint64_t seed = 0; seed < test::Repeats<std::uint64_t>(20); ++seed) {
      const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
      const DiagnosisOptions options = WithoutCauses(seed);
      const std::unique_ptr<SharedReplay> shared = SharedReplay::Begin(trace);
      ASSERT_NE(shared, nullptr);
      const Matching whole = MatchTrace(trace), of_all = shared->Match();
      const double length = trace.Seconds(trace.end() - trace.begin());
      for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), PhaseSpec::TimeWindow(0.3 * length, 0.8 * length)}) {
        const PhaseCut cut = CutPhase(trace, spec);
        FactorLosses by_factor = SplitByFactor(trace, whole, cut), shared_by_factor = SplitByFactor(trace, of_all, cut);
        ASSERT_EQ(ToBytes(shared_by_factor), ToBytes(by_factor));
        ASSERT_EQ(
            test::DiagnosisDifference(Diagnose(trace, of_all, cut, options), Diagnose(trace, whole, cut, options)), "")
            << "seed " << seed << ", helpers " << helpers;
      }
    }
  }
}

}  // namespace
}  // namespace farscale
