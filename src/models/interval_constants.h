// Errors that no model of a factor knows: how far losses depart from every curve beyond the runs [docs/formulas.md,
// intervals]. These constants are data (configs/calibration), since a script finds them.
#pragma once

#include <string>

namespace farscale {

struct IntervalConstants {
  double drift = 0;           // standard deviation of ln(-ln y) by doubling of the cores beyond the largest run
  double drift_power = 0;     // of the scatter over the usual one
  double new_loss_share = 0;  // of the draws: how often a loss begins that no run has
  double new_loss = 0;        // its mean, of -ln y, by doubling
  double new_loss_power = 0;  // of the scatter over the usual one

  // For a series with that scatter (models/weights.h).
  double DriftAt(double scatter) const;
  double NewLossAt(double scatter) const;
};

// Throws a usage error with file and line.
IntervalConstants ParseIntervalConstants(const std::string& text, const std::string& file);

}  // namespace farscale
