// The key results of a projection, as sentences and small tables, for reports and the terminal
// [projection/key_results.h].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "projection/projection.h"

namespace farscale {

// How many cores keep which efficiency, where speedup peaks, what an iteration takes and costs, the largest potential
// gain and the suggested next run, as key_results.txt.mustache of `texts` words them. Empty without results.
std::vector<std::string> SummarizeKeyResults(const PhaseProjection& projection, const Partials& texts);

// Of the targets that are reliable for a factor and beyond the runs, the one nearest to eight times the largest run:
// that which sentences speak of. The projection has key results.
std::optional<double> TargetToSpeakOf(const PhaseProjection& projection, Factor factor);

// The run that narrows the predictions most; null where none is worth it.
const RunChoice* SuggestedRun(const PhaseProjection& projection);

// A cell; where it is uncertain the text is the interval, where it is unknown a dash or "unknown".
struct ResultCell {
  std::string text;
  std::string detail;  // beside it, in small print or parentheses; may be empty
  bool is_reliable = true;
  FARSCALE_TAGS(text, detail, is_reliable)
};

struct ResultRow {
  ResultCell heading;
  std::vector<ResultCell> cells;
  FARSCALE_TAGS(heading, cells)
};

struct ResultTable {
  std::string caption;
  bool is_text = false;            // cells are words rather than numbers
  std::vector<ResultCell> header;  // of the columns
  std::vector<ResultRow> rows;
  FARSCALE_TAGS(caption, is_text, header, rows)
};

// Where speedup peaks, and the suggested next run, in a sentence each; empty where that is not known.
std::string DescribePeak(const PhaseProjection& projection, const Partials& texts);
std::string SuggestNextRun(const PhaseProjection& projection, const Partials& texts);

// Core counts by level of efficiency, and times and costs by target. Without empty ones.
std::vector<ResultTable> TabulateOutlook(const PhaseProjection& projection);
// Potential gains by target.
std::vector<ResultTable> TabulateGains(const PhaseProjection& projection);
// Suggested next runs.
std::vector<ResultTable> TabulateNextRuns(const PhaseProjection& projection);
// All of them.
std::vector<ResultTable> TabulateKeyResults(const PhaseProjection& projection);

// "below 8", "58", "more than 4,096", and both bounds of an interval: "46–66"; "unknown" without any.
std::string FormatBound(const CountBound& bound);
std::string FormatCountBounds(const CountEstimate& answer, const char* between);

// Digits that tell core hours apart from the smallest to the largest.
std::string FormatCoreHours(double hours);

}  // namespace farscale
