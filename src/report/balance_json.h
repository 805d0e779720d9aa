// What balancing would bring, as JSON with everything [docs/schema/balance.schema.json].
#pragma once

#include <string>

#include "balance/what_if.h"

namespace farscale {

std::string WriteWhatIfJson(const WhatIf& what_if);

}  // namespace farscale
