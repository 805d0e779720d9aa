// How well larger runs are predicted from smaller ones: runs above a core count are hidden, projected from the others
// and compared with what was measured there [docs/formulas.md, backtest].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "models/scaling_model.h"
#include "projection/projection.h"

namespace farscale {

// A factor of one hidden run, as measured and as predicted from the runs of up to `train_max` cores.
struct BacktestRow {
  std::string series;
  PhaseId phase;
  Factor factor = Factor::kParallelEfficiency;
  double train_max = 0;
  std::int64_t repeat = 0;  // which run at this core count
  double measured = 0;
  ProjectedValue predicted;  // its ratio is to the largest core count that was not hidden
  std::string model;         // of the factor, or kProduct

  friend bool operator==(const BacktestRow&, const BacktestRow&) = default;
};

// Stands for the model of factors that are products of others.
inline constexpr const char* kProduct = "product";

struct BacktestOptions {
  ProjectionOptions projection;   // of which train_max and targets do not count
  std::vector<double> train_max;  // empty: core counts with two smaller and one larger at least, 16 at most
  std::size_t most_splits = 0;    // with those: only so many of the largest; 0: all
};

// Core counts to train up to that give nothing, over all series and phases.
struct SkippedSplits {
  std::size_t tried = 0;           // these and those that give something
  std::size_t too_few = 0;         // fewer than two core counts to train on; by default than three, or none to predict
  std::size_t nothing_larger = 0;  // no run left to predict
  std::size_t same_runs = 0;       // no other runs than a smaller train_max of the list
  std::string example;             // the first of them
};

struct BacktestResult {
  std::vector<BacktestRow> rows;  // by series and phase as in the table, then factor, train_max, cores and repeat
  SkippedSplits skipped;
  std::size_t not_predicted = 0;  // hidden values of factors that no model could be fitted to
  std::size_t not_measured = 0;   // predictions of factors that the hidden run lacks and others have
  std::vector<Finding> findings;  // about the models asked for
};

// Hides and predicts, for every series and phase of a completed table. What is hidden is taken out of the table
// before it is projected. Throws a usage error for models that do not exist; that nothing can be backtested is a result
// without rows.
BacktestResult Backtest(const FactorTable& table, const ModelLibrary& library, const BacktestOptions& options);

// The rows for a report, which are few however many runs there are: the last three of the core counts that are trained
// up to by default.
std::vector<BacktestRow> BacktestForReport(const FactorTable& table, const ModelLibrary& library,
                                           const ProjectionOptions& options);

// What was left out and why, as one sentence each.
std::vector<std::string> DescribeGaps(const BacktestResult& result);

// (predicted - measured) / measured; nothing where 0 was measured.
std::optional<double> RelativeErrorOf(const BacktestRow& row);

}  // namespace farscale
