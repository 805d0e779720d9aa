#include "results/reported_losses.h"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <utility>

#include "projection/loss_projection.h"

namespace farscale {
namespace {

// Cells of a raster in either direction, at most; chosen: results.json stays small.
constexpr std::size_t kCells = 32;

// The number of ranks that a report names of a call path; chosen.
constexpr std::size_t kRanks = 2;

double Rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

// Zero but for the largest, of equals the first.
void KeepLargest(std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(kRanks, order.size()));
  std::partial_sort(order.begin(), middle, order.end(),
                    [&](std::size_t a, std::size_t b) { return std::pair(-values[a], a) < std::pair(-values[b], b); });
  std::for_each(order.begin(), middle, [&](std::size_t i) { values[i] = Rounded(values[i]); });
  std::for_each(middle, order.end(), [&](std::size_t i) { values[i] = 0; });
}

// Reports name a few; chosen: as many as fit on a line.
void ShortenRanks(std::optional<LoadShape>& shape) {
  constexpr std::size_t kMostRanks = 8;
  if (shape && shape->ranks.size() > kMostRanks) shape->ranks.resize(kMostRanks);
}

LossRecord Reduced(const LossRecord& losses, const LossDetail& detail) {
  LossRecord reduced = losses;
  reduced.findings.clear();
  std::set<std::string> reported;  // paths with most of anything that has a table
  const auto add = [&](auto value) {
    for (const PathRecord* path : LargestPaths(losses, detail.rows, value)) reported.insert(path->path);
  };
  add([](const PathRecord& path) { return path.total.Costs(); });
  add([](const PathRecord& path) { return path.total.Waiting(); });
  add([](const PathRecord& path) { return path.total.wrong_order; });
  add([](const PathRecord& path) { return path.total.critical; });
  std::erase_if(reduced.paths, [&](const PathRecord& path) { return !reported.contains(path.path); });
  std::size_t number = 0;
  for (PathRecord& path : reduced.paths) {
    const bool has_map = ++number <= detail.maps && !path.raster.cells.empty();
    path.raster = has_map ? Joined(path.raster, kCells, kCells) : LossRaster();
    for (double& cell : path.raster.cells) cell = Rounded(cell);
    path.execution.clear();
    path.critical.clear();
    KeepLargest(path.waiting);
    if (has_map && losses.grid) {
      for (double& cost : path.costs) cost = Rounded(cost);
    } else {
      KeepLargest(path.costs);
    }
    ShortenRanks(path.shape);
  }
  for (std::size_t i = 0; i < reduced.causes.size(); ++i) {
    Cause& cause = reduced.causes[i];
    if (i >= detail.maps) cause.beyond = {};
    for (double& cell : cause.beyond.cells) cell = Rounded(cell);
  }
  ShortenRanks(reduced.shape);
  if (!losses.by_factor) return reduced;
  FactorLosses& paths = *reduced.by_factor;
  std::stable_sort(paths.begin(), paths.end(), [](const PathFactorLoss& a, const PathFactorLoss& b) {
    return a.load_balance + a.serialization > b.load_balance + b.serialization;
  });
  if (paths.size() > detail.rows) paths.resize(detail.rows);
  return reduced;
}

}  // namespace

LossDetail DetailFor(std::size_t phases) {
  if (phases <= 3) return {10, 3, false};
  if (phases <= 8) return {10, 1, false};
  return {3, 0, true};
}

std::vector<LossRecord> LossesForReport(const std::vector<LossRecord>& records) {
  std::vector<LossRecord> largest;
  for (const LossRecord& record : records) {
    if (largest.empty() || largest.back().phase != record.phase) {
      largest.push_back(record);
    } else if (record.cores > largest.back().cores) {
      largest.back() = record;
    }
  }
  const LossDetail detail = DetailFor(largest.size());
  for (LossRecord& record : largest) record = Reduced(record, detail);
  return largest;
}

std::vector<LossProjection> LossProjectionsForReport(std::vector<LossProjection> projections) {
  std::set<std::string> phases;
  for (const LossProjection& projection : projections) phases.insert(projection.phase);
  const std::size_t rows = DetailFor(phases.size()).rows;
  for (LossProjection& projection : projections) {
    if (projection.paths.size() > rows) projection.paths.resize(rows);
  }
  return projections;
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
