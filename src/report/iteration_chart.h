// Durations of the iterations of a phase as SVG: a panel for every run, bars upwards for the time and, where it is
// known, bars downwards for what was disturbed.
#pragma once

#include <string>
#include <vector>

#include "results/results.h"

namespace farscale {

struct IterationPanel {
  std::string name;  // "8 cores"
  std::vector<IterationRecord> iterations;
};

struct IterationChart {
  std::string title;
  std::string description;
  std::vector<IterationPanel> panels;  // at least one, none without iterations
  bool with_tooltips = false;          // on every bar, in a file of its own; pages have a script that reads them out
};

// A complete <svg> element; `standalone` as for charts [plot/svg.h].
std::string RenderIterations(const IterationChart& chart, bool standalone);

}  // namespace farscale
