// Descriptions of causes in files [base/fields.h].
#pragma once

#include "imbalance/cause.h"
#include "results/fields.h"

namespace farscale {

template <>
Fields<Cause> FieldsOf<Cause>();

template <>
Fields<LatencyGain> FieldsOf<LatencyGain>();

}  // namespace farscale
