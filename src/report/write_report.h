// The files of a report: report.html, report.md with figures/*.svg, results.json, factors.csv and projection.csv, and
// the latter two again for every variant.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "report/render.h"
#include "report/results.h"

namespace farscale {

enum class ReportFormat { kHtml, kMarkdown, kJson, kCsv };

// "html", "markdown", "json", "csv".
std::optional<ReportFormat> ReportFormatByName(std::string_view name);
std::vector<std::string> ReportFormatNames();

struct ReportTemplates {
  Template html;      // report.html.mustache
  Template markdown;  // report.md.mustache
  Template style;     // style.css, put into the HTML
  Template script;    // report.js, put into the HTML
  Partials partials;  // every other NAME.mustache
};

// The HTML form. Style sheet and script stand in it, allowed by their hashes alone: nothing else runs, and nothing is
// fetched. Throws a usage error when one of them would end its element.
std::string RenderHtml(const ReportModel& model, const ReportTemplates& templates);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteReport(const Results& results, const ReportTemplates& templates,
                                               const std::filesystem::path& folder,
                                               const std::set<ReportFormat>& formats);

}  // namespace farscale
