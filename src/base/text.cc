#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

namespace farscale {
namespace {

// Length of the UTF-8 sequence at text[i], 0 when it is malformed [RFC 3629].
std::size_t SequenceLength(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = i + 1; k < i + length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(i + 1) < 0xA0) return 0;
  if (lead == 0xED && byte(i + 1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(i + 1) < 0x90) return 0;
  if (lead == 0xF4 && byte(i + 1) > 0x8F) return 0;
  return length;
}

template <typename Number>
bool Parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string Nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = ToLower(name);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const std::string lower = ToLower(candidate);
    // Levenshtein distance, one row at a time.
    std::vector<std::size_t> row(lower.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= lower.size(); ++j) {
        const std::size_t substituted = diagonal + (wanted[i - 1] == lower[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    std::size_t distance = row.back();
    const bool contained = wanted.size() >= 3 && lower.find(wanted) != std::string::npos;
    if (contained) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool ParseNumber(std::string_view text, double& value) { return Parse(text, value); }
bool ParseInteger(std::string_view text, long long& value) { return Parse(text, value); }

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = SequenceLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = SequenceLength(text, i);
    clean += length == 0 ? "?" : text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return clean;
}

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

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

std::string FormatCount(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string FormatCores(double cores) {
  constexpr double kMost = 1e15;  // digits beyond would be made up
  if (!(cores < kMost)) return FormatSignificant(cores, 3);
  const double whole = std::round(cores);
  if (std::fabs(cores - whole) > 1e-9 || whole < 0) return fmt::format("{:.1f}", cores);
  return FormatCount(static_cast<std::uint64_t>(whole));
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

std::string WhyNoCoreCount(std::string_view text, std::int64_t& cores, std::string_view before) {
  if (Trim(text).empty()) return kEmptyCoreCount;
  if (IsDigits(text) && text.size() > 1 && text.front() == '0') {
    // "1024" for "024" behind "1,", else the digits without the zeros in front.
    const bool is_half = text.size() == 3 && IsDigits(before);
    const std::string_view digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
    const std::string meant = is_half ? fmt::format("{}{}", before, text) : std::string(digits);
    return fmt::format("'{}' is no number of cores, for it begins with a zero{}", text,
                       meant.empty() ? "" : "; write " + meant);
  }
  long long value = 0;
  if (!IsDigits(text) || !ParseInteger(text, value) || value < 1 || value > kMostCores) {
    return fmt::format("'{}' is no whole number of cores from 1 to {}", text, kMostCores);
  }
  cores = value;
  return "";
}

std::string WhyNoCoreCounts(std::string_view text, std::vector<std::int64_t>& cores) {
  std::string before;
  for (const std::string& item : Split(text, ',')) {
    std::int64_t value = 0;
    const std::string why = WhyNoCoreCount(Trim(item), value, before);
    if (!why.empty()) return why;
    cores.push_back(value);
    before = item;
  }
  return "";
}

}  // namespace farscale
