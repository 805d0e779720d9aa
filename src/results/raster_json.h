// The JSON form of a raster of losses: a list of rows.
#pragma once

#include <cstddef>
#include <vector>

#include "base/json_form.h"
#include "imbalance/delay_costs.h"

namespace farscale {

using RasterRows = std::vector<std::vector<double>>;

inline RasterRows RowsOf(const LossRaster& raster) {
  RasterRows rows;
  for (std::size_t row = 0; row < raster.rows; ++row) {
    const auto first = raster.cells.begin() + static_cast<std::ptrdiff_t>(row * raster.columns);
    rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(raster.columns));
  }
  return rows;
}

inline LossRaster RasterOf(const RasterRows& rows, const JsonPlace& at) {
  LossRaster raster{rows.size(), rows.empty() ? 0 : rows.front().size(), {}};
  for (const std::vector<double>& row : rows) {
    if (row.empty() || row.size() != raster.columns) at.Fail("has rows of different lengths");
    raster.cells.insert(raster.cells.end(), row.begin(), row.end());
  }
  return raster;
}

}  // namespace farscale
