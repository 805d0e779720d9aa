// The meaning of the lines, markers and colours of a picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/canvas.h"

namespace farscale {

// A sample of the line, the marker or the area, with its name behind it.
struct LegendEntry {
  std::string name;
  std::optional<Stroke> line = {};
  std::optional<Marker> marker = {};
  std::optional<Fill> area = {};
  std::string attributes = "";  // of the entry in a page; without, it is not a group
};

class Legend {
 public:
  // In rows from `left` to `right`; `top` is the base line of the first. Where there is no room, each entry is a row.
  Legend(std::vector<LegendEntry> entries, double left, double right, double top);

  void Draw(Canvas& canvas) const;
  // Height of all rows, in pixels.
  double height() const { return height_; }

 private:
  std::vector<LegendEntry> entries_;
  std::vector<Spot> places_;
  double height_ = 0;
};

}  // namespace farscale
