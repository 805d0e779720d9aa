// Times that are made of parts as SVG: a horizontal bar for each, with its name above and its sum at the end.
#pragma once

#include <string>
#include <vector>

namespace farscale {

struct BarPart {
  std::string name;
  int color = 0;  // index into the palette
};

struct StackedBar {
  std::string name;
  std::vector<double> seconds;  // one a part; what is below nothing is not drawn
  std::string text;             // at the end
};

struct StackedBars {
  std::string title;
  std::string description;
  std::string axis;            // "makespan"
  std::vector<BarPart> parts;  // in the legend
  std::vector<StackedBar> bars;
};

// A complete <svg> element; `standalone` as for charts [plot/svg.h].
std::string RenderStackedBars(const StackedBars& bars, bool standalone);

// A whole and its parts as horizontal bands of one scale, above each other, for a page beside a table of the numbers.

struct BandPart {
  double share = 0;  // share of the whole, in [0, 1]
  int color = 0;     // index into the palette
};

struct Band {
  std::string name;  // before it
  std::vector<BandPart> parts;
};

struct Bands {
  std::string title;
  std::string description;
  std::vector<Band> bands;
};

// A complete <svg> element for a page, in which the whole is as wide in every picture.
std::string RenderBands(const Bands& bands);

}  // namespace farscale
