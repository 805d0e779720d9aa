// The reliable range of a projection: up to which core count its 80 % intervals are narrow enough to decide anything
// by, and up to which they say anything at all [docs/formulas.md, reliable range].
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "factors/factor.h"
#include "projection/model_settings.h"

namespace farscale {

class FactorDraws;
struct FactorProjection;
struct PhaseProjection;

// From good to bad, so that the larger of two is the worse one.
enum class Reliability {
  kReliable,   // the 80 % interval is narrow
  kUncertain,  // it is wider, but within a factor of two of the value
  kUnknown     // it is wider than that or not known, or the runs contradict the curve
};
std::string ToString(Reliability level);  // "reliable"

// Half the width that the 80 % interval of a reliable value may have. Both limits hold.
struct ReliabilityLimits {
  // Relative to the value. Chosen: who asks for a number wants to know it to a sixth.
  double share = 0.15;
  // Absolute for values up to 1, efficiencies most of all; above, relative. Chosen: an efficiency that may lie
  // anywhere within 0.2 does not decide for or against a machine.
  double absolute = 0.1;

  friend bool operator==(const ReliabilityLimits&, const ReliabilityLimits&) = default;
};

// Times the largest fitted count, beyond which no prediction is reliable, however narrow its interval: few have been
// compared with measured runs farther out [docs/accuracy.md], so nothing shows what intervals are worth there.
inline constexpr double kFarthestChecked = 64;

struct ReliableRange {
  enum class Reach {
    kUpTo,          // beyond `cores` the interval is wider
    kAtLeast,       // it stays as narrow up to `cores`, where the curve ends
    kOnlyMeasured,  // it is wider, or unknown, at the largest fitted count already, which is `cores`
    kMisfit         // the largest run, on `cores`, is not as the curve has it [FindMisfit]: beyond, all is unknown
  };

  Factor factor = Factor::kParallelEfficiency;  // whose 80 % interval limits the range
  ReliabilityLimits limits;
  double cores = 0;  // a whole number
  Reach reach = Reach::kOnlyMeasured;

  friend bool operator==(const ReliableRange&, const ReliableRange&) = default;
};

// The level of one value of a factor by its own 80 % interval: reliable where half the width is at most `limits.share`
// of the value and at most `limits.absolute`, uncertain while high <= 2 value and low >= value / 2. Speedup, which is
// no share of anything, has no absolute limit.
Reliability LevelOf(Factor factor, double value, const std::optional<IntervalBounds>& interval80,
                    const ReliabilityLimits& limits);

// Walks up the curve of parallel efficiency from the largest fitted count to where it is not reliable any more,
// interpolated over the logarithm of the cores and rounded down. Where parallel efficiency is not projected, the curve
// of global efficiency; where that is not either, whichever factor stops being reliable first. Nothing where nothing is
// projected.
std::optional<ReliableRange> FindReliableRange(const PhaseProjection& projection, const ReliabilityLimits& limits);

// A factor at the largest fitted count that its own curve does not explain: the mean of what was measured lies outside
// of the 95 % interval there, so no model describes the runs. Returns both; nothing where the curve explains it.
std::optional<std::pair<double, IntervalBounds>> FindMisfit(const FactorProjection& projection, double largest);

// The level of a phase at so many cores: that of the factor that limits its reliable range. It never gets better with
// more cores. Reliable everywhere where nothing is projected.
Reliability ReliabilityOf(const PhaseProjection& projection, double cores);

// The same of a factor: by its own intervals, and never better than that of the phase. Speedup, and with it times and
// costs, is as reliable as global efficiency.
Reliability ReliabilityOf(const PhaseProjection& projection, Factor factor, double cores);

bool IsReliable(const PhaseProjection& projection, double cores);
bool IsReliable(const PhaseProjection& projection, Factor factor, double cores);

// The largest core counts at which a phase, or a factor, is reliable, and at which it is not unknown; infinite where
// nothing is projected.
double ReliableUpTo(const PhaseProjection& projection, Factor factor);
double UncertainUpTo(const PhaseProjection& projection);
double UncertainUpTo(const PhaseProjection& projection, Factor factor);

// Rounded down, but not because of the last bits of an interpolation.
double WholeCores(double cores);

// The core counts whose runs would narrow the interval at a target most [docs/formulas.md, suggested next run].

struct RunChoice {
  double cores = 0;
  bool is_repeat = false;            // a run at that count is known already
  double width = 0;                  // width of the 80 % interval at the target, expected after the run
  std::optional<double> core_hours;  // core hours of the phase, as projected there

  friend bool operator==(const RunChoice&, const RunChoice&) = default;
};

struct NextRuns {
  Factor factor = Factor::kParallelEfficiency;  // whose interval is to be narrowed
  double target = 0;                            // cores
  double width = 0;                             // width of its 80 % interval there now
  std::vector<RunChoice> choices;               // the narrowest first

  friend bool operator==(const NextRuns&, const NextRuns&) = default;
};

// Core counts to consider: repeats of the smallest and the largest of the fitted counts (ascending), powers of two
// times the smallest that lie between and were not run, and 2 and 4 times the largest, up to the target. Where all
// fitted counts are cubes, or squares, the nearest of these.
std::vector<double> CandidateRuns(const std::vector<double>& fitted_cores, double target);

// The choices without their costs, for a product of factors with these draws. Outcomes of a run are drawn from the
// present prediction; given each, the draws are weighted by how well they agree with it, and drift begins anew at the
// run. The widths are means over the outcomes.
std::vector<RunChoice> RankRuns(const std::vector<const FactorDraws*>& factors, const std::vector<double>& candidates,
                                const std::vector<double>& fitted_cores, double target);

}  // namespace farscale
