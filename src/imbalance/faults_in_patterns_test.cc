// Faults in programs whose ranks do not go in step: the cause is named as in those that do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "imbalance/diagnosis.h"
#include "support/faulty_program.h"
#include "support/repeats.h"

namespace farscale {
namespace {

using test::FaultKind;
using test::FaultyPattern;
using test::FaultyRun;

struct PatternFault {
  FaultKind kind;
  double size;
  CausePlace place;
  CauseClass reason;
  const char* path;  // end of it; empty: in everything
};

constexpr PatternFault kPatternFaults[] = {
    {FaultKind::kSlowRank, 0.25, CausePlace::kRank, CauseClass::kMoreWork, "solve"},
    {FaultKind::kSlowNode, 0.25, CausePlace::kNode, CauseClass::kLowerFrequency, ""},
    {FaultKind::kMovingHotSpot, 0.5, CausePlace::kMovingHotSpot, CauseClass::kMoreWork, "solve"},
    {FaultKind::kLateSender, 0.5, CausePlace::kRank, CauseClass::kMoreWork, "assemble"},
    {FaultKind::kMoreCalls, 1, CausePlace::kRank, CauseClass::kMoreCalls, "solve"},
    {FaultKind::kUnevenWork, 0.3, CausePlace::kByDegrees, CauseClass::kMoreWork, "solve"},
    {FaultKind::kCacheMisses, 0.3, CausePlace::kRank, CauseClass::kLowerIpc, "solve"},
    {FaultKind::kInterruption, 0.1, CausePlace::kOnce, CauseClass::kInterruptions, "solve"},
    {FaultKind::kFromTime, 0.25, CausePlace::kFromTime, CauseClass::kMoreWork, "solve"},
    {FaultKind::kPeriodic, 0.5, CausePlace::kPeriodic, CauseClass::kInterruptions, "solve"},
    {FaultKind::kStartUp, 0.25, CausePlace::kStartUp, CauseClass::kMoreWork, "solve"},
    {FaultKind::kNoisyRank, 0.4, CausePlace::kNoisyRank, CauseClass::kInterruptions, "solve"},
    {FaultKind::kSerialRoot, 0.2, CausePlace::kAlone, CauseClass::kMoreWork, "write"},
};

constexpr std::pair<FaultyPattern, const char*> kPatterns[] = {
    {FaultyPattern::kRing, "ring"},           {FaultyPattern::kAllToAll, "all-to-all"},
    {FaultyPattern::kHalo2d, "halo"},         {FaultyPattern::kMasterWorker, "master and workers"},
    {FaultyPattern::kWavefront, "wavefront"}, {FaultyPattern::kTree, "tree"},
    {FaultyPattern::kPipeline, "pipeline"},   {FaultyPattern::kButterfly, "butterfly"},
    {FaultyPattern::kOddEven, "odd-even"},    {FaultyPattern::kGather, "gather"},
};

std::vector<Cause> CausesIn(const FaultyRun& run) {
  const Trace trace = test::MakeFaulty(run);
  const Matching matching = MatchTrace(trace);
  DiagnosisOptions options;
  options.finds_causes = true;
  return Diagnose(trace, matching, CutPhase(trace, PhaseSpec::Region("step")), options).causes;
}

FaultyRun RunOf(FaultyPattern pattern, const PatternFault& fault, std::size_t ranks, double noise) {
  FaultyRun run;
  run.pattern = pattern;
  run.ranks = ranks;
  run.ranks_on_node = ranks / 8;
  run.noise = noise;
  run.faults = {{fault.kind, 5, fault.size}};
  if (fault.kind == FaultKind::kSerialRoot) run.faults[0].at = 0;
  return run;
}

// Where the program computes what the fault is in.
bool Happens(FaultyPattern pattern, FaultKind kind) {
  if (kind == FaultKind::kSerialRoot)
    return pattern == FaultyPattern::kMasterWorker || pattern == FaultyPattern::kGather;
  return kind != FaultKind::kLateSender || pattern != FaultyPattern::kMasterWorker;
}

class FaultInPattern : public testing::TestWithParam<std::tuple<std::size_t, double>> {};

// Workers compute in one call path alone, so that "everything" is that.
const char* PathOf(FaultyPattern pattern, const PatternFault& fault) {
  return pattern == FaultyPattern::kMasterWorker && fault.kind == FaultKind::kSlowNode ? "solve" : fault.path;
}

// The first cause is the injected one, and its gain that of the run without it, in all but one of each: interruptions
// at random may leave out the begin of a run, and look like a rank that is slow from a time on; and where the master
// waits in all its receives, as for few workers with uneven work, nothing shows how long messages travel.
TEST_P(FaultInPattern, IsNamedFirst) {
  const auto& [ranks, noise] = GetParam();
  std::size_t runs = 0, places = 0, reasons = 0, gains = 0;
  std::string missed;
  for (const auto& [pattern, name] : kPatterns) {
    for (const PatternFault& fault : kPatternFaults) {
      if (!Happens(pattern, fault.kind)) continue;
      const char* path = PathOf(pattern, fault);
      const FaultyRun run = RunOf(pattern, fault, ranks, noise);
      FaultyRun without = run;
      without.faults.clear();
      const double length = test::LengthOf(run);
      double gain = length - test::LengthOf(without);
      // What one rank does alone is spread over all of them; where the others begin behind a master, that is two
      // shares.
      const double share = fault.kind == FaultKind::kSerialRoot ? gain / static_cast<double>(ranks) : 0;
      gain -= share;
      if (gain < 2 * kLeastGain * length) continue;  // hidden by what others do
      const std::vector<Cause> causes = CausesIn(run);
      const bool has_place = !causes.empty() && causes[0].place == fault.place && causes[0].path.ends_with(path) &&
                             causes[0].in_everything == (*path == 0);
      const bool has_reason = has_place && causes[0].reason() == fault.reason;
      const bool has_gain =
          has_place && std::abs(causes[0].gain - gain) < std::max(0.05 * gain, 0.005 * length) + share;
      ++runs;
      places += has_place;
      reasons += has_reason;
      gains += has_gain;
      if (has_reason && has_gain) continue;
      missed += std::string(name) + ", " + std::string(IdOf(fault.place)) + ' ' + std::string(IdOf(fault.reason)) +
                ' ' + fault.path + " (" + std::to_string(gain / length) + "):";
      for (const Cause& cause : causes) {
        missed += ' ' + std::string(IdOf(cause.place)) + ' ' + std::string(IdOf(cause.reason())) + ' ' + cause.path +
                  ' ' + std::to_string(cause.gain / length) + ',';
      }
      missed += '\n';
    }
  }
  EXPECT_GE(runs, 115u);
  EXPECT_GE(places, runs - 1) << missed;
  EXPECT_GE(reasons, runs - 1) << missed;
  EXPECT_GE(gains, runs - 1) << missed;
}

constexpr std::tuple<std::size_t, double> kRanksAndNoise[] = {{16, 0}, {32, 0.005}};

INSTANTIATE_TEST_SUITE_P(Runs, FaultInPattern,
                         testing::ValuesIn(kRanksAndNoise, kRanksAndNoise + (test::IsBrief() ? 1 : 2)));

}  // namespace
}  // namespace farscale
