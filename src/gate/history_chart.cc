// The chart of one quantity over the commits: a line for every core count, steps marked with their commit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "gate/history_view.h"
#include "gate/judging.h"
#include "plot/svg.h"

namespace farscale {
namespace {

constexpr int kHistoryWidth = 720, kHistoryHeight = 300;
constexpr double kHistoryLeft = 64, kHistoryRight = kHistoryWidth - 16, kHistoryBottom = kHistoryHeight - 44;
constexpr std::size_t kMostLabels = 10;
constexpr double kLetter = 6.6;

class TrackDrawing {
 public:
  TrackDrawing(const HistoryView& view, const HistoryTrack& track) : view_(view), track_(track) {
    double low = 0, high = 0;
    bool first = true;
    for (std::size_t place = 0; place < track.cores.size(); ++place) {
      unit_.push_back(UnitOf(place));
      for (const auto& commit : track.values) {
        if (!commit[place]) continue;
        const double value = *commit[place] / unit_[place];
        low = first ? value : std::min(low, value);
        high = first ? value : std::max(high, value);
        first = false;
      }
    }
    // Noise must not fill the chart: at least a tenth of the value is shown.
    const double margin = std::max(0.08 * (high - low), 0.05 * high);
    step_ = NiceStep(std::max(high - low + 2 * margin, 1e-12), 5);
    low_ = std::max(0.0, std::floor((low - margin) / step_) * step_);
    high_ = std::ceil((high + margin) / step_) * step_;
  }

  std::string Draw() {
    svg_.Open(kHistoryWidth, kHistoryHeight, Title(), Description(), false, kHistoryLeft);
    Legend();
    Axes();
    Marks();
    for (std::size_t i = 0; i < track_.cores.size(); ++i) Line(i);
    return svg_.Close();
  }

 private:
  // Times of different core counts differ by far more than commits do, so each is shown against its first.
  double UnitOf(std::size_t place) const {
    for (const auto& commit : track_.values) {
      if (track_.quantity.IsTime() && commit[place]) return *commit[place];
    }
    return 1;
  }

  std::string Title() const {
    return NameOf(track_.quantity) + (track_.quantity.IsTime() ? " over that of the first commit, " : ", ") +
           PhaseTitle(track_);
  }

  std::string Description() const {
    std::string text = fmt::format("{} over {} commits, a line for each of {}. ", NameOf(track_.quantity),
                                   view_.history.size(), CoresInWords(track_.cores));
    const std::string last = LastChangeInWords(track_);
    if (!last.empty()) text += fmt::format("Last change {}. ", last);
    return text + fmt::format("New levels begin at: {}. The table below has all values.", StepsInWords(view_, track_));
  }

  double X(std::size_t commit) const {
    const std::size_t count = view_.history.size();
    if (count == 1) return (kHistoryLeft + kHistoryRight) / 2;
    return kHistoryLeft + 12 +
           static_cast<double>(commit) / static_cast<double>(count - 1) * (kHistoryRight - kHistoryLeft - 24);
  }
  double Y(double value) const { return kHistoryBottom - (value - low_) / (high_ - low_) * (kHistoryBottom - top_); }

  void Legend() {
    double x = kHistoryLeft, y = 40;
    for (std::size_t i = 0; i < track_.cores.size(); ++i) {
      const std::string name = CoresInWords({track_.cores[i]});
      const double width = 30 + kLetter * static_cast<double>(name.size());
      if (x + width > kHistoryRight && x > kHistoryLeft) {
        x = kHistoryLeft;
        y += 18;
      }
      svg_.Line(x, y - 4, x + 18, y - 4, PaletteColor(static_cast<int>(i)).c_str(), "stroke-width=\"2\"");
      svg_.Text(x + 23, y, name, "start", kInk);
      x += width;
    }
    top_ = y + 28;
  }

  void Axes() {
    const auto steps = static_cast<int>(std::lround((high_ - low_) / step_));
    for (int i = 0; i <= steps; ++i) {
      const double value = low_ + i * step_;
      svg_.Line(kHistoryLeft, Y(value), kHistoryRight, Y(value), kGrid);
      svg_.Text(kHistoryLeft - 8, Y(value) + 4, TickText(value), "end", kFaint);
    }
    const std::size_t count = view_.history.size();
    const std::size_t every = (count + kMostLabels - 1) / kMostLabels;
    for (std::size_t i = 0; i < count; i += every) {
      svg_.Text(X(i), kHistoryBottom + 17, ShortCommit(view_.history[i]), "middle", kFaint, "font-size=\"10\"");
    }
    svg_.Line(kHistoryLeft, kHistoryBottom, kHistoryRight, kHistoryBottom, kFaint);
    svg_.Text((kHistoryLeft + kHistoryRight) / 2, kHistoryHeight - 8, "commit, oldest first", "middle", kInk);
  }

  void Marks() {
    const auto mark = [&](std::size_t commit, const std::string& label, const char* dash) {
      // Between the commits, where the new level begins.
      const double x = commit == 0 ? X(0) : (X(commit - 1) + X(commit)) / 2;
      svg_.Line(x, top_, x, kHistoryBottom, kInk, fmt::format("stroke-dasharray=\"{}\"", dash));
      const bool at_end = x > (kHistoryLeft + kHistoryRight) / 2;
      svg_.Text(x + (at_end ? -4 : 4), top_ - 3, label, at_end ? "end" : "start", kInk, "font-size=\"11\"");
    };
    for (const std::size_t step : track_.steps) mark(step, "step at " + ShortCommit(view_.history[step]), "4 3");
    for (std::size_t i = 0; i < view_.history.size(); ++i) {
      const bool is_step = std::find(track_.steps.begin(), track_.steps.end(), i) != track_.steps.end();
      if (!view_.history[i].accepted.empty() && !is_step)
        mark(i, "accepted at " + ShortCommit(view_.history[i]), "1 3");
    }
  }

  void Line(std::size_t place) {
    const std::string color = PaletteColor(static_cast<int>(place));
    std::string path, points;
    bool is_open = false;
    for (std::size_t i = 0; i < track_.values.size(); ++i) {
      const std::optional<double>& value = track_.values[i][place];
      if (!value) {
        is_open = false;
        continue;
      }
      const double x = X(i), y = Y(*value / unit_[place]);
      path += fmt::format("{}{} {}", is_open ? "L" : "M", Pixel(x), Pixel(y));
      is_open = true;
      points += fmt::format(
          "<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{}\"><title>{}</title></circle>", Pixel(x), Pixel(y), color,
          EscapeXml(fmt::format("{} of {}: {} at {}", ShortCommit(view_.history[i]),
                                view_.history[i].date.substr(0, 10), FormatQuantity(track_.quantity, *value),
                                CoresInWords({track_.cores[place]}))));
    }
    svg_.Append(fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}", path, color, points));
  }

  const HistoryView& view_;
  const HistoryTrack& track_;
  std::vector<double> unit_;  // by core count
  double low_ = 0, high_ = 1, step_ = 1, top_ = 60;
  Svg svg_;
};

}  // namespace

std::string DrawTrack(const HistoryView& view, const HistoryTrack& track) { return TrackDrawing(view, track).Draw(); }

}  // namespace farscale
