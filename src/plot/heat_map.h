// Small pictures of where a call path makes others wait: ranks and iterations, or a grid of processes. Colour is one
// hue whose strength grows with the value, so that pictures read without colour too; numbers stand in a table behind
// them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "imbalance/waits/losses.h"
#include "plot/canvas.h"

namespace farscale {

// Labels at the edges of a map and of its colours.
struct HeatLabels {
  std::string top, bottom;    // rows: the first and the last rank; the same: one
  std::string left, right;    // columns: the first and the last iteration
  std::string strongest;      // value of the strongest colour
  std::string weakest = "0";  // the same of the weakest one
  double low = 0, high = 0;   // both values, where several maps share them, so that they compare
};

// Ranks from top to bottom, iterations from left to right; beside it the sum of every row as a bar, below it the scale
// of colours. A raster without cells is drawn as the ground alone.
std::string RenderHeatMap(const LossRaster& raster, const HeatLabels& labels, const std::string& title,
                          const std::string& description);

// The same without bars, in square cells: places of a grid, in planes side by side with an empty column between them.
std::string RenderGridMap(const LossRaster& grid, std::size_t planes, const std::string& strongest,
                          const std::string& title, const std::string& description);

// Loads of processors, from top to bottom, in iterations, from left to right, in the colours of a scale that other maps
// share: values outside have the colour of its ends, none at all is not drawn. `standalone`: a file of its own.
std::string RenderLoadMap(const LossRaster& loads, const HeatLabels& labels, const std::string& title,
                          const std::string& description, bool standalone);

// Cells of a raster as SVG paths: one path for each kind of cell, and a stroke for neighbours in a row.

// The attributes of a group in which one unit is a cell.
inline std::string AttributesOfCells(const Box& box, double cell_width, double cell_height) {
  return fmt::format(
      " fill=\"none\" shape-rendering=\"crispEdges\" transform=\"matrix({:.6g} 0 0 {:.6g} {:.6g} {:.6g})\"", cell_width,
      cell_height, box.left, box.top + cell_height / 2);
}

// Paths of strokes of width 1 by the kind of their cells, in columns and rows; those of the kind `ground` are left out.
template <typename Kind, typename KindOfCell>
std::map<Kind, std::string> PathsOfCells(std::size_t rows, std::size_t columns, const Kind& ground,
                                         KindOfCell kind_of) {
  std::map<Kind, std::string> paths;
  for (std::size_t row = 0; row < rows; ++row) {
    std::map<Kind, std::size_t> at;  // where the strokes of a kind in this row have come to
    for (std::size_t first = 0, end = 0; first < columns; first = end) {
      const Kind kind = kind_of(row, first);
      while (end < columns && kind_of(row, end) == kind) ++end;
      if (kind == ground) continue;
      const auto before = at.find(kind);
      paths[kind] += before == at.end() ? fmt::format("M{} {}h{}", first, row, end - first)
                                        : fmt::format("m{} 0h{}", first - before->second, end - first);
      at[kind] = end;
    }
  }
  return paths;
}

}  // namespace farscale
