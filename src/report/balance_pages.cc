#include "report/balance_pages.h"

#include "base/version.h"
#include "pages/render.h"

namespace farscale {

ReportModel BuildBalanceModel(const WhatIf& what_if, const std::vector<BalancedProjection>& projections,
                              std::size_t top) {
  ReportModel model;
  ReportData section = SectionOfBalance(what_if, projections, top, "balance", model);
  model.data = {{"title", what_if.title}, {"generator", Generator()}};
  model.data.update(section);
  return model;
}

std::string WriteBalanceHtml(const ReportModel& model, const ReportTemplates& templates) {
  return RenderHtml(model, templates);
}

std::string WriteBalanceMarkdown(const ReportModel& model, const ReportTemplates& templates) {
  return RenderTemplate(templates.markdown, model.data, Escape::kMarkdown, templates.partials);
}

}  // namespace farscale
