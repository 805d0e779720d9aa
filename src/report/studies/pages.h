// Several studies on one page: a row for every phase of each, sorted by what limits it, and machines beside each other.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "pages/render.h"
#include "report/digest.h"

namespace farscale {

// The tags of templates/studies.*.mustache [docs/templates.md], but for those of RenderHtml. `folder`: of the page, to
// which links to the reports are relative.
ReportModel BuildStudiesModel(const std::vector<ListedStudy>& studies, const std::string& folder,
                              const Partials& texts);

// Which machine is fastest, and by how much, in a sentence; empty where the studies have no machines to choose from.
std::vector<std::string> SummarizeShortlist(const std::vector<ListedStudy>& studies, const Partials& texts);

// Writes index.html and index.md with its figures, as far as these formats are asked for; everything is rendered before
// the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteStudies(const std::vector<ListedStudy>& studies,
                                                const ReportTemplates& templates, const std::filesystem::path& folder,
                                                const std::set<ReportFormat>& formats);

}  // namespace farscale
