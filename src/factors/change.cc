#include "factors/change.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/distributions.h"

namespace farscale {
namespace {

double MeanOfLogarithms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

double SquaresAroundMean(const std::vector<double>& values) {
  const double mean = MeanOfLogarithms(values);
  double sum = 0;
  for (const double value : values) sum += (std::log(value) - mean) * (std::log(value) - mean);
  return sum;
}

double Reach(const Change& change, double confidence) {
  return change.error * StudentQuantile(confidence, change.freedom);
}

}  // namespace

std::optional<Measurement> Measure(const std::vector<double>& values, const std::vector<std::optional<double>>& errors,
                                   const Noise& noise) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double value) { return value > 0; })) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  Measurement measurement{std::exp(MeanOfLogarithms(values)), 0, noise.freedom + n - 1, values.size()};
  const double scatter =
      std::isfinite(noise.freedom)
          ? (noise.freedom * noise.deviation * noise.deviation + SquaresAroundMean(values)) / measurement.freedom
          : noise.deviation * noise.deviation;
  double within = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = i < errors.size() ? errors[i].value_or(0) / values[i] : 0;
    within += error * error / n;
  }
  measurement.error = std::sqrt(std::max(scatter, within) / n);
  return measurement;
}

std::optional<Noise> NoiseOfRepeats(const std::vector<std::vector<double>>& repeats) {
  double squares = 0, freedom = 0;
  for (const std::vector<double>& values : repeats) {
    if (values.size() < 2 || *std::min_element(values.begin(), values.end()) <= 0) continue;
    squares += SquaresAroundMean(values);
    freedom += static_cast<double>(values.size() - 1);
  }
  if (freedom == 0) return std::nullopt;
  return Noise{std::sqrt(squares / freedom), freedom};
}

Noise Pool(const Noise& a, const Noise& b) {
  const double freedom = a.freedom + b.freedom;
  return {std::sqrt((a.freedom * a.deviation * a.deviation + b.freedom * b.deviation * b.deviation) / freedom),
          freedom};
}

double Change::Low(double confidence) const { return ratio * std::exp(-Reach(*this, confidence)); }
double Change::High(double confidence) const { return ratio * std::exp(Reach(*this, confidence)); }

bool Change::IsBeyondNoise(double confidence) const {
  const double distance = std::fabs(std::log(ratio));
  if (error == 0) return distance > 0;
  return StudentProbability(distance / error, freedom) > confidence;
}

Change ChangeBetween(const Measurement& before, const Measurement& after) {
  const double a = before.error * before.error, b = after.error * after.error;
  Change change{after.value / before.value, std::sqrt(a + b), std::numeric_limits<double>::infinity()};
  const double denominator = a * a / before.freedom + b * b / after.freedom;
  if (denominator > 0) change.freedom = (a + b) * (a + b) / denominator;
  return change;
}

}  // namespace farscale
