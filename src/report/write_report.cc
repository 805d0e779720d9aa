#include "report/write_report.h"

#include "base/files.h"
#include "results/factor_table_csv.h"
#include "results/projection_csv.h"
#include "report/report_model.h"
#include "results/results_json.h"

namespace farscale {
namespace {

NamedTexts DataFiles(const Results& results, const std::set<ReportFormat>& formats) {
  NamedTexts files;
  if (formats.count(ReportFormat::kCsv) > 0) {
    files.emplace_back("factors.csv", WriteFactorCsv(results.table));
    files.emplace_back("projection.csv", WriteProjectionCsv(results.projections));
    for (const Variant& variant : results.variants) {
      files.emplace_back("factors-" + variant.id + ".csv", WriteFactorCsv(variant.table));
      files.emplace_back("projection-" + variant.id + ".csv", WriteProjectionCsv(variant.projections));
    }
  }
  if (formats.count(ReportFormat::kJson) > 0) files.emplace_back("results.json", WriteResultsJson(results));
  return files;
}

NamedTexts RenderedFiles(const Results& results, const ReportTemplates& templates,
                         const std::set<ReportFormat>& formats) {
  const ReportModel model = BuildReportModel(results);
  NamedTexts files;
  if (formats.count(ReportFormat::kHtml) > 0) {
    files.emplace_back("report.html", RenderHtml(model, templates));
  }
  if (formats.count(ReportFormat::kMarkdown) > 0) {
    files.emplace_back("report.md",
                       RenderTemplate(templates.markdown, model.data, Escape::kMarkdown, templates.partials));
    for (const auto& [name, svg] : model.figures) {
      files.emplace_back(std::filesystem::path("figures") / name, svg + "\n");
    }
  }
  return files;
}

}  // namespace

std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats) {
  NamedTexts files = RenderedFiles(results, templates, formats);
  for (auto& file : DataFiles(results, formats)) files.push_back(std::move(file));
  return WriteFiles(folder, files);
}

}  // namespace farscale
