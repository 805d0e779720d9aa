#include "growth/loads/scaling_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace farscale {
namespace {

constexpr double kExact = 1e-3;  // chosen: sizes of local extents that do not divide evenly differ by more
// Local extents, faces and volumes of evenly divided domains; simple ones first.
constexpr double kExponents[] = {0, -1, -0.5, 1, 0.5, -2, 2};

// Of logarithms, after the mean of every group is taken off.
class Residuals {
 public:
  explicit Residuals(const std::vector<LawPoint>& points) : points_(points) {
    for (const LawPoint& point : points) groups_ = std::max(groups_, point.group + 1);
  }

  template <typename Value>  // of a point
  std::vector<double> WithoutGroups(const Value& value) const {
    std::vector<double> sum(groups_, 0), weight(groups_, 0), result;
    for (const LawPoint& point : points_) {
      sum[point.group] += point.weight * value(point);
      weight[point.group] += point.weight;
    }
    for (const LawPoint& point : points_) result.push_back(value(point) - sum[point.group] / weight[point.group]);
    return result;
  }

  double ErrorOf(const ScalingLaw& law) const {
    const std::vector<double> rest = WithoutGroups(
        [&](const LawPoint& point) { return std::log(point.value) - std::log(law.Ratio(point.grid, RankGrid{})); });
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      sum += points_[i].weight * rest[i] * rest[i];
      weight += points_[i].weight;
    }
    return std::sqrt(sum / weight);
  }

 private:
  const std::vector<LawPoint>& points_;
  std::size_t groups_ = 0;
};

void TryExponents(const std::vector<LawPoint>& points, std::size_t dimension, ScalingLaw& law, double complexity,
                  double& best_score, ScalingLaw& best) {
  if (dimension == kMostDimensions || std::ranges::all_of(points, [&](const LawPoint& point) {
        return point.grid.extents[dimension] == points.front().grid.extents[dimension];
      })) {
    if (dimension < kMostDimensions) {
      law.exponents[dimension] = 0;
      return TryExponents(points, dimension + 1, law, complexity, best_score, best);
    }
    law.error = Residuals(points).ErrorOf(law);
    const double score = std::max(law.error, kExact) * (1 + 0.2 * complexity);
    if (score < best_score) {
      best_score = score;
      best = law;
    }
    return;
  }
  for (const double exponent : kExponents) {
    law.exponents[dimension] = exponent;
    // Two dimensions with an exponent of one each are plainer than one with two.
    const double own = std::abs(exponent) > 1 ? std::abs(exponent) + 0.25 : std::abs(exponent);
    TryExponents(points, dimension + 1, law, complexity + own, best_score, best);
  }
  law.exponents[dimension] = 0;
}

// The power of the number of ranks by least squares of the logarithms.
ScalingLaw FitPower(const std::vector<LawPoint>& points) {
  const Residuals residuals(points);
  const std::vector<double> x =
      residuals.WithoutGroups([](const LawPoint& point) { return std::log(static_cast<double>(point.grid.Scale())); });
  const std::vector<double> y = residuals.WithoutGroups([](const LawPoint& point) { return std::log(point.value); });
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    xx += points[i].weight * x[i] * x[i];
    xy += points[i].weight * x[i] * y[i];
  }
  ScalingLaw law;
  law.power = xx > 0 ? xy / xx : 0;
  law.error = residuals.ErrorOf(law);
  return law;
}

}  // namespace

double ScalingLaw::Ratio(const RankGrid& to, const RankGrid& from) const {
  double ratio = std::pow(static_cast<double>(to.Scale()) / static_cast<double>(from.Scale()), power);
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) ratio *= std::pow(static_cast<double>(to.extents[d]) / from.extents[d], exponents[d]);
  }
  return ratio;
}

std::string ScalingLaw::Text() const {
  std::vector<std::string> parts;
  if (power != 0) parts.push_back(fmt::format("P^{:.3g}", power));
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (exponents[d] != 0) parts.push_back(fmt::format("n{}^{:g}", "xyzt"[d], exponents[d]));
  }
  return parts.empty() ? "constant" : Join(parts, " ");
}

namespace {

std::vector<LawPoint> Positive(const std::vector<LawPoint>& points) {
  std::vector<LawPoint> positive;
  std::ranges::copy_if(points, std::back_inserter(positive), [](const LawPoint& point) { return point.value > 0; });
  return positive;
}

std::size_t RunsOf(const std::vector<LawPoint>& points) {
  std::set<std::int64_t> sizes;
  for (const LawPoint& point : points) sizes.insert(point.grid.size());
  return sizes.size();
}

}  // namespace

ScalingLaw FitScalingLaw(const std::vector<LawPoint>& points) {
  const std::vector<LawPoint> positive = Positive(points);
  ScalingLaw best;
  const std::size_t runs = RunsOf(positive);
  if (runs > 1) {
    double score = INFINITY;
    ScalingLaw law;
    TryExponents(positive, 0, law, 0, score, best);
    const ScalingLaw power = FitPower(positive);
    if (std::max(power.error, kExact) * 1.5 < score) best = power;
  }
  best.runs = runs;
  return best;
}

}  // namespace farscale
