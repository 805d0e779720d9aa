// Comparisons as JSON [docs/schema/compare.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planning/compare.h"

namespace farscale {

inline constexpr int kCompareVersion = 2;

// Each result against the first.
std::string WriteCompareJson(const std::vector<ComparedResults>& comparisons);
nlohmann::ordered_json CompareSchema();

}  // namespace farscale
