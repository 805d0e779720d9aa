// The axes of a picture: ticks with their numbers, grid lines through the picture, and what an axis is about.
#pragma once

#include <string>
#include <vector>

#include "plot/canvas.h"
#include "plot/scale.h"

namespace farscale {

enum class AxisMarks { kNone, kGridLines, kShort };

struct Axis {
  Scale scale;
  std::vector<AxisTick> ticks;
  std::string label = "";
  AxisMarks marks = AxisMarks::kGridLines;
  double text_size = 0;  // 0: as the picture has it
};

inline constexpr double kBelowAxis = 46;  // pixels that ticks and label of an x axis take

// Below a box, with a line between. Grid lines are as high as the box.
void DrawXAxis(Canvas& canvas, const Box& box, const Axis& axis);
// On the left of a box.
void DrawYAxis(Canvas& canvas, const Box& box, const Axis& axis);

}  // namespace farscale
