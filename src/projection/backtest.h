// Tests how well larger runs are predicted from smaller ones: runs above a core count are hidden, projected from the
// others and compared with what was measured there [docs/formulas.md, backtest].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor.h"
#include "phases/phase_spec.h"
#include "projection/projection.h"

namespace farscale {

class ModelLibrary;
struct FactorTable;
struct PhaseKey;

// A factor of one hidden run, as measured and as predicted from the runs of up to `train_max` cores.
struct BacktestRow {
  std::string series;
  PhaseId phase;
  Factor factor = Factor::kParallelEfficiency;
  double train_max = 0;
  std::int64_t repeat = 0;  // which run at this core count
  double measured = 0;
  ProjectedValue predicted;  // its ratio is to the largest core count that was not hidden
  std::string model;         // model of the factor, or kProduct

  friend bool operator==(const BacktestRow&, const BacktestRow&) = default;
};

// Stands for the model of factors that are products of others.
inline constexpr const char* kProduct = "product";

struct BacktestResult {
  // Ordered by series and phase as in the table, then factor, train_max, cores and repeat.
  std::vector<BacktestRow> rows;
  // Core counts to train up to, over all series and phases; and those that give nothing.
  std::size_t tried = 0;
  std::size_t too_few = 0;         // fewer than two core counts to train on; by default than three, or none to predict
  std::size_t nothing_larger = 0;  // no run left to predict
  std::size_t same_runs = 0;       // no other runs than a smaller train_max of the list
  std::string skipped;             // the first of them
  std::size_t not_predicted = 0;   // hidden values of factors that no model could be fitted to
  std::size_t not_measured = 0;    // predictions of factors that the hidden run lacks and others have
  std::vector<Finding> findings;   // about the models asked for
};

// Hides and predicts, for every series and phase of a completed table. What is hidden is taken out of the table
// before it is projected. Throws a usage error for models that do not exist; that nothing can be backtested is a result
// without rows. A step of the progress is a phase and a number of cores to train up to. `options`: their train_max and
// targets do not count. `train_max`: empty: core counts with two smaller and one larger at least, 16 at most, and of
// those only `most_splits` of the largest; 0: all.
BacktestResult Backtest(const FactorTable& table, const ModelLibrary& library, const ProjectionOptions& options,
                        const std::vector<double>& train_max, std::size_t most_splits = 0,
                        const ProgressSink& progress = {});

// The rows for a report, which are few however many runs there are: the last three of the core counts that are trained
// up to by default.
std::vector<BacktestRow> BacktestForReport(const FactorTable& table, const ModelLibrary& library,
                                           const ProjectionOptions& options, const ProgressSink& progress = {});

// Sentences on everything that was left out, with the reason.
std::vector<std::string> DescribeGaps(const BacktestResult& result);

// (predicted - measured) / measured; nothing where 0 was measured.
std::optional<double> RelativeErrorOf(const BacktestRow& row);

// Quality of the predictions by a backtest: their errors, how often the intervals held and how good these are, by
// factor and by how far the prediction went [docs/formulas.md, backtest].

// Coverages of the intervals of projections; chosen: the usual two.
inline constexpr double kInnerCoverage = 0.80;
inline constexpr double kOuterCoverage = 0.95;

bool Contains(const IntervalBounds& interval, double value);

// The width of an interval that is meant to hold with the probability `coverage`, and for a value outside
// 2 / (1 - coverage) times how far outside [Gneiting07, eq. 43]. In the unit of the value; smaller is better.
double IntervalScore(const IntervalBounds& interval, double coverage, double value);

// The power of two nearest to a ratio of core counts, as ratios go: 1.41 belongs to 1, 1.42 and 2.82 to 2.
double NearestPowerOfTwo(double ratio);

// Intervals of one coverage.
struct IntervalRecord {
  std::size_t points = 0;  // that have one
  std::size_t inside = 0;  // points inside their interval
  double score = 0;        // mean

  double Coverage() const;  // inside by points

  friend bool operator==(const IntervalRecord&, const IntervalRecord&) = default;
};

struct PredictionErrors {
  std::size_t points = 0;
  std::size_t without_error = 0;  // measured as 0: they have no relative error
  // Median of the absolute relative errors, and the error below which nine tenths of them lie.
  std::optional<double> median;
  std::optional<double> percentile90;
  std::optional<IntervalRecord> interval80;
  std::optional<IntervalRecord> interval95;

  friend bool operator==(const PredictionErrors&, const PredictionErrors&) = default;
};

PredictionErrors ErrorsOf(const std::vector<const BacktestRow*>& rows);

struct ErrorsAtRatio {
  Factor factor = Factor::kParallelEfficiency;
  double ratio = 1;  // a power of two
  PredictionErrors errors;
};

// Ordered by factor, then ratio.
std::vector<ErrorsAtRatio> ErrorsByRatio(const std::vector<BacktestRow>& rows);

// Errors of one factor, in the order of the rows.
std::vector<std::pair<PhaseKey, PredictionErrors>> ErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor);

// Two ways to predict, over what both predict and with the intervals that both have.
struct BacktestComparison {
  std::string against;  // name of the other way
  std::vector<ErrorsAtRatio> errors;
  std::vector<ErrorsAtRatio> errors_against;  // the same factors and ratios
};

BacktestComparison CompareBacktests(const std::vector<BacktestRow>& rows, const std::vector<BacktestRow>& others,
                                    const std::string& against);

}  // namespace farscale
