// One phase of one series in a report: tables, figures and words.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "pages/render.h"
#include "results/results.h"

namespace farscale {

// What the sections of a report share.
struct ReportParts {
  const Partials& texts;           // templates of sentences
  ReportModel& model;              // gets the figures
  std::set<Factor>& used;          // factors that the glossary explains
  std::set<std::string>& anchors;  // ids of the page
  ReportData& choices;             // what the script reads
  std::optional<double> common;    // cores at which phases are compared
};

// The tags of a phase in docs/templates.md. `projection` is null where none was made.
ReportData SectionOfPhase(const Results& results, const PhaseProjection* projection, const std::string& series,
                          const PhaseId& phase, const ReportParts& parts);

}  // namespace farscale
