// A comparison as files: compare.html, compare.md with figures, compare.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "planning/compare.h"
#include "report/report.h"

namespace farscale {

// The tags of templates/compare.*.mustache [docs/templates.md], but for `style`.
ReportModel BuildCompareModel(const std::vector<ComparedResults>& comparisons, const Partials& templates);

// For the terminal, one a comparison.
std::vector<std::string> WriteCompareTexts(const ReportModel& model, const Partials& templates,
                                           std::size_t width = kAnyWidth);

// Writes all or nothing of each file; everything is rendered before the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteCompared(const std::vector<ComparedResults>& comparisons,
                                                 const ReportTemplates& templates, const std::filesystem::path& folder);

}  // namespace farscale
