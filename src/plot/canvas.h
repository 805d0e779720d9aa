// The surface that pictures are drawn on, in pixels from the upper left corner: as SVG or as TikZ [plot/chart.h].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kFaint = "#66727f";
inline constexpr const char* kGridLine = "#e3e7eb";
inline constexpr const char* kPaper = "#ffffff";

// "#2a38aa" and so on. The first six get lighter one by one and differ for readers with deuteranopia or protanopia, too
// (tests/palette.py).
std::string PaletteColor(int index);
inline constexpr int kPaletteBlue = 0, kPaletteBlack = 6, kPaletteGrey = 7;

struct Spot {
  double x = 0, y = 0;
};

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
  Spot center() const { return {(left + right) / 2, (top + bottom) / 2}; }
};

// Attributes are those of an SVG element for the script of its page, with a blank before each.
struct Stroke {
  std::string color = kInk;
  double width = 1;
  std::string dashes = "";  // lengths of a dash and a gap; empty: solid
  double opacity = 1;
  std::string attributes = "";
};

struct Fill {
  std::string color = kInk;
  double opacity = 1;
  std::string attributes = "";
};

enum class MarkerShape { kDisc, kSquare, kDiamond, kTriangle, kTurnedTriangle };

// In one colour, filled or not. A square is as wide as a disc.
struct Marker {
  std::string color = kInk;
  bool is_filled = false;
  double radius = 4;
  MarkerShape shape = MarkerShape::kDisc;
};

// The corners of a diamond or triangle around a spot, which reach a little beyond the radius so that all shapes look
// equally large; empty for a disc or a square.
std::vector<Spot> CornersOf(const Marker& marker, const Spot& spot);

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  Anchor anchor = Anchor::kStart;
  std::string color = kInk;
  double size = 0;  // 0: as the picture has it
  bool is_bold = false;
  bool is_upright = false;  // read from below
};

using Label = std::pair<Spot, std::string>;  // at a place

class Canvas {
 public:
  virtual ~Canvas() = default;
  // Through all spots.
  virtual void Polyline(const std::vector<Spot>& spots, const Stroke& stroke) = 0;
  // Each pair of spots is a line.
  virtual void Lines(const std::vector<Spot>& ends, const Stroke& stroke) = 0;
  virtual void Polygon(const std::vector<Spot>& spots, const Fill& fill) = 0;
  virtual void Rect(const Box& box, const Fill& fill) = 0;
  virtual void Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string& attributes) = 0;
  virtual void Labels(const std::vector<Label>& labels, const TextStyle& style) = 0;
  // Parts for screens only: a text for the pointer, and a group around what follows.
  virtual void Tooltip(const Box& box, const std::string& text) = 0;
  virtual void OpenGroup(const std::string& attributes) = 0;
  virtual void CloseGroup() = 0;

  void Text(Spot at, const std::string& text, const TextStyle& style) { Labels({{at, text}}, style); }
};

// Pictures as SVG: our own small writer, because a report must be one offline file, print well and be the same bytes on
// every run.

// Pixels with one decimal, or none: precise enough, and the same text on every machine.
std::string Pixel(double value);

// The element around a picture. Title and description are read out by screen readers.
struct SvgFrame {
  double width = 0, height = 0;
  std::string title = "", description = "";
  bool standalone = false;             // with name space and white ground, for a file of its own
  std::optional<double> title_x = {};  // where the title is drawn, if it is
  std::string attributes = "";         // attributes of the element in a page
  double font_size = 12;
};

class SvgCanvas : public Canvas {
 public:
  explicit SvgCanvas(const SvgFrame& frame);

  void Polyline(const std::vector<Spot>& spots, const Stroke& stroke) override;
  void Lines(const std::vector<Spot>& ends, const Stroke& stroke) override;
  void Polygon(const std::vector<Spot>& spots, const Fill& fill) override;
  void Rect(const Box& box, const Fill& fill) override;
  void Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string& attributes) override;
  void Labels(const std::vector<Label>& labels, const TextStyle& style) override;
  void Tooltip(const Box& box, const std::string& text) override;
  void OpenGroup(const std::string& attributes) override { Append("<g" + attributes + ">"); }
  void CloseGroup() override { Append("</g>"); }

  // A path that is already text: what only SVG can do.
  void Path(const std::string& path, const Stroke& stroke);
  void Append(std::string_view text) { text_ += text; }
  // The whole element; the picture is done.
  std::string Close();

 private:
  std::string text_;
};

// Where the values of an axis lie in a picture, and which of them are round.

// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them in a span.
double NiceStep(double span, int wanted);

// The unit in which times up to so many seconds are easy to read, with its seconds: 0.0123 -> ms.
std::pair<const char*, double> UnitFor(double seconds);

// A round number without the last digits of floating point: "0.6", "20k", "3M".
std::string TickText(double value);

using AxisTick = std::pair<double, std::string>;  // a value as a text

// Values from `low` to `high` on the pixels between `from` and `to`.
struct Scale {
  double low = 0, high = 1;
  double from = 0, to = 1;
  double step = 0;  // between the ticks of a linear scale; 0: it has none
  bool is_log = false;

  // Values outside lie at the ends, and all values in the middle where low is high.
  double At(double value) const;
  // The text of a linear scale tells values in a unit: "20" at 0.02 where it is 0.001.
  std::vector<AxisTick> Ticks(double unit = 1, const std::string& suffix = "") const;
};

// Has about `wanted` steps that are round in the unit.
Scale LinearScale(double low, double high, double from, double to, int wanted, double unit = 1);
// The same with its ends at steps. A value a hair beyond a step needs no further one.
Scale RoundedScale(double low, double high, double from, double to, int wanted);
// With a margin of 3 % of its length at both ends.
Scale LogScale(double low, double high, double from, double to);

// The axes of a picture: ticks with their numbers, grid lines through the picture, and what an axis is about.

enum class AxisMarks { kNone, kGridLines, kShort };

struct Axis {
  Scale scale;
  std::vector<AxisTick> ticks;
  std::string label = "";
  AxisMarks marks = AxisMarks::kGridLines;
  double text_size = 0;  // 0: as the picture has it
};

inline constexpr double kBelowAxis = 46;  // pixels that ticks and label of an x axis take

// Below a box, with a line between. Grid lines are as high as the box.
void DrawXAxis(Canvas& canvas, const Box& box, const Axis& axis);
// On the left of a box.
void DrawYAxis(Canvas& canvas, const Box& box, const Axis& axis);

// The meaning of the lines, markers and colours of a picture.

// A sample of the line, the marker or the area, with its name behind it.
struct LegendEntry {
  std::string name;
  std::optional<Stroke> line = {};
  std::optional<Marker> marker = {};
  std::optional<Fill> area = {};
  std::string attributes = "";  // attributes of the entry in a page; without, it is not a group
};

class Legend {
 public:
  // In rows from `left` to `right`; `top` is the base line of the first. Where there is no room, each entry is a row.
  Legend(std::vector<LegendEntry> entries, double left, double right, double top);

  void Draw(Canvas& canvas) const;
  // Height of all rows, in pixels.
  double height() const { return height_; }

 private:
  std::vector<LegendEntry> entries_;
  std::vector<Spot> places_;
  double height_ = 0;
};

}  // namespace farscale
