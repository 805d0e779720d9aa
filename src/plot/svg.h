// Pictures as SVG: our own small writer, because a report must be one offline file, print well and be the same bytes on
// every run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/canvas.h"

namespace farscale {

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

}  // namespace farscale
