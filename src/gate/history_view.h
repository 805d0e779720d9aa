// The contents of a history page: every quantity of every phase over the commits.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/table_terms.h"
#include "gate/history_json.h"
#include "gate/rules.h"
#include "phases/phase_spec.h"

namespace farscale {

struct ReportTemplates;

struct HistoryTrack {
  std::string series;
  PhaseId phase;
  Quantity quantity;
  std::vector<double> cores;                               // in any commit, ascending
  std::vector<std::vector<std::optional<double>>> values;  // [commit][core count]: means of the runs
  std::vector<double> shared;                              // core counts that the means below are over
  std::vector<std::optional<double>> means;                // one a commit
  std::vector<std::size_t> steps;                          // commits at which a new level begins
  std::optional<Change> last;                              // the newest commit against the baseline before it
};

struct HistoryView {
  std::string title;
  History history;                   // the oldest first, in common terms [result_files.h]
  std::vector<HistoryTrack> tracks;  // phases in their order, then quantities
  std::vector<Finding> findings;     // anomalies of the folder and its tables
};

inline constexpr int kTracksVersion = 2;

// `findings` are those about the folder.
HistoryView ViewOf(const History& history, const std::string& title, const std::vector<Finding>& findings = {});

std::string WriteHistoryTable(const HistoryView& view);  // for the terminal
std::string WriteTracksJson(const HistoryView& view);    // [docs/schema/tracks.schema.json]
nlohmann::ordered_json TracksSchema();
// One offline page without scripts, by the policy of the report, with a chart and a table for every track; and tables
// in Markdown. Templates are history.html.mustache, history.md.mustache and history.css.
std::string WriteHistoryHtml(const HistoryView& view, const ReportTemplates& templates);
std::string WriteHistoryMarkdown(const HistoryView& view, const ReportTemplates& templates);

}  // namespace farscale
