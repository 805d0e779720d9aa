#include "plot/bands.h"

#include "plot/svg.h"

namespace farscale {
namespace {

constexpr double kWidth = 360, kNames = 76, kBand = 16, kBandRow = 22, kBetween = 1;

}  // namespace

std::string RenderBands(const Bands& bands) {
  const double height = kBandRow * static_cast<double>(bands.bands.size());
  SvgCanvas canvas({kWidth, height, bands.title, bands.description, false, {}, " class=\"chart\""});
  double top = (kBandRow - kBand) / 2;
  for (const Band& band : bands.bands) {
    canvas.Text({kNames - 8, top + kBand - 4}, band.name, {Anchor::kEnd});
    double x = kNames;
    for (const BandPart& part : band.parts) {
      const double width = part.share * (kWidth - kNames);
      if (width > kBetween) canvas.Rect({x, top, x + width - kBetween, top + kBand}, {PaletteColor(part.color)});
      x += width;
    }
    top += kBandRow;
  }
  return canvas.Close();
}

}  // namespace farscale
