// How far projections are reliable, in sentences, tables and charts. Where they are uncertain a report shows the
// interval and no number, where they are unknown neither [docs/formulas.md, reliable range].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "projection/projection.h"
#include "plot/chart.h"
#include "report/cells.h"

namespace farscale {

// The tags of reliable_range.txt.mustache.
struct ReliableRangeText {
  std::string name, cores, ratio;  // of the efficiency that the range is about; to the largest run
  bool is_everywhere = false, is_up_to = false, is_only_measured = false, is_misfit = false;
  std::string share, absolute;   // limits that the interval exceeds at the largest run already; empty: it is unknown
  std::string measured, fitted;  // where no model fits the runs
  std::string global_cores;      // where global efficiency is reliable less far
  std::string uncertain_cores;   // beyond the reliable range and up to here predictions are uncertain; empty: nowhere
  bool is_unknown_beyond = false;
  FARSCALE_TAGS(name, cores, ratio, is_everywhere, is_up_to, is_only_measured, is_misfit, share, absolute, measured,
                fitted, global_cores, uncertain_cores, is_unknown_beyond)
};

// Nothing where nothing is projected.
std::optional<ReliableRangeText> ReliableRangeOf(const PhaseProjection& projection);

// The same in sentences.
std::vector<std::string> DescribeReliableRange(const PhaseProjection& projection, const Partials& texts);

// The end of the reliable range as a line with a label; beyond it the chart is grey, and darker where predictions are
// unknown. With a factor: those of its own.
void MarkReliableRange(const PhaseProjection& projection, Chart& chart);
void MarkReliableRange(const PhaseProjection& projection, Factor factor, Chart& chart);

// Where the reliable range of a factor ends, when that is before that of the phase; nothing else.
std::optional<double> EndsEarly(const PhaseProjection& projection, Factor factor);

// "global efficiency at 121 cores, transfer at 125 cores": the factors of a chart whose reliable range ends before the
// line; empty without any.
std::string ListEarlyEnds(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors);

// Which factor dominates the loss, as far as that is reliable.
struct KnownDominance {
  std::vector<Dominance> ranges;  // a change counts where both factors are reliable
  std::optional<double> end;      // up to so many cores; nothing: as far as the curves go
};
KnownDominance DominanceWithinReliableRange(const PhaseProjection& projection);

// The level as rows are labelled: nothing, "uncertain" or "unknown".
std::string LabelOf(Reliability level);

// Of a value that is unknown: a dash where all of the phase is, which the row says, else "unknown".
std::string UnknownText(const PhaseProjection& projection, double cores);

// A projected value in a table, and what runs at that count measured. Where it is uncertain the text is the interval
// and `interval` is empty; where it is unknown both say so. Not every column has a colour.
struct ProjectedCell {
  FARSCALE_TEXTS(text, interval, measured, color, tone)
};
ProjectedCell CellOf(const PhaseProjection& projection, Factor factor, const ProjectedValue& value, bool is_colored);

// PopTone of an efficiency; speedup has no colour.
std::string ToneOf(Factor factor, double value);

}  // namespace farscale
