#include "stats/sample_quantiles.h"

#include <stdexcept>

namespace farscale {
namespace {

// Position of a quantile among sorted values, counted from 0.
double PositionOf(double share, std::size_t count) {
  if (count == 0) throw std::domain_error("no values have no quantile");
  if (!(share >= 0 && share <= 1)) throw std::domain_error("the share of a quantile must lie between 0 and 1");
  return share * static_cast<double>(count - 1);
}

// Sorts what belongs at places[first, end) there; what belongs before `low` or from `high` on is outside already.
void Place(std::vector<double>& values, const std::vector<std::size_t>& places, std::size_t first, std::size_t end,
           std::size_t low, std::size_t high) {
  if (first == end) return;
  const std::size_t middle = first + (end - first) / 2, place = places[middle];
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  if (place == low) {
    std::iter_swap(at(low), std::min_element(at(low), at(high)));  // most places come right behind another
  } else {
    std::nth_element(at(low), at(place), at(high));
  }
  Place(values, places, first, middle, low, place);
  Place(values, places, middle + 1, end, place + 1, high);
}

}  // namespace

double QuantileOfSorted(const std::vector<double>& sorted, double share) {
  const double position = PositionOf(share, sorted.size());
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void PlaceQuantiles(std::vector<double>& values, const std::vector<double>& shares) {
  std::vector<std::size_t> places;
  for (const double share : shares) {
    const auto below = static_cast<std::size_t>(PositionOf(share, values.size()));
    places.push_back(below);
    places.push_back(std::min(below + 1, values.size() - 1));
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Place(values, places, 0, places.size(), 0, values.size());
}

double Quantile(std::vector<double> values, double share) {
  PlaceQuantiles(values, {share});
  return QuantileOfSorted(values, share);
}

}  // namespace farscale
