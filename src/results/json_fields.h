// Descriptions of the structs of results in files [base/fields.h], for the files of this room and those that embed
// them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/fields.h"
#include "results/results.h"

namespace farscale {

inline constexpr double kLargestCoreCount = 1e12;  // chosen: far above any machine, and charts up to there still end

// The first `count` values of an enumeration with their names.
template <typename T, typename NameOf>
std::vector<std::pair<T, std::string>> FirstNames(std::size_t count, NameOf name_of) {
  std::vector<std::pair<T, std::string>> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(static_cast<T>(i), name_of(static_cast<T>(i)));
  return names;
}

// Adds a finding where a file is not as it was written.
void CheckChecksum(const OrderedJson& json, const std::string& file, std::vector<Finding>& findings);

// Parts of several formats.
std::vector<std::pair<Factor, std::string>> NamesOf(Described<Factor>);  // their ids
template <>
Form<FactorValues> FormOf<FactorValues>();  // keys are ids
Form<FactorValues> ValuesOfFactors(const std::vector<std::string>& ids);
template <>
Form<IntervalBounds> FormOf<IntervalBounds>();  // [low, high]
template <>
Form<OpenBounds> FormOf<OpenBounds>();  // [low, high or null]
std::vector<std::pair<Severity, std::string>> NamesOf(Described<Severity>);
Fields<Finding> FieldsOf(Described<Finding>);
Fields<PhaseId> FieldsOf(Described<PhaseId>);  // `phase` and, for a group of its ranks, `group`
Fields<UnknownWaits> FieldsOf(Described<UnknownWaits>);
Fields<ThreadTimes> FieldsOf(Described<ThreadTimes>);
Fields<DeviceTimes> FieldsOf(Described<DeviceTimes>);

// Files and their larger parts.
Fields<FactorTable> FieldsOf(Described<FactorTable>);
std::vector<std::pair<Reliability, std::string>> NamesOf(Described<Reliability>);
Fields<ProjectedValue> FieldsOf(Described<ProjectedValue>);
Fields<KeyResults> FieldsOf(Described<KeyResults>);
Fields<PhaseProjection> FieldsOf(Described<PhaseProjection>);
Fields<SplitsOfCores> FieldsOf(Described<SplitsOfCores>);
Fields<BacktestRow> FieldsOf(Described<BacktestRow>);
Fields<LossRecord> FieldsOf(Described<LossRecord>);
Fields<LossProjection> FieldsOf(Described<LossProjection>);
template <>
Form<RunPicture> FormOf<RunPicture>();
Fields<IterationRecord> FieldsOf(Described<IterationRecord>);
Fields<PhaseMarks> FieldsOf(Described<PhaseMarks>);
Fields<Results> FieldsOf(Described<Results>);

// Causes of losses.
Fields<Cause> FieldsOf(Described<Cause>);
Fields<LatencyGain> FieldsOf(Described<LatencyGain>);
Fields<DeviceCalls> FieldsOf(Described<DeviceCalls>);

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
