// One quantity of one phase over the commits of a history: its noise on unchanged code, its steps, and the baseline of
// the newest commit [docs/formulas.md, histories].
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "factors/factor_table.h"
#include "gate/history_json.h"
#include "gate/rules.h"

namespace farscale {

// The runs of one commit at one core count.
struct Samples {
  std::vector<double> values;
  std::vector<std::optional<double>> errors;  // within each run
};

using SamplesByCores = std::map<double, Samples>;

// Rows without the quantity do not count, nor does the reference run where the quantity is 1 there by definition,
// unless no other run is known.
SamplesByCores SamplesOf(const FactorTable& table, const PhaseKey& key, const Quantity& quantity);

// The commits of a history, the oldest first; a commit without the quantity is empty.
struct CommitSeries {
  std::vector<SamplesByCores> commits;
  std::vector<bool> accepted;     // a new level begins there on purpose
  bool has_common_error = false;  // all core counts share the error of the reference run
};

CommitSeries CommitSeriesOf(const History& history, const PhaseKey& key, const Quantity& quantity);

// Standard deviations of logarithms.
struct SeriesNoise {
  Noise runs;                      // a single run
  std::map<double, Noise> counts;  // mean of a commit's runs at a core count; empty with fewer than two commits
  std::optional<Noise> mean;       // mean over the core counts of a commit; nothing with fewer than two
  bool has_common_error = false;   // means over core counts are no better known than single counts
  // The largest bad run of the commits, at one core count and of the mean over them: how far it lies from both its
  // neighbours, as a logarithm; 0 where none is beyond noise.
  double bad_run = 0, bad_mean = 0;
};

// Learns from repeats and from differences between consecutive commits, without the few large ones: those are changes
// of the code or single bad runs. `expected` counts with its degrees of freedom. `newest` adds repeats; it may be
// empty.
SeriesNoise LearnNoise(const CommitSeries& series, const SamplesByCores& newest, const std::vector<double>& cores,
                       const Noise& expected);

// √(Σ d² / 2n) of the differences between neighbours, without those 5 times as large as usual. Nothing without
// differences.
std::optional<Noise> NoiseOfDifferences(const std::vector<std::vector<double>>& all_series);

// The logarithm of the geometric mean over these core counts; nothing where the commit lacks one of them.
std::optional<double> MeanOverCounts(const SamplesByCores& commit, const std::vector<double>& cores);

// The indexes at which a new level begins: its mean differs beyond noise, and it lasts two commits at least. A single
// commit that differs from both its neighbours is a bad run.
std::vector<std::size_t> FindSteps(const std::vector<double>& logarithms, const Noise& noise);

// The commits that make the baseline: the last `window` since the last step or accepted level, as indexes in the
// series.
std::vector<std::size_t> BaselineCommits(const CommitSeries& series, const std::vector<double>& cores,
                                         const SeriesNoise& noise, std::int64_t window);

// The baseline at one core count: the median of these commits, or the mean of two. Nothing where none was measured.
std::optional<Measurement> BaselineAt(const CommitSeries& series, const std::vector<std::size_t>& commits, double cores,
                                      const SeriesNoise& noise);

// The newest commit at one core count; its error is never below the scatter of earlier commits.
std::optional<Measurement> NewestAt(const Samples& samples, double cores, const SeriesNoise& noise);

// The mean change over several core counts. Its error is the largest of three estimates: from the errors of the single
// changes, from their differences, and from the scatter of the means of earlier commits.
Change MeanChange(const std::vector<Change>& singles, const SeriesNoise& noise, std::size_t commits);

}  // namespace farscale
