// Descriptions of causes in files [base/fields.h].
#pragma once

#include "imbalance/cause.h"
#include "imbalance/diagnosis.h"
#include "results/fields.h"

namespace farscale {

template <>
Fields<Cause> FieldsOf<Cause>();

template <>
Fields<LatencyGain> FieldsOf<LatencyGain>();
template <>
Fields<DeviceCalls> FieldsOf<DeviceCalls>();

}  // namespace farscale
