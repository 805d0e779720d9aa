#include "plot/bands.h"

#include <algorithm>

#include "plot/svg.h"

namespace farscale {
namespace {

constexpr double kWidth = 360, kNames = 76, kBand = 16, kBandRow = 22, kBetween = 1;

double LengthOf(const Band& band) {
  double sum = 0;
  for (const BandPart& part : band.parts) sum += part.share;
  return sum;
}

}  // namespace

std::string RenderBands(const Bands& bands) {
  double longest = 0;
  for (const Band& band : bands.bands) longest = std::max(longest, LengthOf(band));
  const double height = kBandRow * static_cast<double>(bands.bands.size());
  SvgCanvas canvas({kWidth, height, bands.title, bands.description, false, {}, " class=\"chart\""});
  double top = (kBandRow - kBand) / 2;
  for (const Band& band : bands.bands) {
    canvas.Text({kNames - 8, top + kBand - 4}, band.name, {Anchor::kEnd});
    double x = kNames;
    for (const BandPart& part : band.parts) {
      const double width = longest > 0 ? part.share / longest * (kWidth - kNames) : 0;
      if (width > kBetween) canvas.Rect({x, top, x + width - kBetween, top + kBand}, {PaletteColor(part.color)});
      x += width;
    }
    top += kBandRow;
  }
  return canvas.Close();
}

}  // namespace farscale
