#include "gate/commit_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/distributions.h"
#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Two constants of normal distributions: the median of |x|, and the error of a median over that of a mean, of many.
constexpr double kNormalMedian = 0.6745, kMedianError = 1.2533;
constexpr double kFreedomOfDifference =
    2. / 3;  // a difference between neighbours has less than 1, since a commit takes part in two
// Chosen, so that gates on the same code hardly ever fail [docs/formulas.md, histories; gate_simulation_test.cc].
constexpr double kLargeDifference = 5;     // in standard deviations: no noise
constexpr double kMostShared = 16;         // degrees of freedom that one core count gets from the others
constexpr double kMostSharedInCommon = 4;  // the same where all of them err together
constexpr double kFreedomBesideOwn = 4;    // weight of the usual noise where repeats speak for themselves
constexpr double kStepConfidence = 0.9999;
constexpr double kLargeSpike = 4;          // the same, of a run between two usual ones
constexpr std::size_t kShortestLevel = 2;  // commits

double MeanLogarithm(const Samples& samples) {
  double sum = 0;
  for (const double value : samples.values) sum += std::log(value);
  return sum / static_cast<double>(samples.values.size());
}

Noise Capped(Noise noise, double freedom) {
  noise.freedom = std::min(noise.freedom, freedom);
  return noise;
}

// Repeats without those that scatter much more than repeats usually do: a bad run is among them.
std::vector<std::vector<double>> UsualRepeats(std::vector<std::vector<double>> repeats) {
  std::erase_if(repeats, [](const std::vector<double>& values) { return !NoiseOfRepeats({values}); });
  if (repeats.empty()) return repeats;
  std::vector<double> deviations;
  for (const std::vector<double>& values : repeats) deviations.push_back(NoiseOfRepeats({values})->deviation);
  const double limit = kLargeDifference * Median(deviations);
  std::erase_if(repeats,
                [&](const std::vector<double>& values) { return NoiseOfRepeats({values})->deviation > limit; });
  return repeats;
}

// Means of the commits that have all of these counts, in their order.
std::vector<double> MeansOverCounts(const CommitSeries& series, const std::vector<double>& cores) {
  std::vector<double> means;
  for (const SamplesByCores& commit : series.commits) {
    if (const auto mean = MeanOverCounts(commit, cores)) means.push_back(*mean);
  }
  return means;
}

// Every value the middle one of itself and its neighbours: what lasts stays, single bad runs go.
std::vector<double> WithoutSpikes(const std::vector<double>& values) {
  if (values.size() < 3) return values;
  std::vector<double> middle(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t first = std::clamp<std::size_t>(i, 1, values.size() - 2) - 1;
    middle[i] = Median(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(first),
                                           values.begin() + static_cast<std::ptrdiff_t>(first) + 3));
  }
  return middle;
}

// The distance of the farthest value from both its neighbours, if that is beyond noise.
double LargestSpike(const std::vector<double>& values, const Noise& noise) {
  const std::vector<double> middle = WithoutSpikes(values);
  double largest = 0;
  for (std::size_t i = 1; i + 1 < values.size(); ++i) largest = std::max(largest, std::fabs(values[i] - middle[i]));
  return largest > kLargeSpike * noise.deviation ? largest : 0;
}

// Splits a level where both sides differ most, and each side again.
void SplitLevel(const std::vector<double>& values, std::size_t begin, std::size_t end, const Noise& noise, double reach,
                std::vector<std::size_t>& steps) {
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += values[i];
    return sum / static_cast<double>(to - from);
  };
  std::size_t best = 0;
  double farthest = reach;
  for (std::size_t index = begin + kShortestLevel; index + kShortestLevel <= end; ++index) {
    const double error =
        noise.deviation * std::sqrt(1 / static_cast<double>(index - begin) + 1 / static_cast<double>(end - index));
    const double distance = std::fabs(mean(index, end) - mean(begin, index)) / error;
    if (distance > farthest) {
      farthest = distance;
      best = index;
    }
  }
  if (best == 0) return;
  SplitLevel(values, begin, best, noise, reach, steps);
  steps.push_back(best);
  SplitLevel(values, best, end, noise, reach, steps);
}

}  // namespace

SamplesByCores SamplesOf(const FactorTable& table, const PhaseKey& key, const Quantity& quantity) {
  SamplesByCores samples;
  for (const FactorRow& row : table.Rows(key)) {
    const std::optional<double> value = ValueOf(row, quantity);
    if (!value || !(*value > 0)) continue;
    Samples& at = samples[static_cast<double>(row.cores)];
    at.values.push_back(*value);
    at.errors.push_back(ErrorOf(row, quantity));
  }
  if (quantity.IsOneAtReference() && table.reference && samples.size() > 1) {
    samples.erase(static_cast<double>(*table.reference));
  }
  return samples;
}

CommitSeries CommitSeriesOf(const History& history, const PhaseKey& key, const Quantity& quantity) {
  CommitSeries series;
  series.has_common_error = quantity.ComparesWithReference();
  for (const MeasuredResults& entry : history) {
    series.commits.push_back(SamplesOf(entry.table, key, quantity));
    series.accepted.push_back(!entry.accepted.empty());
  }
  return series;
}

std::optional<Noise> NoiseOfDifferences(const std::vector<std::vector<double>>& all_series) {
  std::vector<double> sizes;
  for (const std::vector<double>& series : all_series) {
    for (std::size_t i = 1; i < series.size(); ++i) sizes.push_back(std::fabs(series[i] - series[i - 1]));
  }
  if (sizes.empty()) return std::nullopt;
  const double limit = kLargeDifference * Median(sizes) / kNormalMedian;
  double squares = 0, count = 0;
  for (const double size : sizes) {
    if (size > limit) continue;
    squares += size * size;
    ++count;
  }
  return Noise{std::sqrt(squares / (2 * count)), kFreedomOfDifference * count};
}

std::optional<double> MeanOverCounts(const SamplesByCores& commit, const std::vector<double>& cores) {
  double sum = 0;
  for (const double count : cores) {
    const auto found = commit.find(count);
    if (found == commit.end()) return std::nullopt;
    sum += MeanLogarithm(found->second);
  }
  return cores.empty() ? std::nullopt : std::optional(sum / static_cast<double>(cores.size()));
}

SeriesNoise LearnNoise(const CommitSeries& series, const SamplesByCores& newest, const std::vector<double>& cores,
                       const Noise& expected) {
  std::vector<std::vector<double>> repeats, all_series;
  std::vector<double> runs;  // for each commit and count
  for (const SamplesByCores& commit : series.commits) {
    for (const auto& [count, samples] : commit) {
      repeats.push_back(samples.values);
      runs.push_back(static_cast<double>(samples.values.size()));
    }
  }
  for (const auto& [count, samples] : newest) repeats.push_back(samples.values);
  SeriesNoise noise;
  noise.has_common_error = series.has_common_error;
  const std::optional<Noise> within = NoiseOfRepeats(UsualRepeats(repeats));
  noise.runs = within ? Pool(expected, *within) : expected;
  for (const double count : cores) all_series.push_back(MeansOverCounts(series, {count}));
  const std::optional<Noise> shared = NoiseOfDifferences(all_series);
  if (!shared) return noise;
  const Noise of_runs{noise.runs.deviation / std::sqrt(runs.empty() ? 1 : Median(runs)), expected.freedom};
  const Noise usual = Capped(Pool(of_runs, *shared), series.has_common_error ? kMostSharedInCommon : kMostShared);
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const std::optional<Noise> own = NoiseOfDifferences({all_series[i]});
    const Noise& at = noise.counts[cores[i]] = own ? Pool(usual, *own) : usual;
    squares += at.deviation * at.deviation;
    largest = std::max({largest, at.deviation, own ? own->deviation : 0});
  }
  for (std::size_t i = 0; i < cores.size(); ++i) {
    noise.bad_run = std::max(noise.bad_run, LargestSpike(all_series[i], noise.counts[cores[i]]));
  }
  noise.bad_mean = LargestSpike(MeansOverCounts(series, cores), shared.value());
  // Core counts that err together say little of how much: the largest estimate counts for all, and for their mean.
  if (series.has_common_error) {
    for (auto& [count, at] : noise.counts) at.deviation = largest;
    noise.mean = Noise{largest, usual.freedom};
    return noise;
  }
  const double count = static_cast<double>(cores.size());
  const Noise independent{std::sqrt(squares) / count, expected.freedom};
  const std::optional<Noise> of_means = NoiseOfDifferences({MeansOverCounts(series, cores)});
  noise.mean = of_means ? Pool(independent, *of_means) : independent;
  // Core counts that share the noise of a day do not average it out.
  if (of_means) noise.mean->deviation = std::max(noise.mean->deviation, of_means->deviation);
  return noise;
}

std::vector<std::size_t> FindSteps(const std::vector<double>& logarithms, const Noise& noise) {
  std::vector<std::size_t> steps;
  if (logarithms.size() < 2 * kShortestLevel) return steps;
  const double reach = StudentQuantile(kStepConfidence, noise.freedom);
  SplitLevel(WithoutSpikes(logarithms), 0, logarithms.size(), noise, reach, steps);
  return steps;
}

std::vector<std::size_t> BaselineCommits(const CommitSeries& series, const std::vector<double>& cores,
                                         const SeriesNoise& noise, std::int64_t window) {
  std::vector<std::size_t> indexes;
  std::vector<double> means;
  for (std::size_t i = 0; i < series.commits.size(); ++i) {
    if (series.accepted[i]) {
      indexes.clear();
      means.clear();
    }
    const std::optional<double> mean = MeanOverCounts(series.commits[i], cores);
    if (!mean) continue;
    indexes.push_back(i);
    means.push_back(*mean);
  }
  if (noise.mean) {
    const std::vector<std::size_t> steps = FindSteps(means, *noise.mean);
    if (!steps.empty()) indexes.erase(indexes.begin(), indexes.begin() + static_cast<std::ptrdiff_t>(steps.back()));
  }
  const auto most = static_cast<std::size_t>(window);
  if (indexes.size() > most) indexes.erase(indexes.begin(), indexes.end() - static_cast<std::ptrdiff_t>(most));
  return indexes;
}

std::optional<Measurement> BaselineAt(const CommitSeries& series, const std::vector<std::size_t>& commits, double cores,
                                      const SeriesNoise& noise) {
  std::vector<double> logs;
  std::size_t runs = 0;
  const Samples* only = nullptr;
  for (const std::size_t index : commits) {
    const auto found = series.commits[index].find(cores);
    if (found == series.commits[index].end()) continue;
    logs.push_back(MeanLogarithm(found->second));
    runs += found->second.values.size();
    only = &found->second;
  }
  if (logs.empty()) return std::nullopt;
  if (logs.size() == 1) return NewestAt(*only, cores, noise);
  const auto known = noise.counts.find(cores);
  const Noise scatter = known != noise.counts.end() ? known->second : noise.runs;
  const auto count = static_cast<double>(logs.size());
  Measurement measurement{std::exp(Median(logs)), scatter.deviation / std::sqrt(count), scatter.freedom, runs};
  if (logs.size() > 2) measurement.error *= kMedianError;
  return measurement;
}

std::optional<Measurement> NewestAt(const Samples& samples, double cores, const SeriesNoise& noise) {
  std::optional<Measurement> measurement = Measure(samples.values, samples.errors, noise.runs);
  if (!measurement) return measurement;
  // One bad run among the repeats shows in their own scatter, however well the usual one is known.
  const auto own = Measure(samples.values, samples.errors, Capped(noise.runs, kFreedomBesideOwn));
  measurement->error = std::max(measurement->error, own->error);
  const auto known = noise.counts.find(cores);
  if (known != noise.counts.end() && known->second.deviation > measurement->error) {
    measurement->error = known->second.deviation;
    measurement->freedom = known->second.freedom;
  }
  return measurement;
}

Change MeanChange(const std::vector<Change>& singles, const SeriesNoise& noise, std::size_t commits) {
  std::vector<double> ratios;
  double squares = 0, freedom = std::numeric_limits<double>::infinity();
  for (const Change& single : singles) {
    ratios.push_back(single.ratio);
    squares += single.error * single.error / static_cast<double>(singles.size());
    freedom = std::min(freedom, single.freedom);
  }
  const std::optional<Measurement> mean = Measure(ratios, {}, {std::sqrt(squares), freedom});
  Change change{mean->value, mean->error, mean->freedom};
  if (noise.has_common_error) change = {mean->value, std::max(mean->error, std::sqrt(squares)), freedom};
  if (noise.mean) {
    const double of_median = commits > 2 ? kMedianError : 1;
    const double error = noise.mean->deviation * std::sqrt(1 + of_median * of_median / static_cast<double>(commits));
    if (error > change.error) change = {change.ratio, error, noise.mean->freedom};
  }
  return change;
}

}  // namespace farscale
