#include "plot/heat_map.h"

#include <algorithm>
#include <cmath>

#include "results/reported_losses.h"

namespace farscale {
namespace {

// Steps of strength; the weakest still shows on the ground.
constexpr std::size_t kLevels = 8;
constexpr const char* kHeat = "#d55e00";  // the style sheet shows it lighter on a dark page

constexpr double kMapWidth = 300, kMapHeight = 140, kBarWidth = 70, kMapGap = 8;
constexpr double kLabelWidth = 40, kLabelHeight = 16, kStep = 10, kScaleWidth = 260;
const Fill kGround{kFaint, 0.1};

std::size_t LevelOf(double value, double most) {
  if (value <= 0 || most <= 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLevels * value / most - 1e-9)));
}

// Where a map with cells of this size lies, behind the labels of its edges.
Box MapBox(const LossRaster& raster, double width, double height) {
  return {kLabelWidth, 0, kLabelWidth + width * static_cast<double>(raster.columns),
          height * static_cast<double>(raster.rows)};
}

// Pixels of a cell in a direction with so many of them.
double CellSize(std::size_t cells, double room, double most) {
  return cells == 0 ? most : std::min(most, room / static_cast<double>(cells));
}

double LargestOf(const LossRaster& raster) {
  return raster.cells.empty() ? 0 : *std::max_element(raster.cells.begin(), raster.cells.end());
}

SvgCanvas Open(double width, double height, const std::string& title, const std::string& description,
               bool standalone = false) {
  return SvgCanvas({.width = kLabelWidth + width,
                    .height = height,
                    .title = title,
                    .description = description,
                    .standalone = standalone,
                    .attributes = " class=\"chart heat\"",
                    .font_size = 11});
}

double StrengthOf(std::size_t level) { return static_cast<double>(level) / kLevels; }

template <typename LevelOfValue>
void DrawCells(SvgCanvas& canvas, const LossRaster& raster, const Box& box, LevelOfValue level_of) {
  if (raster.cells.empty()) return;
  const auto paths = PathsOfCells(
      raster.rows, raster.columns, std::size_t{0},
      [&](std::size_t row, std::size_t column) { return level_of(raster.cells[row * raster.columns + column]); });
  canvas.OpenGroup(AttributesOfCells(box, box.width() / static_cast<double>(raster.columns),
                                     box.height() / static_cast<double>(raster.rows)));
  for (const auto& [level, path] : paths) canvas.Path(path, {kHeat, 1, "", StrengthOf(level)});
  canvas.CloseGroup();
}

void DrawLabel(Canvas& canvas, double x, double y, Anchor anchor, const std::string& text) {
  canvas.Text({x, y}, text, {anchor, kFaint});
}

// From the weakest to the strongest colour.
void DrawStrengths(Canvas& canvas, double y, const std::string& strongest, const std::string& weakest = "0",
                   double left = kLabelWidth) {
  DrawLabel(canvas, left - 4, y + 9, Anchor::kEnd, weakest);
  canvas.Rect({left, y, left + kLevels * kStep, y + kStep}, kGround);
  for (std::size_t level = 1; level <= kLevels; ++level) {
    const double right = left + kStep * static_cast<double>(level);
    canvas.Rect({right - kStep, y, right, y + kStep}, {kHeat, StrengthOf(level)});
  }
  DrawLabel(canvas, left + kLevels * kStep + 4, y + 9, Anchor::kStart, strongest);
}

// The first and last of rows and columns at the edges of a map.
void DrawEdges(Canvas& canvas, const HeatLabels& labels, const Box& box) {
  const double y = box.bottom + kLabelHeight - 4;
  DrawLabel(canvas, box.left - 4, 9, Anchor::kEnd, labels.top);
  if (labels.bottom != labels.top && box.height() > 20) {
    DrawLabel(canvas, box.left - 4, box.bottom, Anchor::kEnd, labels.bottom);
  }
  DrawLabel(canvas, box.left, y, Anchor::kStart, labels.left);
  if (labels.right != labels.left && box.width() > 40) DrawLabel(canvas, box.right, y, Anchor::kEnd, labels.right);
}

}  // namespace

std::string RenderHeatMap(const LossRaster& raster, const HeatLabels& labels, const std::string& title,
                          const std::string& description) {
  const Box box = MapBox(raster, CellSize(raster.columns, kMapWidth, 24), CellSize(raster.rows, kMapHeight, 14));
  const double below = box.bottom + kLabelHeight, most = LargestOf(raster);
  SvgCanvas canvas =
      Open(std::max(box.width() + kMapGap + kBarWidth, kScaleWidth), below + kStep + 2, title, description);
  DrawEdges(canvas, labels, box);
  canvas.Rect(box, kGround);
  DrawCells(canvas, raster, box, [&](double value) { return LevelOf(value, most); });
  // The sum of every row as a bar on the right.
  const LossRaster sums = Joined(raster, raster.rows, 1);
  if (const double largest = LargestOf(sums), left = box.right + kMapGap; largest > 0) {
    const double height = box.height() / static_cast<double>(raster.rows);
    std::vector<Spot> outline = {{left, 0}};
    for (std::size_t row = 0; row < sums.cells.size(); ++row) {
      const double right = left + kBarWidth * sums.cells[row] / largest;
      outline.push_back({right, height * static_cast<double>(row)});
      outline.push_back({right, height * static_cast<double>(row + 1)});
    }
    outline.push_back({left, box.bottom});
    canvas.Polygon(outline, {kFaint, 0.7});
  }
  DrawStrengths(canvas, below, labels.strongest);
  return canvas.Close();
}

std::string RenderGridMap(const LossRaster& grid, std::size_t planes, const std::string& strongest,
                          const std::string& title, const std::string& description) {
  const double cell = std::min(CellSize(grid.columns, kMapWidth, 20), CellSize(grid.rows, kMapHeight, 20));
  const Box box = MapBox(grid, cell, cell);
  const double below = box.bottom + kMapGap, most = LargestOf(grid);
  SvgCanvas canvas = Open(std::max(box.width(), kScaleWidth), below + kStep + 2, title, description);
  Fill ground = kGround;
  if (planes > 1) ground.attributes = " stroke=\"#66727f\" stroke-width=\".5\"";
  // A column lies between planes.
  const double gap = planes > 1 ? cell : 0, plane = (box.width() + gap) / static_cast<double>(planes);
  for (std::size_t i = 0; i < planes; ++i) {
    const double left = box.left + static_cast<double>(i) * plane;
    canvas.Rect({left, 0, left + plane - gap, box.bottom}, ground);
  }
  DrawCells(canvas, grid, box, [&](double value) { return LevelOf(value, most); });
  DrawStrengths(canvas, below, strongest);
  return canvas.Close();
}

std::string RenderLoadMap(const LossRaster& loads, const HeatLabels& labels, const std::string& title,
                          const std::string& description, bool standalone) {
  constexpr double kTileWidth = 340, kTileHeight = 190, kScaleLeft = kLabelWidth + 70;
  const Box box = MapBox(loads, CellSize(loads.columns, kTileWidth, 24), CellSize(loads.rows, kTileHeight, 14));
  const double below = box.bottom + kLabelHeight;
  SvgCanvas canvas = Open(std::max(box.width(), kScaleWidth), below + kStep + kMapGap, title, description, standalone);
  DrawEdges(canvas, labels, box);
  canvas.Rect(box, kGround);
  const double range = labels.high - labels.low;
  DrawCells(canvas, loads, box, [&](double value) {
    if (value <= 0 || range <= 0) return std::size_t{value > 0};
    return std::clamp<std::size_t>(LevelOf(value - labels.low, range), 1, kLevels);
  });
  DrawStrengths(canvas, below + 2, labels.strongest, labels.weakest, kScaleLeft);
  return canvas.Close();
}

}  // namespace farscale
