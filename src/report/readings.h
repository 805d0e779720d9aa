// What a reader of the HTML report can read off the charts: every factor at many core counts, as text, for the script
// of the page to choose from. The script calculates nothing and formats nothing [templates/report.js].
#pragma once

#include <string>
#include <vector>

#include "report/report_model.h"
#include "results/results.h"

namespace farscale {

// Counts that readers choose from are whole ones, each once: those measured, the targets, the last that is evidence,
// and others until there are so many, but at least a few. Between the points of a curve they are read off it
// [projection/curve.h].
inline constexpr std::size_t kMostCounts = 40, kFewestOthers = 10;

// One phase on the machine of the runs, and the same phase on other machines.
struct ReadSide {
  std::string name;
  const PhaseProjection* projection = nullptr;  // null: there is none
};

struct Readings {
  // The table at the first count shown, which is the last that is evidence: `readingNote`,
  // `readingCores`, `readingRatio`, `readingCount`, `readingPlace`, `readingLast`, `readingSides`, `readings`.
  ReportData table;
  // For the script: `anchor`, `numbers`, `counts` and `ratios` (as they are, as printed, and to the largest run),
  // `place` of the first one shown, `lastEvidence` (place), what to say `within` and `beyond` the evidence horizon, and
  // by side and factor `values` (text, lower and upper bound of every count, "-" for what is not evidence), `measured`
  // (place and text of every measured count) and `tones` (a letter for every count). Places and texts are codes,
  // numbers in base 36 of `width` digits: n below 1000 is the text 0.n of three decimals, n from 1000 on stands for the
  // text with number n - 1000 in `texts`. Reports may have 20 phases on three machines, and these are most of their
  // numbers.
  ReportData choices;
};

// `sides` begin with the machine of the runs, on which there is a projection.
Readings ReadingsOfPhase(const std::vector<ReadSide>& sides, const std::string& anchor);

// The table behind a chart: a row for every measured count and every target, a cell for every factor with `text` (the
// value, beyond the evidence horizon the interval), `interval`, `measured` and `hasMeasured`.
ReportData RowsBehindChart(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// JSON that may stand in a <script> element: nothing in it ends one.
std::string ToScriptJson(const ReportData& data);

}  // namespace farscale
