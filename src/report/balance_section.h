// What balancing would bring, as texts and pictures for templates: the tags of templates/balance.*.mustache
// [docs/templates.md].
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "report/balance_projections.h"
#include "report/report_model.h"

namespace farscale {

// `projections`: as measured first, then with balancing; empty: no projection is told. `top`: configurations of a case
// that are told in short forms. Names of figures begin with `slug`.
ReportData SectionOfBalance(const WhatIf& what_if, const std::vector<BalancedProjection>& projections, std::size_t top,
                            const std::string& slug, ReportModel& model);

}  // namespace farscale
