// Losses as JSON, complete [docs/schema/losses.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "projection/loss_projection.h"

namespace farscale {

// `warnings`: of the runs.
std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings = {});
nlohmann::ordered_json LossesSchema();

}  // namespace farscale
