// The core counts up to which a projection is reliable: beyond, its intervals are too wide to decide anything by
// [docs/formulas.md, reliable range].
#pragma once

#include <optional>

#include "factors/factor.h"
#include "projection/intervals.h"

namespace farscale {

struct FactorProjection;
struct PhaseProjection;

// Width of the widest 80 % interval that counts as reliable, unless the study sets another. Chosen: an efficiency that
// may lie anywhere within 0.2 does not decide for or against a machine.
inline constexpr double kReliableWidth = 0.2;

struct ReliableRange {
  enum class Reach {
    kUpTo,          // beyond `cores` the interval is wider
    kAtLeast,       // it stays as narrow up to `cores`, where the curve ends
    kOnlyMeasured,  // it is wider, or unknown, at the largest fitted count already, which is `cores`
    kMisfit         // the largest run, on `cores`, is not as the curve has it [FindMisfit]
  };

  Factor factor = Factor::kParallelEfficiency;  // whose 80 % interval limits the range
  double width = kReliableWidth;
  double cores = 0;  // a whole number
  Reach reach = Reach::kOnlyMeasured;

  friend bool operator==(const ReliableRange&, const ReliableRange&) = default;
};

// Walks up the curve of parallel efficiency from the largest fitted count to where its 80 % interval gets wider than
// `width`, interpolated over the logarithm of the cores and rounded down. Where parallel efficiency is not projected,
// the curve of global efficiency; where that is not either, whichever factor's interval gets too wide first. Nothing
// where nothing is projected.
std::optional<ReliableRange> FindReliableRange(const PhaseProjection& projection, double width);

// A factor at the largest fitted count that its own curve does not explain: the mean of what was measured lies outside
// of the 95 % interval there, so no model describes the runs.
struct Misfit {
  double measured = 0;
  IntervalBounds fitted95;
};

std::optional<Misfit> FindMisfit(const FactorProjection& projection, double largest);

// Whether so many cores lie within the reliable range. True where the range is unknown, as in files of earlier
// versions.
bool IsReliable(const PhaseProjection& projection, double cores);

// The largest core count at which a factor's projection is reliable: within the range of the phase, and as long as its
// own interval is no wider; for factors that may exceed 1 the width is relative to the value. Speedup, and with it
// times and costs, is as reliable as global efficiency.
double ReliableUpTo(const PhaseProjection& projection, Factor factor);
bool IsReliable(const PhaseProjection& projection, Factor factor, double cores);

// Rounded down, but not because of the last bits of an interpolation.
double WholeCores(double cores);

}  // namespace farscale
