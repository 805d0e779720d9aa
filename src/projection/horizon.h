// How far a projection is evidence: beyond some core count its interval is too wide to decide anything by
// [docs/formulas.md, evidence horizon].
#pragma once

#include <optional>

#include "factors/factor.h"

namespace farscale {

struct PhaseProjection;

// The widest 80 % interval that is evidence, unless the study says otherwise.
inline constexpr double kHorizonWidth = 0.2;

struct EvidenceHorizon {
  enum class Reach {
    kUpTo,         // beyond `cores` the interval is wider
    kAtLeast,      // it stays as narrow up to `cores`, where the curve ends
    kOnlyMeasured  // it is wider, or unknown, at the largest fitted count already, which is `cores`
  };

  Factor factor = Factor::kParallelEfficiency;  // whose 80 % interval tells
  double width = kHorizonWidth;
  double cores = 0;  // a whole number
  Reach reach = Reach::kOnlyMeasured;

  friend bool operator==(const EvidenceHorizon&, const EvidenceHorizon&) = default;
};

// Walks up the curve of parallel efficiency from the largest fitted count to where its 80 % interval gets wider than
// `width`, interpolated over the logarithm of the cores and rounded down. Where parallel efficiency is not projected,
// the curve of global efficiency; where that is not either, whichever factor's interval gets too wide first. Nothing
// where nothing is projected.
std::optional<EvidenceHorizon> FindHorizon(const PhaseProjection& projection, double width);

// Whether a projected value at so many cores is evidence. Where no horizon is known, as in files of earlier versions,
// nothing speaks against it.
bool IsEvidence(const PhaseProjection& projection, double cores);

// Rounded down, but not because of the last bits of an interpolation.
double WholeCores(double cores);

}  // namespace farscale
