// How the losses of call paths grow with the number of cores: templates/loss_growth.txt.mustache.
#pragma once

#include <string>
#include <vector>

#include "projection/loss_projection.h"
#include "projection/projection.h"
#include "report/cells.h"

namespace farscale {

// The tags of `growth` in docs/templates.md.
struct LossGrowth {
  std::string phase;
  std::string title;                   // "What causes waiting, as a share of all ranks' time"
  std::vector<std::string> sentences;  // what comes of it; why nothing does
  std::vector<std::string> header;     // runs, then targets that are reliable
  std::vector<ReportData> rows;        // a call path each: its `cells`
  FARSCALE_TAGS(phase, title, sentences, header, rows)
};

// `projections`: of the factors, which say what dominates; phases without one are described by their losses alone.
// At most `most` of the reliable targets are shown.
std::vector<LossGrowth> DescribeGrowth(const std::vector<LossProjection>& losses,
                                       const std::vector<PhaseProjection>& projections, const Partials& texts,
                                       std::size_t most = 4);

// For a terminal.
std::string FormatGrowth(const std::vector<LossGrowth>& growth, const Partials& texts, std::size_t width = kAnyWidth);

}  // namespace farscale
