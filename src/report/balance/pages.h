// What balancing would bring as one page: HTML or Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "balance/what_if.h"
#include "report/balance/projections.h"
#include "report/report.h"

namespace farscale {

// The tags of templates/balance.*.mustache [docs/templates.md], but for `style`. The Markdown form shows the figures of
// the model, which belong beside it as figures/NAME.
ReportModel BuildBalanceModel(const WhatIf& what_if, const std::vector<BalancedProjection>& projections = {},
                              std::size_t top = 10);

std::string WriteBalanceHtml(const ReportModel& model, const ReportTemplates& templates);
std::string WriteBalanceMarkdown(const ReportModel& model, const ReportTemplates& templates);


// `projections`: as measured first, then with balancing; empty: no projection is told. `top`: configurations of a case
// that are told in short forms. Names of figures begin with `slug`.
ReportData SectionOfBalance(const WhatIf& what_if, const std::vector<BalancedProjection>& projections, std::size_t top,
                            const std::string& slug, ReportModel& model);

}  // namespace farscale
