#include "imbalance/causes/load_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "imbalance/causes/load_matrix.h"
#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// All thresholds are chosen; load_shape_test.cc checks how rarely chance exceeds them.
// The slowest rank takes less than this longer than the average: nothing to gain.
constexpr double kNoImbalance = 0.02;
// With fewer ranks, chance makes any shape.
constexpr std::size_t kFewestOfShape = 8;
// A minority: at most one rank of so many.
constexpr std::size_t kFew = 4;
// Ranks that differ by less than this from each other are taken to be equal.
constexpr double kEqual = 0.005;

// (max - avg) / max, of 1 - 1/N that it can be.
double ImbalanceOf(double largest, double average, std::size_t ranks) {
  if (largest <= 0 || ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  return std::max(0.0, (largest - average) / largest * n / (n - 1));
}

// Loads of all ranks in rising order, with their places.
struct SortedLoads {
  std::vector<std::size_t> order;
  std::vector<double> loads;
  double average = 0, median = 0, spread = 0;

  double Size() const { return static_cast<double>(loads.size()); }
  double Floor() const { return std::max(spread, kEqual * average); }
};

SortedLoads Sort(const std::vector<double>& loads) {
  SortedLoads sorted;
  sorted.order.resize(loads.size());
  std::iota(sorted.order.begin(), sorted.order.end(), std::size_t{0});
  std::ranges::stable_sort(sorted.order, {}, [&](std::size_t place) { return loads[place]; });
  for (const std::size_t place : sorted.order) sorted.loads.push_back(loads[place]);
  sorted.average = std::accumulate(sorted.loads.begin(), sorted.loads.end(), 0.0) / sorted.Size();
  sorted.median = Median(sorted.loads);
  std::vector<double> distances;
  for (const double load : sorted.loads) distances.push_back(std::abs(load - sorted.median));
  sorted.spread = kDeviationOverMedianDistance * Median(distances);
  return sorted;
}

double MeanLoad(const SortedLoads& sorted, std::size_t first, std::size_t end) {
  const auto at = [&](std::size_t i) { return sorted.loads.begin() + static_cast<std::ptrdiff_t>(i); };
  return std::accumulate(at(first), at(end), 0.0) / static_cast<double>(end - first);
}

// Names those [first, end) in rising order, above or below all others.
void NameRanks(const SortedLoads& sorted, std::size_t first, std::size_t end, LoadShape& shape,
               std::vector<std::size_t>& places) {
  const double others = first > 0 ? MeanLoad(sorted, 0, first) : MeanLoad(sorted, end, sorted.loads.size());
  shape.count = end - first;
  shape.level = others > 0 ? MeanLoad(sorted, first, end) / others : 0;
  places.assign(sorted.order.begin() + static_cast<std::ptrdiff_t>(first),
                sorted.order.begin() + static_cast<std::ptrdiff_t>(end));
}

// Outliers on the side that costs more: all wait for the most loaded rank, while of those with less to do only they
// wait themselves.
bool DescribeFew(const SortedLoads& sorted, LoadShape& shape, std::vector<std::size_t>& places) {
  const double n = sorted.Size();
  // In robust standard deviations, that a normal distribution of so many values exceeds once in a hundred samples at
  // most; the last term is for the error of the spread itself.
  const double distance = (std::sqrt(2 * std::log(n)) + 1 + 40 / n) * sorted.Floor();
  std::size_t below = 0, first_above = sorted.loads.size();
  double below_cost = 0;
  while (below < sorted.loads.size() && sorted.median - sorted.loads[below] > distance)
    below_cost += sorted.median - sorted.loads[below++];
  while (first_above > 0 && sorted.loads[first_above - 1] - sorted.median > distance) --first_above;
  const std::size_t above = sorted.loads.size() - first_above;
  if (below + above == 0 || (below + above) * kFew > sorted.loads.size()) return false;
  if (above > 0 && (sorted.loads.back() - sorted.median) * n >= below_cost) {
    shape.over_ranks = ShapeOverRanks::kOverloadedFew;
    shape.clearness = (sorted.loads[first_above] - sorted.median) / sorted.Floor();
    NameRanks(sorted, first_above, sorted.loads.size(), shape, places);
  } else {
    shape.over_ranks = ShapeOverRanks::kUnderloadedFew;
    shape.clearness = (sorted.median - sorted.loads[below - 1]) / sorted.Floor();
    NameRanks(sorted, 0, below, shape, places);
  }
  return true;
}

// The best parting into two by least squares; of equals the first.
bool DescribeGroups(const SortedLoads& sorted, LoadShape& shape, std::vector<std::size_t>& places) {
  double variance = 0;
  for (const double load : sorted.loads) variance += (load - sorted.average) * (load - sorted.average);
  double sum = 0, best = 0;
  std::size_t first_heavy = 0;
  for (std::size_t light = 1; light < sorted.loads.size(); ++light) {
    sum += sorted.loads[light - 1] - sorted.average;
    const auto n = static_cast<double>(light);
    const double between = sum * sum * sorted.Size() / (n * (sorted.Size() - n));
    if (between <= best) continue;
    best = between;
    first_heavy = light;
  }
  const std::size_t smaller = std::min(first_heavy, sorted.loads.size() - first_heavy);
  // A normal distribution exceeds this share once in a hundred samples; 0.64 is usual, 0.75 for values that are spread
  // evenly.
  const double least_share = 0.8 + 1.1 / sorted.Size();
  if (smaller * kFew <= sorted.loads.size() || best < least_share * variance) return false;
  shape.over_ranks = ShapeOverRanks::kTwoGroups;
  shape.clearness = best / variance;
  NameRanks(sorted, first_heavy, sorted.loads.size(), shape, places);
  return true;
}

// `places` are of the loads given; those that stand out.
void DescribeOverRanks(const SortedLoads& sorted, LoadShape& shape, std::vector<std::size_t>& places) {
  shape.spread = sorted.median > 0 ? sorted.spread / sorted.median : 0;
  if (ImbalanceOf(sorted.loads.back(), sorted.average, sorted.loads.size()) < kNoImbalance) {
    shape.over_ranks = ShapeOverRanks::kBalanced;
  } else if (sorted.loads.size() < kFewestOfShape) {
    shape.over_ranks = ShapeOverRanks::kUnknown;
  } else if (!DescribeGroups(sorted, shape, places) && !DescribeFew(sorted, shape, places)) {
    double product = 0, scores = 0, variance = 0;
    for (std::size_t i = 0; i < sorted.loads.size(); ++i) {
      const double score = NormalQuantile((static_cast<double>(i) + 0.625) / (sorted.Size() + 0.25));
      product += score * sorted.loads[i];
      scores += score * score;
      variance += (sorted.loads[i] - sorted.average) * (sorted.loads[i] - sorted.average);
    }
    // The squared correlation with normal scores [Shapiro72]: a normal distribution is below this once in a hundred
    // samples, but it is not stricter than shows.
    const bool is_normal = product * product >= std::min(0.93, 1 - 3 / sorted.Size()) * scores * variance;
    shape.over_ranks = is_normal ? ShapeOverRanks::kGaussian : ShapeOverRanks::kIrregular;
  }
}

// The mean over iterations of the smallest load, of the second smallest and so on.
std::vector<double> TypicalIteration(const LoadMatrix& load) {
  std::vector<double> typical(load.ranks.size()), loads(load.ranks.size());
  for (std::size_t i = 0; i < load.iterations; ++i) {
    for (std::size_t row = 0; row < loads.size(); ++row) loads[row] = load.At(row, i);
    std::sort(loads.begin(), loads.end());
    for (std::size_t k = 0; k < loads.size(); ++k) typical[k] += loads[k] / static_cast<double>(load.iterations);
  }
  return typical;
}

constexpr std::size_t kFewestIterations = 4;  // chosen: fewer have no first and last third
// Chosen, as above: how likely it may be that by chance the same rank is slowest in all of them.
constexpr double kByChance = 0.01;
// An iteration in which the slowest rank exceeds the average by more than so many times what is usual counts as if it
// were so many times: one disturbance decides nothing.
constexpr double kLargestWeight = 3;
// Iterations that one is compared with at most; chosen, to bound the time.
constexpr std::size_t kCompared = 64;
constexpr std::size_t kLongestLag = 256;  // chosen: longer drifts are as good as static
// Standard errors; chosen: the usual ones for a difference and, stricter, for a trend.
constexpr double kCertain = 2;
constexpr double kTrend = 3;

// One entry an iteration.
struct ExcessSeries {
  std::vector<std::size_t> slowest;     // row
  std::vector<double> average, excess;  // the slowest over the average
  std::vector<double> weight{};
  double all = 0;  // excess of all iterations, weighted
};

ExcessSeries FindExcess(const LoadMatrix& load) {
  const std::size_t n = load.iterations;
  ExcessSeries series{std::vector<std::size_t>(n), std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t row = 0; row < load.ranks.size(); ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      series.average[i] += load.At(row, i) / static_cast<double>(load.ranks.size());
      if (load.At(row, i) > load.At(series.slowest[i], i)) series.slowest[i] = row;
    }
  }
  for (std::size_t i = 0; i < n; ++i) series.excess[i] = load.At(series.slowest[i], i) - series.average[i];
  const double usual = Median(series.excess);
  for (const double excess : series.excess) {
    series.weight.push_back(usual > 0 && excess > kLargestWeight * usual ? kLargestWeight * usual / excess : 1);
    series.all += series.weight.back() * excess;
  }
  return series;
}

// The excess over the average in iteration i of the rank that is slowest in iteration `other`.
double Again(const LoadMatrix& load, const ExcessSeries& series, std::size_t other, std::size_t i) {
  return load.At(series.slowest[other], i) - series.average[i];
}

double Near(const LoadMatrix& load, const ExcessSeries& series, std::size_t i) {
  if (i == 0) return Again(load, series, 1, 0);
  if (i + 1 == load.iterations) return Again(load, series, i - 1, i);
  return (Again(load, series, i - 1, i) + Again(load, series, i + 1, i)) / 2;
}

// The same for iterations that a third of all or more lie between; of many some, evenly.
double Far(const LoadMatrix& load, const ExcessSeries& series, std::size_t i) {
  const std::size_t away = std::max<std::size_t>(2, load.iterations / 3);
  const std::size_t before = i >= away ? i - away + 1 : 0,
                    after = i + away < load.iterations ? load.iterations - i - away : 0;
  const std::size_t compared = std::min(before + after, kCompared);
  double sum = 0;
  for (std::size_t k = 0; k < compared; ++k) {
    const std::size_t other = k * (before + after) / compared;
    sum += Again(load, series, other < before ? other : i + away + other - before, i);
  }
  return compared > 0 ? sum / static_cast<double>(compared) : 0;
}

// The share of the excess of all iterations, and its standard error. Neighbours share an iteration that they are
// compared with: their errors are not independent, which doubles the variance at most.
template <typename Value>
std::pair<double, double> MeanShare(const LoadMatrix& load, const ExcessSeries& series, Value value) {
  double sum = 0;
  std::vector<double> values;
  for (std::size_t i = 0; i < load.iterations; ++i) {
    values.push_back(value(i));
    sum += series.weight[i] * values[i];
  }
  const double share = std::clamp(sum / series.all, 0.0, 1.0);
  double squares = 0;
  for (std::size_t i = 0; i < load.iterations; ++i) {
    const double rest = series.weight[i] * (values[i] - share * series.excess[i]);
    squares += rest * rest;
  }
  return {share, std::sqrt(2 * squares) / series.all};
}

// The part of an excess that surely grows or shrinks that is in both the first and the last third; else all.
double Lasting(const LoadMatrix& load, const ExcessSeries& series) {
  std::vector<double> excess;
  for (std::size_t i = 0; i < load.iterations; ++i) excess.push_back(series.weight[i] * series.excess[i]);
  std::vector<std::size_t> order(load.iterations);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return excess[a] < excess[b]; });
  const auto n = static_cast<double>(load.iterations);
  double differences = 0;  // Spearman's
  for (std::size_t place = 0; place < load.iterations; ++place) {
    const double difference = static_cast<double>(place) - static_cast<double>(order[place]);
    differences += difference * difference;
  }
  const double correlation = 1 - 6 * differences / (n * (n * n - 1));
  if (std::abs(correlation) * std::sqrt(n - 1) < kTrend) return 1;
  const auto third = static_cast<std::ptrdiff_t>(load.iterations / 3);
  const double first = std::accumulate(excess.begin(), excess.begin() + third, 0.0);
  const double last = std::accumulate(excess.end() - third, excess.end(), 0.0);
  const double all = std::accumulate(excess.begin(), excess.end(), 0.0);
  return std::clamp(std::min(first, last) / static_cast<double>(third) / (all / n), 0.0, 1.0);
}

// The first lag at which at most half is left.
std::size_t HalfLife(const LoadMatrix& load, const ExcessSeries& series, double near) {
  for (std::size_t lag = 2; lag <= std::min(load.iterations / 2, kLongestLag); ++lag) {
    double sum = 0, all = 0;
    for (std::size_t i = 0; i + lag < load.iterations; ++i) {
      sum += series.weight[i + lag] * Again(load, series, i, i + lag);
      all += series.weight[i + lag] * series.excess[i + lag];
    }
    if (sum <= near * all / 2) return lag;
  }
  return 0;
}

// Fills in the shape over time and its parts.
void DescribeOverTime(const LoadMatrix& all, LoadShape& shape) {
  // Without the iterations in which nobody has any: a set-up, or what is done every tenth time.
  std::vector<char> is_there(all.iterations);
  for (std::size_t row = 0; row < all.ranks.size(); ++row) {
    for (std::size_t i = 0; i < all.iterations; ++i) is_there[i] |= all.At(row, i) > 0;
  }
  LoadMatrix load;
  load.ranks = all.ranks;
  load.iterations = static_cast<std::size_t>(std::count(is_there.begin(), is_there.end(), 1));
  for (std::size_t row = 0; row < all.ranks.size(); ++row) {
    for (std::size_t i = 0; i < all.iterations; ++i) {
      if (is_there[i]) load.seconds.push_back(all.At(row, i));
    }
  }
  const double by_chance = std::pow(static_cast<double>(load.ranks.size()), 1 - static_cast<double>(load.iterations));
  if (load.iterations < kFewestIterations || by_chance > kByChance) return;
  const ExcessSeries series = FindExcess(load);
  if (series.all <= 0) return;
  const auto [near, near_error] = MeanShare(load, series, [&](std::size_t i) { return Near(load, series, i); });
  const auto [far, far_error] = MeanShare(load, series, [&](std::size_t i) { return Far(load, series, i); });
  shape.alternating_part = 1 - near;
  shape.static_part = std::min(far, near) * Lasting(load, series);
  shape.drifting_part = near - shape.static_part;
  const double parts[] = {shape.static_part, shape.drifting_part, shape.alternating_part};
  constexpr ShapeOverTime kShapes[] = {ShapeOverTime::kStatic, ShapeOverTime::kDrifting, ShapeOverTime::kAlternating};
  const std::size_t largest = static_cast<std::size_t>(std::max_element(parts, parts + 3) - parts);
  double second = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != largest) second = std::max(second, parts[i]);
  }
  if (parts[largest] - second <= kCertain * std::max(near_error, far_error)) return;
  shape.over_time = kShapes[largest];
  if (shape.over_time == ShapeOverTime::kDrifting) shape.lasts = HalfLife(load, series, near);
}

}  // namespace

std::string_view IdOf(ShapeOverRanks shape) {
  constexpr std::string_view kIds[kShapesOverRanks] = {"unknown",        "balanced",  "gaussian", "overloadedFew",
                                                       "underloadedFew", "twoGroups", "irregular"};
  return kIds[static_cast<std::size_t>(shape)];
}

std::string_view IdOf(ShapeOverTime shape) {
  constexpr std::string_view kIds[kShapesOverTime] = {"unknown", "balanced", "static", "drifting", "alternating"};
  return kIds[static_cast<std::size_t>(shape)];
}

LoadShape FindShape(const LoadMatrix& load) {
  LoadShape shape;
  const std::vector<double> sums = load.Sums();
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (total <= 0) return shape;
  const double average = total / static_cast<double>(sums.size());
  shape.heavy = FindHeavyIterations(load.ranks.size(), [&](std::size_t row) { return load.Row(row); });
  std::vector<double> largest(load.iterations);
  for (std::size_t row = 0; row < sums.size(); ++row) {
    for (std::size_t i = 0; i < load.iterations; ++i) largest[i] = std::max(largest[i], load.At(row, i));
  }
  shape.imbalance = ImbalanceOf(*std::max_element(sums.begin(), sums.end()), average, sums.size());
  shape.imbalance_in_iteration =
      ImbalanceOf(std::accumulate(largest.begin(), largest.end(), 0.0), average, sums.size());
  if (sums.size() > 1 && shape.imbalance_in_iteration < kNoImbalance) {
    if (load.iterations > 1) shape.over_time = ShapeOverTime::kBalanced;
  } else {
    DescribeOverTime(load, shape);
  }
  std::vector<std::size_t> places;
  if (sums.size() < 2) return shape;
  if (shape.over_time == ShapeOverTime::kDrifting || shape.over_time == ShapeOverTime::kAlternating) {
    DescribeOverRanks(Sort(TypicalIteration(load)), shape, places);
    return shape;
  }
  DescribeOverRanks(Sort(sums), shape, places);
  for (const std::size_t place : places) shape.ranks.push_back(load.ranks[place]);
  // Those that stand out most first; places rise with the load.
  if (shape.over_ranks != ShapeOverRanks::kUnderloadedFew) std::reverse(shape.ranks.begin(), shape.ranks.end());
  return shape;
}

}  // namespace farscale
