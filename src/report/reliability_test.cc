#include "report/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "report/sections.h"
#include "report/factor_text.h"
#include "support/own_templates.h"

namespace farscale {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Reach = ReliableRange::Reach;

// Fitted to 32 cores and projected to 64 and 256, reliable up to 100.
PhaseProjection Phase(Reach reach = Reach::kUpTo, double cores = 100) {
  PhaseProjection phase;
  phase.fitted_cores = {8, 16, 32};
  FactorProjection projection;
  projection.factor = Factor::kParallelEfficiency;
  projection.is_product = true;
  projection.curve = {{32, 1, 0.8, IntervalBounds{0.75, 0.85}, {}},
                      {100, 100 / 32.0, 0.65, IntervalBounds{0.56, 0.74}, {}},
                      {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  projection.targets = {{64, 2, 0.7, IntervalBounds{0.62, 0.78}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  FactorProjection balance = projection;
  balance.factor = Factor::kLoadBalance;
  balance.is_product = false;
  phase.factors = {projection, balance};
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, cores, reach};
  return phase;
}

std::string Range(const PhaseProjection& phase) { return Join(DescribeReliableRange(phase, test::OwnTexts()), " "); }

TEST(Reliability, SentencesSayHowFarWhyAndWhatToDo) {
  EXPECT_EQ(Range(Phase()),
            "Predictions are reliable up to 100 cores (3.1× the largest run). More core counts would extend that "
            "range.");
  EXPECT_EQ(Range(Phase(Reach::kAtLeast, 256)), "Predictions are reliable up to 256 cores, the largest count shown.");
  EXPECT_EQ(Range(Phase(Reach::kOnlyMeasured, 32)),
            "Predictions are not reliable beyond the runs: the 80 % interval of parallel efficiency at 32 cores is "
            "wider than ±15 % of the value or ±0.1. More core counts would narrow it.");
  PhaseProjection unknown = Phase(Reach::kOnlyMeasured, 32);
  unknown.factors[0].curve[0].interval80.reset();
  EXPECT_THAT(Range(unknown), HasSubstr("at 32 cores is unknown. More core counts would narrow it. Beyond 32 "
                                        "cores predictions are unknown."));
  unknown.reliable_range.reset();
  EXPECT_EQ(Range(unknown), "");
}

TEST(Reliability, MisfitsAndWhatIsKnownLessFar) {
  PhaseProjection misfit = Phase(Reach::kMisfit, 32);
  misfit.factors[0].curve[0].interval95 = IntervalBounds{0.65, 0.92};
  misfit.factors[0].measured = {{32, 0.4}};
  EXPECT_EQ(Range(misfit),
            "No prediction beyond the runs: no model fits them. 32 cores: parallel efficiency 0.400 measured, "
            "0.650–0.920 fitted (95 % interval). Find out what differs there, or repeat that run.");
  EXPECT_EQ(ReliabilityOf(misfit, 64), Reliability::kUnknown);
  Chart chart;
  MarkReliableRange(misfit, chart);
  EXPECT_EQ(chart.reliable_label, "unknown beyond 32");
  PhaseProjection phase = Phase();
  FactorProjection global = phase.factors[0];
  global.factor = Factor::kGlobalEfficiency;
  global.curve = {{32, 1, 0.8, IntervalBounds{0.5, 0.9}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  phase.factors.push_back(global);
  EXPECT_THAT(Range(phase),
              testing::EndsWith(" Global efficiency, speedup, times and costs are reliable up to 32 cores."));
}

// Its interval is wider than 0.2 from the largest run on, so global efficiency is known to 32 cores and no further.
TEST(Reliability, FactorsEndBeforeTheRangeOfThePhase) {
  PhaseProjection phase = Phase();
  FactorProjection global = phase.factors[0];
  global.factor = Factor::kGlobalEfficiency;
  global.curve = {{32, 1, 0.8, IntervalBounds{0.5, 0.9}, {}}, {256, 8, 0.5, IntervalBounds{0.3, 0.7}, {}}};
  phase.factors.push_back(global);
  EXPECT_EQ(EndsEarly(phase, Factor::kGlobalEfficiency), 32);
  EXPECT_EQ(EndsEarly(phase, Factor::kParallelEfficiency), std::nullopt);
  EXPECT_EQ(ListEarlyEnds(phase, {&phase.factors[0], &phase.factors[2]}), "global efficiency at 32 cores");
  EXPECT_EQ(ListEarlyEnds(phase, {&phase.factors[0]}), "");
  Chart chart;
  MarkReliableRange(phase, Factor::kGlobalEfficiency, chart);
  EXPECT_EQ(chart.reliable_to_x, 32);
  EXPECT_EQ(chart.reliable_label, "uncertain beyond 32");
  MarkReliableRange(phase, Factor::kParallelEfficiency, chart);
  EXPECT_EQ(chart.reliable_label, "reliable to 100");
}

TEST(Reliability, DominanceEndsWithTheReliableRange) {
  PhaseProjection phase = Phase();
  phase.dominance = {{8, Factor::kParallelEfficiency}, {64, Factor::kLoadBalance}, {200, Factor::kParallelEfficiency}};
  const auto [ranges, end] = DominanceWithinReliableRange(phase);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges.back().factor, Factor::kLoadBalance);
  EXPECT_EQ(end, 100);
  EXPECT_THAT(
      SummarizePhase({}, &phase, test::OwnTexts()),
      Contains("Largest loss: parallel efficiency, load balance from 64 cores on (within the reliable range)."));
  phase.dominance.resize(1);
  EXPECT_THAT(SummarizePhase({}, &phase, test::OwnTexts()),
              Contains("Largest loss: parallel efficiency (within the reliable range)."));
  for (FactorProjection& factor : phase.factors) {
    for (ProjectedValue& value : factor.curve)
      value.interval80 = IntervalBounds{value.value - 0.01, value.value + 0.01};
  }
  phase.reliable_range = ReliableRange{Factor::kParallelEfficiency, {}, 256, Reach::kAtLeast};
  EXPECT_EQ(DominanceWithinReliableRange(phase).second, std::nullopt);
  EXPECT_THAT(SummarizePhase({}, &phase, test::OwnTexts()), Contains("Largest loss: parallel efficiency."));
}

TEST(Reliability, BeyondTheRangeTheIntervalStandsAlone) {
  const PhaseProjection phase = Phase();
  const std::vector<ProjectedValue>& targets = phase.factors[0].targets;
  const ReportData within = FormatCell(phase, Factor::kParallelEfficiency, targets[0], true);
  EXPECT_EQ(within["text"], "0.700");
  EXPECT_EQ(within["interval"], "0.620 – 0.780");
  EXPECT_EQ(within["color"], PopColor(0.7));
  const ReportData beyond = FormatCell(phase, Factor::kParallelEfficiency, targets[1], true);
  EXPECT_EQ(beyond["text"], "0.300 – 0.700");
  EXPECT_EQ(beyond["interval"], "");
  EXPECT_EQ(beyond["color"], kUncertainColor);
}

// 0.5 to 1.1: more than twice the value of 0.5 at 256 cores, log2(1.1 / 0.5) = 1.138 doublings. At 100 cores the low
// end is further off, log2(0.65 / 0.56) = 0.215. One is passed at 100 · 2.56^(0.785 / 0.923) = 222.5 cores.
PhaseProjection PhaseThatGetsUnknown() {
  PhaseProjection phase = Phase();
  for (FactorProjection& factor : phase.factors) {
    factor.curve.back().interval80 = IntervalBounds{0.5, 1.1};
    factor.targets.back().interval80 = IntervalBounds{0.5, 1.1};
  }
  return phase;
}

TEST(Reliability, UnknownIsSaidOnceAndWithoutNumbers) {
  const PhaseProjection phase = PhaseThatGetsUnknown();
  EXPECT_EQ(UncertainUpTo(phase), 222);
  EXPECT_EQ(Range(phase),
            "Predictions are reliable up to 100 cores (3.1× the largest run). More core counts would extend that "
            "range. Predictions are uncertain up to 222 cores and unknown beyond.");
  EXPECT_THAT(FormatProjections({phase}, {}, test::OwnTexts()),
              HasSubstr("256      8.0×              unknown              –             –\n"));
  EXPECT_THAT(SummarizePhase({}, &phase, test::OwnTexts()), Contains("256 cores (8.0×): parallel efficiency unknown."));
  const ReportData cell = FormatCell(phase, Factor::kLoadBalance, phase.factors[1].targets[1], true);
  EXPECT_EQ(cell["text"], "–");
  EXPECT_EQ(cell["interval"], "");
  EXPECT_EQ(cell["tone"], kUncertainTone);
}

// Of one factor alone, cells say so.
TEST(Reliability, CellsOfFactorsThatAreUnknown) {
  PhaseProjection phase = Phase();
  phase.factors[1].curve.back().interval80 = IntervalBounds{0.1, 0.7};
  phase.factors[1].targets.back().interval80 = IntervalBounds{0.1, 0.7};
  EXPECT_EQ(FormatCell(phase, Factor::kLoadBalance, phase.factors[1].targets[1], true)["text"], "unknown");
  EXPECT_EQ(FormatCell(phase, Factor::kParallelEfficiency, phase.factors[0].targets[1], true)["text"], "0.300 – 0.700");
}

TEST(Reliability, TerminalTables) {
  const std::string text = FormatProjections({Phase()}, {}, test::OwnTexts());
  EXPECT_THAT(text, HasSubstr("64       2.0×                0.700    0.620–0.780         0.700\n"));
  EXPECT_THAT(text, HasSubstr("256      8.0×            uncertain    0.300–0.700   0.300–0.700\n"));
  EXPECT_THAT(text, HasSubstr("Predictions are reliable up to 100 cores"));
}

// What is projected above 110 % comes from what was measured, where that tells.
TEST(Reliability, TerminalTablesSayWhyValuesAreAbove110Percent) {
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
  EXPECT_THAT(FormatProjections({phase}, table, test::OwnTexts()),
              HasSubstr("Efficiencies above 110 % come from computation scalability (1.105 on 32 cores)"));
}

TEST(Reliability, Sentences) {
  const PhaseProjection phase = Phase();
  const std::vector<std::string> sentences = SummarizePhase({}, &phase, test::OwnTexts());
  EXPECT_THAT(sentences, Contains("256 cores (8.0×): uncertain, parallel efficiency 0.300–0.700."));
  EXPECT_THAT(sentences, Contains(DescribeReliableRange(phase, test::OwnTexts())[0]));
}

// The plot is from 56 to 706 pixels.
TEST(Reliability, ChartsShadeTheReliableRangeUpToALine) {
  const std::string shaded = "width=\"650\" height=\"300\" fill=\"#2a38aa\" fill-opacity=\"0.07\"";
  const auto svg = [](const PhaseProjection& phase) {
    Chart chart = EfficiencyChart(phase, "t");
    chart.series = {FactorSeries(phase.factors[0], false)};
    return RenderSvg(chart, true);
  };
  EXPECT_THAT(svg(Phase()), HasSubstr("reliable to 100<"));
  EXPECT_THAT(svg(Phase()), HasSubstr("fill-opacity=\"0.07\""));
  EXPECT_THAT(svg(Phase()), Not(HasSubstr(shaded)));
  EXPECT_THAT(svg(Phase(Reach::kAtLeast, 256)), HasSubstr("reliable to 256 at least"));
  EXPECT_THAT(svg(Phase(Reach::kAtLeast, 256)), HasSubstr(shaded));
  EXPECT_THAT(svg(Phase(Reach::kOnlyMeasured, 32)), HasSubstr("uncertain beyond 32"));
  EXPECT_THAT(svg(Phase()), Not(HasSubstr("unknown")));
  EXPECT_THAT(svg(PhaseThatGetsUnknown()), HasSubstr("unknown beyond 222<"));
  PhaseProjection unknown = Phase();
  unknown.reliable_range.reset();
  EXPECT_THAT(svg(unknown), Not(HasSubstr("reliable")));
}

}  // namespace
}  // namespace farscale
