// Factor tables as JSON, with everything a later `predict` or `report` needs [docs/schema/factors.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "factors/factor_table.h"

namespace farscale {

inline constexpr int kFactorTableVersion = 2;

std::string WriteFactorJson(const FactorTable& table);
// Throws an input error naming `file` and the field.
FactorTable ReadFactorJson(const std::string& text, const std::string& file);

nlohmann::ordered_json FactorTableSchema();

}  // namespace farscale
