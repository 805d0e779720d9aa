#include "report/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/figures.h"
#include "report/pop_colors.h"
#include "report/summary.h"
#include "report/factor_text.h"

namespace farscale {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Reach = EvidenceHorizon::Reach;

// Fitted to 32 cores and projected to 64 and 256, with a horizon at 100.
PhaseProjection Phase(Reach reach = Reach::kUpTo, double cores = 100) {
  PhaseProjection phase;
  phase.fitted_cores = {8, 16, 32};
  FactorProjection projection;
  projection.factor = Factor::kParallelEfficiency;
  projection.is_product = true;
  projection.curve = {{32, 1, 0.8, IntervalBounds{0.75, 0.85}, {}},
                      {100, 100 / 32.0, 0.65, IntervalBounds{0.55, 0.75}, {}},
                      {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  projection.targets = {{64, 2, 0.7, IntervalBounds{0.62, 0.78}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  FactorProjection balance = projection;
  balance.factor = Factor::kLoadBalance;
  balance.is_product = false;
  phase.factors = {projection, balance};
  phase.horizon = EvidenceHorizon{Factor::kParallelEfficiency, 0.2, cores, reach};
  return phase;
}

TEST(Evidence, OneSentenceSaysHowFarWhyAndWhatToDo) {
  EXPECT_EQ(DescribeHorizon(Phase()),
            "The projection is evidence up to 100 cores, 3.1× the largest fitted run: beyond, the 80 % interval of "
            "parallel efficiency is wider than 0.2; more core counts would narrow it, the next best run most.");
  EXPECT_EQ(DescribeHorizon(Phase(Reach::kAtLeast, 256)),
            "The projection is evidence as far as it goes, up to 256 cores: the 80 % interval of parallel efficiency "
            "nowhere gets wider than 0.2.");
  EXPECT_EQ(DescribeHorizon(Phase(Reach::kOnlyMeasured, 32)),
            "The projection is no evidence beyond the runs: at the largest fitted one, on 32 cores, the 80 % interval "
            "of parallel efficiency is wider than 0.2; more core counts would narrow it, the next best run most.");
  PhaseProjection unknown = Phase(Reach::kOnlyMeasured, 32);
  unknown.factors[0].curve[0].interval80.reset();
  EXPECT_THAT(DescribeHorizon(unknown), HasSubstr("of parallel efficiency is unknown;"));
  unknown.horizon.reset();
  EXPECT_EQ(DescribeHorizon(unknown), "");
}

TEST(Evidence, MisfitsAndWhatIsKnownLessFar) {
  PhaseProjection misfit = Phase(Reach::kMisfit, 32);
  misfit.factors[0].curve[0].interval95 = IntervalBounds{0.65, 0.92};
  misfit.factors[0].measured = {{32, 0.4}};
  EXPECT_EQ(
      DescribeHorizon(misfit),
      "The projection is no evidence beyond the runs: no model describes them. On 32 cores parallel efficiency was "
      "measured as 0.400, outside of the 95 % interval of what was fitted, 0.650 to 0.920. Find out what is "
      "different there, or measure it once more.");
  PhaseProjection phase = Phase();
  FactorProjection global = phase.factors[0];
  global.factor = Factor::kGlobalEfficiency;
  global.curve = {{32, 1, 0.8, IntervalBounds{0.5, 0.9}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  phase.factors.push_back(global);
  EXPECT_THAT(DescribeHorizon(phase),
              testing::EndsWith(" Global efficiency, speedup, times and costs are evidence up to 32 cores only."));
}

// Its interval is wider than 0.2 from the largest run on, so global efficiency is known to 32 cores and no further.
TEST(Evidence, FactorsEndBeforeTheHorizonOfThePhase) {
  PhaseProjection phase = Phase();
  FactorProjection global = phase.factors[0];
  global.factor = Factor::kGlobalEfficiency;
  global.curve = {{32, 1, 0.8, IntervalBounds{0.5, 0.9}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  phase.factors.push_back(global);
  EXPECT_EQ(EndsEarly(phase, Factor::kGlobalEfficiency), 32);
  EXPECT_EQ(EndsEarly(phase, Factor::kParallelEfficiency), std::nullopt);
  EXPECT_EQ(
      DescribeEarlyEnds(phase, {&phase.factors[0], &phase.factors[2]}),
      "The line marks where the evidence of parallel efficiency ends; a bar across a curve, pale beyond, marks where "
      "it ends earlier: global efficiency at 32 cores.");
  EXPECT_EQ(DescribeEarlyEnds(phase, {&phase.factors[0]}), "");
  Chart chart;
  MarkHorizon(phase, Factor::kGlobalEfficiency, chart);
  EXPECT_EQ(chart.horizon_x, 32);
  EXPECT_EQ(chart.horizon_label, "no evidence beyond 32");
  MarkHorizon(phase, Factor::kParallelEfficiency, chart);
  EXPECT_EQ(chart.horizon_label, "evidence to 100");
}

TEST(Evidence, DominanceIsToldAsFarAsItIsEvidence) {
  PhaseProjection phase = Phase();
  phase.dominance = {{8, Factor::kParallelEfficiency}, {64, Factor::kLoadBalance}, {200, Factor::kParallelEfficiency}};
  const KnownDominance known = DominanceWithinEvidence(phase);
  ASSERT_EQ(known.ranges.size(), 2u);
  EXPECT_EQ(known.ranges.back().factor, Factor::kLoadBalance);
  EXPECT_EQ(known.end, 100);
  EXPECT_THAT(SummarizePhase({}, &phase),
              Contains("Parallel efficiency dominates the loss at first, load balance from 64 "
                       "cores on, as far as there is evidence."));
  phase.dominance.resize(1);
  EXPECT_THAT(SummarizePhase({}, &phase),
              Contains("Parallel efficiency dominates the loss as far as there is evidence."));
  for (FactorProjection& factor : phase.factors) {
    for (ProjectedValue& value : factor.curve)
      value.interval80 = IntervalBounds{value.value - 0.01, value.value + 0.01};
  }
  phase.horizon = EvidenceHorizon{Factor::kParallelEfficiency, 0.2, 256, Reach::kAtLeast};
  EXPECT_EQ(DominanceWithinEvidence(phase).end, std::nullopt);
  EXPECT_THAT(SummarizePhase({}, &phase),
              Contains("Parallel efficiency dominates the loss at every core count shown."));
}

TEST(Evidence, BeyondTheHorizonTheIntervalStandsAlone) {
  const PhaseProjection phase = Phase();
  const std::vector<ProjectedValue>& targets = phase.factors[0].targets;
  const ReportData within = ProjectedCell(phase, Factor::kParallelEfficiency, targets[0], true);
  EXPECT_EQ(within["text"], "0.700");
  EXPECT_EQ(within["interval"], "0.620 – 0.780");
  EXPECT_EQ(within["color"], PopColor(0.7));
  const ReportData beyond = ProjectedCell(phase, Factor::kParallelEfficiency, targets[1], true);
  EXPECT_EQ(beyond["text"], "0.300 – 0.700");
  EXPECT_EQ(beyond["hasInterval"], false);
  EXPECT_EQ(beyond["color"], kNoEvidenceColor);
}

TEST(Evidence, TerminalTables) {
  const std::string text = FormatProjections({Phase()}, {});
  EXPECT_THAT(text, HasSubstr("64       2.0×                0.700  0.620 to 0.780           0.700\n"));
  EXPECT_THAT(text, HasSubstr("256      8.0×         not evidence  0.300 to 0.700  0.300 to 0.700\n"));
  EXPECT_THAT(text, HasSubstr("The projection is evidence up to 100 cores"));
}

// What is projected above 110 % comes from what was measured, where that tells.
TEST(Evidence, TerminalTablesSayWhyValuesAreAbove110Percent) {
  PhaseProjection phase = Phase();
  FactorProjection scalability;
  scalability.factor = Factor::kComputationScalability;
  for (const double cores : {64.0, 256.0}) {
    ProjectedValue value;
    value.cores = cores;
    value.value = 1.2;
    scalability.targets.push_back(value);
  }
  phase.factors.push_back(scalability);
  FactorTable table;
  for (const std::int64_t cores : {8, 32}) {
    FactorRow row;
    row.phase = phase.phase;
    row.cores = row.ranks = cores;
    row.values[Factor::kComputationScalability] = cores == 8 ? 1 : 1.105;
    table.rows.push_back(row);
  }
  EXPECT_THAT(FormatProjections({phase}, table),
              HasSubstr("Efficiencies above 110 % come from computation scalability (1.105 on 32 cores)"));
}

TEST(Evidence, Sentences) {
  const PhaseProjection phase = Phase();
  const std::vector<std::string> sentences = SummarizePhase({}, &phase);
  EXPECT_THAT(sentences, Contains("At 256 cores, 8.0× the largest fitted run, there is no evidence: the 80 % interval "
                                  "of parallel efficiency is 0.300 to 0.700."));
  EXPECT_THAT(sentences, Contains(DescribeHorizon(phase)));
}

TEST(Evidence, ChartsHaveALineAndGreyBeyond) {
  const std::string grey = "fill-opacity=\"0.16\"";
  const auto svg = [](const PhaseProjection& phase) {
    Chart chart = EfficiencyChart(phase, "t");
    ChartSeries series;
    series.line = LineOf(phase.factors[0]);
    chart.series = {series};
    return RenderSvg(chart, true);
  };
  EXPECT_THAT(svg(Phase()), HasSubstr("evidence to 100<"));
  EXPECT_THAT(svg(Phase()), HasSubstr(grey));
  EXPECT_THAT(svg(Phase(Reach::kAtLeast, 256)), HasSubstr("evidence to 256 at least"));
  EXPECT_THAT(svg(Phase(Reach::kAtLeast, 256)), Not(HasSubstr(grey)));
  EXPECT_THAT(svg(Phase(Reach::kOnlyMeasured, 32)), HasSubstr("no evidence beyond 32"));
  PhaseProjection unknown = Phase();
  unknown.horizon.reset();
  EXPECT_THAT(svg(unknown), Not(HasSubstr("evidence")));
}

}  // namespace
}  // namespace farscale
