#include "gate/result_files.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "gate/anomalies.h"
#include "results/factor_table_csv.h"
#include "results/measured_run_json.h"
#include "factors/scaling.h"
#include "results/talp_json.h"
#include "gate/common_terms.h"
#include "gate/history_json.h"
#include "results/results_json.h"

namespace farscale {
namespace {

void RefuseTwice(const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::filesystem::weakly_canonical(paths[i]) != std::filesystem::weakly_canonical(paths[j])) continue;
      throw Error(ErrorKind::kUsage, paths[i], "is given twice, and a run is no repeat of itself");
    }
  }
}

// Repeats are averaged, so all of them must mean the same.
void RequireSameTerms(const std::vector<NamedTable>& tables) {
  for (const Finding& finding : AgreeOnTerms(tables).findings()) {
    if (finding.id == anomaly::kTermsDiffer.id) {
      throw Error(ErrorKind::kUsage, tables.back().name, finding.example + ", so these are no repeats of each other",
                  "give results that scale alike and have a run in common; --scaling says how tables do");
    }
    tables.back().table->findings.push_back(finding);
  }
}

// Runs that farscale measure or TALP has measured, each in a file of its own, are one table: alone each would be its
// own reference. Nothing when there are others among them.
std::optional<MeasuredResults> ReadSingleRuns(const std::vector<std::string>& paths, std::optional<Scaling> scaling) {
  std::vector<TalpFile> talp;
  std::vector<MeasuredRunFile> measured;
  for (const std::string& path : paths) {
    const std::string text = ReadFile(path);
    const std::string format = FormatOfResults(text, path);
    if (format == kTalpFormat) talp.push_back({text, path});
    if (format == kMeasuredRunFormat) measured.push_back({text, path});
  }
  if (talp.size() != paths.size() && measured.size() != paths.size()) return std::nullopt;
  MeasuredResults read;
  read.name = Join(paths, ", ");
  read.files = paths;
  read.table = talp.empty() ? TableOfMeasuredRuns(measured) : TableOfTalpFiles(talp);
  PutInTerms(read.table, scaling, std::nullopt);
  return read;
}

}  // namespace

MeasuredResults ReadResultFileUnchecked(const std::string& path, std::optional<Scaling> scaling) {
  MeasuredResults read;
  read.name = path;
  read.files = {path};
  const std::string text = ReadFile(path);
  const std::string format = FormatOfResults(text, path);
  if (format == "farscale-results") {
    Results results = ReadResultsJsonUnchecked(text, path);
    read.table = std::move(results.table);
    AddFindingsOfRows(read.table);
    read.projections = std::move(results.projections);
    read.is_results_json = true;
    scaling.reset();
  } else if (format == kHistoryFormat) {
    HistoryEntry entry = ReadHistoryJson(text, path);
    read.table = std::move(entry.table);
    read.commit = entry.commit;
    read.date = entry.date;
    read.accepted = entry.accepted;
  } else {
    read.table = format.empty() ? ReadFactorCsv(text, path) : ReadTableFromJson(text, path);
  }
  try {
    PutInTermsUnchecked(read.table, scaling, std::nullopt);
  } catch (const Error& error) {
    throw Error(error.kind(), path, error.what());  // which of many files it is
  }
  return read;
}

MeasuredResults ReadResultFile(const std::string& path, std::optional<Scaling> scaling) {
  MeasuredResults read = ReadResultFileUnchecked(path, scaling);
  const bool is_asked = scaling && !read.is_results_json;
  CheckScaling(read.table, path + ": " + (is_asked ? SourceOfScaling(read.table) : SourceOfStoredScaling(read.table)));
  return read;
}

MeasuredResults ReadResultFiles(const std::vector<std::string>& paths, std::optional<Scaling> scaling) {
  RefuseTwice(paths);
  if (paths.size() > 1) {
    if (auto runs = ReadSingleRuns(paths, scaling)) return std::move(*runs);
  }
  std::vector<MeasuredResults> distinct;
  Diagnostics diagnostics;
  for (const std::string& path : paths) {
    MeasuredResults read = ReadResultFile(path, scaling);
    const auto same = std::find_if(distinct.begin(), distinct.end(),
                                   [&](const MeasuredResults& other) { return other.table.rows == read.table.rows; });
    if (same == distinct.end()) {
      distinct.push_back(std::move(read));
    } else {
      diagnostics.Add(anomaly::kSameResultsTwice, 1, path + " is the same as " + same->name);
    }
  }
  MeasuredResults merged = std::move(distinct.front());
  if (distinct.size() > 1) {
    std::vector<FactorTable> tables = {std::move(merged.table)};
    for (std::size_t i = 1; i < distinct.size(); ++i) tables.push_back(std::move(distinct[i].table));
    std::vector<NamedTable> named = {{merged.name, &tables[0]}};
    for (std::size_t i = 1; i < distinct.size(); ++i) named.push_back({distinct[i].name, &tables[i]});
    RequireSameTerms(named);
    merged.table = MergeRepeats(tables);
    merged.projections.clear();
  }
  merged.name = Join(paths, ", ");
  merged.files = paths;
  const std::vector<Finding> found = diagnostics.findings();
  merged.table.findings.insert(merged.table.findings.end(), found.begin(), found.end());
  return merged;
}

FactorTable MergeRepeats(const std::vector<FactorTable>& tables) {
  if (tables.empty()) return {};
  FactorTable merged = tables.front();
  for (std::size_t i = 1; i < tables.size(); ++i) {
    std::map<std::tuple<std::string, PhaseId, std::int64_t>, std::int64_t> next;
    for (const FactorRow& row : merged.rows) {
      std::int64_t& free = next[{row.series, row.phase, row.cores}];
      free = std::max(free, row.repeat + 1);
    }
    for (FactorRow row : tables[i].rows) {
      row.repeat += next[{row.series, row.phase, row.cores}];
      merged.rows.push_back(std::move(row));
    }
    MergeFindings(tables[i].findings, merged.findings);
  }
  return merged;
}

}  // namespace farscale
