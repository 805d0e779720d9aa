#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/canvas.h"

namespace farscale {
namespace {

constexpr double kBarsWidth = 560, kBarsLeft = 14, kBarsRight = kBarsWidth - 74;  // room for the sums
constexpr double kBarsTop = 42, kBar = 16, kNameHeight = 16, kBarsRow = kNameHeight + kBar + 10;

}  // namespace

std::string RenderStackedBars(const std::string& title, const std::string& description, const std::string& axis,
                              const std::vector<std::pair<std::string, int>>& parts,
                              const std::vector<StackedBar>& bars, bool standalone) {
  std::vector<LegendEntry> entries;
  for (const auto& [name, color] : parts) entries.push_back({.name = name, .area = Fill{PaletteColor(color)}});
  const Legend legend(std::move(entries), kBarsLeft, kBarsWidth, kBarsTop);
  const Box box{kBarsLeft, kBarsTop + legend.height(), kBarsRight,
                kBarsTop + legend.height() + kBarsRow * static_cast<double>(bars.size())};
  SvgCanvas canvas(
      {kBarsWidth, std::ceil(box.bottom + kBelowAxis), title, description, standalone, kBarsLeft, " class=\"chart\""});
  double longest = 0;
  for (const StackedBar& bar : bars) {
    double sum = 0;
    for (const double part : bar.seconds) sum += std::max(0.0, part);
    longest = std::max(longest, sum);
  }
  if (!(longest > 0)) longest = 1;
  const auto [unit, seconds] = UnitFor(longest);
  const Scale scale = LinearScale(0, longest, box.left, box.right, 5, seconds);
  DrawXAxis(canvas, box, {scale, scale.Ticks(seconds), fmt::format("{} ({})", axis, unit)});
  legend.Draw(canvas);
  double top = box.top;
  for (const StackedBar& bar : bars) {
    canvas.Text({kBarsLeft, top + kNameHeight - 4}, bar.name, {});
    double sum = 0;
    for (std::size_t i = 0; i < bar.seconds.size(); ++i) {
      const double from = scale.At(sum);
      sum += std::max(0.0, bar.seconds[i]);
      const Box part{from, top + kNameHeight, scale.At(sum), top + kNameHeight + kBar};
      if (part.width() >= 0.05) canvas.Rect(part, {PaletteColor(parts[i].second)});
    }
    canvas.Text({scale.At(sum) + 6, top + kNameHeight + kBar - 4}, bar.text, {});
    top += kBarsRow;
  }
  return canvas.Close();
}

std::string RenderBands(const std::string& title, const std::string& description, const std::vector<Band>& bands) {
  constexpr double kWidth = 360, kNames = 76, kBand = 16, kBandRow = 22, kBetween = 1;
  SvgCanvas canvas(
      {kWidth, kBandRow * static_cast<double>(bands.size()), title, description, false, {}, " class=\"chart\""});
  double top = (kBandRow - kBand) / 2;
  for (const auto& [name, parts] : bands) {
    canvas.Text({kNames - 8, top + kBand - 4}, name, {Anchor::kEnd});
    double x = kNames;
    for (const auto& [share, color] : parts) {
      const double width = share * (kWidth - kNames);
      if (width > kBetween) canvas.Rect({x, top, x + width - kBetween, top + kBand}, {PaletteColor(color)});
      x += width;
    }
    top += kBandRow;
  }
  return canvas.Close();
}

}  // namespace farscale
