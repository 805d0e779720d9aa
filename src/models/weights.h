// Measured values, the curve that was fitted to them, and their distance from one that is right, which says how much
// each counts in a fit [docs/formulas.md, weights].
//
// A value errs by its own standard error s, estimated from the iterations of its run, and by a scatter that they do not
// show: what differs from run to run, and what no smooth curve describes. The scatter is a multiple of the loss, with
// a little for values without loss, and grows with the distance from the largest run: the further a run is from where
// the curve is to be continued, the less it says about it. The weight of a value is 1 / (s² + (scatter · shape)²).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace farscale {

// A measured value of a factor.
struct DataPoint {
  double cores = 0;
  double value = 0;
  std::optional<double> standard_error = std::nullopt;  // within its run

  friend bool operator==(const DataPoint&, const DataPoint&) = default;
};

// Bounds of a parameter, or of a value that is not known exactly.
struct IntervalBounds {
  double low = 0;
  double high = 0;

  friend bool operator==(const IntervalBounds&, const IntervalBounds&) = default;
};

// A fit that fails is a result, never an exception, so that one bad factor cannot kill a study.
enum class FitOutcome {
  kConverged,
  kAtBound,       // converged, with a parameter at its bound
  kTooFewPoints,  // fewer core counts than parameters
  kNotConverged,
  kLeavesRange,  // converged, but the curve leaves what the factor can be before the last target
};

std::string ToString(FitOutcome outcome);
bool IsUsable(FitOutcome outcome);

struct FittedModel {
  std::string model;
  int dimension = 1;
  FitOutcome outcome = FitOutcome::kTooFewPoints;
  std::vector<std::string> names;  // parameters
  std::vector<double> parameters;
  std::vector<bool> at_bound;
  std::vector<double> covariance;  // row by row, one a parameter; empty when it cannot be had
  std::vector<DataPoint> points;   // the fitted values
  std::vector<double> residuals;   // measured minus fitted, one a point
  std::vector<double> weights;     // one a point, with the product 1; empty when all count alike
  double scatter = 0;              // that the weights contain besides the errors of the points; 0: no such errors
  double sum_of_squares = 0;       // weighted residuals
  double sigma = 0;                // standard deviation of the measured values around the curve, at a weight of 1
  int degrees_of_freedom = 0;      // points minus parameters, never negative
  bool sigma_is_assumed = false;   // no point to spare: sigma is kAssumedSigma

  friend bool operator==(const FittedModel&, const FittedModel&) = default;
};

// Least scatter that is believed, and the usual one, both as multiples of the shape [docs/accuracy.md].
inline constexpr double kSmallestScatter = 0.001;
inline constexpr double kUsualScatter = 0.036;

// Scatter of ln y for a scatter of 1: the loss |ln y|, and 0.05 more.
double LogShape(double value);
// The same by the loss -ln y, for whoever has it.
double ShapeOfLoss(double loss);

// Scatter of the values, in their unit, for a scatter of 1: y · l · sqrt(1 + (0.7 log2(Pmax / P))²) with
// l² = LogShape(y)² + (0.15 · the largest LogShape of the points)²: next to large losses none is known to be small.
std::vector<double> ShapesOf(const std::vector<DataPoint>& points);

// The s of every point: its own, else the median of the others', else 0.
std::vector<double> ErrorsForWeights(const std::vector<DataPoint>& points);

// 1 / (s² + (scatter · shape)²), scaled so that their product is 1.
std::vector<double> WeightsOf(const std::vector<double>& errors, const std::vector<double>& shapes, double scatter);

// True if they differ by no more than a percent, which is as good as not at all.
bool HardlyDiffer(const std::vector<double>& weights);

// The scatter by the method of moments [DerSimonian86; DerSimonian07]: what the residuals r of a fit with weights a
// are larger than the errors s make them, (Σ a r² - Σ a (1 - h) s²) / Σ a (1 - h) shape², never below
// kSmallestScatter². h are the leverages of that fit: how much each value moves the curve at its own place.
double ScatterOf(const std::vector<double>& errors, const std::vector<double>& shapes,
                 const std::vector<double>& weights, const std::vector<double>& residuals,
                 const std::vector<double>& leverages);

// Errors that no model of a factor knows: how far losses depart from every curve beyond the runs [docs/formulas.md,
// intervals]. These constants are data (configs/calibration), since a script finds them.

struct IntervalConstants {
  double drift = 0;           // standard deviation of ln(-ln y) by doubling of the cores beyond the largest run
  double drift_power = 0;     // exponent of the scatter over the usual one
  double new_loss_share = 0;  // share of draws in which a loss begins that no run has
  double new_loss = 0;        // its mean, of -ln y, by doubling
  double new_loss_power = 0;  // exponent of the scatter over the usual one

  // For a series with that scatter.
  double DriftAt(double scatter) const;
  double NewLossAt(double scatter) const;
};

// Throws a usage error with file and line.
IntervalConstants ParseIntervalConstants(const std::string& text, const std::string& file);

}  // namespace farscale
