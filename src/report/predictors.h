// What the two predictors of a phase say, where runs were grown: fitted curves and grown runs [docs/growth.md].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pages/render.h"
#include "plot/chart.h"
#include "projection/projection.h"

namespace farscale {

// The values of grown runs; those of a product where all its parts have one. Empty where no runs were grown.
std::vector<DataPoint> GrownValues(const PhaseProjection& phase, const FactorProjection& projection);

// "0.912" of the grown run at so many cores; empty where there is none.
std::string GrownAt(const PhaseProjection& phase, const FactorProjection& projection, double cores);

// Draws the grown runs of factors, and their curves alone from the largest run on, into a chart whose first series are
// those factors. Without grown runs the chart stays as it is. Returns whether anything was drawn.
bool DrawPredictors(const PhaseProjection& phase, const std::vector<const FactorProjection*>& factors, Chart& chart);

// The tags of predictors.txt.mustache: the efficiency to talk about at the last target that was replayed.
struct PredictorText {
  FARSCALE_TEXTS(cores, name, grown, curves, weight, disagreement)  // the last: where they disagree
};
std::optional<PredictorText> PredictorsOf(const PhaseProjection& phase);

struct PredictorRow {
  std::string cores, ratio;
  std::string reliability;           // "uncertain", "unknown" or empty
  std::string text, interval, tone;  // where it is uncertain the text is the interval
  std::string grown, curves, weight;
  FARSCALE_TAGS(cores, ratio, reliability, text, interval, tone, grown, curves, weight)
};

// The same at all targets beyond the runs.
struct PredictorTable {
  std::string name, last_grown;  // of the efficiency; cores of the largest grown run
  std::vector<PredictorRow> rows;
  FARSCALE_TAGS(name, last_grown, rows)
};
std::optional<PredictorTable> TabulatePredictors(const PhaseProjection& phase);

}  // namespace farscale
