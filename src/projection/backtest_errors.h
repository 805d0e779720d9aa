// What a backtest says of the predictions: their errors, how often the intervals held and how good these are, by
// factor and by how far the prediction went [docs/formulas.md, backtest].
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "projection/backtest.h"

namespace farscale {

// Of the intervals of projections; chosen: the usual two.
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
  std::size_t inside = 0;  // of those
  double score = 0;        // mean

  double Coverage() const;  // inside by points

  friend bool operator==(const IntervalRecord&, const IntervalRecord&) = default;
};

struct PredictionErrors {
  std::size_t points = 0;
  std::size_t without_error = 0;  // measured as 0: they have no relative error
  // Of the absolute relative errors: the median, and the one below which nine tenths lie.
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

struct ErrorsOfPhase {
  std::string series;
  PhaseId phase;
  PredictionErrors errors;
};

// By factor, then ratio.
std::vector<ErrorsAtRatio> ErrorsByRatio(const std::vector<BacktestRow>& rows);

// Of one factor, in the order of the rows.
std::vector<ErrorsOfPhase> ErrorsByPhase(const std::vector<BacktestRow>& rows, Factor factor);

// Two ways to predict, over what both predict and with the intervals that both have.
struct BacktestComparison {
  std::string against;  // what the other way is called
  std::vector<ErrorsAtRatio> errors;
  std::vector<ErrorsAtRatio> errors_against;  // of the same factors and ratios
};

BacktestComparison CompareBacktests(const std::vector<BacktestRow>& rows, const std::vector<BacktestRow>& others,
                                    const std::string& against);

}  // namespace farscale
