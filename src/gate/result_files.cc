#include "gate/result_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "factors/factor_table_csv.h"
#include "gate/history_json.h"
#include "report/results_json.h"

namespace farscale {
namespace {

// The text under "format", or "" for anything else; what is wrong with the JSON, its reader says.
std::string FormatOf(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || !json.at("format").is_string()) return "";
  return json.at("format").get<std::string>();
}

}  // namespace

MeasuredResults ReadResultFile(const std::string& path) {
  MeasuredResults read;
  read.name = path;
  read.files = {path};
  const std::string text = ReadFile(path);
  const std::string_view trimmed = Trim(text);
  const std::string format = !trimmed.empty() && trimmed.front() == '{' ? FormatOf(text) : "";
  if (format == "farscale-results") {
    Results results = ReadResultsJson(text, path);
    read.table = std::move(results.table);
    read.projections = std::move(results.projections);
  } else if (format == kHistoryFormat) {
    HistoryEntry entry = ReadHistoryJson(text, path);
    read.table = std::move(entry.table);
    read.commit = entry.commit;
    read.date = entry.date;
    read.accepted = entry.accepted;
  } else if (!trimmed.empty() && trimmed.front() == '{') {
    read.table = ReadTableFromJson(text, path);
  } else {
    read.table = ReadFactorCsv(text, path);
  }
  CompleteTable(read.table);
  return read;
}

MeasuredResults ReadResultFiles(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return ReadResultFile(paths.front());
  MeasuredResults merged;
  merged.name = Join(paths, ", ");
  merged.files = paths;
  std::vector<FactorTable> tables;
  for (const std::string& path : paths) tables.push_back(ReadResultFile(path).table);
  merged.table = MergeRepeats(tables);
  return merged;
}

FactorTable MergeRepeats(const std::vector<FactorTable>& tables) {
  if (tables.empty()) return {};
  FactorTable merged = tables.front();
  for (std::size_t i = 1; i < tables.size(); ++i) {
    std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> next;
    for (const FactorRow& row : merged.rows) {
      std::int64_t& free = next[{row.series, row.phase, row.cores}];
      free = std::max(free, row.repeat + 1);
    }
    for (FactorRow row : tables[i].rows) {
      row.repeat += next[{row.series, row.phase, row.cores}];
      merged.rows.push_back(std::move(row));
    }
  }
  return merged;
}

}  // namespace farscale
