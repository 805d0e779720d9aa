#include "plot/chart.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/text.h"
#include "plot/canvas.h"

namespace farscale {
namespace {

constexpr std::pair<std::uint32_t, const char*> kEscapes[] = {
    {'\\', "\\textbackslash{}"},
    {'{', "\\{"},
    {'}', "\\}"},
    {'$', "\\$"},
    {'&', "\\&"},
    {'#', "\\#"},
    {'%', "\\%"},
    {'_', "\\_"},
    {'^', "\\textasciicircum{}"},
    {'~', "\\textasciitilde{}"},
    {'<', "\\textless{}"},
    {'>', "\\textgreater{}"},
    {'|', "\\textbar{}"},
    {'`', "\\textasciigrave{}"},
    {'\'', "\\textquoteright{}"},
    {'[', "{[}"},  // behind the end of a line it would begin an option
    {'*', "{*}"},  // the same
    {0xA0, "~"},
    {0xB0, "\\ensuremath{^\\circ}"},
    {0xB1, "\\ensuremath{\\pm}"},
    {0xB2, "\\ensuremath{^2}"},
    {0xB3, "\\ensuremath{^3}"},
    {0xB5, "\\ensuremath{\\mu}"},
    {0x3BC, "\\ensuremath{\\mu}"},
    {0xB7, "\\ensuremath{\\cdot}"},
    {0xD7, "\\ensuremath{\\times}"},
    {0x2080, "\\ensuremath{_0}"},
    {0x2013, "--"},
    {0x2014, "---"},
    {0x2018, "\\textquoteleft{}"},
    {0x2019, "\\textquoteright{}"},
    {0x201C, "\\textquotedblleft{}"},
    {0x201D, "\\textquotedblright{}"},
    {0x2026, "\\dots{}"},
    {0x2212, "\\ensuremath{-}"},
    {0x2264, "\\ensuremath{\\le}"},
    {0x2265, "\\ensuremath{\\ge}"},
};

// Charts as TikZ for LaTeX, in the same colours and proportions as SVG.

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

class TikzCanvas : public Canvas {
 public:
  void Polyline(const std::vector<Spot>& spots, const Stroke& stroke) override {
    text_ += fmt::format("\\draw[{}] {};\n", Options(stroke), PathOf(spots));
  }
  void Lines(const std::vector<Spot>& ends, const Stroke& stroke) override {
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2) Polyline({ends[i], ends[i + 1]}, stroke);
  }
  void Polygon(const std::vector<Spot>& spots, const Fill& fill) override {
    text_ += fmt::format("\\path[{}] {} -- cycle;\n", Options(fill), PathOf(spots));
  }
  void Rect(const Box& box, const Fill& fill) override {
    Polygon({{box.left, box.top}, {box.right, box.top}, {box.right, box.bottom}, {box.left, box.bottom}}, fill);
  }
  void Markers(const std::vector<Spot>& spots, const Marker& marker, const std::string&) override {
    const double radius = kPoints * marker.radius;
    const std::string shape = marker.shape == MarkerShape::kSquare
                                  ? fmt::format("+(-{0:.2f}pt,-{0:.2f}pt) rectangle +({0:.2f}pt,{0:.2f}pt)", radius)
                                  : fmt::format("circle[radius={:.2f}pt]", radius);
    for (const Spot& spot : spots) {
      const std::vector<Spot> corners = CornersOf(marker, spot);
      const std::string path = corners.empty() ? Coordinates(spot) + " " + shape : PathOf(corners) + " -- cycle";
      text_ += fmt::format("\\path[draw={}, line width=0.9pt, fill={}] {};\n", Color(marker.color),
                           Color(marker.is_filled ? marker.color : kPaper), path);
    }
  }
  // Paper has one colour of text, and the size of the page's.
  void Labels(const std::vector<Label>& labels, const TextStyle& style) override {
    const char* side = style.anchor == Anchor::kStart ? " west" : style.anchor == Anchor::kEnd ? " east" : "";
    for (const auto& [at, text] : labels) {
      text_ += fmt::format("\\node[{}anchor=base{}, inner sep=0pt] at {} {{{}}};\n",
                           style.is_upright ? "rotate=90, " : "", side, Coordinates(at), EscapeLatex(text));
    }
  }
  void Tooltip(const Box&, const std::string&) override {}
  void OpenGroup(const std::string&) override {}
  void CloseGroup() override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string EscapeLatex(std::string_view source) {
  const std::string text = ToUtf8(source);
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t first = byte(at++);
    const int more = first < 0x80 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;  // bytes: the text is well-formed
    std::uint32_t character = more == 0 ? first : first & (0x3FU >> more);
    for (int i = 0; i < more; ++i) character = character << 6 | (byte(at++) & 0x3FU);
    const char* known = nullptr;
    for (const auto& [one, escape] : kEscapes) {
      if (one == character) known = escape;
    }
    // A quotation mark opens at the beginning, behind a blank, a bracket or a dash, and closes elsewhere.
    const bool opens = begin == 0 || std::string_view(" \t\n([{-/").find(text[begin - 1]) != std::string_view::npos;
    // Letters of Latin-1 that every font has, as base letters with accents.
    const bool is_accented = character >= 0xC0 && character <= 0xFF && character != 0xD0 && character != 0xDE &&
                             character != 0xF0 && character != 0xFE && character != 0xF7;
    const bool becomes_a_dash = character == '-' && at < text.size() && text[at] == '-';
    if (character == '"') {
      escaped += opens ? "``" : "''";
    } else if (known != nullptr) {
      escaped += known;
    } else if (becomes_a_dash) {
      escaped += "-{}";
    } else if (character < 0x20 || character == 0x7F) {
      escaped += ' ';
    } else if (character < 0x80 || is_accented) {
      escaped.append(text, begin, at - begin);
    } else {
      escaped += fmt::format("{{[}}U+{:04X}]", character);
    }
  }
  return escaped;
}

std::string RenderTikzPicture(const Chart& chart) {
  TikzCanvas canvas;
  DrawChart(chart, canvas);
  return fmt::format(
             "\\begin{{tikzpicture}}[x={}cm, y=-{}cm, font=\\footnotesize]\n"
             "\\useasboundingbox (0,0) rectangle ({},{});\n",
             kCentimetres, kCentimetres, chart.width, chart.height) +
         canvas.text() + "\\end{tikzpicture}\n";
}

std::string RenderTikz(const Chart& chart) {
  const int width = chart.width, height = chart.height;
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
             "\\begin{{document}}\n",
             width * kCentimetres + 0.4, height * kCentimetres + 0.4, width * kCentimetres + 0.1,
             height * kCentimetres + 0.2) +
         RenderTikzPicture(chart) + "\\end{document}\n";
}

}  // namespace farscale
