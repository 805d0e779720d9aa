// Comparisons as JSON [docs/schema/compare.schema.json].
#pragma once

#include <string>
#include <vector>

#include "planning/compare.h"

namespace farscale {

inline constexpr int kCompareVersion = 2;

// Each result against the first.
std::string WriteCompareJson(const std::vector<ComparedResults>& comparisons);

}  // namespace farscale
