// Where time is lost, as JSON with everything [docs/schema/losses.schema.json].
#pragma once

#include <string>
#include <vector>

#include "imbalance/loss_record.h"

namespace farscale {

std::string WriteLossesJson(const std::vector<LossRecord>& records);

}  // namespace farscale
