// The surface that pictures are drawn on, in pixels from the upper left corner: as SVG [plot/svg.h] or as TikZ
// [plot/chart.h].
#pragma once

#include <string>
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

struct Label {
  Spot at;
  std::string text;
};

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

}  // namespace farscale
