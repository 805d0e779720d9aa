#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "factors/anomalies.h"
#include "factors/complete_table.h"

namespace farscale {

std::string ToString(Scaling scaling) { return scaling == Scaling::kStrong ? "strong" : "weak"; }

std::optional<Scaling> ScalingByName(std::string_view name) {
  if (name == "strong") return Scaling::kStrong;
  if (name == "weak") return Scaling::kWeak;
  return std::nullopt;
}

std::optional<double> FactorRow::TimePerIteration() const {
  return runtime ? std::optional(*runtime / iterations) : std::nullopt;
}

std::optional<double> FactorRow::UsefulTime() const {
  if (totals) return totals->UsefulOfAll() / iterations;
  if (!runtime || !values[Factor::kParallelEfficiency]) return std::nullopt;
  const double processors = static_cast<double>(IsHybrid() ? ranks * threads : ranks);
  return processors * *runtime * *values[Factor::kParallelEfficiency] / iterations;
}

std::vector<std::string> FactorTable::Series() const {
  std::vector<std::string> series;
  for (const PhaseKey& key : Keys()) {
    if (series.empty() || series.back() != key.series) series.push_back(key.series);
  }
  return series;
}

std::vector<PhaseId> FactorTable::Phases(const std::string& series) const {
  std::vector<PhaseId> phases;
  for (const PhaseKey& key : Keys()) {
    if (key.series == series) phases.push_back(key.phase);
  }
  return phases;
}

std::vector<PhaseKey> FactorTable::Keys() const {
  std::map<std::string, std::size_t> order;  // series in the order of their first rows
  std::set<PhaseKey> seen;
  std::vector<PhaseKey> keys;
  const FactorRow* before = nullptr;
  for (const FactorRow& row : rows) {
    const bool is_same = before != nullptr && before->series == row.series && before->phase == row.phase;
    before = &row;
    if (is_same || !seen.insert(row.Key()).second) continue;
    order.try_emplace(row.series, order.size());
    keys.push_back(row.Key());
  }
  std::ranges::stable_sort(keys, {}, [&](const PhaseKey& key) { return order.at(key.series); });
  return keys;
}

std::vector<FactorRow> FactorTable::Rows(const PhaseKey& key) const {
  std::vector<const FactorRow*> chosen;  // rows are large: sorted by their places, then copied once
  for (const FactorRow& row : rows) {
    if (row.series == key.series && row.phase == key.phase) chosen.push_back(&row);
  }
  chosen = CountRows(chosen).counted;
  std::ranges::stable_sort(chosen, {}, [](const FactorRow* row) { return std::pair(row->cores, row->repeat); });
  std::vector<FactorRow> sorted;
  sorted.reserve(chosen.size());
  for (const FactorRow* row : chosen) sorted.push_back(*row);
  return sorted;
}

FactorTree TreeOf(const std::vector<FactorRow>& rows) {
  const bool is_hybrid = std::ranges::any_of(rows, [](const FactorRow& row) { return row.IsHybrid(); });
  return is_hybrid ? FactorTree::kHybrid : FactorTree::kMpi;
}

bool IsShown(Factor factor, const std::vector<FactorRow>& rows) {
  return std::ranges::any_of(rows, [&](const FactorRow& row) {
    const std::optional<double>& value = row.values[factor];
    return value && !IsWithoutDevices(factor, *value);
  });
}

void FindGroupsInOldTexts(FactorTable& table) {
  const auto is_part = [](const FactorRow& row) { return row.ranks < row.cores / row.threads; };
  std::set<PhaseKey> groups;
  std::set<std::pair<PhaseKey, std::int64_t>> parts;  // at these core counts
  for (const FactorRow& row : table.rows) {
    if (!is_part(row) || !GroupInOldText(row.phase.name)) continue;
    groups.insert(row.Key());
    parts.emplace(row.Key(), row.cores);
  }
  if (groups.empty()) return;
  // A group has some of the ranks or all of them at one core count: where there are rows of both kinds, those of all
  // ranks are a phase with the same text.
  std::set<PhaseKey> phases;
  for (const FactorRow& row : table.rows) {
    if (!is_part(row) && parts.contains({row.Key(), row.cores})) phases.insert(row.Key());
  }
  for (FactorRow& row : table.rows) {
    if (groups.contains(row.Key()) && (is_part(row) || !phases.contains(row.Key()))) {
      row.phase = *GroupInOldText(row.phase.name);
    }
  }
}

void ForgetComparison(FactorRow& row) {
  for (const FactorType& type : AllFactors()) {
    if (!type.ComparesWithReference()) continue;
    row.values[type.factor].reset();
    row.standard_errors[type.factor].reset();
  }
}

void AddFindingsOfRows(FactorTable& table) {
  const std::string_view id = anomaly::kWaitsUnknown.id;
  std::erase_if(table.findings, [&](const Finding& finding) { return finding.id == id; });
  Diagnostics diagnostics;
  for (const FactorRow& row : table.rows) {
    if (!row.unknown_waits || row.phase.IsGroup()) continue;  // a group has those of its phase
    diagnostics.Add(
        anomaly::kWaitsUnknown, row.unknown_waits->calls,
        fmt::format("at {} cores{}: {}", row.cores, row.phase.IsUnnamed() ? "" : " in phase " + row.phase.Text(),
                    row.unknown_waits->example));
  }
  for (const Finding& finding : diagnostics.findings()) table.findings.push_back(finding);
}

double SpeedupFrom(double global_efficiency, double cores, const SpeedupAnchor& anchor) {
  return anchor.speedup * global_efficiency / anchor.global_efficiency * cores / anchor.cores;
}

RowPointers PointersTo(const std::vector<FactorRow>& rows) {
  RowPointers pointers;
  pointers.reserve(rows.size());
  for (const FactorRow& row : rows) pointers.push_back(&row);
  return pointers;
}

namespace {

// Calls add(number of the phase in `keys`, row) for every row of the table.
void ForEachRow(auto& table, const std::vector<PhaseKey>& keys, const auto& add) {
  std::map<PhaseKey, std::size_t> index;
  for (const PhaseKey& key : keys) index.emplace(key, index.size());
  std::size_t last = 0;  // rows of one phase often follow each other
  for (auto& row : table.rows) {
    if (row.series != keys[last].series || row.phase != keys[last].phase) last = index.at(row.Key());
    add(last, row);
  }
}

}  // namespace

std::vector<std::vector<FactorRow*>> RowsToComplete(FactorTable& table) {
  const std::vector<PhaseKey> keys = table.Keys();
  std::vector<std::vector<FactorRow*>> rows(keys.size());
  ForEachRow(table, keys, [&](std::size_t phase, FactorRow& row) { rows[phase].push_back(&row); });
  return rows;
}

std::vector<RowsOfPhase> RowsByPhase(const FactorTable& table) {
  const std::vector<PhaseKey> keys = table.Keys();
  std::vector<RowsOfPhase> phases;
  for (const PhaseKey& key : keys) phases.push_back({key, {}});
  ForEachRow(table, keys, [&](std::size_t phase, const FactorRow& row) { phases[phase].rows.push_back(&row); });
  const auto place = [](const FactorRow* row) { return std::pair(row->cores, row->repeat); };
  for (RowsOfPhase& phase : phases) {
    phase.rows = CountRows(phase.rows).counted;
    if (!std::ranges::is_sorted(phase.rows, {}, place)) std::ranges::stable_sort(phase.rows, {}, place);
  }
  return phases;
}

std::optional<std::int64_t> CoresOfSeveralSplits(const RowPointers& rows) {
  std::map<std::int64_t, std::set<std::int64_t>> threads;  // indexed by cores
  for (const FactorRow* row : rows) {
    if (!row->IsHybrid()) return std::nullopt;
    threads[row->cores].insert(row->threads);
  }
  const auto several = std::ranges::find_if(threads, [](const auto& one) { return one.second.size() > 1; });
  return several == threads.end() ? std::nullopt : std::optional(several->first);
}

}  // namespace farscale
