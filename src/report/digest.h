// What a study found, in a few lines for the terminal: a row a phase, then what is odd about phases.
#pragma once

#include <string>

#include "base/terminal.h"
#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// As digest.txt.mustache of `texts` words it. Efficiency and largest loss of the largest run, a reliable prediction,
// the core count up to which efficiency is high, and the suggested next run; where rows do not fit in the columns of
// `style`, they are lines. Notes that phases share name all of them in one line.
std::string FormatDigest(const Results& results, const Partials& texts, const TerminalStyle& style);

}  // namespace farscale
