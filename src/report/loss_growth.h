// How the losses of call paths grow with the number of cores, in sentences and tables for a terminal and for Markdown.
#pragma once

#include <string>
#include <vector>

#include "projection/loss_projection.h"
#include "projection/projection.h"

namespace farscale {

// A table: a header, then a row a call path.
struct LossGrowth {
  std::string phase;
  LossMeasure measure = LossMeasure::kDelayCosts;
  std::string title;                            // "What causes waiting, as a share of all ranks' time"
  std::vector<std::string> sentences;           // what comes of it; why there is nothing to say
  std::vector<std::vector<std::string>> table;  // losses in the runs, then at targets that are reliable
};

// `projections`: of the factors, which say what dominates; phases without one are told by their losses alone.
// `targets` that are shown are those with evidence, at most `most` of them.
std::vector<LossGrowth> DescribeGrowth(const std::vector<LossProjection>& losses,
                                       const std::vector<PhaseProjection>& projections, std::size_t most = 4);

std::string FormatGrowth(const std::vector<LossGrowth>& growth);

}  // namespace farscale
