// How much a measured quantity changed from one result to another, and whether that is more than noise.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace farscale {

// The relative scatter from run to run that is expected before any repeat was measured; chosen.
inline constexpr double kUsualNoise = 0.01;

// A quantity above 0 at one core count, over the runs of one result there. All of logarithms, since factors multiply
// and times scale.
struct Measurement {
  double value = 0;    // geometric mean of the runs
  double error = 0;    // standard error of its logarithm
  double freedom = 0;  // degrees of freedom of that error; infinite when the noise is known
  std::size_t runs = 0;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// Run-to-run noise: a standard deviation of logarithms, and its degrees of freedom.
struct Noise {
  double deviation = kUsualNoise;
  double freedom = 4;
};

// The mean of the values, with the scatter s² = (ν₀ u² + Σ (ln y − mean)²) / (ν₀ + n − 1) of the runs around it, where
// u is the noise expected with ν₀ degrees of freedom: two repeats that agree by luck do not make the noise 0
// [Gelman13, 2.6]. `errors` are standard errors within the runs, in the unit of the values, where known; the error of
// the mean is never below that of their mean. Nothing without values, or where one is not above 0.
std::optional<Measurement> Measure(const std::vector<double>& values, const std::vector<std::optional<double>>& errors,
                                   const Noise& noise = {});

// Noise of repeats: lists of values measured under equal conditions, all pooled; nothing without any repeat.
std::optional<Noise> NoiseOfRepeats(const std::vector<std::vector<double>>& repeats);

// Both together, each with its degrees of freedom.
Noise Pool(const Noise& a, const Noise& b);

struct Change {
  double ratio = 1;  // after over before
  double error = 0;  // standard error of its logarithm
  double freedom = 0;

  // Bounds of the ratio that hold with this probability [Welch47].
  double Low(double confidence = 0.95) const;
  double High(double confidence = 0.95) const;
  // Whether 1 lies outside of these bounds.
  bool IsBeyondNoise(double confidence = 0.95) const;
};

Change ChangeBetween(const Measurement& before, const Measurement& after);

}  // namespace farscale
