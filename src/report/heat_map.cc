#include "report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/svg.h"

namespace farscale {
namespace {

// Steps of strength; the weakest still shows on the ground.
constexpr std::size_t kLevels = 8;
constexpr const char* kHeat = "#d55e00";  // the style sheet shows it lighter on a dark page

constexpr double kMapWidth = 300, kMapHeight = 140, kBarWidth = 70, kGap = 8;

std::size_t LevelOf(double value, double most) {
  if (value <= 0 || most <= 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLevels * value / most - 1e-9)));
}

// Cells of one strength are one path, neighbours in a row one stroke of it.
std::string Cells(const LossRaster& raster) {
  const double most = raster.cells.empty() ? 0 : *std::max_element(raster.cells.begin(), raster.cells.end());
  std::array<std::string, kLevels + 1> strokes;
  for (std::size_t row = 0; row < raster.rows && most > 0; ++row) {
    const double* cells = &raster.cells[row * raster.columns];
    for (std::size_t column = 0; column < raster.columns;) {
      const std::size_t level = LevelOf(cells[column], most), first = column;
      while (column < raster.columns && LevelOf(cells[column], most) == level) ++column;
      if (level > 0) strokes[level] += fmt::format("M{} {}.5h{}", first, row, column - first);
    }
  }
  std::string text;
  for (std::size_t level = 1; level <= kLevels; ++level) {
    if (strokes[level].empty()) continue;
    text += fmt::format("<path stroke=\"{}\" stroke-opacity=\"{:.3g}\" d=\"{}\"/>", kHeat,
                        static_cast<double>(level) / kLevels, strokes[level]);
  }
  return text;
}

// Pixels of a cell in a direction with so many of them.
double CellSize(std::size_t cells, double room, double most) {
  return cells == 0 ? most : std::min(most, room / static_cast<double>(cells));
}

std::string Open(double width, double height, const std::string& title, const std::string& description) {
  return fmt::format(
      "<svg class=\"chart heat\" role=\"img\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">"
      "<title>{2}</title><desc>{3}</desc>",
      Pixel(width), Pixel(height), EscapeXml(title), EscapeXml(description));
}

std::string Map(const LossRaster& raster, double cell_width, double cell_height) {
  return fmt::format(
      "<rect width=\"{}\" height=\"{}\" fill=\"#66727f\" fill-opacity=\".1\"/>"
      "<g fill=\"none\" shape-rendering=\"crispEdges\" transform=\"scale({:.4g} {:.4g})\">{}</g>",
      Pixel(cell_width * static_cast<double>(raster.columns)), Pixel(cell_height * static_cast<double>(raster.rows)),
      cell_width, cell_height, Cells(raster));
}

std::string Bars(const LossRaster& raster, double left, double cell_height) {
  const LossRaster sums = Joined(raster, raster.rows, 1);
  const double most = sums.cells.empty() ? 0 : *std::max_element(sums.cells.begin(), sums.cells.end());
  if (most <= 0) return "";
  std::string outline = fmt::format("M{} 0", Pixel(left));
  for (const double sum : sums.cells) {
    outline += fmt::format("H{}v{:.4g}", Pixel(left + kBarWidth * sum / most), cell_height);
  }
  return fmt::format("<path fill=\"#66727f\" fill-opacity=\".7\" d=\"{}H{}z\"/>", outline, Pixel(left));
}

}  // namespace

std::string RenderHeatMap(const LossRaster& raster, const std::string& title, const std::string& description) {
  const double cell_width = CellSize(raster.columns, kMapWidth, 24),
               cell_height = CellSize(raster.rows, kMapHeight, 14);
  const double width = cell_width * static_cast<double>(raster.columns),
               height = cell_height * static_cast<double>(raster.rows);
  return Open(width + kGap + kBarWidth, height, title, description) + Map(raster, cell_width, cell_height) +
         Bars(raster, width + kGap, cell_height) + "</svg>";
}

std::string RenderGridMap(const LossRaster& grid, const std::string& title, const std::string& description) {
  const double cell = std::min(CellSize(grid.columns, kMapWidth, 20), CellSize(grid.rows, kMapHeight, 20));
  return Open(cell * static_cast<double>(grid.columns), cell * static_cast<double>(grid.rows), title, description) +
         Map(grid, cell, cell) + "</svg>";
}

LossRaster Joined(const LossRaster& raster, std::size_t rows, std::size_t columns) {
  LossRaster joined{std::min(rows, raster.rows), std::min(columns, raster.columns), {}};
  for (std::size_t cell = 0; cell < raster.cells.size(); ++cell) {
    joined.Add(cell / raster.columns * joined.rows / raster.rows,
               cell % raster.columns * joined.columns / raster.columns, raster.cells[cell]);
  }
  return joined;
}

}  // namespace farscale
