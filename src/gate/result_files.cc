#include "gate/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "gate/anomalies.h"
#include "gate/history_json.h"
#include "gate/rules.h"
#include "results/factor_table_files.h"
#include "results/results.h"
#include "results/results_json.h"
#include "trace/anomalies.h"

namespace farscale {
namespace {

using Counts = std::set<std::int64_t>;

bool KnowsComparison(const FactorRow& row) {
  return std::any_of(AllFactors().begin(), AllFactors().end(), [&](const FactorType& type) {
    return row.values[type.factor] && Quantity::Of(type.factor).ComparesWithReference();
  });
}

bool KnowsComparison(const std::vector<FactorRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const FactorRow& row) { return KnowsComparison(row); });
}

Counts CountsInRows(const std::vector<FactorRow>& rows) {
  Counts counts;
  for (const FactorRow& row : rows) counts.insert(row.cores);
  return counts;
}

Counts Common(const Counts& a, const Counts& b) {
  Counts common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(common, common.end()));
  return common;
}

std::string Cores(std::int64_t cores) { return FormatCores(static_cast<double>(cores)); }

using NamedTables = std::vector<std::pair<std::string, FactorTable*>>;

// The last table where the newest of the others that it compares with has that run, else the smallest that both have;
// nothing where there is none.
std::optional<std::int64_t> CommonReference(const NamedTables& tables) {
  const FactorTable& last = *tables.back().second;
  if (!last.reference || !KnowsComparison(last.rows)) return std::nullopt;
  for (std::size_t i = tables.size() - 1; i-- > 0;) {
    const FactorTable& other = *tables[i].second;
    const Counts common = Common(CountsInRows(last.rows), CountsInRows(other.rows));
    if (common.empty() || !KnowsComparison(other.rows)) continue;
    return common.count(*last.reference) > 0 ? *last.reference : *common.begin();
  }
  return std::nullopt;
}

void MoveReferences(const NamedTables& tables, Diagnostics& diagnostics) {
  const std::optional<std::int64_t> reference = CommonReference(tables);
  if (!reference) return;
  for (const auto& [name, table] : tables) {
    const std::optional<std::int64_t> was = table->reference;
    if (was == reference || !KnowsComparison(table->rows) || CountsInRows(table->rows).count(*reference) == 0) continue;
    FactorTable moved = *table;
    try {
      ChangeTerms(moved, std::nullopt, reference);
    } catch (const Error&) {
      continue;  // its rows do not know enough, so that they are not compared
    }
    *table = std::move(moved);
    diagnostics.Add(anomaly::kReferenceMoved, 1,
                    fmt::format("{}: {} instead of {} cores", name, Cores(*reference), Cores(*was)));
  }
}

// Why what compares with the reference does not mean the same in two tables with runs at these core counts; empty where
// it does.
std::string WhyApart(const std::pair<std::string, FactorTable*>& one, const Counts& counts,
                     const std::pair<std::string, FactorTable*>& last, const Counts& counts_of_last) {
  const Counts common = Common(counts, counts_of_last);
  if (common.empty()) return "";
  // That of a phase: the smallest run where there is none at the reference of the table.
  const auto find_reference = [](const FactorTable& table, const Counts& known) {
    return table.reference && known.count(*table.reference) > 0 ? *table.reference : *known.begin();
  };
  const std::int64_t reference = find_reference(*one.second, counts);
  const std::int64_t reference_of_last = find_reference(*last.second, counts_of_last);
  if (reference != reference_of_last) {
    return fmt::format("{} compares with its run on {} cores, {} with that on {}", one.first, Cores(reference),
                       last.first, Cores(reference_of_last));
  }
  if (common.size() == 1 && *common.begin() == reference) return "";
  const auto &scaling = one.second->scaling, &scaling_of_last = last.second->scaling;
  if (scaling == scaling_of_last) return "";
  if (scaling && scaling_of_last) {
    return fmt::format("the scaling of {} is {}, that of {} {}", one.first, ToString(*scaling), last.first,
                       ToString(*scaling_of_last));
  }
  return fmt::format("how the runs of {} scale is not known, those of {} scale {}ly", scaling ? last.first : one.first,
                     scaling ? one.first : last.first, ToString(scaling ? *scaling : *scaling_of_last));
}

// The run at the reference of one of the repeats may be the bad one, with which all factors of that repeat compare.
// Those that can be made anew compare with the median of all repeats.
void CompareWithMedian(FactorTable& merged) {
  const std::vector<std::vector<FactorRow*>> phases = RowsToComplete(merged);
  const bool is_any = std::ranges::any_of(phases, [](const auto& rows) {
    return !CountRows({rows.begin(), rows.end()}).outlying.empty();
  });
  if (!is_any || !merged.scaling) return;
  for (FactorRow& row : merged.rows) {
    if (row.totals || KnowsTimesOnly(row)) ForgetComparison(row);
  }
  CompleteTable(merged);
}

// Runs that farscale measure or TALP has measured, each in a file of its own, are one table: alone each would be its
// own reference. Nothing when there are others among them.
std::optional<MeasuredResults> ReadSingleRuns(const std::vector<std::string>& paths, std::optional<Scaling> scaling) {
  std::set<std::string> formats;
  for (const std::string& path : paths) formats.insert(FormatOfResults(ReadInput(path), path));
  const bool are_runs = *formats.begin() == kTalpFormat || *formats.begin() == kMeasuredRunFormat;
  if (formats.size() > 1 || !are_runs) return std::nullopt;
  MeasuredResults read;
  read.name = Join(paths, ", ");
  read.files = paths;
  read.table = ReadTableOfRuns(paths);
  PutInTerms(read.table, scaling, std::nullopt);
  return read;
}

}  // namespace

Diagnostics AgreeOnTerms(const NamedTables& tables) {
  Diagnostics diagnostics;
  MoveReferences(tables, diagnostics);
  std::set<PhaseKey> phases;
  std::set<std::size_t> reported;
  for (const auto& [name, table] : tables) {
    for (const FactorRow& row : table->rows) phases.insert(row.Key());
  }
  for (const PhaseKey& phase : phases) {
    std::optional<std::size_t> last;
    Counts counts_of_last;
    for (std::size_t i = tables.size(); i-- > 0;) {
      const std::vector<FactorRow> rows = tables[i].second->Rows(phase);
      if (!KnowsComparison(rows)) continue;
      const Counts counts = CountsInRows(rows);
      if (!last) {
        last = i;
        counts_of_last = counts;
        continue;
      }
      const std::string why = WhyApart(tables[i], counts, tables[*last], counts_of_last);
      if (why.empty()) continue;
      for (FactorRow& row : tables[i].second->rows) {
        if (row.Key() == phase) ForgetComparison(row);
      }
      if (reported.insert(i).second) diagnostics.Add(anomaly::kTermsDiffer, 1, why);
    }
  }
  return diagnostics;
}

MeasuredResults ReadResultFileUnchecked(const std::string& path, std::optional<Scaling> scaling) {
  MeasuredResults read;
  read.name = path;
  read.files = {path};
  const std::string text = ReadInput(path);
  const std::string format = FormatOfResults(text, path);
  if (format == "farscale-results") {
    Results results = ReadResultsJsonUnchecked(text, path);
    read.table = std::move(results.table);
    AddFindingsOfRows(read.table);
    for (const RunRecord& run : results.runs) {
      for (const Finding& finding : run.findings) {
        if (finding.id == anomaly::kThreadsAtProcessLevel.id) MergeFindings({finding}, read.table.findings);
      }
    }
    read.projections = std::move(results.projections);
    read.is_results_json = true;
    scaling.reset();
  } else if (format == kHistoryFormat) {
    read = ReadHistoryJson(text, path);
    read.files = {path};
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
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::filesystem::weakly_canonical(paths[i]) != std::filesystem::weakly_canonical(paths[j])) continue;
      throw Error(ErrorKind::kUsage, paths[i], "is given twice, and a run is no repeat of itself");
    }
  }
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
    NamedTables named = {{merged.name, &tables[0]}};
    for (std::size_t i = 1; i < distinct.size(); ++i) named.emplace_back(distinct[i].name, &tables[i]);
    // Repeats are averaged, so all of them must have the same scaling and reference.
    for (const Finding& finding : AgreeOnTerms(named).findings()) {
      if (finding.id == anomaly::kTermsDiffer.id) {
        throw Error(ErrorKind::kUsage, named.back().first, finding.example + ", so these are no repeats of each other",
                    "give results that scale alike and have a run in common; --scaling says how tables do");
      }
      named.back().second->findings.push_back(finding);
    }
    merged.table = MergeRepeats(tables);
    CompareWithMedian(merged.table);
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
