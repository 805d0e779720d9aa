// A history: earlier results, each with its commit and date, a file each in one folder
// [docs/schema/history.schema.json].
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "gate/result_files.h"
#include "gate/rules.h"
#include "phases/phase_spec.h"

namespace farscale {

struct ReportTemplates;

inline constexpr int kHistoryVersion = 1;
inline constexpr const char* kHistoryFormat = "farscale-history";
// The form of dates in schemas.
inline constexpr const char* kDateSchema = R"({"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"})";

using History = std::vector<MeasuredResults>;  // the oldest first

// "2026-11-20", "2026-11-20T12:00:00Z", "…+01:00", with colons or dashes between hours, minutes and seconds, as
// "2026-11-20T11:00:00Z"; nothing for what is no date. Without a zone it is universal time.
std::optional<std::string> DateFrom(const std::string& text);
std::string DateFromSeconds(std::int64_t since_1970);

std::string WriteHistoryJson(const MeasuredResults& entry);
// Throws an input error naming `file` for anything else.
MeasuredResults ReadHistoryJson(const std::string& text, const std::string& file);
nlohmann::ordered_json HistorySchema();

// "2026-11-20T12-00-00Z-abc1234.json": sorts by date, and no system refuses it.
std::string FileNameOf(const MeasuredResults& entry);

// All entries of a folder, in the order of their dates: files of the format, and results with a name as above; tables
// among them are put in the scaling asked for. Several of one commit are repeats of each other, unless they are the
// same. Other .json and .csv files are skipped and counted. An entry whose runs exclude its scaling keeps what does
// not compare with its reference run, and is counted. Throws an input error for an entry that is damaged: a
// baseline that lost commits would be another baseline.
History ReadHistory(const std::filesystem::path& folder, Diagnostics& diagnostics,
                    std::optional<Scaling> scaling = std::nullopt);

// A short name for a commit: its first eight letters.
std::string ShortCommit(const MeasuredResults& entry);
// "commit 1a2b3c4d", or the file of an entry without one.
std::string NameOf(const MeasuredResults& entry);

// Findings on the tables of a history: for each anomaly the number of commits, and the newest of them.
std::vector<Finding> FindingsOf(const History& history);

// The contents of a history page: every quantity of every phase over the commits.

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
  History history;                   // the oldest first, in common terms [AgreeOnTerms]
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
