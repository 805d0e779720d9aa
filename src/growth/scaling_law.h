// How a quantity of one call site (bytes of a message, computation before a call) follows the layout of the ranks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "growth/rank_grid.h"

namespace farscale {

// value ~ P^power, or ~ Π extent_d^exponents_d where the extents explain it better.
struct ScalingLaw {
  double power = 0;
  std::array<double, kMostDimensions> exponents{};
  double error = 0;  // largest relative distance from the values it was fitted to
  std::size_t runs = 0;

  double Ratio(const RankGrid& to, const RankGrid& from) const;
  std::string Text() const;
};

struct LawPoint {
  RankGrid grid;
  double value = 0;
};

// Points with positive values; of fewer than two a constant.
ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points);

}  // namespace farscale
