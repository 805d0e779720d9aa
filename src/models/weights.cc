#include "models/weights.h"

#include <algorithm>
#include <cmath>

#include "base/config.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Fitted to measured series of many codes [docs/accuracy.md].
constexpr double kLossThatIsNone = 0.05;
constexpr double kOfLargest = 0.15;
constexpr double kForgetting = 0.7;   // for every doubling of the cores
constexpr double kLeastValue = 1e-9;  // where a logarithm still is one

}  // namespace

double LogShape(double value) { return ShapeOfLoss(-std::log(std::max(value, kLeastValue))); }

double ShapeOfLoss(double loss) {
  static const double kMostLoss = -std::log(kLeastValue);
  return kLossThatIsNone + std::fabs(std::min(loss, kMostLoss));
}

std::vector<double> ShapesOf(const std::vector<DataPoint>& points) {
  double largest = 0, most = 0;  // core count, and loss
  for (const DataPoint& point : points) {
    largest = std::max(largest, point.cores);
    most = std::max(most, LogShape(point.value));
  }
  std::vector<double> shapes;
  for (const DataPoint& point : points) {
    const double doublings = std::log2(largest / point.cores);
    shapes.push_back(std::max(point.value, kLeastValue) * std::hypot(LogShape(point.value), kOfLargest * most) *
                     std::hypot(1, kForgetting * doublings));
  }
  return shapes;
}

std::vector<double> ErrorsForWeights(const std::vector<DataPoint>& points) {
  std::vector<double> known;
  for (const DataPoint& point : points) {
    if (point.standard_error) known.push_back(*point.standard_error);
  }
  const double usual = known.empty() ? 0 : Median(known);
  std::vector<double> errors;
  for (const DataPoint& point : points) errors.push_back(point.standard_error.value_or(usual));
  return errors;
}

std::vector<double> WeightsOf(const std::vector<double>& errors, const std::vector<double>& shapes, double scatter) {
  std::vector<double> logarithms;
  double mean = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    logarithms.push_back(-2 * std::log(std::hypot(errors[i], scatter * shapes[i])));
    mean += logarithms.back() / static_cast<double>(errors.size());
  }
  std::vector<double> weights;
  for (const double logarithm : logarithms) weights.push_back(std::exp(logarithm - mean));
  return weights;
}

bool HardlyDiffer(const std::vector<double>& weights) {
  constexpr double kNoDifference = 1.01;  // chosen: moves no curve visibly
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  return weights.empty() || *most <= kNoDifference * *least;
}

double ScatterOf(const std::vector<double>& errors, const std::vector<double>& shapes,
                 const std::vector<double>& weights, const std::vector<double>& residuals,
                 const std::vector<double>& leverages) {
  double squares = 0, expected = 0, free = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    squares += weights[i] * residuals[i] * residuals[i];
    expected += weights[i] * (1 - leverages[i]) * errors[i] * errors[i];
    free += weights[i] * (1 - leverages[i]) * shapes[i] * shapes[i];
  }
  const double variance = free > 0 ? (squares - expected) / free : 0;
  return std::max(kSmallestScatter, std::sqrt(std::max(0.0, variance)));
}

double IntervalConstants::DriftAt(double scatter) const {
  return drift * std::pow(scatter / kUsualScatter, drift_power);
}

double IntervalConstants::NewLossAt(double scatter) const {
  return new_loss * std::pow(scatter / kUsualScatter, new_loss_power);
}

IntervalConstants ParseIntervalConstants(const std::string& text, const std::string& file) {
  const ConfigTable table = ConfigTable::Parse(text, file);
  const auto not_negative = [&](const std::string& key) {
    const double value = table.RequiredNumber(key);
    if (!(value >= 0)) table.Fail(key, "'" + key + "' must not be negative");
    return value;
  };
  const IntervalConstants constants{not_negative("drift"), not_negative("drift_power"), not_negative("new_loss_share"),
                                    not_negative("new_loss"), not_negative("new_loss_power")};
  if (constants.new_loss_share > 1) table.Fail("new_loss_share", "'new_loss_share' must not exceed 1");
  table.RefuseUnknownKeys();
  return constants;
}

}  // namespace farscale
