// Losses as JSON, complete [docs/schema/losses.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "base/json_form.h"
#include "imbalance/causes/cause.h"
#include "imbalance/delays/delay_costs.h"
#include "imbalance/diagnosis.h"
#include "imbalance/loss_record.h"
#include "projection/loss_projection.h"
#include "results/results.h"

namespace farscale {

// `warnings`: of the runs.
std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings = {});
nlohmann::ordered_json LossesSchema();

// Descriptions of causes in files [base/fields.h].

template <>
Fields<Cause> FieldsOf<Cause>();

template <>
Fields<LatencyGain> FieldsOf<LatencyGain>();
template <>
Fields<DeviceCalls> FieldsOf<DeviceCalls>();

// The JSON form of a raster of losses: a list of rows.

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
