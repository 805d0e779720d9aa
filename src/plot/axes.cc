#include "plot/axes.h"

namespace farscale {
namespace {

constexpr double kShortMark = 5;
constexpr double kUprightLabel = 14;  // from the left of the picture

void DrawTicks(Canvas& canvas, const Axis& axis, const std::vector<Spot>& marks, const std::vector<Label>& numbers,
               Anchor anchor) {
  if (axis.marks != AxisMarks::kNone) canvas.Lines(marks, {axis.marks == AxisMarks::kGridLines ? kGridLine : kFaint});
  canvas.Labels(numbers, {anchor, kFaint, axis.text_size});
}

}  // namespace

void DrawXAxis(Canvas& canvas, const Box& box, const Axis& axis) {
  std::vector<Spot> marks;
  std::vector<Label> numbers;
  for (const auto& [value, text] : axis.ticks) {
    const double x = axis.scale.At(value);
    marks.push_back({x, axis.marks == AxisMarks::kShort ? box.bottom + kShortMark : box.top});
    marks.push_back({x, box.bottom});
    numbers.push_back({{x, box.bottom + 17}, text});
  }
  DrawTicks(canvas, axis, marks, numbers, Anchor::kMiddle);
  canvas.Lines({{box.left, box.bottom}, {box.right, box.bottom}}, {kFaint});
  if (!axis.label.empty()) canvas.Text({box.center().x, box.bottom + kBelowAxis - 10}, axis.label, {Anchor::kMiddle});
}

void DrawYAxis(Canvas& canvas, const Box& box, const Axis& axis) {
  std::vector<Spot> marks;
  std::vector<Label> numbers;
  for (const auto& [value, text] : axis.ticks) {
    const double y = axis.scale.At(value);
    marks.push_back({axis.marks == AxisMarks::kShort ? box.left - kShortMark : box.right, y});
    marks.push_back({box.left, y});
    numbers.push_back({{box.left - 8, y + 4}, text});
  }
  DrawTicks(canvas, axis, marks, numbers, Anchor::kEnd);
  if (axis.label.empty()) return;
  canvas.Text({kUprightLabel, box.center().y}, axis.label, {.anchor = Anchor::kMiddle, .is_upright = true});
}

}  // namespace farscale
