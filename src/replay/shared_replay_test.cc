// Processes of a job that replay one run.
#include "replay/shared_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/replay_rules.h"
#include "support/thread_job.h"

namespace farscale {
namespace {

constexpr RuleSet kSets[] = {RuleSet::kBsc, RuleSet::kCausal};

void Compare(const Trace& trace, const Matching& matching, SharedReplay& shared, const PhaseCut& cut) {
  const Matching of_all = shared.Match();
  EXPECT_EQ(of_all.diagnostics.findings(), matching.diagnostics.findings());
  for (const RuleSet set : kSets) {
    for (const bool keep_calls : {false, true}) {
      const ReplayOptions options = {{set, 1000}, keep_calls};
      const ReplayResult whole = Replay(trace, matching, cut, options), all = Replay(trace, of_all, cut, options);
      EXPECT_EQ(all.begin, whole.begin);
      EXPECT_EQ(all.end, whole.end);
      EXPECT_EQ(all.leave, whole.leave);
      EXPECT_EQ(all.calls, whole.calls);
      EXPECT_EQ(all.unknown_waits, whole.unknown_waits);
      EXPECT_EQ(all.diagnostics.findings(), whole.diagnostics.findings());
    }
  }
}

TEST(SharedReplay, GivesWhatOneProcessDoes) {
  for (const std::size_t helpers : {1, 2, 6}) {
    const test::ThreadJob job({ReplayService()}, helpers);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
      const Matching matching = MatchTrace(trace);
      const std::unique_ptr<SharedReplay> shared = SharedReplay::Begin(trace);
      ASSERT_NE(shared, nullptr);
      EXPECT_EQ(SharedReplay::Begin(trace), nullptr);  // all helpers are taken
      Compare(trace, matching, *shared, CutPhase(trace, PhaseSpec::WholeRun()));
    }
  }
}

TEST(SharedReplay, NeedsOtherProcesses) { EXPECT_EQ(SharedReplay::Begin(test::MakeRandomProgram(1, {})), nullptr); }

// The error is thrown where the replay was asked for, and the helpers can be asked again.
TEST(SharedReplay, ErrorsAreThoseOfOneProcess) {
  const test::ThreadJob job({ReplayService()}, 2);
  const Trace trace = test::ParseTrace(
      "r0: Recv<2#a*8 0-2 | Send>1#a*8 2-3\nr1: Recv<0#a*8 0-2 | Send>2#a*8 2-3\nr2: Recv<1#a*8 0-2 | Send>0#a*8 2-3");
  const PhaseCut cut = CutPhase(trace, PhaseSpec::WholeRun());
  std::string expected;
  try {
    Replay(trace, MatchTrace(trace), cut, {});
  } catch (const Error& error) {
    expected = error.what();
  }
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<SharedReplay> shared = SharedReplay::Begin(trace);
    const Matching matching = shared->Match();
    for (int k = 0; k < 2; ++k) {
      try {
        Replay(trace, matching, cut, {});
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(error.what(), expected);
      }
    }
  }
}

}  // namespace
}  // namespace farscale
