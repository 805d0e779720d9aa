// The spread of a load over ranks and over iterations [docs/formulas.md, shapes of imbalance].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "phases/iteration_shape.h"

namespace farscale {

struct LoadMatrix;

enum class ShapeOverRanks : std::uint8_t {
  kUnknown,         // too few ranks
  kBalanced,        // the slowest rank is hardly above the average
  kGaussian,        // all ranks differ a little, without gaps: noise, data
  kOverloadedFew,   // few ranks have clearly more to do
  kUnderloadedFew,  // few have clearly less
  kTwoGroups,       // two levels, neither of few ranks
  kIrregular,       // none of these
};
inline constexpr std::size_t kShapesOverRanks = 7;

enum class ShapeOverTime : std::uint8_t {
  kUnknown,      // too few iterations, or they do not decide it
  kBalanced,     // in every iteration
  kStatic,       // the same ranks are slow all the time
  kDrifting,     // slow ranks stay slow for a while, then others are; or they get slower and slower
  kAlternating,  // other ranks are slow in every iteration
};
inline constexpr std::size_t kShapesOverTime = 5;

std::string_view IdOf(ShapeOverRanks shape);  // "overloadedFew"
std::string_view IdOf(ShapeOverTime shape);   // "drifting"

// All measures are shares: 0.1 is 10 %.
struct LoadShape {
  // Shape of the sums over all iterations where those are static or unknown; else of a typical iteration, whichever
  // ranks are slow in it.
  ShapeOverRanks over_ranks = ShapeOverRanks::kUnknown;
  ShapeOverTime over_time = ShapeOverTime::kUnknown;
  // (max - avg) / max * N / (N - 1): 0 when all have the same load, 1 when one has it all.
  double imbalance = 0;               // for the sums over all iterations
  double imbalance_in_iteration = 0;  // for sums over iterations of their largest and average loads
  // The same of sums over the steps of iterations [load_matrix.h]; of all useful time only, and where steps compare.
  std::optional<double> imbalance_in_step;
  double spread = 0;  // robust standard deviation over the median, of what over_ranks is about
  // World ranks: the overloaded few, those with most first; the underloaded few, those with least first; of two groups
  // the one with the larger load, with most first. Empty where they differ between iterations.
  std::vector<std::size_t> ranks;
  std::size_t count = 0;  // number of those, also where they differ between iterations
  double level = 0;       // their mean load over that of the others; 0 where there are none
  // Clearness of the shape over ranks: of the few, the smallest distance from the median in robust standard deviations;
  // of two groups, the share of the variance that lies between them; of the others 0.
  double clearness = 0;
  // The share of the excess of the slowest rank over the average that is on the same rank again: in any other iteration
  // (static), only in the ones next to it (drifting), not even there (alternating). They add up to 1; all 0 where
  // over_time is unknown for want of iterations, or balanced.
  double static_part = 0, drifting_part = 0, alternating_part = 0;
  // For drifting loads: iterations after which at most half of that is left; 0 where it never falls so low.
  std::size_t lasts = 0;
  HeavyIterations heavy{};  // that recur on most ranks

  friend bool operator==(const LoadShape&, const LoadShape&) = default;
};

// Linear in the size of the matrix, but for sorting.
LoadShape FindShape(const LoadMatrix& load);

}  // namespace farscale
