#include "collect/recorded_regions.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "collect/page.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

constexpr std::size_t kMostDigits = 18;  // fit into 64 bits

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string InPage(const std::string& name) {
  char cut[kNameBytes];
  CopyName(name.c_str(), cut);
  return cut;
}

}  // namespace

RecordedRegion ParseRecordedRegion(const std::string& text) {
  RecordedRegion region;
  region.name = region.window = InPage(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return region;
  const std::string range = text.substr(colon + 1);
  const std::size_t dots = range.find("..");
  const std::string first = range.substr(0, dots), last = dots == std::string::npos ? first : range.substr(dots + 2);
  if (!IsNumber(first) || (!last.empty() && !IsNumber(last))) return region;
  region.name = InPage(text.substr(0, colon));
  region.first = std::strtoull(first.c_str(), nullptr, 10);
  if (!last.empty()) region.last = std::strtoull(last.c_str(), nullptr, 10);
  return region;
}

std::vector<RecordedRegion> RecordedRegions() {
  std::vector<RecordedRegion> regions;
  for (const std::string& line : Split(Variable("FARSCALE_ONLY"), "\n")) regions.push_back(ParseRecordedRegion(line));
  return regions;
}

std::vector<std::string> WindowNames() {
  std::vector<std::string> names;
  for (const RecordedRegion& region : RecordedRegions()) names.push_back(Printable(region.window));
  return names;
}

}  // namespace farscale::collect
