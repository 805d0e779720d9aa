#include "plot/svg.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace farscale {
namespace {

constexpr std::array<const char*, 8> kPalette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#b8860b", "#000000", "#7f7f7f"};

}  // namespace

std::string PaletteColor(int index) { return kPalette[static_cast<std::size_t>(index) % kPalette.size()]; }

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default:
        // Control characters are not allowed in XML.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

std::string Pixel(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double NiceStep(double span, int wanted) {
  const double raw = span / wanted;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= 0.9 * raw) return factor * power;
  }
  return 10 * power;
}

TimeUnit UnitFor(double seconds) {
  if (seconds < 1e-6) return {"ns", 1e-9};
  if (seconds < 1e-3) return {"µs", 1e-6};
  if (seconds < 1) return {"ms", 1e-3};
  return {"s", 1};
}

std::string TickText(double value) { return fmt::format("{:g}", std::round(value * 1e6) / 1e6); }

void Svg::Open(int width, int height, const std::string& title, const std::string& description, bool standalone,
               double title_x, const std::string& more) {
  text_ = fmt::format("<svg {}role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" {} font-size=\"12\"{}>",
                      standalone ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", width, height, width, height,
                      standalone ? kSvgFont : "", more);
  text_ += "<title>" + EscapeXml(title) + "</title><desc>" + EscapeXml(description) + "</desc>";
  if (standalone) text_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>";
  Text(title_x, 20, title, "start", kInk, "font-weight=\"600\" font-size=\"14\"");
}

void Svg::Text(double x, double y, const std::string& text, const char* anchor, const char* color,
               const std::string& more) {
  const std::string anchored = std::string_view(anchor) == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor);
  text_ += fmt::format("<text x=\"{}\" y=\"{}\"{} fill=\"{}\"{}{}>{}</text>", Pixel(x), Pixel(y), anchored, color,
                       more.empty() ? "" : " ", more, EscapeXml(text));
}

void Svg::Line(double x1, double y1, double x2, double y2, const char* color, const std::string& more) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" {}/>", Pixel(x1), Pixel(y1),
                       Pixel(x2), Pixel(y2), color, more);
}

void Svg::Rect(double x, double y, double width, double height, const std::string& fill, const std::string& more) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>", Pixel(x), Pixel(y),
                       Pixel(width), Pixel(height), fill, more);
}

std::string Svg::Close() {
  text_ += "</svg>";
  return std::move(text_);
}

}  // namespace farscale
