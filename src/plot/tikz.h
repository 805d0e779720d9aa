// Pictures as TikZ for LaTeX, in the same colours and proportions as SVG.
#pragma once

#include <string>
#include <vector>

#include "plot/canvas.h"

namespace farscale {

class TikzCanvas : public Canvas {
 public:
  void Polyline(const std::vector<Spot>& spots, const Stroke& stroke) override;
  void Lines(const std::vector<Spot>& ends, const Stroke& stroke) override;
  void Line(Spot from, Spot to, const Stroke& stroke) override { Polyline({from, to}, stroke); }
  void Polygon(const std::vector<Spot>& spots, const Fill& fill) override;
  void Rect(const Box& box, const Fill& fill) override;
  void Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string& attributes) override;
  void MarkerWithTooltip(Spot at, const Marker& marker, const std::string& tooltip) override;
  void Tooltip(const Box&, const std::string&) override {}
  void Text(Spot at, const std::string& text, const TextStyle& style) override;
  void Labels(const std::vector<Label>& labels, const TextStyle& style) override;
  void OpenGroup(const std::string&) override {}
  void CloseGroup() override {}

  // A LaTeX document whose only page is the picture; needs TikZ and nothing else.
  std::string Document(double width, double height) const;

 private:
  std::string text_;
};

}  // namespace farscale
