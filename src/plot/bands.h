// A whole and its parts as horizontal bands of one scale, above each other, for a page beside a table of the numbers.
#pragma once

#include <string>
#include <vector>

namespace farscale {

struct BandPart {
  double share = 0;  // of the whole
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
