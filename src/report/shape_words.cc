#include "report/shape_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/text.h"

namespace farscale {
namespace {

// Ranks that are named, at most.
constexpr std::size_t kNamed = 4;

// " (3, 17)", or nothing where they differ between iterations.
std::string NamesOfRanks(const std::vector<std::size_t>& ranks, const LossRanks& names_of) {
  if (ranks.empty()) return "";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kNamed, ranks.size()); ++i) names.push_back(names_of.NumberOf(ranks[i]));
  if (ranks.size() > kNamed) names.emplace_back("…");
  return " (" + Join(names, names_of.are_threads() ? "; " : ", ") + ")";
}

// "1.03×": how much more than 1 it is must be seen.
std::string LevelInWords(double level) {
  return level > 0.8 && level < 1.25 ? fmt::format("{:.2f}×", level) : FormatRatio(level);
}

std::string OverRanks(const LoadShape& shape, const LossRanks& names) {
  const std::string ranks = names.many();
  const bool has_all = shape.over_ranks == ShapeOverRanks::kOverloadedFew && shape.level <= 0;
  const std::string level = has_all ? "all the load" : LevelInWords(shape.level) + " the load of the other";
  const auto few = [&](const char* kind) {
    return fmt::format("{} {} {}{} with {}{}", shape.count, kind, shape.count == 1 ? names.one() : names.many(),
                       NamesOfRanks(shape.ranks, names), level, has_all ? "" : "s");
  };
  switch (shape.over_ranks) {
    case ShapeOverRanks::kUnknown: return "too few " + ranks + " to tell the shape";
    case ShapeOverRanks::kBalanced: return "balanced over the " + ranks;
    case ShapeOverRanks::kGaussian: return ranks + " are spread around a middle (gaussian)";
    case ShapeOverRanks::kOverloadedFew: return few("overloaded");
    case ShapeOverRanks::kUnderloadedFew: return few("underloaded");
    case ShapeOverRanks::kTwoGroups:
      return fmt::format("two groups, one of {} {}{} with {}", shape.count, ranks, NamesOfRanks(shape.ranks, names), level);
    case ShapeOverRanks::kIrregular: return "irregular over the " + ranks;
  }
  return "";
}

std::string OverTime(const LoadShape& shape, const std::string& ranks) {
  switch (shape.over_time) {
    case ShapeOverTime::kUnknown: return "";
    case ShapeOverTime::kBalanced: return ", in every iteration";
    case ShapeOverTime::kStatic: return ", the same " + ranks + " all the time (static)";
    case ShapeOverTime::kDrifting: return ", slow " + ranks + " stay slow for a while (drifting)";
    case ShapeOverTime::kAlternating: return ", other " + ranks + " in every iteration (alternating)";
  }
  return "";
}

}  // namespace

std::string DescribeShape(const LoadShape& shape, const LossRanks& names) {
  return OverRanks(shape, names) + OverTime(shape, names.many());
}

std::string DescribeGrid(const ProcessGrid& grid) {
  std::vector<std::string> extents;
  for (const std::size_t extent : grid.extents) extents.push_back(std::to_string(extent));
  const std::string ranks = Join(extents, " × ") + " ranks";
  switch (grid.source) {
    case GridSource::kTopology: return fmt::format("the program's grid of {}", ranks);
    case GridSource::kMessages: return fmt::format("a grid of {}, read off the messages", ranks);
    case GridSource::kCommunicators: break;
  }
  return fmt::format("a grid of {}, read off the communicators", ranks);
}

}  // namespace farscale
