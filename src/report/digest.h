// Results of studies: a few lines for the terminal, and a page of several studies.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// As digest.txt.mustache of `texts` words it. Efficiency and largest loss of the largest run, a reliable prediction,
// the core count up to which efficiency is high, and the suggested next run; where rows do not fit in the columns of
// `style`, they are lines. Notes that phases share name all of them in one line.
std::string FormatDigest(const Results& results, const Partials& texts, const TerminalStyle& style);

// One of several studies.
struct ListedStudy {
  std::string name;
  std::string report;              // path of its page; empty: there is none
  std::optional<Results> results;  // nothing: it failed
  bool is_failed = false, is_up_to_date = false;
};

// A row a study: its longest phase, as in a digest, and what became of it; then where the reports are. As
// batch.txt.mustache of `texts` words it.
std::string FormatBatch(const std::vector<ListedStudy>& rows, const Partials& texts, const TerminalStyle& style);

// A row for every phase of each study, sorted by what limits it, and machines beside each other: the tags of
// templates/studies.*.mustache [docs/templates.md], but for those of RenderHtml. `folder`: of the page, to
// which links to the reports are relative.
ReportModel BuildStudiesModel(const std::vector<ListedStudy>& studies, const std::string& folder,
                              const Partials& texts);

// The fastest machine, and by how much, in a sentence; empty where the studies have no machines to choose from.
std::vector<std::string> SummarizeShortlist(const std::vector<ListedStudy>& studies, const Partials& texts);

// Writes index.html and index.md with its figures, as far as these formats are asked for; everything is rendered before
// the first is written. Returns the paths.
std::vector<std::filesystem::path> WriteStudies(const std::vector<ListedStudy>& studies,
                                                const ReportTemplates& templates, const std::filesystem::path& folder,
                                                const std::set<ReportFormat>& formats);

}  // namespace farscale
