// Projections as JSON [docs/schema/projection.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "projection/projection.h"

namespace farscale {

inline constexpr int kProjectionVersion = 2;

// The file of `farscale predict`, with the anomalies of the table.
std::string WriteProjectionJson(const std::vector<PhaseProjection>& projections,
                                const std::vector<Finding>& findings = {});
nlohmann::ordered_json ProjectionSchema();

}  // namespace farscale
