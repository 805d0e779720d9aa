// What pictures are drawn on, in pixels from the upper left corner: as SVG [plot/svg.h] or as TikZ [plot/tikz.h].
#pragma once

#include <string>
#include <vector>

namespace farscale {

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kFaint = "#66727f";
inline constexpr const char* kGrid = "#e3e7eb";
inline constexpr const char* kPaper = "#ffffff";

// "#0072b2" and so on; easily told apart, also by colour-blind readers [Okabe08].
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

// A disc of one colour, filled or a ring.
struct Marker {
  std::string color = kInk;
  bool is_filled = false;
  double radius = 4;
};

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
  // One element for many lines: each pair of spots is one.
  virtual void Lines(const std::vector<Spot>& ends, const Stroke& stroke) = 0;
  virtual void Line(Spot from, Spot to, const Stroke& stroke) = 0;
  virtual void Polygon(const std::vector<Spot>& spots, const Fill& fill) = 0;
  virtual void Rect(const Box& box, const Fill& fill) = 0;
  // One element for many markers.
  virtual void Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string& attributes) = 0;
  // A marker that tells what it is about, where the format can.
  virtual void MarkerWithTooltip(Spot at, const Marker& marker, const std::string& tooltip) = 0;
  // Only a tooltip.
  virtual void Tooltip(const Box& box, const std::string& tooltip) = 0;
  virtual void Text(Spot at, const std::string& text, const TextStyle& style) = 0;
  // One group of texts in the same style.
  virtual void Labels(const std::vector<Label>& labels, const TextStyle& style) = 0;
  // Puts what follows into a group with attributes.
  virtual void OpenGroup(const std::string& attributes) = 0;
  virtual void CloseGroup() = 0;
};

}  // namespace farscale
