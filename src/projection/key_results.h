// Key results of a projection: the core counts up to which efficiency stays above a level, where speedup peaks, time
// and cost of an iteration, and the potential gain from removing each loss [docs/formulas.md, key results].
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "factors/factor.h"
#include "projection/model_settings.h"
#include "projection/reliable_range.h"

namespace farscale {

struct FactorProjection;
struct FactorTable;
struct PhaseProjection;

// Efficiencies that core counts are asked for; chosen.
inline const std::vector<double> kUsualLevels = {0.8, 0.75, 0.5};

// A core count that may lie outside of the curve.
struct CountBound {
  enum class Kind {
    kAt,
    kBelow,    // less than `cores`, the smallest fitted count
    kMoreThan  // than `cores`, where the curve ends
  };
  Kind kind = Kind::kAt;
  double cores = 0;  // a whole number for kAt

  friend bool operator==(const CountBound&, const CountBound&) = default;
};

// A core count read off a curve, with the counts read off the bounds of its 80 % interval: both or none.
struct CountEstimate {
  CountBound value;
  std::optional<CountBound> low, high;

  friend bool operator==(const CountEstimate&, const CountEstimate&) = default;
};

// The largest core count with an efficiency of at least `level`.
struct LevelCounts {
  double level = 0;
  std::optional<CountEstimate> parallel;  // parallel efficiency; nothing where it is not projected
  std::optional<CountEstimate> relative;  // efficiency relative to the reference; nothing without speedup

  friend bool operator==(const LevelCounts&, const LevelCounts&) = default;
};

// Where the projected speedup is largest; kMoreThan where it still grows at the end of the curve.
struct SpeedupPeak {
  CountEstimate count;
  double speedup = 0;  // there, or at the end of the curve
  std::optional<IntervalBounds> speedup80;

  friend bool operator==(const SpeedupPeak&, const SpeedupPeak&) = default;
};

struct ProjectedTime {
  double cores = 0;
  double ratio = 0;    // over the largest fitted count
  double seconds = 0;  // an iteration
  std::optional<OpenBounds> interval80, interval95;

  friend bool operator==(const ProjectedTime&, const ProjectedTime&) = default;
};

struct TimeEstimate {
  double iterations = 1;               // iterations of the phase in the reference run
  std::vector<ProjectedTime> targets;  // those with a time that a number can hold

  friend bool operator==(const TimeEstimate&, const TimeEstimate&) = default;
};

// Potential gain if one factor were 1 and the others stayed.
struct PerfectFactor {
  Factor factor = Factor::kLoadBalance;
  double gain = 0;  // 1 / factor - 1: the share by which what it is part of grows; negative for a factor above 1
  std::optional<OpenBounds> gain80;
  std::optional<double> parallel_efficiency, global_efficiency;  // then; nothing where it is not part of them
  std::optional<double> seconds;                                 // an iteration, then

  friend bool operator==(const PerfectFactor&, const PerfectFactor&) = default;
};

struct PerfectAtTarget {
  double cores = 0;
  std::vector<PerfectFactor> factors;  // the largest gain first

  friend bool operator==(const PerfectAtTarget&, const PerfectAtTarget&) = default;
};

struct KeyResults {
  std::optional<double> reference;   // cores of the run that relative efficiency and speedup compare with
  std::vector<LevelCounts> levels;   // in the order asked for
  std::optional<SpeedupPeak> peak;   // nothing without speedup
  std::optional<TimeEstimate> time;  // nothing where run times, speedup or the scaling are unknown
  std::vector<PerfectAtTarget> perfect;

  friend bool operator==(const KeyResults&, const KeyResults&) = default;
};

// For a phase of a completed table; nothing where nothing is projected.
std::optional<KeyResults> FindKeyResults(const PhaseProjection& projection, const FactorTable& table,
                                         const std::vector<double>& levels = kUsualLevels);

// Adds core hours to the suggested runs, where times and speedup are known.
void AddCosts(PhaseProjection& projection, const FactorTable& table);

// The largest core count at which a factor that is projected, multiplied by `scale`(cores), is at least `level`.
CountEstimate LargestCountWith(const PhaseProjection& projection, const FactorProjection& factor, double level,
                               const std::function<double(double cores)>& scale);

// The same of a factor itself, where runs decide what they measured, by cores: the count is none below the largest run
// that reaches the level, and none from the next run on.
CountEstimate LargestCountKeeping(const PhaseProjection& projection, const FactorProjection& factor, double level,
                                  const std::map<double, double>& measured);

// Core hours of so many seconds on all cores.
double CoreHours(double cores, double seconds);

// The level of a count read off the curve of a factor [projection/reliable_range.h]; one below the smallest run is
// reliable.
Reliability ReliabilityOf(const PhaseProjection& projection, Factor factor, const CountBound& value);

}  // namespace farscale
