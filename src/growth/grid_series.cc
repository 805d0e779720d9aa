#include "growth/grid_series.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace farscale {
namespace {

// How far the ratios of the extents are from even, as the logarithm of the largest to the smallest.
double Unevenness(const RankGrid& grid, std::size_t dimensions) {
  const auto [low, high] = std::minmax_element(grid.extents.begin(), grid.extents.begin() + dimensions);
  return std::log(static_cast<double>(*high) / *low);
}

// Dimensions that are the larger ones in the series are so here.
int OrderMistakes(const RankGrid& grid, const std::vector<RankGrid>& series, std::size_t dimensions) {
  int mistakes = 0;
  for (const RankGrid& other : series) {
    for (std::size_t a = 0; a < dimensions; ++a) {
      for (std::size_t b = a + 1; b < dimensions; ++b) {
        const auto here = grid.extents[a] <=> grid.extents[b], there = other.extents[a] <=> other.extents[b];
        mistakes += here != 0 && there != 0 && here != there;
      }
    }
  }
  return mistakes;
}

std::optional<RankGrid> GridFor(const std::vector<RankGrid>& series, std::size_t dimensions, double most_uneven,
                                std::int64_t ranks) {
  std::optional<RankGrid> best;
  double best_score = INFINITY;
  for (const RankGrid& grid : GridsOf(ranks, dimensions)) {
    const double uneven = Unevenness(grid, dimensions);
    if (uneven > most_uneven + 1e-9) continue;
    const double score = uneven + 1e-3 * OrderMistakes(grid, series, dimensions);
    if (score < best_score) best = grid;
    best_score = std::min(best_score, score);
  }
  return best;
}

}  // namespace

RankGrid ContinueSeries(const std::vector<RankGrid>& series, std::int64_t ranks) {
  std::size_t dimensions = 1;
  double most_uneven = 0;
  for (const RankGrid& grid : series) dimensions = std::max(dimensions, grid.dimensions());
  for (const RankGrid& grid : series) most_uneven = std::max(most_uneven, Unevenness(grid, dimensions));
  for (std::int64_t away = 0; away < ranks; ++away) {
    for (const std::int64_t tried : {ranks - away, ranks + away}) {
      if (const auto grid = GridFor(series, dimensions, most_uneven, tried)) return *grid;
    }
  }
  return series.back();
}

}  // namespace farscale
