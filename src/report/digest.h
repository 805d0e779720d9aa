// What a study found, in a few lines for the terminal: a row a phase, then what is odd about phases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// As digest.txt.mustache of `texts` words it. Efficiency and largest loss of the largest run, a reliable prediction,
// the core count up to which efficiency is high, and the suggested next run; where rows do not fit in the columns of
// `style`, they are lines. Notes that phases share name all of them in one line.
std::string FormatDigest(const Results& results, const Partials& texts, const TerminalStyle& style);

// One of several studies.
struct ListedStudy {
  std::string name;
  std::string report;              // path of its page; empty: there is none
  std::optional<Results> results;  // nothing: it failed
  bool is_failed = false, is_up_to_date = false;
};

// A row a study: its longest phase, as in a digest, and what became of it; then where the reports are. As
// batch.txt.mustache of `texts` words it.
std::string FormatBatch(const std::vector<ListedStudy>& rows, const Partials& texts, const TerminalStyle& style);

}  // namespace farscale
