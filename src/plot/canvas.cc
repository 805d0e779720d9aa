#include "plot/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace farscale {
namespace {

constexpr double kHair = 1e-9;       // rounding, in steps
constexpr double kBeyond = 0.1;      // steps that values may lie beyond the end of a rounded scale
constexpr double kFewDecades = 2.5;  // have ticks at 2 and 5, too
constexpr double kShortMark = 5;
constexpr double kUprightLabel = 14;                                          // from the left of the picture
constexpr double kRow = 18, kLine = 24, kSquare = 12, kSpace = 6, kGap = 14;  // in legends
constexpr double kLetter = 6.6;                                               // the width of most

void DrawTicks(Canvas& canvas, const Axis& axis, const std::vector<Spot>& marks, const std::vector<Label>& numbers,
               Anchor anchor) {
  if (axis.marks != AxisMarks::kNone) canvas.Lines(marks, {axis.marks == AxisMarks::kGridLines ? kGridLine : kFaint});
  canvas.Labels(numbers, {anchor, kFaint, axis.text_size});
}

double SampleOf(const LegendEntry& entry) { return entry.area ? kSquare : kLine; }

}  // namespace

double NiceStep(double span, int wanted) {
  const double raw = span / wanted;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= 0.9 * raw) return factor * power;
  }
  return 10 * power;
}

std::pair<const char*, double> UnitFor(double seconds) {
  if (seconds < 1e-6) return {"ns", 1e-9};
  if (seconds < 1e-3) return {"µs", 1e-6};
  if (seconds < 1) return {"ms", 1e-3};
  return {"s", 1};
}

std::string TickText(double value) {
  const double rounded = std::round(value * 1e6) / 1e6;
  if (rounded >= 1e6 && std::fmod(rounded, 1e6) == 0) return fmt::format("{:g}M", rounded / 1e6);
  if (rounded >= 1e4 && std::fmod(rounded, 1e3) == 0) return fmt::format("{:g}k", rounded / 1e3);
  return fmt::format("{:g}", rounded);
}

double Scale::At(double value) const {
  if (!(high > low)) return (from + to) / 2;
  const double inside = std::clamp(value, low, high);
  const double share = is_log ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
  return from + share * (to - from);
}

std::vector<AxisTick> Scale::Ticks(double unit, const std::string& suffix) const {
  std::vector<AxisTick> ticks;
  const auto add = [&](double value) {
    ticks.emplace_back(value, TickText(value / unit) + (value == 0 ? "" : suffix));
  };
  if (is_log) {
    const double decades = std::log10(high / low);
    for (auto exponent = static_cast<int>(std::floor(std::log10(low))); exponent <= std::log10(high); ++exponent) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, exponent);
        if (factor > 1 && decades > kFewDecades) continue;
        if (value >= low && value <= high) add(value);
      }
    }
  } else if (step > 0) {
    const auto last = std::llround(std::floor(high / step + kHair));
    for (auto i = std::llround(std::ceil(low / step - kHair)); i <= last; ++i) add(static_cast<double>(i) * step);
  }
  return ticks;
}

Scale LinearScale(double low, double high, double from, double to, int wanted, double unit) {
  return {low, high, from, to, high > low ? NiceStep((high - low) / unit, wanted) * unit : 0, false};
}

Scale RoundedScale(double low, double high, double from, double to, int wanted) {
  const double step = NiceStep(high > low ? high - low : 1, wanted);
  const double first = std::floor(low / step + kBeyond), last = std::ceil(high / step - kBeyond);
  return {first * step, std::max(first + 1, last) * step, from, to, step, false};
}

Scale LogScale(double low, double high, double from, double to) {
  const double margin = std::pow(high / low, 0.03);
  return {low / margin, high * margin, from, to, 0, true};
}

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

Legend::Legend(std::vector<LegendEntry> entries, double left, double right, double top) : entries_(std::move(entries)) {
  double x = left;
  for (const LegendEntry& entry : entries_) {
    const double width = SampleOf(entry) + kSpace + kLetter * static_cast<double>(entry.name.size()) + kGap;
    if (x + width > right && x > left) {
      x = left;
      height_ += kRow;
    }
    places_.push_back({x, top + height_});
    x += width;
  }
  if (!entries_.empty()) height_ += kRow;
}

void Legend::Draw(Canvas& canvas) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LegendEntry& entry = entries_[i];
    const auto [x, y] = places_[i];
    if (!entry.attributes.empty()) canvas.OpenGroup(entry.attributes);
    if (entry.area) canvas.Rect({x, y - 10, x + kSquare, y - 10 + kSquare}, *entry.area);
    if (entry.line) canvas.Lines({{x, y - 4}, {x + kLine, y - 4}}, *entry.line);
    if (entry.marker) canvas.Markers({{x + kLine / 2, y - 4}}, *entry.marker, "");
    canvas.Text({x + SampleOf(entry) + kSpace, y}, entry.name, {});
    if (!entry.attributes.empty()) canvas.CloseGroup();
  }
}

}  // namespace farscale
