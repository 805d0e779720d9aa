// Projections as JSON [docs/schema/projection.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

inline constexpr int kProjectionVersion = 2;

nlohmann::ordered_json ProjectionsToJson(const std::vector<PhaseProjection>& projections);
// Throws nlohmann::json::exception where the JSON is not what ProjectionsToJson writes.
std::vector<PhaseProjection> ProjectionsFromJson(const nlohmann::ordered_json& json);

// Parts that files of other kinds have, too. Reading throws an input error for what cannot be.
nlohmann::ordered_json ProjectedValueToJson(const ProjectedValue& value);
ProjectedValue ProjectedValueFromJson(const nlohmann::ordered_json& json);
Factor FactorFromJson(const nlohmann::ordered_json& json);

// The file of `farscale predict`, with what is odd about the table.
std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections,
                                const std::vector<Finding>& findings = {});

}  // namespace farscale
