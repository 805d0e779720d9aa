// Sections of a phase in a report, and tables and sentences of the same for the terminal: backtests, comparisons with
// other machines, fits with the two predictors of grown runs [docs/growth.md], splits into processes and threads.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "pages/render.h"
#include "plot/chart.h"
#include "projection/backtest.h"
#include "projection/projection.h"
#include "projection/thread_split.h"
#include "report/figures.h"
#include "results/results.h"

namespace farscale {

// The tags `backtest` of a phase in docs/templates.md; nothing where nothing was predicted.
std::optional<ReportData> BacktestSection(const Results& results, const std::string& series, const PhaseId& phase,
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

// The tags `comparison` of a phase in docs/templates.md; nothing without variants.
std::optional<ReportData> ComparePhase(const Results& results, const std::string& series, const PhaseId& phase,
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
std::optional<ReportData> PredictorText(const PhaseProjection& phase);

// The same at all targets beyond the runs: the tags `predictors` of a projection in docs/templates.md.
std::optional<ReportData> TabulatePredictors(const PhaseProjection& phase);

// The tags `splits` of a phase in docs/templates.md; nothing for a phase without splits. Where a split is uncertain,
// time and efficiency are intervals alone; where it is unknown, all but the cores are dashes.
std::optional<ReportData> Splits(const Results& results, const PhaseKey& key, const PhaseNames& names,
                                 const Partials& texts, ReportModel& model);

// The best splits of all phases, as best_splits.txt.mustache words them; empty where no runs vary both numbers.
std::string FormatBestSplits(const Results& results, const Partials& texts, const TerminalStyle& style);

// The best split of every phase and the others beside it.
std::string FormatSplits(const std::vector<ThreadSplits>& phases, std::int64_t cores, std::size_t width = kAnyWidth);

}  // namespace farscale
