// Factor tables as JSON, with everything a later `predict` or `report` needs [docs/schema/factors.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

inline constexpr int kFactorTableVersion = 2;

nlohmann::ordered_json FactorTableToJson(const FactorTable& table);
// Throws an input error naming `file` and the field.
FactorTable FactorTableFromJson(const nlohmann::ordered_json& json, const std::string& file);

std::string WriteFactorJson(const FactorTable& table);
FactorTable ReadFactorJson(const std::string& text, const std::string& file);

// A phase as the fields `phase` and, for a group of its ranks, `group`.
void AddPhase(const PhaseId& phase, nlohmann::ordered_json& json);
PhaseId PhaseFromJson(const nlohmann::ordered_json& json);

// Diagnostics as lists of findings, shared by all file formats.
nlohmann::ordered_json FindingsToJson(const std::vector<Finding>& findings);
std::vector<Finding> FindingsFromJson(const nlohmann::ordered_json& json);

}  // namespace farscale
