#include "base/core_count.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "1024" for "024" behind "1,", else the digits without the zeros in front.
std::string Meant(std::string_view text, std::string_view before) {
  if (text.size() == 3 && IsDigits(before)) return fmt::format("{}{}", before, text);
  const std::size_t first = text.find_first_not_of('0');
  return first == std::string_view::npos ? "" : std::string(text.substr(first));
}

}  // namespace

std::string WhyNoCoreCount(std::string_view text, std::int64_t& cores, std::string_view before) {
  if (Trim(text).empty()) return kEmptyCoreCount;
  if (IsDigits(text) && text.size() > 1 && text.front() == '0') {
    const std::string meant = Meant(text, before);
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
