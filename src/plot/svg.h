// What our SVG figures have in common: colours, numbers, round steps, text, and the element around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farscale {

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kFaint = "#66727f";
inline constexpr const char* kGrid = "#e3e7eb";
// The attribute that files of their own need.
inline constexpr const char* kSvgFont = "font-family=\"system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif\"";

// "#0072b2" and so on; easily told apart, also by colour-blind readers [Okabe08].
std::string PaletteColor(int index);

// Text for XML and HTML, outside and inside of attributes.
std::string EscapeXml(const std::string& text);

// Pixels with one decimal, or none: precise enough, and the same text on every machine.
std::string Pixel(double value);

// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them in a span.
double NiceStep(double span, int wanted);

// The unit in which times up to so many seconds are easy to read: 0.0123 -> ms.
struct TimeUnit {
  const char* name;
  double seconds;
};
TimeUnit UnitFor(double seconds);

// A multiple of a round step, without the last digits of floating point.
std::string TickText(double value);

// What is drawn, as text that grows.
class Svg {
 public:
  // `standalone`: with name space and white ground, for a file of its own. Title and description are read out by
  // screen readers; the title is drawn too. `more` attributes are put into the element.
  void Open(int width, int height, const std::string& title, const std::string& description, bool standalone,
            double title_x, const std::string& more = "");
  void Text(double x, double y, const std::string& text, const char* anchor, const char* color,
            const std::string& more = "");
  void Line(double x1, double y1, double x2, double y2, const char* color, const std::string& more = "");
  void Rect(double x, double y, double width, double height, const std::string& fill, const std::string& more = "");
  void Append(std::string_view text) { text_ += text; }
  // The whole element; the drawing is done.
  std::string Close();

 private:
  std::string text_;
};

}  // namespace farscale
