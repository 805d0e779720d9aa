#include "report/iteration_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "plot/svg.h"
#include "report/timeline_picture.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr int kPanelWidth = 860;
constexpr double kPanelLeft = 76, kPanelRight = kPanelWidth - 14;
constexpr double kUp = 84, kDown = 34, kPanelGap = 28;  // heights of the parts of a panel
constexpr double kPanelTop = 74;
constexpr double kWidestBar = 44;

enum Bar : std::size_t { kUseful, kRest, kLeftOut, kDisturbed };

class Panels {
 public:
  explicit Panels(const IterationChart& chart) : chart_(chart) {
    for (const IterationPanel& panel : chart.panels) {
      std::int64_t count = 0;
      for (const IterationRecord& record : panel.iterations) {
        count += record.iterations;
        is_disturbed_ = is_disturbed_ || record.disturbance.has_value();
        most_disturbed_ = std::max(most_disturbed_, record.disturbance.value_or(0));
        has_left_out_ = has_left_out_ || record.left_out > 0;
      }
      most_ = std::max(most_, count);
    }
    panel_ = kUp + (is_disturbed_ ? kDown : 0) + kPanelGap;
  }

  std::string Render(bool standalone) {
    with_tooltips_ = standalone && chart_.with_tooltips;
    const double bottom = kPanelTop + panel_ * static_cast<double>(chart_.panels.size()) - kPanelGap;
    svg_.Open(kPanelWidth, static_cast<int>(std::ceil(bottom + 46)), chart_.title, chart_.description, standalone, 14,
              standalone ? "" : BarData());
    Legend();
    for (std::size_t i = 0; i < chart_.panels.size(); ++i) {
      Panel(chart_.panels[i], kPanelTop + panel_ * static_cast<double>(i));
    }
    IterationAxis(bottom);
    return svg_.Close();
  }

 private:
  // For the script of a page: left, right, number of iterations, top of the first panel, height of a panel, of its
  // bars.
  std::string BarData() const {
    return fmt::format(" data-bars=\"{} {} {} {} {} {}\"", kPanelLeft, kPanelRight, most_, kPanelTop, panel_, kUp);
  }

  // Middle of an iteration, which are numbered from 1.
  double X(double number) const { return kPanelLeft + (number - 0.5) * Slot(); }
  double Slot() const { return (kPanelRight - kPanelLeft) / static_cast<double>(most_); }

  static std::string StrokeOf(std::size_t bar) {
    switch (bar) {
      case kUseful: return StateColor(RunState::kComputation);
      case kRest: return "#7d93ab";
      case kLeftOut: return "#b9c2cb\" stroke-dasharray=\"1.5 1.5";
      default: return StateColor(RunState::kWaiting);
    }
  }

  void Legend() {
    double x = 14;
    const auto entry = [&](Bar bar, const std::string& text) {
      svg_.Append(
          fmt::format("<path d=\"M{} 32v12\" stroke=\"{}\" stroke-width=\"12\"/>", Pixel(x + 6), StrokeOf(bar)));
      svg_.Text(x + 18, 42, text, "start", kInk);
      x += 36 + 6.6 * static_cast<double>(text.size());
    };
    entry(kUseful, "useful");
    entry(kRest, "MPI and pauses");
    if (has_left_out_) entry(kLeftOut, "left out");
    if (is_disturbed_) entry(kDisturbed, "disturbance");
    svg_.Line(x, 38, x + 18, 38, kInk, "stroke-dasharray=\"4 3\" stroke-opacity=\".6\"");
    svg_.Text(x + 24, 42, "median", "start", kInk);
  }

  void Panel(const IterationPanel& panel, double top) {
    const double base = top + kUp;
    double longest = 0;
    std::vector<double> lengths;
    for (const IterationRecord& record : panel.iterations) {
      longest = std::max(longest, record.elapsed);
      lengths.push_back(record.elapsed);
    }
    if (!(longest > 0)) longest = 1;
    const TimeUnit unit = UnitFor(longest);
    const double step = NiceStep(longest / unit.seconds, 3);
    const double scale = kUp / longest;
    for (int i = 0; i * step <= longest / unit.seconds * (1 + 1e-9); ++i) {
      const double y = base - i * step * unit.seconds * scale;
      svg_.Line(kPanelLeft, y, kPanelRight, y, i == 0 ? kFaint : kGrid);
      svg_.Text(kPanelLeft - 8, y + 4, i == 0 ? "0" : TickText(i * step) + " " + unit.name, "end", kFaint,
                "font-size=\"11\"");
    }
    svg_.Text(kPanelLeft, top - 6, panel.name, "start", kInk, "font-weight=\"600\"");
    Bars(panel.iterations, base, scale);
    const double median = base - Median(std::move(lengths)) * scale;
    svg_.Line(kPanelLeft, median, kPanelRight, median, kInk, "stroke-dasharray=\"4 3\" stroke-opacity=\".6\"");
    if (is_disturbed_ && most_disturbed_ > 0) {
      svg_.Text(kPanelLeft - 8, base + kDown, FormatPercent(most_disturbed_), "end", kFaint, "font-size=\"11\"");
    }
    if (with_tooltips_) Tooltips(panel.iterations, top, base);
  }

  void Bars(const std::vector<IterationRecord>& iterations, double base, double scale) {
    std::array<std::string, 4> paths;
    const auto add = [&](Bar bar, double x, double from, double to) {
      if (std::fabs(from - to) >= 0.05) paths[bar] += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, from, to);
    };
    double number = 1, widest = 1;
    for (const IterationRecord& record : iterations) {
      const auto count = static_cast<double>(record.iterations);
      const double x = X(number + (count - 1) / 2);
      const double end = base - record.elapsed * scale;
      if (record.IsKept()) {
        const double useful = base - std::min(record.useful, record.elapsed) * scale;
        add(kUseful, x, base, useful);
        add(kRest, x, useful, end);
      } else {
        add(kLeftOut, x, base, end);
      }
      if (most_disturbed_ > 0)
        add(kDisturbed, x, base, base + record.disturbance.value_or(0) / most_disturbed_ * kDown);
      number += count;
      widest = std::max(widest, count);
    }
    const double slot = Slot() * widest;
    const double width = std::min(kWidestBar, slot < 4 ? slot : slot < 12 ? slot - 1 : 0.85 * slot);
    svg_.Append(fmt::format("<g fill=\"none\" stroke-width=\"{:.2f}\">", width));
    for (std::size_t bar = 0; bar < paths.size(); ++bar) {
      if (!paths[bar].empty()) svg_.Append(fmt::format("<path stroke=\"{}\" d=\"{}\"/>", StrokeOf(bar), paths[bar]));
    }
    svg_.Append("</g>");
  }

  void Tooltips(const std::vector<IterationRecord>& iterations, double top, double base) {
    double number = 1;
    for (const IterationRecord& record : iterations) {
      const auto count = static_cast<double>(record.iterations);
      std::string text = count > 1 ? fmt::format("iterations {} to {}, {} each", number, number + count - 1,
                                                 FormatSeconds(record.elapsed))
                                   : fmt::format("iteration {}: {}", number, FormatSeconds(record.elapsed));
      text += fmt::format(", parallel efficiency {}, load balance {}", FormatFactor(record.parallel_efficiency),
                          FormatFactor(record.load_balance));
      if (record.disturbance) text += ", disturbance " + FormatPercent(*record.disturbance);
      if (record.left_out > 0) text += record.reason.empty() ? ", left out" : ", left out: " + record.reason;
      svg_.Append(fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" opacity=\"0\"><title>{}</title></rect>",
          Pixel(kPanelLeft + (number - 1) * Slot()), Pixel(top), Pixel(Slot() * count), Pixel(base - top), EscapeXml(text)));
      number += count;
    }
  }

  void IterationAxis(double bottom) {
    const double step = std::max(1.0, NiceStep(static_cast<double>(most_), 12));
    for (double number = step; number <= static_cast<double>(most_); number += step) {
      svg_.Text(X(number), bottom + 16, FormatCores(number), "middle", kFaint);
    }
    svg_.Text((kPanelLeft + kPanelRight) / 2, bottom + 36, "iteration", "middle", kInk);
  }

  const IterationChart& chart_;
  Svg svg_;
  std::int64_t most_ = 1;  // iterations of any panel
  bool is_disturbed_ = false, has_left_out_ = false;
  double most_disturbed_ = 0;
  double panel_ = 0;
  bool with_tooltips_ = false;
};

}  // namespace

std::string RenderIterations(const IterationChart& chart, bool standalone) { return Panels(chart).Render(standalone); }

}  // namespace farscale
