#include "report/factor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "report/digest.h"
#include "report/sections.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reliable up to 100 cores, of which the curve says nothing: at 128 it is uncertain, from 512 on unknown.
PhaseProjection WithTargets() {
  PhaseProjection phase;
  phase.phase = "step";
  phase.fitted_cores = {8, 16};
  FactorProjection factor;
  factor.factor = Factor::kParallelEfficiency;
  for (const double cores : {8.0, 16.0, 64.0, 100.0, 128.0, 256.0, 512.0, 1024.0}) {
    const double half = cores <= 100 ? 0.02 : cores <= 256 ? 0.15 : 0.45;
    factor.curve.push_back({cores, cores / 16, 0.5, IntervalBounds{0.5 - half, 0.5 + half}, {}});
    if (cores == 64 || cores == 128 || cores == 1024) factor.targets.push_back(factor.curve.back());
  }
  factor.measured = {{64, 0.51}};
  phase.factors = {factor};
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 100, ReliableRange::Reach::kUpTo};
  phase.key_results.emplace();
  phase.key_results->time.emplace();
  phase.key_results->time->targets = {{64, 4, 0.002, OpenBounds{0.0018, 0.0021}, {}}, {128, 8, 0.001, {}, {}}};
  return phase;
}

std::vector<std::string> Lines(std::size_t columns) {
  return Split(FormatTargets({WithTargets()}, test::OwnTexts(), {columns, false}), '\n');
}

TEST(Targets, StandSideBySideOrBelowEachOther) {
  EXPECT_THAT(
      Lines(100),
      ElementsAre("cores                                                         64            128  1,024",
                  "step   parallel efficiency   0.500 (0.480–0.520), measured 0.510  (0.350–0.650)      –",
                  "       time of an iteration                  2.00 ms (1.80–2.10)              –      –", ""));
  EXPECT_THAT(Lines(75), ElementsAre("step", "cores                  parallel efficiency  time of an iteration",
                                     "64     0.500 (0.480–0.520), measured 0.510   2.00 ms (1.80–2.10)",
                                     "128                          (0.350–0.650)                     –",
                                     "1,024                                    –                     –", ""));
  EXPECT_EQ(Lines(50)[1], "64 cores");
  EXPECT_EQ(Lines(50)[2], "  parallel efficiency 0.500 (0.480–0.520), measured 0.510");
}

// In the overview of a phase and in the digest as well; the least reach of all phases is that of all.
TEST(Targets, NameNextSteps) {
  const std::string steps =
      "1,024 cores: unknown, too far from the runs. Targets up to 100 are reliable. Larger runs "
      "would reach further; with traces, farscale grow replays the program there.";
  Results results;
  results.projections = {WithTargets()};
  results.table.rows = {FactorRow()};
  results.table.rows[0].phase = "step";
  results.table.rows[0].cores = 16;
  const auto overview = OverviewWithoutFigures(results, results.table.rows, &results.projections[0], {"step", "step"},
                                               test::OwnTexts(), std::nullopt);
  EXPECT_EQ(overview["nextRun"], steps);
  EXPECT_THAT(FormatDigest(results, test::OwnTexts(), {400, false}), HasSubstr(steps));
  results.projections.push_back(WithTargets());
  results.projections[1].reliable_range->cores = 32;
  EXPECT_THAT(NextStepsForTargets(results.projections, test::OwnTexts()), ElementsAre(HasSubstr("up to 32 are")));
  // What is known of one of the phases is not unknown.
  FactorProjection& factor = results.projections[1].factors[0];
  for (ProjectedValue& value : factor.curve) value.interval80 = IntervalBounds{0.49, 0.51};
  for (ProjectedValue& value : factor.targets) value.interval80 = IntervalBounds{0.49, 0.51};
  results.projections[1].reliable_range->cores = 1024;
  EXPECT_TRUE(NextStepsForTargets(results.projections, test::OwnTexts()).empty());
  results.projections = {WithTargets()};
  results.projections[0].factors[0].targets.pop_back();
  EXPECT_TRUE(NextStepsForTargets(results.projections, test::OwnTexts()).empty());
}

TEST(Targets, AreNotShownWithoutAProjection) {
  EXPECT_EQ(FormatTargets({PhaseProjection()}, test::OwnTexts(), {}), "");
}

}  // namespace
}  // namespace farscale
