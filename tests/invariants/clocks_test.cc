// Real programs by clocks that differ: after repair their factors are those by true clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "factors/phase_factors.h"
#include "phases/phase_cut.h"
#include "phases/phase_spec.h"
#include "replay/anomalies.h"
#include "replay/clock_repair.h"
#include "support/traces.h"
#include "support/wrong_clocks.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// What is asked. On Ethernet (machine c) ranks leave a collective 100 µs apart in iterations of few ms, which looks
// like clocks that differ as much; the same holds of the traces without computation.
double Tolerance(const std::string& path) {
  return path.find("machines/c-") != std::string::npos || path.find("stencil4d") != std::string::npos ? 0.02 : 0.01;
}

// Times of which are not those of one clock to begin with, or which have one rank or other locations.
bool CanBeJudged(const std::string& path) {
  for (const char* part : {"diagnosis/skew", "mi300", "/1/", "pfft/256"}) {
    if (path.find(part) != std::string::npos) return false;
  }
  return true;
}

void ExpectSameFactors(const Trace& truth, const Trace& repaired, const Matching& matching, const std::string& path) {
  for (const PhaseSpec& spec : {PhaseSpec::WholeRun(), WithLoopOf(truth, PhaseSpec::FoundLoop())}) {
    const PhaseFactors measured = MeasurePhase(truth, MatchTrace(truth), CutPhase(truth, spec), {});
    const PhaseFactors found = MeasurePhase(repaired, matching, CutPhase(repaired, spec), {});
    for (const FactorType& type : AllFactors()) {
      const Factor factor = *FactorById(type.id);
      if (!measured.values[factor]) continue;
      ASSERT_TRUE(found.values[factor]) << path << ": " << type.id;
      EXPECT_NEAR(*found.values[factor], *measured.values[factor], Tolerance(path)) << path << ": " << type.id;
    }
  }
}

TEST(Clocks, RepairedRunsKeepTheirFactors) {
  std::uint32_t seed = 0;
  for (const std::string& path : test::TracesToTry()) {
    ++seed;
    if (!CanBeJudged(path) || seed % 2 == 0) continue;  // every other one, to take half the time
    const Trace truth = ReadTrace(path);
    test::ClockErrors errors;
    errors.of_nodes = seed % 4 == 1;
    const std::vector<ClockCorrection> clocks = test::DrawClocks(truth, errors, seed);
    Trace trace = test::ByClocks(truth, clocks);
    const Matching matching = MatchSynchronised(trace);
    if (ClocksAgree(truth) && trace.size() > 1 && truth.nodes.size() > 1) {
      EXPECT_GT(matching.diagnostics.count(anomaly::kClocksCorrected), 0u) << path;
    }
    ExpectSameFactors(truth, trace, matching, path);
  }
}

TEST(Clocks, TrueOnesStayAsTheyAre) {
  for (const std::string& path : test::TracesToTry()) {
    if (path.find("diagnosis/skew") != std::string::npos) continue;
    EXPECT_TRUE(ClocksAgree(ReadTrace(path))) << path;
  }
}

TEST(Clocks, SkewedRunBecomesTheSynchronousOne) {
  const std::string folder = test::SharedDataFolder() + "/traces/diagnosis/";
  if (test::SharedTraces().empty()) GTEST_SKIP() << "no shared data";
  Trace skewed = ReadTrace(folder + "skew/traces.otf2");
  const Matching matching = MatchSynchronised(skewed);
  const Trace truth = ReadTrace(folder + "sync/traces.otf2");
  for (std::size_t rank = 0; rank < truth.size(); ++rank) {
    for (std::size_t call = 0; call < truth.timelines[rank].calls(); ++call) {
      EXPECT_NEAR(truth.Seconds(skewed.timelines[rank].leave(call) - truth.timelines[rank].leave(call)), 0, 5e-6);
    }
  }
  ExpectSameFactors(truth, skewed, matching, folder);
}

}  // namespace
}  // namespace farscale
