#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace farscale {
namespace {

// Thousands apart by commas.
std::string Grouped(std::uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string FormatFactor(double value) {
  if (value >= 1000) return FormatSpeedup(value);
  if (value <= 0 || value >= 0.01) return fmt::format("{:.3f}", value);
  return value < 0.0001 ? "<0.0001" : FormatSignificant(value, 2);
}

std::string FormatSpeedup(double value) {
  if (value < 0.01) return FormatFactor(value);
  if (value < 10) return fmt::format("{:.2f}", value);
  if (value < 1000) return FormatSignificant(value, 3);
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return FormatCores(std::round(value / unit) * unit);
}

std::string FormatPercent(double share) {
  const std::string size = fmt::format("{:.1f} %", std::fabs(100 * share));
  return share < 0 && size != "0.0 %" ? "−" + size : size;
}

std::string FormatSeconds(double seconds) {
  const double size = std::fabs(seconds);
  if (size == 0) return "0 s";
  if (size < 1e-6) return FormatSignificant(seconds * 1e9, 3) + " ns";
  if (size < 1e-3) return FormatSignificant(seconds * 1e6, 3) + " µs";
  if (size < 1) return FormatSignificant(seconds * 1e3, 3) + " ms";
  return FormatSignificant(seconds, size < 1000 ? 3 : 4) + " s";
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string FormatCount(std::uint64_t count) { return Grouped(count); }

std::string FormatCores(double cores) {
  constexpr double kMost = 1e15;  // digits beyond would be made up
  if (!(cores < kMost)) return FormatSignificant(cores, 3);
  const double whole = std::round(cores);
  if (std::fabs(cores - whole) > 1e-9 || whole < 0) return fmt::format("{:.1f}", cores);
  return Grouped(static_cast<std::uint64_t>(whole));
}

std::string FormatCoreCount(double cores) { return FormatCores(cores) + (cores == 1 ? " core" : " cores"); }

std::string FormatSignificant(double value, int digits) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{}", value);
  const int before_point = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  if (before_point > 7 || before_point < -4) return fmt::format("{:.{}e}", value, digits - 1);
  return fmt::format("{:.{}f}", value, std::max(0, digits - before_point));
}

std::string FormatRatio(double ratio) {
  return (ratio < 1000 ? FormatSignificant(ratio, 2) : FormatCores(std::round(ratio))) + "×";
}

std::string FormatOrdinal(std::size_t number) {
  const std::size_t tens = number / 10 % 10, ones = tens == 1 ? 0 : number % 10;
  return fmt::format("{}{}", number, ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th");
}

std::string FormatExact(double value) { return fmt::format("{}", value); }

std::string FormatRange(const std::string& low, const std::string& high, const char* between) {
  if (low == high) return low;
  const std::size_t unit = low.rfind(' ');
  const bool is_shared = unit != std::string::npos && high.ends_with(low.substr(unit));
  return (is_shared ? low.substr(0, unit) : low) + between + high;
}

}  // namespace farscale
