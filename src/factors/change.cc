#include "factors/change.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace farscale {
namespace {

constexpr double kAlmostNormal = 1e5;  // degrees of freedom beyond which no digit changes

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

// P(|T| ≤ √ν tan θ): T = √ν tan θ makes the density a power of the cosine [Student08]. Simpson's rule.
double WithinAngle(double angle, double freedom) {
  constexpr int kSteps = 200;
  const double step = angle / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double weight = i == 0 || i == kSteps ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * std::pow(std::cos(i * step), freedom - 1);
  }
  const double scale = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2));
  return 2 / std::sqrt(std::numbers::pi) * scale * sum * step / 3;
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
  const double known = std::min(freedom, kAlmostNormal);
  return WithinAngle(std::atan(distance / error / std::sqrt(known)), known) > confidence;
}

Change ChangeBetween(const Measurement& before, const Measurement& after) {
  const double a = before.error * before.error, b = after.error * after.error;
  Change change{after.value / before.value, std::sqrt(a + b), std::numeric_limits<double>::infinity()};
  const double denominator = a * a / before.freedom + b * b / after.freedom;
  if (denominator > 0) change.freedom = (a + b) * (a + b) / denominator;
  return change;
}

double StudentQuantile(double probability, double freedom) {
  const double known = std::min(freedom, kAlmostNormal);
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (WithinAngle(middle, known) < probability ? low : high) = middle;
  }
  return std::sqrt(known) * std::tan((low + high) / 2);
}

}  // namespace farscale
