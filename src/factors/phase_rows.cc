#include "factors/phase_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "factors/counted_rows.h"

namespace farscale {

RowPointers PointersTo(const std::vector<FactorRow>& rows) {
  RowPointers pointers;
  pointers.reserve(rows.size());
  for (const FactorRow& row : rows) pointers.push_back(&row);
  return pointers;
}

std::vector<RowsOfPhase> RowsByPhase(const FactorTable& table) {
  std::vector<RowsOfPhase> phases;
  std::map<PhaseKey, std::size_t> index;
  for (const PhaseKey& key : table.Keys()) {
    index.emplace(key, phases.size());
    phases.push_back({key, {}});
  }
  std::size_t last = 0;  // rows of one phase often follow each other
  for (const FactorRow& row : table.rows) {
    const PhaseKey& key = phases[last].key;
    if (row.series != key.series || row.phase != key.phase) last = index.at(row.Key());
    phases[last].rows.push_back(&row);
  }
  const auto place = [](const FactorRow* row) { return std::pair(row->cores, row->repeat); };
  for (RowsOfPhase& phase : phases) {
    phase.rows = CountRows(phase.rows).counted;
    if (!std::ranges::is_sorted(phase.rows, {}, place)) std::ranges::stable_sort(phase.rows, {}, place);
  }
  return phases;
}

std::optional<std::int64_t> CoresOfSeveralSplits(const RowPointers& rows) {
  std::map<std::int64_t, std::set<std::int64_t>> threads;  // by cores
  for (const FactorRow* row : rows) {
    if (!row->IsHybrid()) return std::nullopt;
    threads[row->cores].insert(row->threads);
  }
  const auto several = std::ranges::find_if(threads, [](const auto& one) { return one.second.size() > 1; });
  return several == threads.end() ? std::nullopt : std::optional(several->first);
}

}  // namespace farscale
