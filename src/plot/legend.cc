#include "plot/legend.h"

#include <utility>

namespace farscale {
namespace {

constexpr double kRow = 18, kLine = 24, kSquare = 12, kSpace = 6, kGap = 14;
constexpr double kLetter = 6.6;  // the width of most

double SampleOf(const LegendEntry& entry) { return entry.area ? kSquare : kLine; }

}  // namespace

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
