// Which of the results a report shows: what was asked for, and what means something. Data files hold everything.
#pragma once

#include "results/results.h"

namespace farscale {

// Without what says nothing to a reader: targets beyond the first that is not reliable, unless the study names its
// targets; gains of more than ten times, or that may be that large; and the cost of as many iterations as were traced.
PhaseProjection ShownProjection(const PhaseProjection& projection);
// The same of all projections.
Results ShownResults(Results results);

// Where charts end: one doubling beyond the reliable range or at the last target, and not before the last run.
double ShownUpTo(const PhaseProjection& shown);

}  // namespace farscale
