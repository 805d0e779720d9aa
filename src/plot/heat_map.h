// Small pictures of where a call path makes others wait: ranks and iterations, or a grid of processes. Colour is one
// hue whose strength grows with the value, so that pictures read without colour too; numbers stand in a table behind
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "imbalance/delay_costs.h"

namespace farscale {

// Labels at the edges of a map.
struct HeatLabels {
  std::string top, bottom;  // rows: the first and the last rank; the same: one
  std::string left, right;  // columns: the first and the last iteration
  std::string strongest;    // what the strongest colour stands for
};

// Ranks from top to bottom, iterations from left to right; beside it the sum of every row as a bar, below it the scale
// of colours. Of a raster without cells nothing is drawn but the ground.
std::string RenderHeatMap(const LossRaster& raster, const HeatLabels& labels, const std::string& title,
                          const std::string& description);

// The same without bars, in square cells: places of a grid, in planes side by side with an empty column between them.
std::string RenderGridMap(const LossRaster& grid, std::size_t planes, const std::string& strongest,
                          const std::string& title, const std::string& description);

// The values of the weakest and the strongest colour of several maps, so that they compare.
struct HeatScale {
  double low = 0, high = 1;
  std::string low_text, high_text;
};

// Loads of processors, from top to bottom, in iterations, from left to right, in the colours of a scale that other maps
// share: values outside have the colour of its ends, none at all is not drawn. `standalone`: a file of its own.
std::string RenderLoadMap(const LossRaster& loads, const HeatScale& scale, const HeatLabels& labels,
                          const std::string& title, const std::string& description, bool standalone);

}  // namespace farscale
