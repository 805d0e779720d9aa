// The uncertainty that measured values leave about one model: draws of its parameters, and how well the model explains
// the values [docs/formulas.md, posterior].
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/weights.h"

namespace farscale {

class Random;
struct ScalingModel;

// Fitting one model to the measured values of one factor. A fit that fails is a result, never an exception, so that
// one bad factor cannot kill a study.

enum class FitOutcome {
  kConverged,
  kAtBound,       // converged, with a parameter at its bound
  kTooFewPoints,  // fewer core counts than parameters
  kNotConverged,
  kLeavesRange,  // converged, but the curve leaves what the factor can be before the last target
};

// Distinct core counts.
std::size_t CountCores(const std::vector<DataPoint>& points);

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

// Standard deviation assumed for a measured factor when there are as many parameters as points. Never is one believed
// to be below kSmallestSigma. Chosen: what repeats usually differ by, and what rounding to three digits does.
inline constexpr double kAssumedSigma = 0.01;
inline constexpr double kSmallestSigma = 0.001;

// Bounded non-linear least squares in Ceres from several starts, with the weights of models/weights.h when there are
// points to spare, unless these shall count alike. `limit`: the largest value the factor can have; nothing when it has
// none.
FittedModel FitModel(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                     std::optional<double> limit, bool weighs_alike = false);

// A curve that could be behind the values, and the scatter of runs around it (models/weights.h).
struct CurveDraw {
  std::vector<double> parameters;
  double scatter = 0;
};

struct Posterior {
  // Logarithm of the probability of the values under the model [Kass95]; minus infinity where the model cannot be.
  double log_evidence = 0;
  std::vector<CurveDraw> draws;
  std::vector<double> weights;  // one a draw, with the sum 1
};

// Importance sampling [Geweke89] around a usable fit. The prior is flat in the reciprocals 1/y of the curve at as many
// measured core counts as the model has parameters, within the bounds of the parameters; so it does not matter how a
// formula is written, and models of equal size are equal before the values are seen. `reach`: the smallest and the
// largest core count the curve is asked for; draws that are not positive there, or above the limit at a point, do not
// count.
Posterior SamplePosterior(const ScalingModel& model, const FittedModel& fit, std::optional<double> limit,
                          const std::vector<double>& reach, Random& random);

}  // namespace farscale
