#include "plot/stacked_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/svg.h"

namespace farscale {
namespace {

constexpr int kBarsWidth = 560;
constexpr double kBarsLeft = 14, kBarsRight = kBarsWidth - 74;  // room for the sums
constexpr double kLegendTop = 42, kLegendRow = 18, kBar = 16, kName = 16, kRow = kName + kBar + 10;

class Bars {
 public:
  explicit Bars(const StackedBars& bars) : bars_(bars) {
    for (const StackedBar& bar : bars.bars) {
      double sum = 0;
      for (const double seconds : bar.seconds) sum += std::max(0.0, seconds);
      most_ = std::max(most_, sum);
    }
    if (!(most_ > 0)) most_ = 1;
    LayOutLegend();
  }

  std::string Render(bool standalone) {
    const double top = kLegendTop + kLegendRow * legend_rows_;
    const double bottom = top + kRow * static_cast<double>(bars_.bars.size());
    svg_.Open(kBarsWidth, static_cast<int>(std::ceil(bottom + 44)), bars_.title, bars_.description, standalone, kBarsLeft,
              standalone ? "" : " class=\"chart\"");
    Axis(top, bottom);
    Legend();
    for (std::size_t i = 0; i < bars_.bars.size(); ++i) Bar(bars_.bars[i], top + kRow * static_cast<double>(i));
    return svg_.Close();
  }

 private:
  double X(double seconds) const { return kBarsLeft + seconds / most_ * (kBarsRight - kBarsLeft); }

  void LayOutLegend() {
    double x = kBarsLeft;
    for (const BarPart& part : bars_.parts) {
      const double width = 30 + 6.6 * static_cast<double>(part.name.size());
      if (x + width > kBarsWidth && x > kBarsLeft) {
        x = kBarsLeft;
        ++legend_rows_;
      }
      legend_.push_back({x, kLegendTop + kLegendRow * (legend_rows_ - 1)});
      x += width;
    }
  }

  void Legend() {
    for (std::size_t i = 0; i < bars_.parts.size(); ++i) {
      const auto [x, y] = legend_[i];
      svg_.Rect(x, y - 10, 12, 12, PaletteColor(bars_.parts[i].color));
      svg_.Text(x + 18, y, bars_.parts[i].name, "start", kInk);
    }
  }

  void Axis(double top, double bottom) {
    const TimeUnit unit = UnitFor(most_);
    const double step = NiceStep(most_ / unit.seconds, 5);
    for (int i = 0; i * step <= most_ / unit.seconds * (1 + 1e-9); ++i) {
      const double x = X(i * step * unit.seconds);
      svg_.Line(x, top - 4, x, bottom, kGrid);
      svg_.Text(x, bottom + 16, TickText(i * step), i == 0 ? "start" : "middle", kFaint);
    }
    svg_.Text((kBarsLeft + kBarsRight) / 2, bottom + 36, fmt::format("{} ({})", bars_.axis, unit.name), "middle", kInk);
  }

  void Bar(const StackedBar& bar, double top) {
    svg_.Text(kBarsLeft, top + kName - 4, bar.name, "start", kInk);
    double sum = 0;
    for (std::size_t i = 0; i < bar.seconds.size(); ++i) {
      const double seconds = std::max(0.0, bar.seconds[i]), width = X(sum + seconds) - X(sum);
      if (width >= 0.05) svg_.Rect(X(sum), top + kName, width, kBar, PaletteColor(bars_.parts[i].color));
      sum += seconds;
    }
    svg_.Text(X(sum) + 6, top + kName + kBar - 4, bar.text, "start", kInk);
  }

  const StackedBars& bars_;
  Svg svg_;
  double most_ = 0;
  std::vector<std::pair<double, double>> legend_;
  int legend_rows_ = 1;
};

}  // namespace

std::string RenderStackedBars(const StackedBars& bars, bool standalone) { return Bars(bars).Render(standalone); }

}  // namespace farscale
