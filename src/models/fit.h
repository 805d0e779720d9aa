// Fitting one model to the measured values of one factor. A fit that fails is a result, never an exception, so that
// one bad factor cannot kill a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scaling_model.h"
#include "models/weights.h"

namespace farscale {

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
  std::vector<std::string> names;  // of the parameters
  std::vector<double> parameters;
  std::vector<bool> at_bound;
  std::vector<double> covariance;  // of the parameters, row by row; empty when it cannot be had
  std::vector<DataPoint> points;   // what was fitted
  std::vector<double> residuals;   // measured minus fitted, one a point
  std::vector<double> weights;     // one a point, with the product 1; empty when all count alike
  double scatter = 0;              // that the weights contain besides the errors of the points; 0: no such errors
  double sum_of_squares = 0;       // of the residuals, weighted
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
// points to spare. `limit`: the largest value the factor can have; nothing when it has none.
FittedModel FitModel(const ScalingModel& model, int dimension, const std::vector<DataPoint>& points,
                     std::optional<double> limit, PointWeights weights = PointWeights::kByScatter);

}  // namespace farscale
