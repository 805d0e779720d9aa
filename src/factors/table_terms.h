// The terms that a factor table is completed in: strong or weak scaling, and the reference run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "stats/sample_quantiles.h"

namespace farscale {

struct WorkGrowth;

// Strong scaling keeps the total work, weak scaling lets it grow with the processes; the nearer one (in the logarithm)
// is it. Of a table that knows run times alone, runs that get faster scale strongly; others may be weak, or strong runs
// that gain nothing, and are a usage error. A table that says its scaling keeps it. Returns the scaling by series;
// where series differ the table has none, and times and speedups of their rows show it [ScalingShownBy].
std::map<std::string, Scaling> DecideScaling(FactorTable& table, Diagnostics& diagnostics);

// The reference that the table says, else where the scalabilities given are 1, else the smallest number of cores.
// Throws a usage error when there is no run at the one it says.
void ChooseReference(FactorTable& table);

// Computation scalability, its parts and the speedup.
std::vector<FactorType> FactorsThatAreOneAtReference();

// True if run times are all that is known, with what was derived from them.
bool KnowsTimesOnly(const FactorRow& row);
bool KnowsTimesOnly(const FactorTable& table);
// True if the speedup is all that is known.
bool KnowsSpeedupOnly(const FactorRow& row);

// Time of an iteration by cores, the median of repeats. Empty where a time is unknown.
std::map<std::int64_t, double> MedianTimes(const RowPointers& rows);
// To the core count with the shortest of them, without work. Nothing without times at two core counts.
std::optional<WorkGrowth> GrowthToFastest(const RowPointers& rows);

// In less of the first run's time than this, more cores do the same work: above what noise makes of a time; chosen.
// Real weak runs take 0.9 of it or more, real strong ones come below 0.5 [tests/run_times_test.py].
inline constexpr double kFasterTime = 0.8;

// Rows of a phase at the reference count, of run times those of the fastest split with all repeats; the smallest count
// of the phase when it was not run there.
std::vector<const FactorRow*> ReferenceRows(const std::vector<FactorRow*>& rows, std::int64_t reference);

// The median of a value over rows, so that one bad repeat at the reference changes little; nothing if a row lacks it.
template <typename Value>
std::optional<double> MedianOf(const std::vector<const FactorRow*>& rows, Value value) {
  std::vector<double> values;
  for (const FactorRow* row : rows) {
    const std::optional<double> one = value(*row);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  if (values.size() == 2) return (values[0] + values[1]) / 2;
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

// Changes of a measured quantity from one result to another, compared with noise.

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
  // True if 1 lies outside of these bounds.
  bool IsBeyondNoise(double confidence = 0.95) const;
};

Change ChangeBetween(const Measurement& before, const Measurement& after);

}  // namespace farscale
