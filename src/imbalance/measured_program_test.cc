#include "imbalance/causes/find_causes.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "imbalance/diagnosis.h"
#include "support/program.h"
#include "support/random_program.h"
#include "support/traces.h"

namespace farscale {
namespace {

struct Measured {
  explicit Measured(const Trace& trace)
      : matching(MatchTrace(trace)),
        states(FindWaitStates(trace, matching, CollectActivities(trace, CutPhase(trace, PhaseSpec::WholeRun())))),
        program(MakeMeasuredProgram(trace, matching, states)) {}

  Tick length() const { return states.activities.end - states.activities.begin; }
  std::vector<Tick> Replay(const std::vector<Fix>& fixes) { return farscale::Replay(program, fixes); }
  Tick Duration() { return Replay({nullptr}).front(); }

  Matching matching;
  WaitStates states;
  MeasuredProgram program;
};

TEST(MeasuredProgram, TakesAsLongAsMeasured) {
  for (const test::TextProgram& program :
       test::ParsePrograms(ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt"))) {
    Measured measured(program.trace);
    EXPECT_EQ(measured.Duration(), measured.length()) << program.name;
  }
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    Measured measured(trace);
    EXPECT_EQ(measured.Duration(), measured.length()) << seed;
  }
}

// r1 waits from 2 to 6 for a message, whose transfer takes 2; r2 waits from 1 to 8 for one of r1. Without 3 of the 6 in
// which r0 computes, r1 leaves at max(2, 3) + 2 = 5 and r2 at max(1, 5) + 2 = 7. Without 5 of them r0 is there before
// r1, so that r1 leaves at 4 and r2 at 6.
TEST(MeasuredProgram, WithoutADelayWaitsForWhatIsThenLate) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-6 | Send>1#a 6-7\n"
      "r1: comp 0-2 | Recv<0#a 2-8 | Send>2#b 8-9\n"
      "r2: comp 0-1 | Recv<1#b 1-10\n");
  Measured measured(trace);
  const std::vector<Saving> some = {{0, 0, 3}}, most = {{0, 0, 5}}, of_call = {{1, 1, 2}}, added = {{2, 0, -9}};
  EXPECT_EQ(measured.Replay({MakeFix({&some}), MakeFix({&most}), nullptr, MakeFix({&of_call}), MakeFix({&added})}),
            (std::vector<Tick>{7, 6, 10, 8, 12}));
}

// Receiving takes 1, as the second message shows, which is there; the first one is sent at 5 and received at 8, so that
// it is under way for 2.
TEST(MeasuredProgram, MessagesAreUnderWayWhileReceiversDoOtherThings) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-5 | Send>1#a 5-5\n"
      "r1: comp 0-1 | Recv<0#a 1-8 | comp 8-9 | Recv<2#b 9-10\n"
      "r2: comp 0-2 | Send>1#b 2-2");
  Measured measured(trace);
  EXPECT_EQ(measured.Duration(), 10);
  // r0 sends at 1: the message is there at 3, r1 leaves at 4, and ends at 6. Sent at 0: 2, 3 and 5.
  const std::vector<Saving> four = {{0, 0, 4}}, five = {{0, 0, 5}}, late = {{0, 0, 5}, {1, 0, -6}};
  // r1 comes at 7, when the message is there: it leaves at 8 and ends at 10, and not at 12.
  EXPECT_EQ(measured.Replay({MakeFix({&four}), MakeFix({&five}), MakeFix({&late})}), (std::vector<Tick>{6, 5, 10}));
}

// Receives take 1 and 4 beyond their waiting, for messages sent at 4 and 8. With the second as short as the first, the
// phase of 20 ends at 17. Sends take nothing.
TEST(LatencyGain, ShortensCallsToTheShortest) {
  const Trace trace = test::ParseTrace(
      "r0: comp 0-4 | Send>1#a 4-4 | comp 4-8 | Send>1#b 8-8\n"
      "r1: Recv<0#a 0-5 | comp 5-6 | Recv<0#b 6-12 | comp 12-20");
  DiagnosisOptions options;
  options.latency = true;
  const auto latency =
      Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options).latency.value();
  EXPECT_EQ(latency, (LatencyGain{"MPI_Recv", 3, 2.5, 1}));
}

// All calls are alike, or the phase does not depend on the longer one.
TEST(LatencyGain, IsNothingWhereItChangesNothing) {
  for (const char* program : {"r0: comp 0-4 | Barrier@b 4-6\nr1: comp 0-5 | Barrier@b 5-6",
                              "r0: comp 0-4 | Send>1#a 4-4 | comp 4-20 | Send>1#b 20-20\n"
                              "r1: Recv<0#a 0-9 | comp 9-10 | Recv<0#b 10-21"}) {
    const Trace trace = test::ParseTrace(program);
    DiagnosisOptions options;
    options.latency = true;
    const Diagnosis diagnosis = Diagnose(trace, MatchTrace(trace), CutPhase(trace, PhaseSpec::WholeRun()), options);
    EXPECT_FALSE(diagnosis.latency) << program;
  }
}

}  // namespace
}  // namespace farscale
