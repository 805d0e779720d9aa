// The core counts whose runs would narrow the interval at a target most [docs/formulas.md, suggested next run].
#pragma once

#include <optional>
#include <vector>

#include "factors/factor.h"
#include "projection/factor_draws.h"

namespace farscale {

struct RunChoice {
  double cores = 0;
  bool is_repeat = false;            // a run at that count is known already
  double width = 0;                  // of the 80 % interval at the target, expected after the run
  std::optional<double> core_hours;  // of the phase, as it is projected to take there

  friend bool operator==(const RunChoice&, const RunChoice&) = default;
};

struct NextRuns {
  Factor factor = Factor::kParallelEfficiency;  // whose interval is to be narrowed
  double target = 0;                            // cores
  double width = 0;                             // of its 80 % interval there now
  std::vector<RunChoice> choices;               // the narrowest first

  friend bool operator==(const NextRuns&, const NextRuns&) = default;
};

// Core counts to consider: repeats of the smallest and the largest of the fitted counts (ascending), powers of two
// times the smallest that lie between and were not run, and 2 and 4 times the largest, up to the target. Where all
// fitted counts are cubes, or squares, the nearest of these.
std::vector<double> CandidateRuns(const std::vector<double>& fitted_cores, double target);

// The choices without their costs, for a product of factors with these draws. Outcomes of a run are drawn from the
// present prediction; given each, the draws are weighted by how well they agree with it, and drift begins anew at the
// run. The widths are means over the outcomes.
std::vector<RunChoice> RankRuns(const std::vector<const FactorDraws*>& factors, const std::vector<double>& candidates,
                                const std::vector<double>& fitted_cores, double target);

}  // namespace farscale
