// A backtest as JSON [docs/schema/backtest.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "projection/backtest.h"
#include "projection/backtest_errors.h"

namespace farscale {

inline constexpr int kBacktestVersion = 2;

// The file of `farscale backtest`: the rows, their errors by factor and ratio, and how these compare.
std::string WriteBacktestJson(const std::vector<BacktestRow>& rows,
                              const std::optional<BacktestComparison>& comparison);
nlohmann::ordered_json BacktestSchema();

}  // namespace farscale
