// Descriptions of the results' structs in files [base/fields.h], for the other files of this room and of those that
// embed them.
#pragma once

#include "base/fields.h"
#include "factors/factor_table.h"
#include "factors/run_picture.h"
#include "imbalance/loss_record.h"
#include "projection/backtest.h"
#include "projection/backtest_errors.h"
#include "projection/loss_projection.h"
#include "projection/projection.h"
#include "projection/thread_split.h"
#include "results/results.h"

namespace farscale {

inline constexpr double kLargestCoreCount = 1e12;  // chosen: far above any machine, and charts up to there still end

template <typename T>
Field<T> CoresField(const char* key, double T::*member, const char* text = "") {
  return Field(key, member, text).Above(0).AtMost(kLargestCoreCount);
}

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
template <>
std::vector<std::pair<Factor, std::string>> NamesOf<Factor>();  // their ids
template <>
Form<FactorValues> FormOf<FactorValues>();  // by id
Form<FactorValues> ValuesOfFactors(const std::vector<std::string>& ids);
template <>
Form<IntervalBounds> FormOf<IntervalBounds>();  // [low, high]
template <>
Form<OpenBounds> FormOf<OpenBounds>();  // [low, high or null]
template <>
std::vector<std::pair<Severity, std::string>> NamesOf<Severity>();
template <>
Fields<Finding> FieldsOf<Finding>();
template <>
Fields<PhaseId> FieldsOf<PhaseId>();  // `phase` and, for a group of its ranks, `group`
template <>
Fields<UnknownWaits> FieldsOf<UnknownWaits>();
template <>
Fields<ThreadTimes> FieldsOf<ThreadTimes>();
template <>
Fields<DeviceTimes> FieldsOf<DeviceTimes>();

// Files and their larger parts.
template <>
Fields<FactorTable> FieldsOf<FactorTable>();
template <>
std::vector<std::pair<Reliability, std::string>> NamesOf<Reliability>();
template <>
Fields<ProjectedValue> FieldsOf<ProjectedValue>();
template <>
Fields<KeyResults> FieldsOf<KeyResults>();
template <>
Fields<PhaseProjection> FieldsOf<PhaseProjection>();
template <>
Fields<SplitsOfCores> FieldsOf<SplitsOfCores>();
template <>
Fields<BacktestRow> FieldsOf<BacktestRow>();
template <>
Fields<LossRecord> FieldsOf<LossRecord>();
template <>
Fields<LossProjection> FieldsOf<LossProjection>();
template <>
Form<RunPicture> FormOf<RunPicture>();
template <>
Fields<IterationRecord> FieldsOf<IterationRecord>();
template <>
Fields<PhaseMarks> FieldsOf<PhaseMarks>();
template <>
Fields<Results> FieldsOf<Results>();

}  // namespace farscale
