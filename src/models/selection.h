// Choosing a model for a factor: the one that predicts the largest measured core count best from the smaller ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit.h"
#include "models/scaling_model.h"

namespace farscale {

// A model with the dimensions to try.
struct Candidate {
  const ScalingModel* model = nullptr;
  std::vector<int> dimensions;
};

// With three core counts or more: every candidate and dimension is fitted without the largest core count and judged
// by its error there. Errors that differ by less than a tenth, or by less than 0.001, tie; then the smaller
// small-sample Akaike criterion wins, then fewer parameters, then the earlier candidate. With two core counts nothing
// can be left out: the first candidate that has a usable fit with as many parameters as possible is taken, as the
// more cautious one. With one count only: too few points.
//
// Every fit has weights of its own (models/weights.h); their product is 1, so that the Akaike criteria of fits with
// other weights compare. The error at the largest core count is the mean over its runs as measured.
//
// A single candidate in a single dimension is fitted without choice. A curve that is not positive, or above the
// limit, at any of the core counts in `reach` is of no use. The result carries all rivals.
FittedModel SelectModel(const std::vector<Candidate>& candidates, const std::vector<DataPoint>& points,
                        std::optional<double> limit, const std::vector<double>& reach = {});

}  // namespace farscale
