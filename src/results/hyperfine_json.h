// Times measured by hyperfine, as `hyperfine --export-json` writes them, as a table of run times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "factors/factor_table.h"

namespace farscale {

// The name of this format, since the files do not name one.
inline constexpr std::string_view kHyperfineFormat = "hyperfine";

bool IsHyperfineJson(const nlohmann::ordered_json& json);

// One row for each time of every command. The number of cores is the parameter `cores`, `ranks`, `processes`, `np` or
// `n` of the command, times that of `threads`; other parameters tell series apart. Throws an input error naming the
// file and the command where one has no such parameter or no times.
FactorTable TableOfHyperfine(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace farscale
