// Factor tables as files: CSV with one row a run and phase [docs/file-formats.md], and JSON with everything that a
// later `predict` or `report` needs [docs/schema/factors.schema.json]. Readers throw an input error naming `file` and
// the line or field.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "factors/factor_table.h"

namespace farscale {

// Columns `series,phase,cores,ranks,threads,nodes,repeat,runtime,iterations`, then the factors that any row has, then
// the standard errors that any row has, named after what errs: `runtimeError`, `loadBalanceError`, then the values of
// the distribution of loads that any row has: `loadDeviation`.
std::string WriteFactorCsv(const FactorTable& table);
// Needs the column `cores` and at least one factor or `runtime`; other columns of the form above may be missing, in any
// order. Two columns of numbers without a header are cores and seconds. Without commas in the first line, fields stand
// between blanks.
FactorTable ReadFactorCsv(const std::string& text, const std::string& file);

inline constexpr int kFactorTableVersion = 2;

std::string WriteFactorJson(const FactorTable& table);
FactorTable ReadFactorJson(const std::string& text, const std::string& file);
nlohmann::ordered_json FactorTableSchema();

}  // namespace farscale
