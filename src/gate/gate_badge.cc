#include <fmt/format.h>

#include "gate/outputs.h"
#include "plot/svg.h"

namespace farscale {
namespace {

constexpr double kBadgeLetter = 6.7;  // about the width of one, at 11 pixels
constexpr int kBadgeHeight = 20;

}  // namespace

std::string WriteGateBadge(const GateReport& report) {
  const char* color = "#2e7d32";
  std::string message = "passed";
  switch (report.Overall()) {
    case Verdict::kFail:
      color = "#b3261e";
      message = "failed";
      break;
    case Verdict::kWarn:
      color = "#8a5a00";
      message = report.AllRulesOff() ? "nothing judged" : "passed with warnings";
      break;
    case Verdict::kNoEvidence:
      color = "#5f6368";
      message = "not enough evidence";
      break;
    case Verdict::kPass: break;
  }
  const std::string label = "scaling gate";
  const double left = 14 + kBadgeLetter * static_cast<double>(label.size());
  const double right = 14 + kBadgeLetter * static_cast<double>(message.size());
  const double width = left + right;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}: {3}\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">",
      Pixel(width), kBadgeHeight, label, message);
  svg += fmt::format("<title>{}: {}</title><desc>{}</desc>", label, message, EscapeXml(SummaryOf(report)));
  svg +=
      fmt::format("<clipPath id=\"r\"><rect width=\"{}\" height=\"{}\" rx=\"3\"/></clipPath><g clip-path=\"url(#r)\">",
                  Pixel(width), kBadgeHeight);
  svg += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#3c4043\"/>", Pixel(left), kBadgeHeight);
  svg += fmt::format("<rect x=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/></g>", Pixel(left), Pixel(right),
                     kBadgeHeight, color);
  const auto text = [&](double x, const std::string& words, std::size_t letters) {
    svg += fmt::format("<text x=\"{}\" y=\"14\" fill=\"#ffffff\" text-anchor=\"middle\" textLength=\"{}\">{}</text>",
                       Pixel(x), Pixel(kBadgeLetter * static_cast<double>(letters)), words);
  };
  text(left / 2, label, label.size());
  text(left + right / 2, message, message.size());
  return svg + "</svg>\n";
}

}  // namespace farscale
