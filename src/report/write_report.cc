#include "report/write_report.h"

#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "factors/factor_table_csv.h"
#include "projection/projection_csv.h"
#include "report/report_model.h"
#include "report/results_json.h"

namespace farscale {
namespace {

constexpr std::pair<const char*, ReportFormat> kFormatNames[] = {{"html", ReportFormat::kHtml},
                                                           {"markdown", ReportFormat::kMarkdown},
                                                           {"json", ReportFormat::kJson},
                                                           {"csv", ReportFormat::kCsv}};

}  // namespace

std::optional<ReportFormat> ReportFormatByName(std::string_view name) {
  for (const auto& [known, format] : kFormatNames) {
    if (name == known) return format;
  }
  return std::nullopt;
}

std::vector<std::string> ReportFormatNames() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormatNames) names.emplace_back(name);
  return names;
}

namespace {

// Text that becomes the content of an element, which its end tag would end.
void RequireInside(const Template& content, const std::string& element) {
  const std::size_t at = ToLower(content.text).find("</" + element);
  if (at == std::string::npos) return;
  throw Error(ErrorKind::kUsage, PlaceIn(content, at),
              "contains </" + element + ", which would end it within the report", "write <\\/" + element);
}

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

std::string RenderHtml(const ReportModel& model, const ReportTemplates& templates) {
  RequireInside(templates.style, "style");
  RequireInside(templates.script, "script");
  ReportData data = model.data;
  data["style"] = templates.style.text;
  data["styleHash"] = Sha256Base64(templates.style.text);
  data["script"] = templates.script.text;
  data["scriptHash"] = Sha256Base64(templates.script.text);
  return RenderTemplate(templates.html, data, Escape::kHtml, templates.partials);
}

std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats) {
  NamedTexts files = RenderedFiles(results, templates, formats);
  for (auto& file : DataFiles(results, formats)) files.push_back(std::move(file));
  return WriteFiles(folder, files);
}

}  // namespace farscale
