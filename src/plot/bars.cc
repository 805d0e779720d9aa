#include "plot/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/canvas.h"
#include "plot/svg.h"

namespace farscale {
namespace {

constexpr double kBarsWidth = 560, kBarsLeft = 14, kBarsRight = kBarsWidth - 74;  // room for the sums
constexpr double kBarsTop = 42, kBar = 16, kNameHeight = 16, kBarsRow = kNameHeight + kBar + 10;

double LongestOf(const StackedBars& bars) {
  double most = 0;
  for (const StackedBar& bar : bars.bars) {
    double sum = 0;
    for (const double seconds : bar.seconds) sum += std::max(0.0, seconds);
    most = std::max(most, sum);
  }
  return most > 0 ? most : 1;
}

void DrawBar(Canvas& canvas, const StackedBar& bar, const std::vector<BarPart>& parts, const Scale& scale, double top) {
  canvas.Text({kBarsLeft, top + kNameHeight - 4}, bar.name, {});
  double sum = 0;
  for (std::size_t i = 0; i < bar.seconds.size(); ++i) {
    const double from = scale.At(sum);
    sum += std::max(0.0, bar.seconds[i]);
    const Box box{from, top + kNameHeight, scale.At(sum), top + kNameHeight + kBar};
    if (box.width() >= 0.05) canvas.Rect(box, {PaletteColor(parts[i].color)});
  }
  canvas.Text({scale.At(sum) + 6, top + kNameHeight + kBar - 4}, bar.text, {});
}

}  // namespace

std::string RenderStackedBars(const StackedBars& bars, bool standalone) {
  std::vector<LegendEntry> entries;
  for (const BarPart& part : bars.parts) entries.push_back({.name = part.name, .area = Fill{PaletteColor(part.color)}});
  const Legend legend(std::move(entries), kBarsLeft, kBarsWidth, kBarsTop);
  const Box box{kBarsLeft, kBarsTop + legend.height(), kBarsRight,
                kBarsTop + legend.height() + kBarsRow * static_cast<double>(bars.bars.size())};
  SvgCanvas canvas({kBarsWidth, std::ceil(box.bottom + kBelowAxis), bars.title, bars.description, standalone, kBarsLeft,
                    " class=\"chart\""});
  const double longest = LongestOf(bars);
  const TimeUnit unit = UnitFor(longest);
  const Scale scale = LinearScale(0, longest, box.left, box.right, 5, unit.seconds);
  DrawXAxis(canvas, box, {scale, scale.Ticks(unit.seconds), fmt::format("{} ({})", bars.axis, unit.name)});
  legend.Draw(canvas);
  double top = box.top;
  for (const StackedBar& bar : bars.bars) {
    DrawBar(canvas, bar, bars.parts, scale, top);
    top += kBarsRow;
  }
  return canvas.Close();
}

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
