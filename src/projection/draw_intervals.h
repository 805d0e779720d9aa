// What projections of factors and of losses have in common: the models to try, and intervals read off draws.
#pragma once

#include <vector>

#include "models/ensemble.h"
#include "projection/bounds.h"
#include "projection/projection.h"

namespace farscale {

// Throws a usage error for models that do not exist.
std::vector<Candidate> CandidatesOf(const ModelChoice& choice, const ModelLibrary& library);

// The middle part of what sorted draws of an efficiency say, and the value itself [docs/formulas.md, intervals]. Throws
// std::domain_error for a coverage outside 0 to 1, and without draws.
IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value);

}  // namespace farscale
