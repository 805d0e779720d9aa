// Standard errors of the runs of a phase, from how they vary over their iterations [docs/formulas.md, spread].
#pragma once

#include <vector>

#include "factors/factor_table.h"

namespace farscale {

struct RunErrors {
  FactorValues standard_errors;  // of the factors that need no reference run
  RelativeErrors relative;
};

// The errors of every run by itself. Runs with equally many iterations are taken to do the same work in the same
// iterations: what varies over the iterations as in the other runs, more or less of it, is the program's doing and no
// error. A run alone cannot tell the two apart, so all of its variation counts.
std::vector<RunErrors> ErrorsOf(const std::vector<BlockSamples>& runs);

// Turns the samples of the rows of one phase into errors of their values, run times and totals. What compares with the
// reference errs by the same share as what it is made of. Errors of rows without samples stay.
void AddErrors(const std::vector<FactorRow*>& rows);

}  // namespace farscale
