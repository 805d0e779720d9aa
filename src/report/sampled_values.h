// Factors at many core counts, as text, for readers of the HTML report to choose from. The script of the page
// calculates nothing and formats nothing [templates/report.js].
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// Counts that readers choose from are whole ones, each once: those measured, the targets, the last that is reliable,
// and others until there are so many, but at least a few. Between the points of a curve they are interpolated
// [projection/projection.h].
inline constexpr std::size_t kMostCounts = 28, kFewestOthers = 10;

// One phase on the machine of the runs, or the same phase on another machine.
struct SampledMachine {
  std::string name;
  const PhaseProjection* projection = nullptr;  // null: there is none
};

struct SampledValues {
  // The tags `sampled` of a projection in docs/templates.md, at the last count that is reliable; the script fills in
  // the values of others. Nothing without curves.
  std::optional<ReportData> table;
  // For the script: `anchor`, `numbers`, `counts` and `ratios` (as they are, as printed, and to the largest run),
  // `place` of the first one shown, `lastReliable` and `lastUncertain` (places), what to say where it is `reliable`,
  // `uncertain` or `unknown`, and by side and factor `model` (its name), `values` (text, lower and upper bound of every
  // count, "-" for the text of what is uncertain, and for all three of what is unknown), `measured` (place and text of
  // every measured count) and `tones` (a letter for every count). Places and texts are codes, numbers in base 36 of
  // `width` digits: n below 1000 is the text 0.n of three decimals, n from 1000 on stands for the text with number n -
  // 1000 in `texts`. Reports may have 20 phases on three machines, and these are most of their numbers.
  ReportData choices;
};

// `machines` begin with that of the runs, on which there is a projection.
SampledValues SampleValues(const std::vector<SampledMachine>& machines, const std::string& anchor);

// The table behind a chart, the tags `chartRows`: a row for every measured or grown count and every target, a cell for
// every factor. What is uncertain has the interval as its text, what is unknown says so.
ReportData RowsBehindChart(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// Names of factors by their ids, for the script.
ReportData NamesById(const std::set<Factor>& factors);

// JSON that may stand in a <script> element: nothing in it ends one.
std::string ToScriptJson(const ReportData& data);

}  // namespace farscale
