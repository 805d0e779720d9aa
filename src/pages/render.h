// Templates into texts. The only place that knows the template engine.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pages/section.h"
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

// Fills the template and writes the sections in it, which are its partials NAME.txt, in the form of the page
// [pages/section.h]. A section of an empty text or list prints nothing. Throws a usage error with file and line when
// it is not well-formed, has a tag without a value, prints what is no text, or asks for a partial that does not exist.
std::string RenderTemplate(const Template& source, const ReportData& data, OutputForm form,
                           const Partials& partials = {});

// The sentences that the text template `name` of `templates` makes of the data: its lines that are not empty.
std::vector<std::string> RenderSentences(const Partials& templates, const std::string& name, const ReportData& data);

// The same of a template whose lines are names and texts, such as "caption: All of the run."; without those that have
// no text.
using LabelledTexts = std::vector<std::pair<std::string, std::string>>;
LabelledTexts RenderLabelledTexts(const Partials& templates, const std::string& name, const ReportData& data);

// For templates that ask whether a list of the object holds anything: `hasCauses` of `causes`.
void AddWhetherFilled(ReportData& data, const std::vector<std::string>& lists);

// The section that the text template `name` makes of the data, for a terminal [WriteText].
std::string RenderText(const Partials& templates, const std::string& name, const ReportData& data,
                       std::size_t width = kAnyWidth);

// Letters, digits and dashes, for names of anchors and files.
std::string Slug(const std::string& text);

// One that is not taken yet; takes it.
std::string UniqueSlug(const std::string& text, std::set<std::string>& taken);

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

std::string RenderMarkdown(const ReportModel& model, const ReportTemplates& templates);

}  // namespace farscale
