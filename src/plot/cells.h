// Cells of a raster as SVG paths: one path for each kind of cell, and a stroke for neighbours in a row.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>

#include "plot/canvas.h"

namespace farscale {

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
