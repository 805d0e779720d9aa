#include "report/write_report.h"

#include <map>

#include "base/files.h"
#include "factors/factor_table_csv.h"
#include "projection/projection_csv.h"
#include "report/report_model.h"
#include "report/results_json.h"

namespace farscale {
namespace {

constexpr std::pair<const char*, ReportFormat> kNames[] = {{"html", ReportFormat::kHtml},
                                                           {"markdown", ReportFormat::kMarkdown},
                                                           {"json", ReportFormat::kJson},
                                                           {"csv", ReportFormat::kCsv}};

}  // namespace

std::optional<ReportFormat> ReportFormatByName(std::string_view name) {
  for (const auto& [known, format] : kNames) {
    if (name == known) return format;
  }
  return std::nullopt;
}

std::vector<std::string> ReportFormatNames() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kNames) names.emplace_back(name);
  return names;
}

namespace {

// By file name.
using Files = std::vector<std::pair<std::filesystem::path, std::string>>;

Files DataFiles(const Results& results, const std::set<ReportFormat>& formats) {
  Files files;
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

Files RenderedFiles(const Results& results, const ReportTemplates& templates, const std::set<ReportFormat>& formats) {
  ReportModel model = BuildReportModel(results);
  model.data["style"] = templates.style;
  Files files;
  if (formats.count(ReportFormat::kHtml) > 0) {
    files.emplace_back("report.html", RenderTemplate(templates.html, model.data, Escape::kHtml));
  }
  if (formats.count(ReportFormat::kMarkdown) > 0) {
    files.emplace_back("report.md", RenderTemplate(templates.markdown, model.data, Escape::kMarkdown));
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
  Files files = RenderedFiles(results, templates, formats);
  for (auto& file : DataFiles(results, formats)) files.push_back(std::move(file));
  CreateFolder(folder);
  std::vector<std::filesystem::path> paths;
  for (const auto& [name, content] : files) {
    WriteFile(folder / name, content);
    paths.push_back(folder / name);
  }
  return paths;
}

}  // namespace farscale
