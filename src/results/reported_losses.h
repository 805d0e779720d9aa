// Which losses results keep: of the largest run of every phase, as much as a report shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "imbalance/loss_record.h"

namespace farscale {

struct LossProjection;

// The part of it that is reported.
struct LossDetail {
  std::size_t rows = 10;  // in each table
  std::size_t maps = 5;   // call paths with a heat map
  bool is_brief = false;  // sentences and causes alone
};

// Reports of many phases contain less of each.
LossDetail DetailFor(std::size_t phases);

// The losses of the largest run of every phase, in the order of `records`, with the call paths, ranks and rasters that
// a report shows; values to four digits. `records`: phase by phase, runs rising.
std::vector<LossRecord> LossesForReport(const std::vector<LossRecord>& records);

// The same of projections: the call paths that a report shows.
std::vector<LossProjection> LossProjectionsForReport(std::vector<LossProjection> projections);

// A raster whose neighbours are added up until there are at most so many rows and columns.
LossRaster Joined(const LossRaster& raster, std::size_t rows, std::size_t columns);

// The call paths with the largest values; those without any are left out.
template <typename Value>
std::vector<const PathRecord*> LargestPaths(const LossRecord& losses, std::size_t most, Value value) {
  std::vector<const PathRecord*> paths;
  for (const PathRecord& path : losses.paths) {
    if (value(path) > 0) paths.push_back(&path);
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [&](const PathRecord* a, const PathRecord* b) { return value(*a) > value(*b); });
  if (paths.size() > most) paths.resize(most);
  return paths;
}

}  // namespace farscale
