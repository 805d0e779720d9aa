#include "plot/tikz.h"

#include <fmt/format.h>

#include "plot/latex.h"

namespace farscale {
namespace {

constexpr double kCentimetres = 0.02;  // a pixel on paper, so that a chart is as wide as a column of text
constexpr double kPoints = 0.45;       // the width of a line of one pixel

std::string Coordinates(Spot spot) { return fmt::format("({:.1f},{:.1f})", spot.x, spot.y); }

std::string PathOf(const std::vector<Spot>& spots) {
  std::string text;
  for (const Spot& spot : spots) text += (text.empty() ? "" : " -- ") + Coordinates(spot);
  return text;
}

// "{rgb,255:red,0;green,114;blue,178}" for "#0072b2".
std::string Color(const std::string& hex) {
  const auto part = [&](std::size_t at) { return std::stoi(hex.substr(at, 2), nullptr, 16); };
  return fmt::format("{{rgb,255:red,{};green,{};blue,{}}}", part(1), part(3), part(5));
}

std::string Options(const Stroke& stroke) {
  std::string text = fmt::format("draw={}, line width={:.2f}pt", Color(stroke.color), kPoints * stroke.width);
  const std::size_t blank = stroke.dashes.find(' ');
  if (!stroke.dashes.empty()) {
    text +=
        fmt::format(", dash pattern=on {}pt off {}pt", stroke.dashes.substr(0, blank), stroke.dashes.substr(blank + 1));
  }
  return stroke.opacity == 1 ? text : text + fmt::format(", opacity={:g}", stroke.opacity);
}

std::string Options(const Fill& fill) { return fmt::format("fill={}, opacity={:g}", Color(fill.color), fill.opacity); }

}  // namespace

void TikzCanvas::Polyline(const std::vector<Spot>& spots, const Stroke& stroke) {
  text_ += fmt::format("\\draw[{}] {};\n", Options(stroke), PathOf(spots));
}

void TikzCanvas::Lines(const std::vector<Spot>& ends, const Stroke& stroke) {
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) Polyline({ends[i], ends[i + 1]}, stroke);
}

void TikzCanvas::Polygon(const std::vector<Spot>& spots, const Fill& fill) {
  text_ += fmt::format("\\path[{}] {} -- cycle;\n", Options(fill), PathOf(spots));
}

void TikzCanvas::Rect(const Box& box, const Fill& fill) {
  text_ += fmt::format("\\path[{}] {} rectangle {};\n", Options(fill), Coordinates({box.left, box.top}),
                       Coordinates({box.right, box.bottom}));
}

void TikzCanvas::Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string&) {
  for (const Spot& spot : spots) MarkerWithTooltip(spot, marker, "");
}

void TikzCanvas::MarkerWithTooltip(Spot at, const Marker& marker, const std::string&) {
  text_ += fmt::format("\\path[draw={}, line width=0.9pt, fill={}] {} circle[radius={:.2f}pt];\n", Color(marker.color),
                       Color(marker.is_filled ? marker.color : kPaper), Coordinates(at), kPoints * marker.radius);
}

// Paper has one colour of text, and the size of the page's.
void TikzCanvas::Text(Spot at, const std::string& text, const TextStyle& style) {
  const char* anchor = style.anchor == Anchor::kStart ? "base west"
                       : style.anchor == Anchor::kEnd ? "base east"
                                                      : "base";
  text_ += fmt::format("\\node[{}anchor={}, inner sep=0pt] at {} {{{}}};\n", style.is_upright ? "rotate=90, " : "",
                       anchor, Coordinates(at), EscapeLatex(text));
}

void TikzCanvas::Labels(const std::vector<Label>& labels, const TextStyle& style) {
  for (const auto& [at, text] : labels) Text(at, text, style);
}

std::string TikzCanvas::Document(double width, double height) const {
  return fmt::format(
             "\\documentclass{{article}}\n"
             "\\usepackage{{tikz}}\n"
             "\\pagestyle{{empty}}\n"
             "% A page as large as the figure with a margin of 2 mm.\n"
             "\\paperwidth={}cm \\paperheight={}cm\n"
             "\\ifdefined\\pagewidth \\pagewidth=\\paperwidth \\pageheight=\\paperheight\n"
             "\\else \\pdfpagewidth=\\paperwidth \\pdfpageheight=\\paperheight \\fi\n"
             "\\hoffset=-1in \\voffset=-1in \\oddsidemargin=2mm \\topmargin=2mm\n"
             "\\headheight=0pt \\headsep=0pt \\footskip=0pt \\topskip=0pt \\parindent=0pt\n"
             "\\textwidth={}cm \\textheight={}cm\n"
             "\\begin{{document}}\n"
             "\\begin{{tikzpicture}}[x={}cm, y=-{}cm, font=\\footnotesize]\n"
             "\\useasboundingbox (0,0) rectangle ({},{});\n",
             width * kCentimetres + 0.4, height * kCentimetres + 0.4, width * kCentimetres + 0.1,
             height * kCentimetres + 0.2, kCentimetres, kCentimetres, width, height) +
         text_ + "\\end{tikzpicture}\n\\end{document}\n";
}

}  // namespace farscale
