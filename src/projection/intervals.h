// Bounds of what is not known exactly, and how they are read off draws.
#pragma once

#include <optional>
#include <vector>

namespace farscale {

struct IntervalBounds {
  double low = 0;
  double high = 0;

  friend bool operator==(const IntervalBounds&, const IntervalBounds&) = default;
};

// The same where there may be no upper bound.
struct OpenBounds {
  double low = 0;
  std::optional<double> high;

  friend bool operator==(const OpenBounds&, const OpenBounds&) = default;
};

// Moves draws so that IntervalOf may read these coverages from them, which takes a fraction of the time of sorting.
void PlaceIntervals(std::vector<double>& draws, const std::vector<double>& coverages);

// The middle part of draws of an efficiency, sorted or placed, widened to the value itself [docs/formulas.md,
// intervals]. Throws std::domain_error for a coverage outside 0 to 1, and without draws.
IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value);

}  // namespace farscale
