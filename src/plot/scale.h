// Where the values of an axis lie in a picture, and which of them are round.
#pragma once

#include <string>
#include <vector>

namespace farscale {

// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them in a span.
double NiceStep(double span, int wanted);

// The unit in which times up to so many seconds are easy to read: 0.0123 -> ms.
struct TimeUnit {
  const char* name;
  double seconds;
};
TimeUnit UnitFor(double seconds);

// A round number without the last digits of floating point: "0.6", "20k", "3M".
std::string TickText(double value);

struct AxisTick {
  double value = 0;
  std::string text;
};

// Values from `low` to `high` on the pixels between `from` and `to`.
struct Scale {
  double low = 0, high = 1;
  double from = 0, to = 1;
  double step = 0;  // between the ticks of a linear scale; 0: it has none
  bool is_log = false;

  // Values outside lie at the ends, and all values in the middle where low is high.
  double At(double value) const;
  // The text of a linear scale tells values in a unit: "20" at 0.02 where it is 0.001.
  std::vector<AxisTick> Ticks(double unit = 1, const std::string& suffix = "") const;
};

// Has about `wanted` steps that are round in the unit.
Scale LinearScale(double low, double high, double from, double to, int wanted, double unit = 1);
// The same with its ends at steps. A value a hair beyond a step needs no further one.
Scale RoundedScale(double low, double high, double from, double to, int wanted);
// With a margin of 3 % of its length at both ends.
Scale LogScale(double low, double high, double from, double to);

}  // namespace farscale
