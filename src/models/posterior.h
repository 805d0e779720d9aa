// The uncertainty that measured values leave about one model: draws of its parameters, and how well the model explains
// the values [docs/formulas.md, posterior].
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "models/fit.h"
#include "models/scaling_model.h"

namespace farscale {

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
