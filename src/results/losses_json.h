// Where time is lost, as JSON with everything [docs/schema/losses.schema.json].
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "imbalance/loss_record.h"
#include "projection/loss_projection.h"

namespace farscale {

// `warnings`: of the runs.
std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings = {});

nlohmann::ordered_json LossesToJson(const LossRecord& losses);
nlohmann::ordered_json LossProjectionsToJson(const std::vector<LossProjection>& projections);

// What the above writes, without findings and, of what is reduced to them, with the paths and ranks that are left.
// Throw an exception of the JSON library when something is missing, an input error naming `file` when it is not as it
// must be.
LossRecord LossesFromJson(const nlohmann::ordered_json& json, const std::string& file);
std::vector<LossProjection> LossProjectionsFromJson(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace farscale
