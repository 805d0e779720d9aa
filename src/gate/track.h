// One quantity of one phase over the commits of a history: how much it scatters on the same code, where it steps, and
// what the newest commit is compared with [docs/formulas.md, histories].
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "factors/change.h"
#include "gate/history_json.h"
#include "gate/quantity.h"

namespace farscale {

// The runs of one commit at one core count.
struct Samples {
  std::vector<double> values;
  std::vector<std::optional<double>> errors;  // within each run
};

using SamplesByCores = std::map<double, Samples>;

// Of rows that know the quantity. The reference run is left out of what is 1 there by definition, unless it is alone.
SamplesByCores SamplesOf(const FactorTable& table, const PhaseKey& key, const Quantity& quantity);

// The commits of a history, the oldest first; empty where a commit lacks the quantity.
struct Track {
  std::vector<SamplesByCores> commits;
  std::vector<bool> accepted;     // a level that begins there on purpose
  bool has_common_error = false;  // that of the reference run, at all core counts
};

Track TrackOf(const History& history, const PhaseKey& key, const Quantity& quantity);

// Standard deviations of logarithms.
struct TrackNoise {
  Noise runs;                      // of a single run
  std::map<double, Noise> counts;  // of the mean of a commit's runs at a core count; empty with fewer than two commits
  std::optional<Noise> mean;       // of the mean over the core counts of a commit; nothing with fewer than two
  bool has_common_error = false;   // means over core counts are no better known than single counts
};

// From repeats, and from differences between commits that follow each other, of which the few large ones are steps of
// the code or single bad runs and do not count. `expected` counts beside them with its degrees of freedom. `newest`
// may be empty; it only adds repeats.
TrackNoise LearnNoise(const Track& track, const SamplesByCores& newest, const std::vector<double>& cores,
                      const Noise& expected);

// √(Σ d² / 2n) of the differences between neighbours, without those 5 times as large as usual. Nothing without any.
std::optional<Noise> NoiseOfDifferences(const std::vector<std::vector<double>>& tracks);

// The logarithm of the geometric mean over these core counts; nothing where the commit lacks one of them.
std::optional<double> MeanOverCounts(const SamplesByCores& commit, const std::vector<double>& cores);

// Where a new level begins, as places in the list: a mean beyond noise of that before, that lasts two commits at
// least. One commit apart from both its neighbours is a bad run and no step.
std::vector<std::size_t> FindSteps(const std::vector<double>& logarithms, const Noise& noise);

// The commits that make the baseline: the last `window` since the last step or accepted level, as places in the track.
std::vector<std::size_t> BaselineCommits(const Track& track, const std::vector<double>& cores, const TrackNoise& noise,
                                         std::int64_t window);

// The baseline at one core count: the median of these commits, or the mean of two. Nothing where none was measured.
std::optional<Measurement> BaselineAt(const Track& track, const std::vector<std::size_t>& commits, double cores,
                                      const TrackNoise& noise);

// The newest commit at one core count; its error is never below the scatter of commits before.
std::optional<Measurement> NewestAt(const Samples& samples, double cores, const TrackNoise& noise);

// The change over several core counts together. Its error is the largest that is known of: what single changes make it
// by themselves and by how they differ, and what the means of earlier commits scattered.
Change MeanChange(const std::vector<Change>& singles, const TrackNoise& noise, std::size_t commits);

}  // namespace farscale
