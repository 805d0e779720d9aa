// Where time is lost, as JSON with everything [docs/schema/losses.schema.json].
#pragma once

#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "projection/loss_projection.h"

namespace farscale {

std::string WriteLossesJson(const std::vector<LossRecord>& records,
                            const std::vector<LossProjection>& projections);

}  // namespace farscale
