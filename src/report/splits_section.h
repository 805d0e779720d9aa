// Processes and threads: the best split of each target of a phase whose runs vary both, for reports and the terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "pages/render.h"
#include "report/figures.h"
#include "results/results.h"

namespace farscale {

// The best split of one number of cores. Where it is uncertain, time and efficiency are intervals alone; where it is
// unknown, all but the cores are dashes.
struct BestSplit {
  std::string cores, split, time, efficiency, limit;
  std::string others;       // that cannot be told apart from it; empty: none
  std::string reliability;  // "uncertain", "unknown" or empty
  std::string obstacle;     // why there is none; empty when there is
  FARSCALE_TAGS(cores, split, time, efficiency, limit, others, reliability, obstacle)
};

struct SplitDetail {
  std::string cores;  // in the first of its rows
  std::string split, time, over_best, efficiency, limit, reliability;
  bool is_best = false;
  FARSCALE_TAGS(cores, split, time, over_best, efficiency, limit, reliability, is_best)
};

struct SplitsSection {
  std::string name;  // of the phase, on the terminal; empty where it has none
  std::vector<std::string> sentences;
  std::vector<BestSplit> best;
  bool is_known = false, has_times = false;
  std::optional<ReportData> figure;  // time over the split; nothing on the terminal, and where all is unknown
  std::vector<SplitDetail> details;
  FARSCALE_TAGS(name, sentences, best, is_known, has_times, figure, details)
};

// Nothing for a phase without splits. The sentences are those of splits.txt.mustache.
std::optional<SplitsSection> SplitsOfPhase(const Results& results, const PhaseKey& key, const PhaseNames& names,
                                           const Partials& texts, ReportModel& model);

// Of all phases, as best_splits.txt.mustache words it; empty where no runs vary both numbers.
std::string FormatBestSplits(const Results& results, const Partials& texts, const TerminalStyle& style);

}  // namespace farscale
