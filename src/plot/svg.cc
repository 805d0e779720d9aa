#include "plot/canvas.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"

namespace farscale {
namespace {

constexpr const char* kFont = "font-family=\"system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif\"";

std::string AttributesOf(const Stroke& stroke) {
  std::string text = fmt::format(" stroke=\"{}\"", stroke.color);
  if (stroke.width != 1) text += fmt::format(" stroke-width=\"{:g}\"", stroke.width);
  if (!stroke.dashes.empty()) text += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
  if (stroke.opacity != 1) text += fmt::format(" stroke-opacity=\"{:g}\"", stroke.opacity);
  return text + stroke.attributes;
}

std::string AttributesOf(const Fill& fill) {
  const std::string opacity = fill.opacity == 1 ? "" : fmt::format(" fill-opacity=\"{:.3g}\"", fill.opacity);
  return fmt::format(" fill=\"{}\"{}{}", fill.color, opacity, fill.attributes);
}

std::string AttributesOf(const TextStyle& style) {
  std::string text;
  if (style.anchor != Anchor::kStart) {
    text += fmt::format(" text-anchor=\"{}\"", style.anchor == Anchor::kEnd ? "end" : "middle");
  }
  text += fmt::format(" fill=\"{}\"", style.color);
  if (style.is_bold) text += " font-weight=\"600\"";
  if (style.size > 0) text += fmt::format(" font-size=\"{:g}\"", style.size);
  return text;
}

std::string Joined(const std::vector<Spot>& spots) {
  std::string text;
  for (const Spot& spot : spots) text += (text.empty() ? "" : " ") + Pixel(spot.x) + "," + Pixel(spot.y);
  return text;
}

std::string Corner(const Box& box) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", Pixel(box.left), Pixel(box.top),
                     Pixel(box.width()), Pixel(box.height()));
}

}  // namespace

// In lightness, too, as [Okabe08] advise.
std::string PaletteColor(int index) {
  constexpr std::array<const char*, 8> kPalette = {"#2a38aa", "#a4250a", "#8e5299", "#408648",
                                                   "#bf7304", "#369ae8", "#000000", "#7f7f7f"};
  return kPalette[static_cast<std::size_t>(index) % kPalette.size()];
}

std::vector<Spot> CornersOf(const Marker& marker, const Spot& spot) {
  const auto [x, y] = spot;
  const double r = 1.2 * marker.radius;
  const double down = marker.shape == MarkerShape::kTurnedTriangle ? -1 : 1;
  switch (marker.shape) {
    case MarkerShape::kDisc:
    case MarkerShape::kSquare: return {};
    case MarkerShape::kDiamond: return {{x, y - r}, {x + r, y}, {x, y + r}, {x - r, y}};
    case MarkerShape::kTriangle:
    case MarkerShape::kTurnedTriangle:
      return {{x, y - down * r}, {x + r, y + down * 0.8 * r}, {x - r, y + down * 0.8 * r}};
  }
  return {};
}

std::string Pixel(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

SvgCanvas::SvgCanvas(const SvgFrame& frame) {
  const std::string width = Pixel(frame.width), height = Pixel(frame.height);
  text_ = fmt::format("<svg {}role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" font-size=\"{:g}\"{}>",
                      frame.standalone ? fmt::format("xmlns=\"http://www.w3.org/2000/svg\" {} ", kFont) : "", width,
                      height, width, height, frame.font_size, frame.standalone ? "" : frame.attributes);
  text_ += "<title>" + EscapeXml(frame.title) + "</title><desc>" + EscapeXml(frame.description) + "</desc>";
  if (frame.standalone) text_ += fmt::format("<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", kPaper);
  if (frame.title_x) Text({*frame.title_x, 20}, frame.title, {.size = 14, .is_bold = true});
}

void SvgCanvas::Polyline(const std::vector<Spot>& spots, const Stroke& stroke) {
  text_ += fmt::format("<polyline points=\"{}\" fill=\"none\"{}/>", Joined(spots), AttributesOf(stroke));
}

// One is an element of its own, more are a path.
void SvgCanvas::Lines(const std::vector<Spot>& ends, const Stroke& stroke) {
  if (ends.size() == 2) {
    text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>", Pixel(ends[0].x), Pixel(ends[0].y),
                         Pixel(ends[1].x), Pixel(ends[1].y), AttributesOf(stroke));
    return;
  }
  std::string path;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    const auto [x1, y1] = ends[i];
    const auto [x2, y2] = ends[i + 1];
    path += fmt::format("M{} {}", Pixel(x1), Pixel(y1));
    path += y1 == y2 ? "H" + Pixel(x2) : x1 == x2 ? "V" + Pixel(y2) : fmt::format("L{} {}", Pixel(x2), Pixel(y2));
  }
  if (!path.empty()) Path(path, stroke);
}

void SvgCanvas::Polygon(const std::vector<Spot>& spots, const Fill& fill) {
  text_ += fmt::format("<polygon points=\"{}\"{}/>", Joined(spots), AttributesOf(fill));
}

void SvgCanvas::Rect(const Box& box, const Fill& fill) { text_ += Corner(box) + AttributesOf(fill) + "/>"; }

// Discs and squares are strokes without length that have round or square ends.
void SvgCanvas::Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string& attributes) {
  if (spots.empty()) return;
  if (marker.shape != MarkerShape::kDisc && marker.shape != MarkerShape::kSquare) {
    std::string path;
    for (const Spot& spot : spots) {
      for (const Spot& corner : CornersOf(marker, spot)) {
        path += (path.empty() || path.back() == 'z' ? "M" : "L") + Pixel(corner.x) + " " + Pixel(corner.y);
      }
      path += "z";
    }
    OpenGroup(AttributesOf(Fill{marker.is_filled ? marker.color : kPaper}) + attributes);
    Path(path, {marker.color, 2});
    CloseGroup();
    return;
  }
  std::string dots;
  for (const Spot& spot : spots) dots += fmt::format("M{} {}h0", Pixel(spot.x), Pixel(spot.y));
  OpenGroup(fmt::format(" fill=\"none\" stroke-linecap=\"{}\"{}",
                        marker.shape == MarkerShape::kSquare ? "square" : "round", attributes));
  Path(dots, {marker.color, 2 * marker.radius + 2});
  if (!marker.is_filled) Path(dots, {kPaper, 2 * marker.radius - 2});
  CloseGroup();
}

// One has its style itself, more have that of their group.
void SvgCanvas::Labels(const std::vector<Label>& labels, const TextStyle& style) {
  if (labels.size() > 1) OpenGroup(AttributesOf(style));
  const std::string own = labels.size() > 1 ? "" : AttributesOf(style);
  for (const auto& [at, text] : labels) {
    const std::string x = Pixel(at.x), y = Pixel(at.y);
    const std::string turn = style.is_upright ? fmt::format(" transform=\"rotate(-90 {} {})\"", x, y) : "";
    text_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>", x, y, own, turn, EscapeXml(text));
  }
  if (labels.size() > 1) CloseGroup();
}

void SvgCanvas::Tooltip(const Box& box, const std::string& text) {
  text_ += Corner(box) + " opacity=\"0\"><title>" + EscapeXml(text) + "</title></rect>";
}

void SvgCanvas::Path(const std::string& path, const Stroke& stroke) {
  text_ += fmt::format("<path{} d=\"{}\"/>", AttributesOf(stroke), path);
}

std::string SvgCanvas::Close() {
  text_ += "</svg>";
  return std::move(text_);
}

}  // namespace farscale
