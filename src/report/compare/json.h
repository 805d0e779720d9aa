// Comparisons as JSON [docs/schema/compare.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pages/render.h"
#include "planning/compare.h"

namespace farscale {

inline constexpr int kCompareVersion = 2;

// Each result against the first.
std::string WriteCompareJson(std::vector<ComparedResults> comparisons, const Partials& templates);
nlohmann::ordered_json CompareSchema();

}  // namespace farscale
