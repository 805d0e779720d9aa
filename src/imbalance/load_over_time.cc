#include "imbalance/load_over_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

constexpr std::size_t kFewestIterations = 4;
// How likely it may be that by chance the same rank is slowest in all of them.
constexpr double kByChance = 0.01;
// An iteration in which the slowest rank exceeds the average by more than so many times what is usual counts as if it
// were so many times: one disturbance decides nothing.
constexpr double kLargestWeight = 3;
// Iterations that one is compared with at most.
constexpr std::size_t kCompared = 64;
constexpr std::size_t kLongestLag = 256;
// Standard errors.
constexpr double kCertain = 2;
constexpr double kTrend = 3;

class OverTime {
 public:
  explicit OverTime(const LoadMatrix& load)
      : load_(load), n_(load.iterations), slowest_(n_), average_(n_), excess_(n_) {
    for (std::size_t row = 0; row < load.ranks.size(); ++row) {
      for (std::size_t i = 0; i < n_; ++i) {
        average_[i] += load.At(row, i) / static_cast<double>(load.ranks.size());
        if (load.At(row, i) > load.At(slowest_[i], i)) slowest_[i] = row;
      }
    }
    for (std::size_t i = 0; i < n_; ++i) excess_[i] = load.At(slowest_[i], i) - average_[i];
    const double usual = Median(excess_);
    for (const double excess : excess_) {
      weight_.push_back(usual > 0 && excess > kLargestWeight * usual ? kLargestWeight * usual / excess : 1);
      all_ += weight_.back() * excess;
    }
  }

  void Describe(LoadShape& shape) const {
    if (all_ <= 0) return;
    const Share near = Mean([&](std::size_t i) { return Near(i); });
    const Share far = Mean([&](std::size_t i) { return Far(i); });
    shape.alternating_part = 1 - near.value;
    shape.static_part = std::min(far.value, near.value) * Lasting();
    shape.drifting_part = near.value - shape.static_part;
    const double parts[] = {shape.static_part, shape.drifting_part, shape.alternating_part};
    constexpr ShapeOverTime kShapes[] = {ShapeOverTime::kStatic, ShapeOverTime::kDrifting, ShapeOverTime::kAlternating};
    const std::size_t largest = static_cast<std::size_t>(std::max_element(parts, parts + 3) - parts);
    double second = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != largest) second = std::max(second, parts[i]);
    }
    if (parts[largest] - second <= kCertain * std::max(near.error, far.error)) return;
    shape.over_time = kShapes[largest];
    if (shape.over_time == ShapeOverTime::kDrifting) shape.lasts = HalfLife(near.value);
  }

 private:
  struct Share {
    double value = 0, error = 0;
  };

  // By what the rank that is slowest in iteration `other` exceeds the average in iteration i.
  double Again(std::size_t other, std::size_t i) const { return load_.At(slowest_[other], i) - average_[i]; }

  double Near(std::size_t i) const {
    if (i == 0) return Again(1, 0);
    if (i + 1 == n_) return Again(i - 1, i);
    return (Again(i - 1, i) + Again(i + 1, i)) / 2;
  }

  // The same for iterations that a third of all or more lie between; of many some, evenly.
  double Far(std::size_t i) const {
    const std::size_t away = std::max<std::size_t>(2, n_ / 3);
    const std::size_t before = i >= away ? i - away + 1 : 0, after = i + away < n_ ? n_ - i - away : 0;
    const std::size_t compared = std::min(before + after, kCompared);
    double sum = 0;
    for (std::size_t k = 0; k < compared; ++k) {
      const std::size_t other = k * (before + after) / compared;
      sum += Again(other < before ? other : i + away + other - before, i);
    }
    return compared > 0 ? sum / static_cast<double>(compared) : 0;
  }

  // Of the excess of all iterations. Neighbours share an iteration that they are compared with: their errors are not
  // independent, which doubles the variance at most.
  template <typename Value>
  Share Mean(Value value) const {
    double sum = 0;
    std::vector<double> values;
    for (std::size_t i = 0; i < n_; ++i) {
      values.push_back(value(i));
      sum += weight_[i] * values[i];
    }
    Share share{std::clamp(sum / all_, 0.0, 1.0), 0};
    double squares = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double rest = weight_[i] * (values[i] - share.value * excess_[i]);
      squares += rest * rest;
    }
    share.error = std::sqrt(2 * squares) / all_;
    return share;
  }

  // Of an excess that surely grows or shrinks, what is there both in the first and the last third; else all.
  double Lasting() const {
    std::vector<double> excess;
    for (std::size_t i = 0; i < n_; ++i) excess.push_back(weight_[i] * excess_[i]);
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return excess[a] < excess[b]; });
    const auto n = static_cast<double>(n_);
    double differences = 0;  // Spearman's
    for (std::size_t place = 0; place < n_; ++place) {
      const double difference = static_cast<double>(place) - static_cast<double>(order[place]);
      differences += difference * difference;
    }
    const double correlation = 1 - 6 * differences / (n * (n * n - 1));
    if (std::abs(correlation) * std::sqrt(n - 1) < kTrend) return 1;
    const auto third = static_cast<std::ptrdiff_t>(n_ / 3);
    const double first = std::accumulate(excess.begin(), excess.begin() + third, 0.0);
    const double last = std::accumulate(excess.end() - third, excess.end(), 0.0);
    const double all = std::accumulate(excess.begin(), excess.end(), 0.0);
    return std::clamp(std::min(first, last) / static_cast<double>(third) / (all / n), 0.0, 1.0);
  }

  // The first lag at which at most half is left.
  std::size_t HalfLife(double near) const {
    for (std::size_t lag = 2; lag <= std::min(n_ / 2, kLongestLag); ++lag) {
      double sum = 0, all = 0;
      for (std::size_t i = 0; i + lag < n_; ++i) {
        sum += weight_[i + lag] * Again(i, i + lag);
        all += weight_[i + lag] * excess_[i + lag];
      }
      if (sum <= near * all / 2) return lag;
    }
    return 0;
  }

  const LoadMatrix& load_;
  std::size_t n_;
  std::vector<std::size_t> slowest_;
  std::vector<double> average_, excess_, weight_;
  double all_ = 0;
};

// Without the iterations in which nobody has any: a set-up, or what is done every tenth time.
LoadMatrix WhereThereIsLoad(const LoadMatrix& load) {
  std::vector<char> is_there(load.iterations);
  for (std::size_t row = 0; row < load.ranks.size(); ++row) {
    for (std::size_t i = 0; i < load.iterations; ++i) is_there[i] |= load.At(row, i) > 0;
  }
  LoadMatrix some;
  some.ranks = load.ranks;
  some.iterations = static_cast<std::size_t>(std::count(is_there.begin(), is_there.end(), 1));
  for (std::size_t row = 0; row < load.ranks.size(); ++row) {
    for (std::size_t i = 0; i < load.iterations; ++i) {
      if (is_there[i]) some.seconds.push_back(load.At(row, i));
    }
  }
  return some;
}

}  // namespace

void DescribeOverTime(const LoadMatrix& all, LoadShape& shape) {
  const LoadMatrix load = WhereThereIsLoad(all);
  const double by_chance = std::pow(static_cast<double>(load.ranks.size()), 1 - static_cast<double>(load.iterations));
  if (load.iterations < kFewestIterations || by_chance > kByChance) return;
  OverTime(load).Describe(shape);
}

}  // namespace farscale
