// Names of shapes, and what helps against them. Sources of the advice: docs/formulas.md, shapes of imbalance.
#include <array>

#include <fmt/format.h>

#include "imbalance/load_shape.h"

namespace farscale {
namespace {

constexpr std::array<ShapeName, kShapesOverRanks> kOverRanks = {{{"unknown", "unknown"},
                                                                 {"balanced", "balanced"},
                                                                 {"gaussian", "gaussian"},
                                                                 {"overloadedFew", "overloaded few"},
                                                                 {"underloadedFew", "underloaded few"},
                                                                 {"twoGroups", "two groups"},
                                                                 {"irregular", "irregular"}}};

constexpr std::array<ShapeName, kShapesOverTime> kOverTime = {{{"unknown", "unknown"},
                                                               {"balanced", "balanced"},
                                                               {"static", "static"},
                                                               {"drifting", "drifting"},
                                                               {"alternating", "alternating"}}};

// The same ranks are slow all the time, or so it is taken to be: where the work is put decides.
std::string RemedyForPlaces(ShapeOverRanks shape) {
  switch (shape) {
    case ShapeOverRanks::kOverloadedFew:
      return "Take work away from these few ranks, by another decomposition or by weights from measured times: the "
             "most loaded one decides how long all take.";
    case ShapeOverRanks::kUnderloadedFew:
      return "Little is to be gained by giving these few ranks more work; use fewer ranks, or let them do what keeps "
             "the others busy, such as input and output.";
    case ShapeOverRanks::kTwoGroups:
      return "Check whether the two groups do different work or have parts of different size. If they do different "
             "work, "
             "move ranks from the group that waits to the other one, until both take equally long.";
    case ShapeOverRanks::kGaussian:
      return "Ranks differ by degrees: weigh the parts of the decomposition by measured times, or make more and "
             "smaller parts than ranks.";
    default: return "Decompose differently, or with weights from measured times.";
  }
}

std::string RemedyForDrift(const LoadShape& shape) {
  std::string every =
      shape.lasts > 0 ? fmt::format("every {} iterations or more often", shape.lasts) : "every so many iterations";
  std::string remedy = fmt::format(
      "Repartition {} by measured loads, or make more parts than ranks and migrate them: no decomposition "
      "chosen once fits for long.",
      every);
  if (shape.over_ranks == ShapeOverRanks::kTwoGroups) {
    remedy += " Where the groups do different work, let the number of ranks in each follow.";
  }
  return remedy;
}

std::string RemedyForAlternation(ShapeOverRanks shape) {
  switch (shape) {
    case ShapeOverRanks::kOverloadedFew:
    case ShapeOverRanks::kTwoGroups:
      return "Balance within the iteration: lend cores to ranks that are late, or hand out work as tasks. No "
             "decomposition helps; "
             "fewer synchronisations do, since the delays of different ranks then even out.";
    case ShapeOverRanks::kUnderloadedFew:
      return "Synchronise less often, so that what is missing at one time is made up at another.";
    default:
      return "Synchronise less often, so that delays of different ranks even out, or hide waits behind computation. "
             "Where instructions are "
             "equal, look for what disturbs the ranks; no decomposition helps.";
  }
}

}  // namespace

const ShapeName& NameOf(ShapeOverRanks shape) { return kOverRanks[static_cast<std::size_t>(shape)]; }
const ShapeName& NameOf(ShapeOverTime shape) { return kOverTime[static_cast<std::size_t>(shape)]; }

std::string RemedyForSerialization() {
  return "Other work for the ranks helps little, since they wait in turn: break the chain of dependencies, by smaller "
         "pieces that go on earlier, another order, or work that does not depend on it in between.";
}

std::string RemedyFor(const LoadShape& shape) {
  if (shape.over_ranks == ShapeOverRanks::kBalanced && shape.over_time != ShapeOverTime::kDrifting &&
      shape.over_time != ShapeOverTime::kAlternating) {
    return "";
  }
  switch (shape.over_time) {
    case ShapeOverTime::kStatic: return RemedyForPlaces(shape.over_ranks);
    case ShapeOverTime::kDrifting: return RemedyForDrift(shape);
    case ShapeOverTime::kAlternating: return RemedyForAlternation(shape.over_ranks);
    default: break;
  }
  if (shape.over_ranks == ShapeOverRanks::kUnknown) return "";
  return RemedyForPlaces(shape.over_ranks) +
         " That holds if the same ranks are slow all the time, which these iterations do not show.";
}

}  // namespace farscale
