#include "plot/heat_map.h"
#include "results/reported_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plot/svg.h"

namespace farscale {
namespace {

// Steps of strength; the weakest still shows on the ground.
constexpr std::size_t kLevels = 8;
constexpr const char* kHeat = "#d55e00";  // the style sheet shows it lighter on a dark page

constexpr double kMapWidth = 300, kMapHeight = 140, kBarWidth = 70, kMapGap = 8;
constexpr double kLabelWidth = 40, kLabelHeight = 16, kStep = 10, kScaleWidth = 260;

std::size_t LevelOf(double value, double most) {
  if (value <= 0 || most <= 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLevels * value / most - 1e-9)));
}

// On a scale that need not begin at nothing.
std::size_t LevelOf(double value, const HeatScale& scale) {
  if (value <= 0 || scale.high <= scale.low) return value > 0 ? 1 : 0;
  return std::clamp<std::size_t>(LevelOf(value - scale.low, scale.high - scale.low), 1, kLevels);
}

// Cells of one strength are one path, neighbours in a row one stroke of it.
template <typename LevelOfValue>
std::string Cells(const LossRaster& raster, LevelOfValue level_of) {
  std::array<std::string, kLevels + 1> strokes;
  for (std::size_t row = 0; row < raster.rows && !raster.cells.empty(); ++row) {
    const double* cells = &raster.cells[row * raster.columns];
    for (std::size_t column = 0; column < raster.columns;) {
      const std::size_t level = level_of(cells[column]), first = column;
      while (column < raster.columns && level_of(cells[column]) == level) ++column;
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

std::string Open(double width, double height, const std::string& title, const std::string& description,
                 bool standalone = false) {
  return fmt::format(
             "<svg {} role=\"img\" font-size=\"11\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">",
             standalone ? fmt::format("xmlns=\"http://www.w3.org/2000/svg\" {}", kSvgFont) : "class=\"chart heat\"",
             Pixel(width), Pixel(height), Pixel(width), Pixel(height)) +
         fmt::format("<title>{}</title><desc>{}</desc>{}", EscapeXml(title), EscapeXml(description),
                     standalone ? "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>" : "");
}

std::string Ground(double left, double width, double height, const char* outline, double top = 0) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#66727f\" fill-opacity=\".1\"{}/>",
                     Pixel(left), Pixel(top), Pixel(width), Pixel(height), outline);
}

std::string Scaled(const std::string& cells, double cell_width, double cell_height) {
  return fmt::format("<g fill=\"none\" shape-rendering=\"crispEdges\" transform=\"scale({:.4g} {:.4g})\">{}</g>",
                     cell_width, cell_height, cells);
}

std::string Map(const LossRaster& raster, double cell_width, double cell_height) {
  const double most = raster.cells.empty() ? 0 : *std::max_element(raster.cells.begin(), raster.cells.end());
  return Scaled(Cells(raster, [&](double value) { return LevelOf(value, most); }), cell_width, cell_height);
}

std::string RowSums(const LossRaster& raster, double left, double cell_height) {
  const LossRaster sums = Joined(raster, raster.rows, 1);
  const double most = sums.cells.empty() ? 0 : *std::max_element(sums.cells.begin(), sums.cells.end());
  if (most <= 0) return "";
  std::string outline = fmt::format("M{} 0", Pixel(left));
  for (const double sum : sums.cells) {
    outline += fmt::format("H{}v{:.4g}", Pixel(left + kBarWidth * sum / most), cell_height);
  }
  return fmt::format("<path fill=\"#66727f\" fill-opacity=\".7\" d=\"{}H{}z\"/>", outline, Pixel(left));
}

std::string Label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" fill=\"#66727f\">{}</text>", Pixel(x), Pixel(y),
                     anchor, EscapeXml(text));
}

// From the weakest to the strongest colour.
std::string Scale(double y, const std::string& strongest, const std::string& weakest = "0", double left = kLabelWidth) {
  std::string scale = Label(left - 4, y + 9, "end", weakest) + Ground(left, kLevels * kStep, kStep, "", y);
  for (std::size_t level = 1; level <= kLevels; ++level) {
    scale += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.3g}\"/>",
                         Pixel(left + kStep * static_cast<double>(level - 1)), Pixel(y), Pixel(kStep), Pixel(kStep),
                         kHeat, static_cast<double>(level) / kLevels);
  }
  return scale + Label(left + kLevels * kStep + 4, y + 9, "start", strongest);
}

// The first and last of rows and columns at the edges of a map.
std::string Edges(const HeatLabels& labels, double width, double height) {
  const double below = height + kLabelHeight;
  std::string text = Label(kLabelWidth - 4, 9, "end", labels.top);
  if (labels.bottom != labels.top && height > 20) text += Label(kLabelWidth - 4, height, "end", labels.bottom);
  text += Label(kLabelWidth, below - 4, "start", labels.left);
  if (labels.right != labels.left && width > 40) text += Label(kLabelWidth + width, below - 4, "end", labels.right);
  return text;
}

}  // namespace

std::string RenderHeatMap(const LossRaster& raster, const HeatLabels& labels, const std::string& title,
                          const std::string& description) {
  const double cell_width = CellSize(raster.columns, kMapWidth, 24),
               cell_height = CellSize(raster.rows, kMapHeight, 14);
  const double width = cell_width * static_cast<double>(raster.columns),
               height = cell_height * static_cast<double>(raster.rows), below = height + kLabelHeight;
  std::string text =
      Open(kLabelWidth + std::max(width + kMapGap + kBarWidth, kScaleWidth), below + kStep + 2, title, description);
  text += Edges(labels, width, height);
  text += fmt::format("<g transform=\"translate({} 0)\">", Pixel(kLabelWidth)) + Ground(0, width, height, "") +
          Map(raster, cell_width, cell_height) + RowSums(raster, width + kMapGap, cell_height) + "</g>";
  return text + Scale(below, labels.strongest) + "</svg>";
}

std::string RenderGridMap(const LossRaster& grid, std::size_t planes, const std::string& strongest,
                          const std::string& title, const std::string& description) {
  const double cell = std::min(CellSize(grid.columns, kMapWidth, 20), CellSize(grid.rows, kMapHeight, 20));
  const double height = cell * static_cast<double>(grid.rows), width = cell * static_cast<double>(grid.columns);
  const char* outline = planes > 1 ? " stroke=\"#66727f\" stroke-width=\".5\"" : "";
  std::string ground;
  // A column lies between planes.
  const double plane = (width + cell) / static_cast<double>(planes);
  for (std::size_t i = 0; i < planes; ++i)
    ground += Ground(static_cast<double>(i) * plane, planes > 1 ? plane - cell : width, height, outline);
  return Open(kLabelWidth + std::max(width, kScaleWidth), height + kMapGap + kStep + 2, title, description) +
         fmt::format("<g transform=\"translate({} 0)\">", Pixel(kLabelWidth)) + ground + Map(grid, cell, cell) +
         "</g>" + Scale(height + kMapGap, strongest) + "</svg>";
}

std::string RenderLoadMap(const LossRaster& loads, const HeatScale& scale, const HeatLabels& labels,
                          const std::string& title, const std::string& description, bool standalone) {
  constexpr double kTileWidth = 340, kTileHeight = 190, kScaleLeft = kLabelWidth + 70, kScaleRoom = 260;
  const double cell_width = CellSize(loads.columns, kTileWidth, 24), cell_height = CellSize(loads.rows, kTileHeight, 14);
  const double width = cell_width * static_cast<double>(loads.columns),
               height = cell_height * static_cast<double>(loads.rows), below = height + kLabelHeight;
  const std::string cells = Cells(loads, [&](double value) { return LevelOf(value, scale); });
  return Open(kLabelWidth + std::max(width, kScaleRoom), below + kStep + kMapGap, title, description, standalone) +
         Edges(labels, width, height) + fmt::format("<g transform=\"translate({} 0)\">", Pixel(kLabelWidth)) +
         Ground(0, width, height, "") + Scaled(cells, cell_width, cell_height) + "</g>" +
         Scale(below + 2, scale.high_text, scale.low_text, kScaleLeft) + "</svg>";
}

}  // namespace farscale
