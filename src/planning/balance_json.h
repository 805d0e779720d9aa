// The gain of balancing as JSON with everything [docs/schema/balance.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "planning/balance_projections.h"

namespace farscale {

std::string WriteWhatIfJson(const WhatIf& what_if, const std::vector<BalancedProjection>& projections = {});
nlohmann::ordered_json BalanceSchema();

}  // namespace farscale
