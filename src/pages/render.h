// Templates into texts. The only place that knows the template engine.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pages/template_text.h"

namespace farscale {

// Lists, objects, texts and truth values, for the tags listed in docs/templates.md.
using ReportData = nlohmann::ordered_json;

struct ReportModel {
  ReportData data;
  std::map<std::string, std::string> figures;  // SVG files by name without folder: "figures/NAME"
};

// Registers a figure under its file name and returns what templates need of it. `svg` is put into the HTML, `file` is
// the same with what a file of its own must have.
ReportData AddFigure(ReportModel& model, const std::string& name, const std::string& svg, const std::string& file,
                     const std::string& alt);

enum class Escape { kHtml, kMarkdown };

// Fills the template. Throws a usage error with file and line when it is not well-formed, has a tag without a value,
// prints what is no text, or asks for a partial that does not exist.
std::string RenderTemplate(const Template& source, const ReportData& data, Escape escape,
                           const Partials& partials = {});

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

}  // namespace farscale
