#include "report/iteration_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "plot/axes.h"
#include "plot/legend.h"
#include "plot/svg.h"
#include "report/timeline_picture.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr double kPanelWidth = 860;
constexpr double kPanelLeft = 76, kPanelRight = kPanelWidth - 14;
constexpr double kUp = 84, kDown = 34, kPanelGap = 28;  // heights of the parts of a panel
constexpr double kPanelTop = 74;
constexpr double kWidestBar = 44;

const Stroke kMedian{kInk, 1, "4 3", 0.6};

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
    const double panels = static_cast<double>(chart.panels.size());
    box_ = {kPanelLeft, kPanelTop, kPanelRight, kPanelTop + panel_ * panels - kPanelGap};
    x_ = LinearScale(0.5, static_cast<double>(most_) + 0.5, box_.left, box_.right, 12);
    x_.step = std::max(1.0, x_.step);
  }

  std::string Render(bool standalone) {
    with_tooltips_ = standalone && chart_.with_tooltips;
    SvgCanvas canvas({kPanelWidth, std::ceil(box_.bottom + kBelowAxis), chart_.title, chart_.description, standalone,
                      14, BarData()});
    svg_ = &canvas;
    DrawLegend();
    double top = kPanelTop;
    for (const IterationPanel& panel : chart_.panels) {
      Panel(panel, {box_.left, top, box_.right, top + kUp});
      top += panel_;
    }
    DrawXAxis(canvas, box_, {x_, x_.Ticks(), "iteration", AxisMarks::kNone});
    return canvas.Close();
  }

 private:
  // For the script of a page: left, right, number of iterations, top of the first panel, height of a panel, of its
  // bars.
  std::string BarData() const {
    return fmt::format(" data-bars=\"{} {} {} {} {} {}\"", kPanelLeft, kPanelRight, most_, kPanelTop, panel_, kUp);
  }

  static Stroke StrokeOf(std::size_t bar, double width) {
    switch (bar) {
      case kUseful: return {StateColor(RunState::kComputation), width};
      case kRest: return {"#7d93ab", width};
      case kLeftOut: return {"#b9c2cb", width, "1.5 1.5"};
      default: return {StateColor(RunState::kWaiting), width};
    }
  }

  void DrawLegend() {
    std::vector<LegendEntry> entries;
    const auto add = [&](Bar bar, const char* name) {
      const Stroke stroke = StrokeOf(bar, 12);
      if (stroke.dashes.empty()) entries.push_back({.name = name, .area = Fill{stroke.color}});
      if (!stroke.dashes.empty()) entries.push_back({.name = name, .line = stroke});
    };
    add(kUseful, "useful");
    add(kRest, "MPI and pauses");
    if (has_left_out_) add(kLeftOut, "left out");
    if (is_disturbed_) add(kDisturbed, "disturbance");
    entries.push_back({.name = "median", .line = kMedian});
    Legend(std::move(entries), 14, box_.right, 42).Draw(*svg_);
  }

  void Panel(const IterationPanel& panel, const Box& box) {
    std::vector<double> lengths;
    for (const IterationRecord& record : panel.iterations) lengths.push_back(record.elapsed);
    double longest = *std::max_element(lengths.begin(), lengths.end());
    if (!(longest > 0)) longest = 1;
    const TimeUnit unit = UnitFor(longest);
    const Scale y = LinearScale(0, longest, box.bottom, box.top, 3, unit.seconds);
    DrawYAxis(*svg_, box, {y, y.Ticks(unit.seconds, std::string(" ") + unit.name), "", AxisMarks::kGridLines, 11});
    DrawXAxis(*svg_, box, {x_, {}});
    svg_->Text({box.left, box.top - 6}, panel.name, {.is_bold = true});
    Bars(panel.iterations, y);
    const double median = y.At(Median(std::move(lengths)));
    svg_->Lines({{box.left, median}, {box.right, median}}, kMedian);
    if (most_disturbed_ > 0) {
      svg_->Text({box.left - 8, box.bottom + kDown}, FormatPercent(most_disturbed_), {Anchor::kEnd, kFaint, 11});
    }
    if (with_tooltips_) Tooltips(panel.iterations, box);
  }

  void Bars(const std::vector<IterationRecord>& iterations, const Scale& y) {
    const double base = y.At(0);
    std::array<std::string, 4> paths;
    const auto add = [&](Bar bar, double x, double from, double to) {
      if (std::fabs(from - to) >= 0.05) paths[bar] += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, from, to);
    };
    double number = 1, widest = 1;
    for (const IterationRecord& record : iterations) {
      const auto count = static_cast<double>(record.iterations);
      const double x = x_.At(number + (count - 1) / 2), end = y.At(record.elapsed);
      if (record.IsKept()) {
        const double useful = y.At(std::min(record.useful, record.elapsed));
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
    const double slot = widest * box_.width() / static_cast<double>(most_);
    const double width = std::min(kWidestBar, slot < 4 ? slot : slot < 12 ? slot - 1 : 0.85 * slot);
    for (std::size_t bar = 0; bar < paths.size(); ++bar) {
      if (!paths[bar].empty()) svg_->Path(paths[bar], StrokeOf(bar, width));
    }
  }

  void Tooltips(const std::vector<IterationRecord>& iterations, const Box& box) {
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
      svg_->Tooltip({x_.At(number - 0.5), box.top, x_.At(number + count - 0.5), box.bottom}, text);
      number += count;
    }
  }

  const IterationChart& chart_;
  SvgCanvas* svg_ = nullptr;
  Box box_;                // of all panels
  Scale x_;                // an iteration is as wide as 1
  std::int64_t most_ = 1;  // iterations of any panel
  bool is_disturbed_ = false, has_left_out_ = false;
  double most_disturbed_ = 0;
  double panel_ = 0;
  bool with_tooltips_ = false;
};

}  // namespace

std::string RenderIterations(const IterationChart& chart, bool standalone) { return Panels(chart).Render(standalone); }

}  // namespace farscale
