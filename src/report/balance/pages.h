// What balancing would gain: one page as HTML, Markdown or text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "pages/render.h"
#include "planning/balance_json.h"

namespace farscale {

// The tags of templates/balance.*.mustache [docs/templates.md], but for `style`. `projections`: as measured first, then
// with balancing. `top`: configurations of a case that short forms show. The Markdown form shows the figures of the
// model, which belong beside it as figures/NAME.
ReportModel BuildBalanceModel(const WhatIf& what_if, const Partials& templates,
                              const std::vector<BalancedProjection>& projections = {}, std::size_t top = 10);

std::string WriteBalanceText(const ReportModel& model, const Partials& templates, std::size_t width = kAnyWidth);

}  // namespace farscale
