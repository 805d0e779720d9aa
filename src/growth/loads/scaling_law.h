// How a quantity of one call site (bytes of a message, computation before a call) follows the layout of the ranks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "growth/read/rank_grid.h"

namespace farscale {

// value ~ P^power, or ~ Π extent_d^exponents_d where the extents explain it better. Of two programs P is that of the
// larger, and extents are those of the one whose quantity it is.
struct ScalingLaw {
  double power = 0;
  std::array<double, kMostDimensions> exponents{};
  double error = 0;  // largest relative distance from the values it was fitted to
  std::size_t runs = 0;

  bool IsLike(const ScalingLaw& other) const { return power == other.power && exponents == other.exponents; }
  double Ratio(const RankGrid& to, const RankGrid& from) const;
  std::string Text() const;
};

// Points of a group are compared with each other only: a law says how values change, not what they are.
struct LawPoint {
  RankGrid grid;
  std::size_t group = 0;
  double value = 0;
  double weight = 1;
};

// The law of the extents, or of the number of ranks, that explains the points with positive values best.
ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points);

}  // namespace farscale
