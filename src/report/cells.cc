#include "report/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace farscale {
namespace {

std::string Mix(const std::array<double, 3>& a, const std::array<double, 3>& b, double share) {
  std::string color = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    color += fmt::format("{:02x}", static_cast<int>(std::lround(a[i] + (b[i] - a[i]) * share)));
  }
  return color;
}

}  // namespace

std::string PopColor(double value) {
  constexpr std::array<double, 3> kWhite = {255, 255, 255}, kBlue = {90, 163, 214}, kOrange = {242, 163, 84};
  constexpr double kGood = 0.8, kBad = 0.5;
  if (value >= kGood) return Mix(kWhite, kBlue, std::min(1.0, 0.25 + 0.75 * (value - kGood) / (1 - kGood)));
  return Mix(kWhite, kOrange, std::min(1.0, 0.25 + 0.75 * (kGood - value) / (kGood - kBad)));
}

std::string PopTone(double value) {
  constexpr double kStep = 0.05, kGood = 0.8;
  constexpr std::string_view kTones = "0123456789a";
  const double steps = std::floor((value - kGood) / kStep + 1e-9);
  return std::string(1, kTones[static_cast<std::size_t>(std::clamp(7 + steps, 0.0, 10.0))]);
}

ReportData TextTable(const std::string& corner, const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) {
  ReportData table = {{"corner", corner}, {"header", header}, {"rows", ReportData::array()}};
  for (const std::vector<std::string>& row : rows) table["rows"].push_back({{"cells", row}});
  return table;
}

std::string ShareOrDash(double part, double whole) { return whole > 0 ? FormatPercent(part / whole) : "–"; }

FactorCell ColoredCell(const std::string& text, const std::optional<double>& efficiency) {
  if (!efficiency) return {.text = text};
  return {.text = text, .color = PopColor(*efficiency), .tone = PopTone(*efficiency)};
}

std::vector<RunColumn> ColumnsOf(const std::vector<FactorRow>& rows) {
  std::vector<RunColumn> columns;
  const bool has_several_splits = CoresOfSeveralSplits(PointersTo(rows)).has_value();
  for (const FactorRow& row : rows) {
    std::string repeat = row.repeat > 0 ? fmt::format("repeat {}", row.repeat) : "";
    if (has_several_splits) repeat = fmt::format("{} × {}", row.Processes(), row.threads);
    columns.push_back({FormatCores(static_cast<double>(row.cores)), std::move(repeat)});
  }
  return columns;
}

}  // namespace farscale
