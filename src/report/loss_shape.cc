#include "report/loss_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"

namespace farscale {
namespace {

// Ranks that are named, at most.
constexpr std::size_t kNamed = 4;

// The tags of loss_shape.txt.mustache, with those of LossRanks.
struct ShapeText {
  bool is_unknown = false, is_balanced = false, is_gaussian = false, is_irregular = false, is_two_groups = false;
  std::string few;                  // "overloaded" or "underloaded", where few ranks are
  std::string count, ranks, level;  // of those few or of one group; without a level they have all the load
  bool is_one = false;
  bool is_steady = false, is_static = false, is_drifting = false, is_alternating = false;  // over time
  FARSCALE_TAGS(is_unknown, is_balanced, is_gaussian, is_irregular, is_two_groups, few, count, ranks, level, is_one,
                is_steady, is_static, is_drifting, is_alternating)
};

// Nothing where they differ between iterations.
std::string NamesOf(const std::vector<std::size_t>& ranks, const LossRanks& names) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < std::min(kNamed, ranks.size()); ++i) numbers.push_back(names.NumberOf(ranks[i]));
  if (ranks.size() > kNamed) numbers.emplace_back("…");
  return names.List(numbers);
}

// "1.03×": how much more than 1 it is must be seen.
std::string FormatLevel(double level) {
  return level > 0.8 && level < 1.25 ? fmt::format("{:.2f}×", level) : FormatRatio(level);
}

}  // namespace

std::string DescribeShape(const LoadShape& shape, const LossRanks& ranks, const Partials& texts) {
  using Ranks = ShapeOverRanks;
  using Time = ShapeOverTime;
  const bool has_all = shape.over_ranks == Ranks::kOverloadedFew && shape.level <= 0;
  const ShapeText text{.is_unknown = shape.over_ranks == Ranks::kUnknown,
                       .is_balanced = shape.over_ranks == Ranks::kBalanced,
                       .is_gaussian = shape.over_ranks == Ranks::kGaussian,
                       .is_irregular = shape.over_ranks == Ranks::kIrregular,
                       .is_two_groups = shape.over_ranks == Ranks::kTwoGroups,
                       .few = shape.over_ranks == Ranks::kOverloadedFew    ? "overloaded"
                              : shape.over_ranks == Ranks::kUnderloadedFew ? "underloaded"
                                                                           : "",
                       .count = std::to_string(shape.count),
                       .ranks = NamesOf(shape.ranks, ranks),
                       .level = has_all ? "" : FormatLevel(shape.level),
                       .is_one = shape.count == 1,
                       .is_steady = shape.over_time == Time::kBalanced,
                       .is_static = shape.over_time == Time::kStatic,
                       .is_drifting = shape.over_time == Time::kDrifting,
                       .is_alternating = shape.over_time == Time::kAlternating};
  ReportData data = ToData(ranks);
  data.update(ToData(text));
  return Join(RenderSentences(texts, "loss_shape.txt", data), " ");
}

}  // namespace farscale
