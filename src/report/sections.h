// Sections of a phase in a report, and tables and sentences of the same for the terminal: the summary and the first
// screen, key results, backtests, comparisons with other machines, fits with the two predictors of grown runs
// [docs/growth.md], splits into processes and threads, values to choose from, and timelines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "factors/factor_table.h"
#include "pages/render.h"
#include "plot/chart.h"
#include "projection/backtest.h"
#include "projection/projection.h"
#include "projection/thread_split.h"
#include "report/figures.h"
#include "results/results.h"

namespace farscale {

// Sections are false where there is nothing to show.

// The tags `backtest` of a phase in docs/templates.md.
ReportData BacktestSection(const Results& results, const std::string& series, const PhaseId& phase,
                           const Partials& texts);

// Its sentences, as backtest.txt.mustache of `texts` words them.
std::vector<std::string> SummarizeBacktest(const Results& results, const std::string& series, const PhaseId& phase,
                                           const Partials& texts);

// The same of these rows.
std::vector<std::string> SummarizeBacktest(const std::vector<BacktestRow>& rows, const Partials& texts);

// The same of a phase in a few words, also that nothing was predicted.
std::string BacktestInShort(const Results& results, const std::string& series, const PhaseId& phase,
                            const Partials& texts);

// Errors of the predictions and how the intervals held, by factor and ratio.
std::string FormatErrors(const std::vector<ErrorsAtRatio>& errors, std::size_t width = kAnyWidth);

// The same of one factor, one line a series and phase.
std::string FormatErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor, std::size_t width = kAnyWidth);

// Two ways to predict side by side.
std::string FormatComparison(const BacktestComparison& comparison, std::size_t width = kAnyWidth);

// The tags `comparison` of a phase in docs/templates.md, of results with variants.
ReportData ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
                        const PhaseNames& names, const Partials& texts, ReportModel& model);

// One sentence a variant, as comparison.txt.mustache of `texts` words it: how much of the loss noise explains, or what
// another machine gains.
std::vector<std::string> SummarizeComparison(const Results& results, const std::string& series, const PhaseId& phase,
                                             const Partials& texts);

// The tags `fits` of a phase in docs/templates.md. Figures are named after `slug`; the factors are added to `used`.
// Without a projection nothing is drawn, and nothing is listed where nothing was tried (null).
ReportData Fits(const PhaseProjection* projection, const std::string& slug, std::set<Factor>& used, ReportModel& model);

// The model that weighs most, and how much; a single model has no need of a weight.
std::string WeighedModel(const FactorProjection& projection);

// The values of grown runs; those of a product where all its parts have one. Empty where no runs were grown.
std::vector<DataPoint> GrownValues(const PhaseProjection& phase, const FactorProjection& projection);

// "0.912" of the grown run at so many cores; empty where there is none.
std::string GrownAt(const PhaseProjection& phase, const FactorProjection& projection, double cores);

// Draws the grown runs of factors, and their curves alone from the largest run on, into a chart whose first series are
// those factors. Without grown runs the chart stays as it is. Returns whether anything was drawn.
bool DrawPredictors(const PhaseProjection& phase, const std::vector<const FactorProjection*>& factors, Chart& chart);

// The tags of predictors.txt.mustache: the efficiency to talk about at the last target that was replayed.
ReportData PredictorText(const PhaseProjection& phase);

// The same at all targets beyond the runs: the tags `predictors` of a projection in docs/templates.md.
ReportData TabulatePredictors(const PhaseProjection& phase);

// The tags `splits` of a phase in docs/templates.md. Where a split is uncertain, time and efficiency are intervals
// alone; where it is unknown, all but the cores are dashes.
ReportData Splits(const Results& results, const PhaseKey& key, const PhaseNames& names, const Partials& texts,
                  ReportModel& model);

// The best splits of all phases, as best_splits.txt.mustache words them; empty where no runs vary both numbers.
std::string FormatBestSplits(const Results& results, const Partials& texts, const TerminalStyle& style);

// The best split of every phase and the others beside it.
std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width = kAnyWidth);

// Factors at many core counts, as text, for readers of the HTML report to choose from. The script of the page
// calculates nothing and formats nothing [templates/report.js].

// Counts that readers choose from are whole ones, each once: those measured, the targets, the last that is reliable,
// and others until there are so many, but at least a few. Between the points of a curve they are interpolated
// [projection/projection.h].
inline constexpr std::size_t kMostCounts = 28, kFewestOthers = 10;

// The name of a machine and a phase on it; null: there is no projection.
using SampledMachine = std::pair<std::string, const PhaseProjection*>;

// `machines` begin with that of the runs, on which there is a projection. The tags `sampled` of a projection in
// docs/templates.md, at the last count that is reliable, of which the script fills in the values of others; false
// without curves. And for the script: `anchor`, `numbers`, `counts` and `ratios` (as they are, as printed, and to the
// largest run), `place` of the first one shown, `lastReliable` and `lastUncertain` (places), what to say where it is
// `reliable`, `uncertain` or `unknown`, and by side and factor `model` (its name), `values` (text, lower and upper
// bound of every count, "-" for the text of what is uncertain, and for all three of what is unknown), `measured` (place
// and text of every measured count) and `tones` (a letter for every count). Places and texts are codes, numbers in base
// 36 of `width` digits: n below 1000 is the text 0.n of three decimals, n from 1000 on stands for the text with number
// n - 1000 in `texts`. Reports may have 20 phases on three machines, and these are most of their numbers.
std::pair<ReportData, ReportData> SampleValues(const std::vector<SampledMachine>& machines, const std::string& anchor);

// The table behind a chart, the tags `chartRows`: a row for every measured or grown count and every target, a cell for
// every factor. What is uncertain has the interval as its text, what is unknown says so.
ReportData RowsBehindChart(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// Names of factors by their ids, for the script.
ReportData NamesById(const std::set<Factor>& factors);

// JSON that may stand in a <script> element: nothing in it ends one.
std::string ToScriptJson(const ReportData& data);

// Where the runs of a report spend their time, over the run and over the iterations of a phase.

// Pictures take at most so many bytes in a report, and there are at most so many of them.
inline constexpr std::size_t kMostTimelineBytes = 900'000;
inline constexpr std::size_t kMostTimelines = 12;

// The pictures of the runs, then those of grown ones: a list of the tags `timelines` in docs/templates.md. `all`: how
// many measured runs could be shown, of which `shown` are: repeats are left out first, then core counts between others.
ReportData Timelines(const Results& results, ReportModel& model, std::size_t& all, std::size_t& shown);

// The iterations of one phase, the tags of `iterations`, where a run has at least three.
ReportData Iterations(const Results& results, const PhaseId& phase, const PhaseNames& names, ReportModel& model);

// There is something to draw.
bool HasTimeline(const RunRecord& run);

// The picture in sentences.
std::string DescribeTimeline(const RunRecord& run);

// "#d55e00" and so on, of time in one state alone.
std::string StateColor(RunState state);

// A complete <svg> element; `standalone` as for charts [plot/canvas.h]. Cells are joined, down to an eighth of the
// columns, until the element has at most so many bytes. The run must have a timeline.
std::string RenderTimeline(const RunRecord& run, bool standalone, std::size_t most_bytes);

// The key results of a projection, as sentences and small tables, for reports and the terminal
// [projection/key_results.h].

// The core counts that keep an efficiency, where speedup peaks, what an iteration takes and costs, the largest
// potential gain and the suggested next run, as key_results.txt.mustache of `texts` words them. Empty without results.
std::vector<std::string> SummarizeKeyResults(const PhaseProjection& projection, const Partials& texts);

// The target that sentences speak of: of those that are reliable for a factor and beyond the runs, the one nearest to
// eight times the largest run. The projection has key results.
std::optional<double> MainTarget(const PhaseProjection& projection, Factor factor);

// The run that narrows the predictions most; null where none is worth it.
const RunChoice* SuggestedRun(const PhaseProjection& projection);

// Where speedup peaks, and the suggested next run, in a sentence each; empty where that is not known.
std::string DescribePeak(const PhaseProjection& projection, const Partials& texts);
std::string SuggestNextRun(const PhaseProjection& projection, const Partials& texts);

// Core counts by level of efficiency, and times and costs by target: lists of the tags `tables` in docs/templates.md,
// without empty ones. Where a cell is uncertain its text is the interval, where it is unknown a dash or "unknown".
ReportData TabulateOutlook(const PhaseProjection& projection);
// Potential gains by target.
ReportData TabulateGains(const PhaseProjection& projection);
// Suggested next runs.
ReportData TabulateNextRuns(const PhaseProjection& projection);
// All of them.
ReportData TabulateKeyResults(const PhaseProjection& projection);

// "below 8", "58", "more than 4,096", and both bounds of an interval: "46–66"; "unknown" without any.
std::string FormatBound(const CountBound& bound);
std::string FormatCountBounds(const CountEstimate& answer, const char* between);

// Digits that tell core hours apart from the smallest to the largest.
std::string FormatCoreHours(double hours);

// The first screen of a phase: how it scales, what is to blame, and how sure that is.

// The largest target at which most phases of these studies are reliable, to compare their losses at; nothing for one
// phase, and where there is none.
std::optional<double> CommonTarget(const std::vector<const Results*>& studies);

// The factor that costs most at the end of the reliable range, or else in the largest run, with its share of the time
// of all cores; nothing where no loss is known. `common`: where losses are compared, else at the end of the reliable
// range. `projection` is as a report shows it [figures.h, ShownProjection], or null.
std::optional<std::pair<Factor, double>> FindCostliest(const std::vector<FactorRow>& rows,
                                                       const PhaseProjection* projection, std::optional<double> common);

// The tags of an overview in docs/templates.md, without figures.
ReportData OverviewWithoutFigures(const Results& results, const std::vector<FactorRow>& rows,
                                  const PhaseProjection* projection, const PhaseNames& names, const Partials& texts,
                                  std::optional<double> common = {});

// The tags with charts.
ReportData OverviewWithFigures(const Results& results, const std::vector<FactorRow>& rows,
                               const PhaseProjection* projection, const PhaseNames& names, const ReportParts& parts);

// The efficiency to talk about alone, without labels.
Chart SmallMultiple(const PhaseProjection& projection, const std::string& heading);

// The efficiencies and their losses, which readers follow from run to target.
std::vector<const FactorProjection*> ChartedFactors(const PhaseProjection& phase);

// A part of the efficiency as projected that a report shows; other factors are fitted for reading only.
bool IsPartOfTheWhole(const PhaseProjection& phase, Factor factor);

// The numbers of a phase in sentences: for the top of a report and for the terminal.

// The smallest of the factors that make up the widest efficiency that is known in parts; and the efficiency that it is
// a part of: parallel efficiency if it is one of that, too.
std::optional<std::pair<Factor, Factor>> FindLargestLoss(const FactorRow& row);

// Efficiency and largest loss of the largest run, predictions and how far they are reliable, which factor dominates,
// and what was fitted, as summary.txt.mustache of `texts` words it. `projection` may be null.
std::vector<std::string> SummarizePhase(const std::vector<FactorRow>& rows, const PhaseProjection* projection,
                                        const Partials& texts);

// The range of predictions and what limits them: the part of the summary that a report shows beside its charts.
std::vector<std::string> DescribeCertainty(const PhaseProjection& projection, const Partials& texts);

// The most cores that keep an efficiency [docs/formulas.md, verdict]: the global one, or parallel efficiency where
// computation is not compared. What was measured decides between the
// runs, the projection beyond them.
struct KeptEfficiency {
  Factor factor = Factor::kGlobalEfficiency;
  double level = 0;     // that is kept
  CountEstimate count;  // kBelow: the smallest run does not keep it; kMoreThan: all that is known does
  Reliability reliability = Reliability::kReliable;  // reliability of the count
  double smallest = 0, largest = 0;                  // cores of runs
  double at_largest = 0;                             // as measured
};

// The level is the one of the key results nearest to 75 %, which computing centres ask for. `projection`
// may be null. Nothing without an efficiency.
std::optional<KeptEfficiency> FindKeptEfficiency(const std::vector<FactorRow>& rows, const PhaseProjection* projection);

// "<8", "58", "4,096+".
std::string ShortCount(const CountBound& bound);

// "58 (46–66)", the interval alone where it is uncertain; empty where it is unknown.
std::string ShortCount(const KeptEfficiency& kept);

// "41 % of the run time on 2 cores, 47 % on 32; 3 of 20 iterations excluded as disturbed"; empty where no run is known,
// and for runs of several programs.
std::string ShareOfRun(const Results& results, const std::vector<FactorRow>& rows, const PhaseId& phase);

inline constexpr double kMuchOutside = 0.1;  // share of the run time that stands beside the verdict; chosen

// "20.1 % of the run time on 1 core, 50.3 % on 16": in no phase. Empty where that is less than `least` on both.
std::string OutsideOfPhases(const Results& results, double least);

}  // namespace farscale
