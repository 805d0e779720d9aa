// What a projection is evidence for, in sentences, tables and charts. Beyond the evidence horizon a report shows the
// interval and no number [docs/formulas.md, evidence horizon].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "projection/projection.h"
#include "plot/chart.h"
#include "report/report_model.h"

namespace farscale {

// How far the projection of a phase is evidence, why not further and what helps; empty where nothing is projected.
std::string DescribeHorizon(const PhaseProjection& projection);

// The horizon as a line with a label; beyond it the chart is grey. With a factor: where the evidence of that ends.
void MarkHorizon(const PhaseProjection& projection, Chart& chart);
void MarkHorizon(const PhaseProjection& projection, Factor factor, Chart& chart);

// Where the evidence of a factor ends, when that is before the horizon of the phase; nothing else.
std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor);

// A sentence on the factors of a chart whose evidence ends before the line that marks the horizon; empty without any.
std::string DescribeEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// Which factor dominates the loss, as far as that is evidence.
struct KnownDominance {
  std::vector<Dominance> ranges;  // a change counts where both factors are evidence
  std::optional<double> end;      // up to so many cores; nothing: as far as the curves go
};
KnownDominance DominanceWithinEvidence(const PhaseProjection& projection);

// A projected value for a table: `text` with its `interval`, `hasInterval`, `color`, `tone`, and what runs at that
// count `measured`, `hasMeasured`; beyond the horizon the interval is the text. Not every column has a colour.
ReportData ProjectedCell(const PhaseProjection& projection, Factor factor, const ProjectedValue& value,
                         bool is_colored);

inline constexpr const char* kNoColor = "#ffffff";
inline constexpr const char* kNoEvidenceColor = "#e8ebee";
// The same among the tones of PopTone.
inline constexpr const char* kNoTone = "n";
inline constexpr const char* kNoEvidenceTone = "x";

inline constexpr const char* kNotEvidence = "not evidence";

// PopTone of an efficiency; speedup has no colour.
std::string ToneOf(Factor factor, double value);

}  // namespace farscale
