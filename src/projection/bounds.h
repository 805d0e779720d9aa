// Bounds of what is not known exactly.
#pragma once

#include <optional>

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

}  // namespace farscale
